"""Evaluation: errors, calibration and trade-off of known figures, and leave-one-out that is exact."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mailbag import contents, message
from sklearn.metrics import log_loss, roc_auc_score

from suffice.spam import Errors, Evaluation, SpamFilter, Thresholds, digest, read, tokens
from suffice.spam.forgetting import DAY
from suffice.spam.reading import unpack
from suffice.spam.scoring import logistic

SPAMS = [message(i, "spam" if i % 7 else "ham") + b"offer" for i in range(25)]
HAMS = [message(i, "ham" if i % 5 else "spam") for i in range(40)]
SCORED = st.lists(st.tuples(st.integers(0, 8).map(lambda i: i / 8), st.booleans()), min_size=1, max_size=40)


def evaluation(pairs, thresholds=Thresholds(0.3, 0.8)):  # noqa: B008
    probabilities, is_spam = zip(*pairs, strict=True)
    return Evaluation(probabilities, is_spam, thresholds)


def taught(**settings):
    spam_filter = SpamFilter(**settings)
    spam_filter.train_many(SPAMS, "spam")
    spam_filter.train_many(HAMS, "ham")
    return spam_filter


@given(SCORED)
def test_errors_count_every_message_once(pairs):
    found = evaluation(pairs).errors()
    assert found.ham == sum(not spam for _, spam in pairs)
    assert found.false_positives == sum(p >= 0.8 and not spam for p, spam in pairs)
    assert found.missed == sum(p <= 0.3 and spam for p, spam in pairs)
    assert found.unsure_ham + found.unsure_spam == sum(0.3 < p < 0.8 for p, _ in pairs)
    assert found.not_caught == sum(p < 0.8 and spam for p, spam in pairs)
    assert found.not_caught + sum(p >= 0.8 and spam for p, spam in pairs) == found.spam


@given(SCORED)
def test_the_trade_off_has_the_errors_of_every_threshold(pairs):
    each = evaluation(pairs)
    points = each.trade_off()
    assert (points[0].threshold, points[-1].threshold) == (0.0, 1.0)
    for before, after in pairwise(points):
        assert before.threshold < after.threshold
        assert before.false_positives >= after.false_positives
        assert before.not_caught <= after.not_caught
        changed = (before.false_positives, before.not_caught) != (after.false_positives, after.not_caught)
        assert changed or after is points[-1]
    for threshold in [0.01, *(i / 16 for i in range(1, 17))]:
        found = each.errors(Thresholds(0.0, threshold))
        point = max((point for point in points if point.threshold <= threshold), key=lambda point: point.threshold)
        assert (point.false_positives, point.not_caught) == (found.false_positives, found.not_caught)


@given(SCORED.filter(lambda pairs: len({spam for _, spam in pairs}) == 2))
def test_the_area_is_that_of_scikit_learn(pairs):
    probabilities, is_spam = zip(*pairs, strict=True)
    assert evaluation(pairs).one_minus_auc == pytest.approx(100 * (1 - roc_auc_score(is_spam, probabilities)))
    inner = [(0.1 + 0.8 * p, spam) for p, spam in pairs]
    expected = log_loss(is_spam, [p for p, _ in inner])
    assert evaluation(inner).log_loss == pytest.approx(expected)


def test_the_area_needs_both_classes_and_the_loss_stays_finite():
    one = evaluation([(0.5, True), (0.0, True)])
    assert math.isnan(one.one_minus_auc)
    assert 10 < one.log_loss < 40


@given(SCORED, st.integers(1, 12))
def test_reliability_has_every_message_in_one_bin(pairs, bins):
    found = evaluation(pairs).reliability(bins)
    assert sum(each.count for each in found) == len(pairs)
    assert all(each.low <= each.probability <= each.high and each.count for each in found)
    assert sum(each.spam * each.count for each in found) == pytest.approx(sum(spam for _, spam in pairs))


def test_calibration_error_is_the_distance_of_probability_and_share():
    assert evaluation([(0.75, True)] * 3 + [(0.75, False)]).calibration_error == 0.0
    assert evaluation([(0.75, False)] * 4).calibration_error == 0.75
    mixed = evaluation([(0.95, True)] * 3 + [(0.25, True)])
    assert mixed.calibration_error == pytest.approx((3 * 0.05 + 0.75) / 4)


def test_cost_is_that_of_lost_letters_and_of_spams_not_caught():
    each = evaluation([(0.9, False), (0.9, True), (0.5, True), (0.1, True)])
    assert each.errors() == Errors(3, 1, 1, 1, 1, 0)
    assert each.cost() == 102.0
    assert each.cost(Thresholds(0.0, 1.0), false_positive=7.0) == 3.0
    assert each.cost(Thresholds(0.05, 0.1), false_positive=7.0) == 7.0


@pytest.mark.parametrize("half_life", [None, 20.0])
def test_leave_one_out_is_what_untraining_and_scoring_gives(half_life):
    now = [20_000 * DAY]
    with SpamFilter(clock=lambda: now[0]) as spam_filter:
        spam_filter.half_life = half_life
        spam_filter.train_many(SPAMS, "spam")
        now[0] += 11 * DAY
        spam_filter.train_many(HAMS, "ham")
        before = contents(spam_filter)
        found = spam_filter.evaluate()
        assert contents(spam_filter) == before
        assert found.left_out == 65
        expected = []
        for raws, label, days in ((SPAMS, "spam", 11), (HAMS, "ham", 0)):
            for raw in raws:
                spam_filter.untrain(raw)
                expected.append((spam_filter.score(raw).probability, label == "spam"))
                spam_filter.train(raw, label, at=now[0] - days * DAY)
        for spam in (True, False):
            probabilities = sorted(p for p, s in zip(found.probabilities, found.is_spam, strict=True) if s == spam)
            assert probabilities == pytest.approx(sorted(p for p, s in expected if s == spam), rel=1e-9)
        # which differs from what the filter says of messages that it knows
        known = [verdict.probability for verdict in spam_filter.score_many(SPAMS + HAMS)]
        assert not np.allclose(sorted(known), sorted(found.probabilities), atol=1e-3)


def test_batches_make_no_difference(monkeypatch):
    with taught() as spam_filter:
        whole, done = spam_filter.evaluate(), []
        given_ones = spam_filter.evaluate(SPAMS, "spam")
        monkeypatch.setattr("suffice.spam.leave_one_out.BATCH", 7)
        assert spam_filter.evaluate(progress=done.append) == whole
        assert done == [*range(7, 65, 7), 65]
        assert spam_filter.evaluate(SPAMS, "spam") == given_ones


def test_messages_given_are_scored_without_what_was_learned_of_them():
    new = [message(i, "spam") for i in range(500, 510)]
    with taught() as spam_filter:
        alone = spam_filter.evaluate()
        found = spam_filter.evaluate(iter([*SPAMS, *HAMS, *new]), ["spam"] * 25 + ["ham"] * 40 + ["spam"] * 10)
        assert found.left_out == 65
        assert sorted(found.probabilities[:65]) == pytest.approx(sorted(alone.probabilities), rel=1e-12)
        assert list(found.probabilities[65:]) == [spam_filter.score(raw).probability for raw in new]
        assert found.errors().spam == 35


def test_a_changed_tokeniser_takes_out_what_was_counted_and_no_more(monkeypatch):
    raw = SPAMS[0]
    with taught() as spam_filter:
        held = unpack(spam_filter._store.message(bytes.fromhex(digest(raw))).packed)
        others = [token for token, spam, _ in contents(spam_filter)[0] if spam and token not in held]
        now = ["message", others[0], "new"]  # held then; held by others only; held by none
        assert "message" in held
        with monkeypatch.context() as patch:
            patch.setattr("suffice.spam.reading.all_tokens", lambda message: now)
            found = spam_filter.evaluate([raw], "spam")
        spam_filter.untrain(raw)
        monkeypatch.setattr("suffice.spam.reading.all_tokens", lambda message: now)
        assert spam_filter.score(raw).probability == pytest.approx(found.probabilities[0], rel=1e-12)


def test_mistakes_are_named():
    with SpamFilter() as spam_filter:
        with pytest.raises(ValueError, match="has learned no spam; train some first"):
            spam_filter.evaluate()
        spam_filter.train(SPAMS[0], "spam")
        with pytest.raises(ValueError, match="has learned no ham; train some first"):
            spam_filter.evaluate(SPAMS, "spam")
        spam_filter.train(HAMS[0], "ham")
        with pytest.raises(ValueError, match="messages and labels must be given together"):
            spam_filter.evaluate(SPAMS)
        with pytest.raises(ValueError, match="25 messages and 1 labels"):
            spam_filter.evaluate(SPAMS, ["spam"])
        with pytest.raises(ValueError, match="bins must be at least 1, but it is 0"):
            spam_filter.evaluate().reliability(0)


def test_the_label_that_a_message_was_trained_as():
    with taught() as spam_filter:
        assert [spam_filter.label_of(raw) for raw in (SPAMS[0], HAMS[0], b"new")] == ["spam", "ham", None]
        spam_filter.retrain(SPAMS[0], "ham")
        assert spam_filter.label_of(b"X-Spam-Status: Yes\n" + SPAMS[0]) == "ham"


@pytest.mark.parametrize(("spams", "hams"), [(20, 2000), (2000, 20)])
def test_a_hundred_times_as_much_of_one_class_does_not_push_verdicts(spams, hams):
    def raw(number, kind):
        # every word is rare and half of them are anyone's, so that most of what is known is of the larger class
        rng = np.random.default_rng((number, kind == "spam"))
        common = [f"word{i}" for i in rng.integers(0, 4000, 40)]
        own = [f"{kind}{i}" for i in rng.integers(0, 40, 6)]
        return f"Subject: {common[0]}\n\n{' '.join(common + own)}\n".encode()

    with SpamFilter() as spam_filter:
        spam_filter.train_many([raw(i, "spam") for i in range(spams)], "spam", processes=1)
        spam_filter.train_many([raw(i, "ham") for i in range(hams)], "ham", processes=1)
        found = {
            kind: [spam_filter.score(raw(10_000 + i, kind)).log_odds for i in range(50)] for kind in ("spam", "ham")
        }
    assert np.median(found["spam"]) > 0 > np.median(found["ham"])
    right = sum(x > 0 for x in found["spam"]), sum(x < 0 for x in found["ham"])
    assert min(right) >= 45


def test_plain_naive_bayes_is_that_of_the_formula_without_each_message():
    """Laplace's rule over all other messages, with the share of spam and every absent token, computed anew for each."""
    with taught() as spam_filter:
        found = spam_filter.evaluate(rule="naive-bayes")
        messages = [(set(tokens(read(raw))), label) for raws, label in ((SPAMS, True), (HAMS, False)) for raw in raws]
        expected = []
        for held, spam in messages:
            others = [each for each in messages if each[0] is not held]
            words = {word for each, _ in others for word in each if not word.startswith(("attached:", "day:"))}
            S, H = (sum(label == kind for _, label in others) for kind in (True, False))
            log_odds = math.log(S / H)
            for word in words:
                p = (sum(word in each for each, label in others if label) + 1) / (S + 2)
                q = (sum(word in each for each, label in others if not label) + 1) / (H + 2)
                log_odds += math.log(p / q) if word in held else math.log((1 - p) / (1 - q))
            expected.append((logistic(log_odds), spam))
        for spam in (True, False):
            ours = sorted(p for p, s in zip(found.probabilities, found.is_spam, strict=True) if s == spam)
            assert ours == pytest.approx(sorted(p for p, s in expected if s == spam), rel=1e-9)
        assert found.left_out == 65
        given_ones = spam_filter.evaluate(SPAMS + HAMS, ["spam"] * 25 + ["ham"] * 40, rule="naive-bayes")
        assert sorted(given_ones.probabilities) == pytest.approx(sorted(found.probabilities), rel=1e-9)


