"""Tuning: a link that is sane for any scores, thresholds that follow the cost, and both kept in the store."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mailbag import contents, message
from sklearn.linear_model import LogisticRegression

from suffice.spam import Evaluation, Scoring, SpamFilter, Thresholds
from suffice.spam.leave_one_out import Sample, learned, newest_of
from suffice.spam.scoring import logistic
from suffice.spam.tuning import FEWEST, choose_thresholds, fit_link, tuned

DEFAULT = Scoring()


def drawn(count, slope, intercept, seed=0):
    """Log-odds, and classes drawn by a link."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(0, 8, count)
    return log_odds.tolist(), (rng.random(count) < 1 / (1 + np.exp(-slope * log_odds - intercept))).tolist()


def taught(spams=40, hams=60):
    spam_filter = SpamFilter()
    spam_filter.train_many([message(i, "spam" if i % 9 else "ham") + b"offer" for i in range(spams)], "spam")
    spam_filter.train_many([message(i, "ham" if i % 7 else "spam") for i in range(hams)], "ham")
    return spam_filter


@pytest.mark.parametrize("link", [(0.2, -1.0), (0.5, 0.0), (1.5, 2.0)])
def test_the_link_that_classes_were_drawn_by_is_found(link):
    assert fit_link(*drawn(20_000, *link)) == pytest.approx(link, rel=0.1, abs=0.1)


def test_the_link_is_that_of_scikit_learn_where_there_is_much(monkeypatch):
    log_odds, is_spam = drawn(500, 0.3, 1.0)
    monkeypatch.setattr("suffice.spam.tuning.PSEUDO", 0.0)
    peer = LogisticRegression(C=1e8, tol=1e-10).fit(np.array(log_odds)[:, None], is_spam)
    assert fit_link(log_odds, is_spam) == pytest.approx((peer.coef_[0, 0], peer.intercept_[0]), rel=1e-4)


@given(st.lists(st.tuples(st.floats(-300, 300), st.booleans()), min_size=1, max_size=30))
@example([(0.0, False), (0.0, False), (0.0, False), (0.015625, True)])
def test_the_link_is_finite_and_rising_for_any_messages(pairs):
    log_odds, is_spam = zip(*pairs, strict=True)
    slope, intercept = fit_link(log_odds, is_spam)
    assert 0.01 <= slope <= 10
    assert abs(intercept) < 3000


def test_perfectly_separated_messages_make_the_link_steeper_and_no_more():
    apart = [-9.0, -7.0, -6.0] * 10 + [6.0, 8.0, 11.0] * 10, [False] * 30 + [True] * 30
    slope, intercept = fit_link(*apart)
    assert DEFAULT.slope < slope < 2.0
    assert abs(intercept) < 0.5
    assert fit_link([-9.0, 9.0], [False, True])[0] < slope  # few messages leave it near the default


def test_scores_that_say_the_opposite_do_not_turn_the_link_round():
    slope, intercept = fit_link([-5.0, 5.0] * 200, [True, False] * 200)
    assert slope == 0.01
    assert intercept == pytest.approx(0.0, abs=0.01)


def test_the_threshold_is_never_below_what_the_cost_says():
    apart = Evaluation((0.01, 0.02, 0.97, 0.98), (False, False, True, True), Thresholds())
    for cost in (0.1, 1.0, 9.0, 100.0, 1e6):
        assert choose_thresholds(apart, cost).spam >= cost / (cost + 1)


def test_a_ham_above_spams_raises_the_threshold_where_a_lost_letter_costs_more():
    p = (0.1, 0.2, 0.9, 0.995, 0.997, 0.999)
    each = Evaluation(p, (False, False, True, False, True, True), Thresholds())
    middle = logistic(0.5 * (math.log(0.25) + math.log(9)))
    assert choose_thresholds(each, 0.5).spam == pytest.approx(middle, rel=1e-9)
    assert 0.995 < choose_thresholds(each, 100.0).spam < 0.997
    top = Evaluation((0.1, 0.9999, 0.99), (False, False, True), Thresholds())
    assert 0.9999 < choose_thresholds(top, 100.0).spam < 1.0


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30),
    st.sampled_from([1e-3, 0.5, 1.0, 10.0, 100.0, 1e9]),
)
def test_thresholds_are_valid_and_no_worse_than_the_rule_of_bayes_on_the_messages(pairs, cost):
    probabilities, is_spam = zip(*pairs, strict=True)
    each = Evaluation(probabilities, is_spam, Thresholds())
    found = choose_thresholds(each, cost)
    assert 0 < found.ham < found.spam <= 1
    assert found.ham <= 0.2
    bayes = Thresholds(0.0, cost / (cost + 1))
    assert each.cost(found, cost) <= each.cost(bayes, cost)


