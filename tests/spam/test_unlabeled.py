"""Mail without labels: it helps, gives way to labels exactly, and its order does not matter."""

import random
from math import inf

import pytest
from mailbag import contents, message, recounted

from suffice.spam import NotTrainedError, Size, SpamFilter, Training
from suffice.spam.forgetting import DAY, LIMIT, UNIT
from suffice.spam.unlabeled import FEWEST

SPAMS = [message(i, "spam") for i in range(30)]
HAMS = [message(i) for i in range(40)]
UNLABELED = [message(i, "spam" if i % 3 else "ham") for i in range(100, 160)]


def shares(spam_filter):
    rows = "SELECT digest, soft_spam, soft_ham FROM messages WHERE label = 'unlabeled'"
    return sorted(spam_filter._store._connection.execute(rows))


def taught(**settings):
    spam_filter = SpamFilter(**settings)
    spam_filter.train_many(SPAMS, "spam")
    spam_filter.train_many(HAMS, "ham")
    return spam_filter


def learned(spam_filter):
    return contents(spam_filter)[:2], spam_filter._store.totals()


def assert_whole(spam_filter):
    (tokens, _), totals = learned(spam_filter)
    assert recounted(spam_filter) == (tokens, totals)


def test_unlabelled_messages_are_counted_with_the_class_they_clearly_have():
    with taught() as spam_filter:
        done = []
        found = spam_filter.train_unlabeled(iter([*UNLABELED, *UNLABELED[:3], SPAMS[0]]), progress=done.append)
        assert (found.messages, found.known) == (60, 4)
        assert found.spam == pytest.approx(40, abs=1)
        assert 2 <= found.iterations <= 10
        assert done == [64]
        assert spam_filter.stats() == Size(30, 40, len(contents(spam_filter)[0]), 60)
        assert spam_filter._store.totals() == ((30 + 40) * UNIT, (40 + 20) * UNIT)
        assert spam_filter._store.rows(["spamword7"])["spamword7"][1] > 0
        assert {share[1:] for share in shares(spam_filter)} == {(UNIT, 0), (0, UNIT)}
        assert_whole(spam_filter)


def test_words_that_only_unlabelled_mail_has_become_evidence():
    new = [raw + b"brandnew offer" for raw in UNLABELED if b"spamword" in raw]
    with taught() as spam_filter:
        before = spam_filter.score(b"\nbrandnew offer")
        spam_filter.train_unlabeled(new)
        after = spam_filter.score(b"\nbrandnew offer")
    assert before.log_odds == pytest.approx(spam_filter_without_words(), abs=1e-9)
    assert after.log_odds > before.log_odds + 0.5


def spam_filter_without_words():
    with taught() as spam_filter:
        return spam_filter.score(b"\nunheardof words").log_odds


def test_what_is_not_clear_counts_nothing():
    with taught() as spam_filter:
        before = contents(spam_filter)
        found = spam_filter.train_unlabeled([b"From: x@example.com\n\nnothing known here"])
        assert (found.messages, shares(spam_filter)[0][1:]) == (1, (0, 0))
        assert contents(spam_filter)[0] == before[0]
        assert spam_filter.stats().unlabeled == 1


def test_with_many_labels_an_unlabelled_message_counts_less():
    with taught() as spam_filter:
        spam_filter.train_many([message(i) for i in range(1000, 1330)], "ham")
        before = spam_filter._store.totals()
        spam_filter.train_unlabeled(UNLABELED)
        after = spam_filter._store.totals()
        assert after[0] - before[0] == 40 * UNIT // 4
        assert_whole(spam_filter)
        for raw in UNLABELED:
            spam_filter.untrain(raw)
        assert spam_filter._store.totals() == before


def test_neither_the_order_nor_the_portions_of_unlabelled_mail_matter():
    with taught() as once, taught() as twice:
        once.train_unlabeled(UNLABELED)
        mixed = UNLABELED[:]
        random.Random(0).shuffle(mixed)
        twice.train_unlabeled(mixed[:25])
        assert twice.train_unlabeled(mixed).known == 25
        assert contents(once) == contents(twice)
        assert shares(once) == shares(twice)


@pytest.mark.parametrize("act", ["train", "retrain", "train_many"])
def test_a_label_replaces_the_guess_exactly(act):
    with taught() as spam_filter, taught() as other:
        spam_filter.train_unlabeled(UNLABELED)
        wrong = UNLABELED[1]  # a spam
        assert spam_filter.label_of(wrong) is None
        if act == "train_many":
            assert spam_filter.train_many([wrong], "ham") == Training(learned=1)
        else:
            assert getattr(spam_filter, act)(wrong, "ham")
        assert spam_filter.label_of(wrong) == "ham"
        assert spam_filter.stats().unlabeled == 59
        assert_whole(spam_filter)
        spam_filter.train_unlabeled([])  # all are estimated anew, as if the label had been there first
        other.train(wrong, "ham")
        other.train_unlabeled(UNLABELED)
        assert learned(spam_filter) == learned(other)