@pytest.mark.parametrize("half_life", [None, 20.0])
def test_plain_naive_bayes_leaves_out_what_untraining_takes_out(half_life):
    now = [20_000 * DAY]
    with SpamFilter(clock=lambda: now[0]) as spam_filter:
        spam_filter.half_life = half_life
        spam_filter.train_many(SPAMS, "spam")
        now[0] += 11 * DAY
        spam_filter.train_many(HAMS, "ham")
        found = dict(
            zip(
                [digest(raw) for raw in SPAMS + HAMS],
                spam_filter.evaluate(SPAMS + HAMS, ["spam"] * 25 + ["ham"] * 40, rule="naive-bayes").probabilities,
                strict=True,
            )
        )
        for raw, label in ((SPAMS[3], "spam"), (HAMS[5], "ham")):
            spam_filter.untrain(raw)
            (alone,) = spam_filter.evaluate([raw], [label], rule="naive-bayes").probabilities
            assert alone == pytest.approx(found[digest(raw)], rel=1e-9)
            spam_filter.train(raw, label)
        assert all(0.0 <= p <= 1.0 for p in found.values())


def test_the_rule_must_be_known():
    with (
        taught() as spam_filter,
        pytest.raises(ValueError, match="rule must be 'filter' or 'naive-bayes', not 'plain'"),
    ):
        spam_filter.evaluate(rule="plain")