def test_tuning_writes_the_link_and_the_thresholds_it_found(tmp_path):
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        spam_filter.train_many([message(i, "spam" if i % 9 else "ham") for i in range(40)], "spam")
        spam_filter.train_many([message(i + 1000, "ham" if i % 7 else "spam") for i in range(60)], "ham")
        before = contents(spam_filter), spam_filter.score(message(500))
        tried = spam_filter.tune(write=False)
        assert (contents(spam_filter), spam_filter.score(message(500))) == before
        tuning = spam_filter.tune()
        assert tuning == tried
        assert tuning.cost == 100.0
        assert spam_filter.thresholds == tuning.thresholds == tuning.after.thresholds
        assert tuning.before.thresholds == Thresholds()
        assert (tuning.slope, tuning.intercept) != (DEFAULT.slope, DEFAULT.intercept)
        assert tuning.after.log_loss < tuning.before.log_loss
        assert spam_filter.evaluate() == tuning.after
        again = spam_filter.tune()
        assert (again.slope, again.thresholds, again.before) == (tuning.slope, tuning.thresholds, tuning.after)
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        verdict = spam_filter.score(message(500))
        assert verdict.probability == logistic(tuning.slope * verdict.log_odds + tuning.intercept)
        assert verdict.log_odds == before[1].log_odds
        assert spam_filter.thresholds == tuning.thresholds


def test_a_higher_cost_never_gives_a_lower_threshold():
    with taught() as spam_filter:
        found = [spam_filter.tune(cost, write=False).thresholds.spam for cost in (0.5, 1, 10, 100, 1000)]
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_other_messages_can_be_tuned_on():
    raws = [message(i, "spam") for i in range(700, 730)] + [message(i) for i in range(700, 730)]
    with taught() as spam_filter:
        tuning = spam_filter.tune(raws=iter(raws), labels=["spam"] * 30 + ["ham"] * 30)
        assert tuning.after.left_out == 0
        assert len(tuning.after.probabilities) == 60
        assert tuning.slope != taught().tune().slope


SCORES = st.lists(st.floats(-40, 40), min_size=FEWEST, max_size=40)


@given(
    SCORES,
    SCORES,
    st.tuples(st.floats(0.01, 10), st.floats(-9, 9)),
    st.tuples(st.floats(0, 0.49), st.floats(0.5, 1)),
    st.sampled_from([0.1, 1.0, 10.0, 100.0, 1e6]),
)
def test_tuning_never_returns_what_its_own_table_calls_worse(hams, spams, link, thresholds, cost):
    sample = Sample((*hams, *spams), (False,) * len(hams) + (True,) * len(spams), 0)
    found = tuned(sample, cost, *link, Thresholds(*thresholds))
    assert found.costs[1] <= found.costs[0]
    assert found.lost[1] >= found.after.errors().false_positives
    assert found.after.log_loss <= found.before.log_loss
    if found.is_kept:
        assert (found.slope, found.intercept, found.thresholds) == (*link, Thresholds(*thresholds))
        assert found.after == found.before


@given(SCORES, SCORES, st.sampled_from([9.0, 100.0, 1e4]))
def test_from_a_new_filter_no_message_is_called_spam_that_was_not_before(hams, spams, cost):
    sample = Sample((*hams, *spams), (False,) * len(hams) + (True,) * len(spams), 0)
    found = tuned(sample, cost, DEFAULT.slope, DEFAULT.intercept, Thresholds())
    before, after = (found.before.errors(), found.after.errors())
    assert after.false_positives <= before.false_positives


def dated(number, kind, day, words=b""):
    return b"Received: by mx.example.org; %d Sep 2002 10:00:00 +0000\n" % day + message(number, kind) + words