@pytest.mark.parametrize("half_life", [None, 9.0])
def test_untraining_every_unlabelled_message_leaves_what_there_was(half_life):
    now = [20_000 * DAY]
    with taught(clock=lambda: now[0]) as spam_filter:
        spam_filter.half_life = half_life
        before = learned(spam_filter)
        now[0] += 13 * DAY
        spam_filter.train_unlabeled(UNLABELED)
        assert learned(spam_filter) != before
        assert_whole(spam_filter)
        now[0] += 13 * DAY
        assert {spam_filter.untrain(raw) for raw in UNLABELED} == {"unlabeled"}
        assert learned(spam_filter) == before
        with pytest.raises(NotTrainedError):
            spam_filter.untrain(UNLABELED[0])


def test_expiry_takes_unlabelled_messages_too():
    now = [20_000 * DAY]
    with taught(clock=lambda: now[0]) as spam_filter:
        spam_filter.train_unlabeled(UNLABELED)
        now[0] += 10 * DAY
        assert spam_filter.expire(5) == 130
        assert contents(spam_filter)[:2] == ([], [])
        assert spam_filter._store.totals() == (0, 0)


def test_a_guess_does_not_stop_learning_on_errors():
    with taught() as spam_filter:
        spam_filter.train_unlabeled(UNLABELED)
        spam = UNLABELED[1]
        assert spam_filter.train_many([spam], "spam", only_errors=True) == Training(right=1)
        assert spam_filter.train_many([spam], "ham", only_errors=True) == Training(learned=1)


def test_an_interruption_leaves_a_whole_store(monkeypatch):
    import suffice.spam.unlabeled as module

    with taught() as spam_filter:
        monkeypatch.setattr(module, "BATCH", 10)
        calls = []

        def interrupted(store, basis, original=module._responsibilities):
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return original(store, basis)

        monkeypatch.setattr(module, "_responsibilities", interrupted)
        with pytest.raises(KeyboardInterrupt):
            spam_filter.train_unlabeled(UNLABELED)
        assert spam_filter.stats().unlabeled == 60
        assert_whole(spam_filter)
        monkeypatch.undo()
        spam_filter.train_unlabeled(UNLABELED)
        with taught() as other:
            other.train_unlabeled(UNLABELED)
            assert learned(spam_filter) == learned(other)


def test_too_few_labels_to_begin_with_are_counted():
    with SpamFilter() as spam_filter:
        spam_filter.train_many(SPAMS, "spam")
        spam_filter.train_many(HAMS[:7], "ham")
        before = contents(spam_filter)
        with pytest.raises(
            ValueError,
            match=rf"at least {FEWEST} labelled spams and {FEWEST} labelled hams .* there are 30 and 7; train",
        ):
            spam_filter.train_unlabeled(UNLABELED)
        assert contents(spam_filter) == before


def test_shares_are_parts_of_any_weight():
    from suffice.spam.shares import parts

    for weight in (0, 1, 3, UNIT, 7 * UNIT + 5):
        for spam in (0, 1, UNIT // 3, UNIT):
            low, high = parts(weight, spam, UNIT - spam)
            assert 0 <= weight - low - high <= 1
            assert low <= weight * spam / UNIT < min(low + 1, inf)


@pytest.mark.parametrize("days", [25, 60])
def test_unlabelled_mail_after_many_half_lives_does_not_outgrow_the_sums(days):
    now = [20_000 * DAY]
    with taught(clock=lambda: now[0]) as spam_filter:
        spam_filter.half_life = 1
        now[0] += days * DAY
        spam_filter.train_unlabeled(UNLABELED)
        assert spam_filter._store.forgetting.weight(20_000 + days) <= LIMIT
        read = spam_filter._store._connection.execute
        assert {type(count) for row in read("SELECT spam, ham FROM tokens") for count in row} <= {int}
        assert_whole(spam_filter)


def test_an_interruption_leaves_earlier_unlabelled_mail_counted(monkeypatch):
    def interrupted(store, basis):
        raise KeyboardInterrupt

    with taught() as spam_filter:
        spam_filter.train_unlabeled(UNLABELED)
        before, totals = shares(spam_filter), spam_filter._store.totals()
        monkeypatch.setattr("suffice.spam.unlabeled._responsibilities", interrupted)
        with pytest.raises(KeyboardInterrupt):
            spam_filter.train_unlabeled([message(400, "spam")])
        assert spam_filter.stats().unlabeled == 61
        assert set(before) <= set(shares(spam_filter))
        assert spam_filter._store.totals() == totals
        assert_whole(spam_filter)