def test_the_newest_messages_are_scored_by_a_filter_that_learned_none_of_them():
    mail = [(dated(i, kind, 1 + i // 3), kind) for i in range(80) for kind in ("spam", "ham")]
    with SpamFilter() as spam_filter, SpamFilter() as before:
        spam_filter.train_many(*zip(*mail, strict=True))
        sample = learned(spam_filter._store, spam_filter._basis, None, in_time=True)
        alone = learned(spam_filter._store, spam_filter._basis, None)
        first = 1 + 60 // 3  # a quarter of 80 begins within this day
        newest = [(raw, kind) for raw, kind in mail if int(raw.partition(b";")[2].split()[0]) >= first]
        before.train_many(*zip(*[pair for pair in mail if pair not in newest], strict=True))
        expected = sorted((before.score(raw).log_odds, kind == "spam") for raw, kind in newest)
    assert sample.newest == len(newest)
    assert alone.newest == 0
    changed = [pair for pair, old in zip(zip(sample.log_odds, sample.is_spam, strict=True), alone.log_odds, strict=True)
               if pair[0] != old]  # fmt: skip
    assert sorted(changed) == expected


def test_a_new_kind_of_ham_is_seen_where_days_are_known():
    """A new newsletter in the words of spam: each issue is known by the others, but not on the day of the first."""
    late = [(dated(i, "spam", 28).replace(b"From: a", b"From: news"), "ham") for i in range(400, 412)]
    mail = [(dated(i, kind, 1 + i // 6), kind) for i in range(150) for kind in ("spam", "ham")] + late
    found = []
    for known in (True, False):
        with SpamFilter() as spam_filter:
            raws = [raw if known else raw.partition(b"\n")[2] for raw, _ in mail]
            spam_filter.train_many(raws, [kind for _, kind in mail])
            found.append(spam_filter.tune(100.0))
    assert found[0].newest > 12
    assert found[1].newest == 0
    known, unknown = (each.before.errors().false_positives for each in found)
    assert known == 12 > unknown
    assert found[0].lost[1] < 1.0


def test_days_that_leave_too_few_messages_are_not_held_out():
    assert newest_of([], []) == set()
    assert newest_of([None] * 90, [True, False] * 45) == set()
    assert newest_of([5] * 90, [True, False] * 45) == set()  # all of one day
    assert newest_of([*range(90)], [True] * 19 + [False] * 71) == set()
    assert newest_of([*range(100)], [True, False] * 50) == {*range(75, 100)}


def test_too_few_messages_and_impossible_costs_are_named():
    with taught(spams=FEWEST - 1) as spam_filter:
        before = contents(spam_filter)
        with pytest.raises(
            ValueError, match=r"at least 20 spams and 20 hams, but there are 19 spams and 60 hams; train"
        ):
            spam_filter.tune()
        assert contents(spam_filter) == before
        for cost in (0, -1.0, math.nan, math.inf):
            with pytest.raises(ValueError, match="cost of a false positive must be a positive number, but it is"):
                spam_filter.tune(cost)


DATES = {
    "none": lambda i: b"",
    "equal": lambda i: b"Tue, 14 Nov 2023 22:13:20 +0000",
    "1970 or 2099": lambda i: (b"Thu, 01 Jan 1970 00:00:00 +0000", b"Thu, 31 Dec 2099 23:59:59 +0000")[i % 2],
    "damaged": lambda i: (b"yesterday", b"", b"32 Foo 99999 25:61:61 +9999")[i % 3],
}
ODD_MAIL = {
    "usual": lambda i, kind: message(i, kind),
    "all alike": lambda i, kind: b"From: a@example.org\nX-%d: %s\n\nthe same words\n" % (i, kind.encode()),
    "mixed up": lambda i, kind: message(i, ("spam", "ham")[i % 2]) + kind.encode(),
    "empty": lambda i, kind: b"\n" * (i % 2) + b"\n%d%s" % (i, kind.encode()),
}


@pytest.mark.parametrize("dates", DATES)
@pytest.mark.parametrize("mail", ODD_MAIL)
def test_on_odd_mail_no_more_hams_are_lost_or_nothing_is_written(mail, dates):
    for count, cost in ((3, 100.0), (20, 100.0), (40, 1.0)):
        with SpamFilter() as spam_filter:
            for kind in ("spam", "ham"):
                raws = (ODD_MAIL[mail](i, kind) for i in range(count))
                given = [
                    b"Date: " + DATES[dates](i) + b"\n" + raw if DATES[dates](i) else raw for i, raw in enumerate(raws)
                ]
                spam_filter.train_many(given, kind, processes=1)
            before = contents(spam_filter)
            if count < 20:
                with pytest.raises(ValueError, match="tuning needs at least 20 spams and 20 hams"):
                    spam_filter.tune(cost)
            else:
                tuning = spam_filter.tune(cost)
                assert tuning.costs[1] <= tuning.costs[0]
                lost = tuning.before.errors().false_positives, tuning.after.errors().false_positives
                assert cost < 100 or lost[1] <= lost[0]
                assert 0 <= spam_filter.thresholds.ham < spam_filter.thresholds.spam <= 1
            if count < 20 or tuning.is_kept:
                assert contents(spam_filter) == before
