"""The filter: what is taught is known, once, can be taken back, and decides."""

import os
import random
import subprocess
import sys
import threading
from zlib import crc32

import pytest
from mailbag import contents, message, recounted

from suffice.spam import NotTrainedError, SpamFilter, Thresholds, Training, read, score, tokens
from suffice.spam.forgetting import DAY, LIMIT, UNIT

SPAMS = [message(i, "spam") for i in range(40)]
HAMS = [message(i) for i in range(60)]


class Clock:
    """A clock that is put forward by hand."""

    def __init__(self, day=20_000):
        self.day = day

    def __call__(self):
        return self.day * DAY + 5.0


@pytest.fixture
def taught():
    with SpamFilter() as spam_filter:
        spam_filter.train_many(SPAMS, "spam")
        spam_filter.train_many(HAMS, "ham")
        yield spam_filter


def test_training_twice_does_nothing(taught):
    before = contents(taught)
    assert not taught.train(SPAMS[3], "spam")
    assert not taught.train(b"X-Spam-Status: Yes\n" + SPAMS[3], "spam")  # a stamped copy is the same message
    assert taught.train_many(SPAMS, "spam") == Training(known=40)
    assert contents(taught) == before


def test_a_message_twice_in_one_batch_is_learned_once():
    with SpamFilter() as once, SpamFilter() as twice:
        once.train_many(HAMS[:5], "ham")
        assert twice.train_many(HAMS[:5] + HAMS[:5], "ham") == Training(learned=5, known=5)
        assert contents(once) == contents(twice)


def test_untraining_restores_the_exact_tables(taught):
    before = contents(taught)
    new = message(1000, "spam") + b"words that nothing else holds"
    assert taught.train(new, "spam")
    assert contents(taught) != before
    assert taught.untrain(new) == "spam"
    assert contents(taught) == before
    for raw in SPAMS + HAMS:
        taught.untrain(raw)
    assert contents(taught)[0] == []
    assert taught.stats() == type(taught.stats())(0, 0, 0)


def test_untraining_and_moving_what_was_never_trained_says_so(taught):
    before = contents(taught)
    for act in (taught.untrain, lambda raw: taught.retrain(raw, "ham")):
        with pytest.raises(NotTrainedError, match="was never trained"):
            act(message(999))
    assert contents(taught) == before


@pytest.mark.parametrize("move", ["train", "retrain"])
def test_a_moved_message_is_as_if_it_had_been_of_the_other_class_from_the_start(taught, move):
    assert getattr(taught, move)(SPAMS[0], "ham")
    assert not getattr(taught, move)(SPAMS[0], "ham")
    with SpamFilter() as other:
        other.train_many(SPAMS[1:], "spam")
        other.train_many([*HAMS, SPAMS[0]], "ham")
        assert contents(taught) == contents(other)


def test_a_message_with_two_labels_has_the_last(taught):
    training = taught.train_many([SPAMS[0], message(500), message(500)], ["ham", "spam", "ham"])
    assert training == Training(learned=1, moved=2)
    assert taught.untrain(SPAMS[0]) == taught.untrain(message(500)) == "ham"


def test_the_order_of_training_does_not_matter():
    pairs = [(raw, "spam") for raw in SPAMS] + [(raw, "ham") for raw in HAMS]
    found = []
    for seed in range(3):
        random.Random(seed).shuffle(pairs)
        with SpamFilter(clock=Clock()) as spam_filter:
            spam_filter.half_life = 7.3
            for number, (raw, label) in enumerate(pairs):
                spam_filter.train(raw, label, at=(19_000 + crc32(raw) % 500) * DAY)
                if number % 10 == 0:
                    spam_filter.train(message(2000), "spam")
                    spam_filter.untrain(message(2000))
            found.append(contents(spam_filter))
    assert found[0] == found[1] == found[2]


def test_the_verdict_is_the_score_of_the_counts(taught):
    raw = message(7, "spam") + b"and an unknown hamword3"
    names = tokens(read(raw))
    held = {label: [set(tokens(read(each))) for each in raws] for label, raws in (("spam", SPAMS), ("ham", HAMS))}
    in_spam, in_ham = ([sum(name in each for each in held[label]) for name in names] for label in ("spam", "ham"))
    expected = score(names, in_spam, in_ham, 40, 60)
    verdict = taught.score(raw)
    assert verdict.log_odds == pytest.approx(expected.log_odds, rel=1e-12)
    assert verdict.probability == pytest.approx(expected.probability, rel=1e-12)
    parts = dict(zip(names, expected.evidence, strict=True))
    assert {name: part for name, part in verdict.evidence if part} == pytest.approx(
        {name: part for name, part in parts.items() if part}
    )
    strengths = [abs(part) for _, part in verdict.evidence]
    assert strengths == sorted(strengths, reverse=True)
    assert list(taught.score_many([raw, HAMS[0]])) == [verdict, taught.score(HAMS[0])]


def test_thresholds_decide_and_are_kept(tmp_path):
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        assert spam_filter.score(SPAMS[0]).label == "unsure"  # nothing is known
        spam_filter.train_many(SPAMS, "spam")
        assert spam_filter.score(SPAMS[0]).label == "unsure"  # nor is any ham
        spam_filter.train_many(HAMS, "ham")
        p = spam_filter.score(message(100)).probability
        labels = []
        for thresholds in (Thresholds(0.0, p), Thresholds(p, 1.0), Thresholds(p / 2, (1 + p) / 2)):
            spam_filter.thresholds = thresholds
            labels.append(spam_filter.score(message(100)).label)
        assert labels == ["spam", "ham", "unsure"]
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        assert spam_filter.thresholds == thresholds
    with pytest.raises(ValueError, match=r"0 ≤ ham < spam ≤ 1, but ham is 0\.9"):
        Thresholds(0.9, 0.5)


def test_training_on_errors_learns_only_what_the_filter_does_not_say(taught):
    spam, ham = message(300, "spam"), message(300)
    taught.thresholds = Thresholds(0.5, 0.6)
    before = contents(taught)
    assert taught.score(spam).label == "spam"
    assert not taught.train(spam, "spam", only_errors=True)
    assert contents(taught) == before
    assert taught.train_many([spam, ham, HAMS[0]], ["ham", "ham", "spam"], only_errors=True) == Training(
        learned=1, moved=1, right=1
    )
    taught.thresholds = Thresholds(0.0, 1.0)  # everything is unsure, which is an error too
    assert taught.train(message(301), "ham", only_errors=True)


def test_many_times_as_much_ham_does_not_make_everything_ham():
    with SpamFilter() as even, SpamFilter() as odd:
        for spam_filter, hams in ((even, 40), (odd, 800)):
            spam_filter.train_many(SPAMS, "spam")
            spam_filter.train_many([message(i) for i in range(hams)], "ham")
        new = message(5000, "spam")
        assert even.score(new).label == odd.score(new).label == "spam"
        assert odd.score(new).log_odds > 0.7 * even.score(new).log_odds


def test_after_a_half_life_a_message_counts_half():
    clock = Clock()
    with SpamFilter(clock=clock) as spam_filter, SpamFilter() as plain:
        spam_filter.half_life = 30
        spam_filter.train_many(SPAMS, "spam")
        clock.day += 30
        spam_filter.train_many(HAMS, "ham")
        names = tokens(read(SPAMS[0]))
        plain.train_many(SPAMS, "spam")
        plain.train_many(HAMS, "ham")
        rows = plain._store.rows(names)
        in_spam, in_ham = ([rows[name][i] / UNIT for name in names] for i in (1, 2))
        expected = score(names, [count / 2 for count in in_spam], in_ham, 20, 60)
        assert spam_filter.score(SPAMS[0]).log_odds == pytest.approx(expected.log_odds, rel=1e-9)
        assert spam_filter.score(SPAMS[0]).log_odds != pytest.approx(plain.score(SPAMS[0]).log_odds)


def test_untraining_undoes_exactly_after_any_time():
    clock = Clock()
    with SpamFilter(clock=clock) as spam_filter:
        spam_filter.half_life = 11
        spam_filter.train_many(HAMS, "ham")
        clock.day += 17
        before = contents(spam_filter)
        spam_filter.train_many(SPAMS, "spam")
        clock.day += 29
        for raw in SPAMS:
            spam_filter.untrain(raw)
        assert contents(spam_filter) == before


def test_weights_stay_bounded_over_many_half_lives():
    clock = Clock()
    with SpamFilter(clock=clock) as spam_filter:
        spam_filter.half_life = 1
        for i in range(70):
            spam_filter.train(message(i, "spam" if i % 2 else "ham"), "spam" if i % 2 else "ham")
            clock.day += 1
        tokens_now, totals = contents(spam_filter)[0], spam_filter._store.totals()
        assert max(totals) <= 2 * LIMIT
        assert spam_filter.stats().spam == 35  # what counts nothing any more is kept until it expires
        assert spam_filter.score(message(71, "spam")).log_odds > 0
        assert recounted(spam_filter) == ([row for row in tokens_now if row[1:] != (0, 0)], totals)
        for i in range(70):
            spam_filter.untrain(message(i, "spam" if i % 2 else "ham"))
        assert contents(spam_filter)[0] == []
        assert spam_filter._store.totals() == (0, 0)


def test_a_half_life_can_be_set_changed_and_dropped_at_any_time(taught):
    before = contents(taught)[0]
    taught.half_life = 100
    assert taught.half_life == 100
    taught._clock = Clock(30_000)
    taught.half_life = 50
    assert contents(taught)[0] != before
    taught.half_life = None
    assert contents(taught)[0] == before
    with pytest.raises(ValueError, match=r"half_life must be a positive number of days.*-1"):
        taught.half_life = -1


def test_expired_messages_are_as_if_they_had_never_been():
    clock = Clock()
    with SpamFilter(clock=clock) as spam_filter, SpamFilter(clock=clock) as other:
        spam_filter.train_many(SPAMS, "spam")
        clock.day += 100
        for each in (spam_filter, other):
            each.train_many(HAMS, "ham")
        assert spam_filter.expire(days=100) == 0
        assert spam_filter.expire(days=99) == 40
        assert contents(spam_filter) == contents(other)
        with pytest.raises(ValueError, match="expire needs a number of days"):
            spam_filter.expire()


@pytest.mark.parametrize("threads", [False, True])  # with other threads processes are started afresh, not forked
def test_many_processes_learn_and_score_what_one_does(threads):
    end = threading.Event()
    if threads:
        threading.Thread(target=end.wait).start()
    try:
        _compare_processes()
    finally:
        end.set()


def _compare_processes():
    raws = [message(i, "spam" if i % 3 else "ham") + b"fr33 v1agra m0ney c4sh" for i in range(900)]
    labels = ["spam" if i % 3 else "ham" for i in range(900)]
    done = []
    with SpamFilter() as one, SpamFilter() as several:
        assert one.train_many(raws, labels, processes=1) == Training(learned=900)
        assert several.train_many(iter(raws), iter(labels), processes=2, progress=done.append) == Training(learned=900)
        assert done[-1] == 900
        assert contents(one) == contents(several)
        assert list(one.score_many(raws[:450], processes=1)) == list(several.score_many(raws[:450], processes=2))


def test_an_interruption_keeps_what_was_committed(monkeypatch):
    monkeypatch.setattr("suffice.spam.filter.BATCH", 10)

    def interrupted():
        yield from HAMS[:25]
        raise KeyboardInterrupt

    # readings are made some hundred ahead, so that the interruption comes with the progress
    def stop(done):
        if done == 20:
            raise KeyboardInterrupt

    with SpamFilter() as spam_filter:
        with pytest.raises(KeyboardInterrupt):
            spam_filter.train_many(HAMS, "ham", progress=stop)
        assert spam_filter.stats().ham == 20
        with pytest.raises(KeyboardInterrupt):
            spam_filter.train_many(interrupted(), "ham")
        assert spam_filter.stats().ham == 20
        assert spam_filter.train_many(HAMS, "ham") == Training(learned=40, known=20)


def test_mistakes_are_named(taught):
    with pytest.raises(ValueError, match="must be 'spam' or 'ham', but it is 'Spam'"):
        taught.train(b"a", "Spam")
    with pytest.raises(TypeError, match=r"given as bytes.*it is str; encode the text"):
        taught.score("text")
    with pytest.raises(TypeError, match="it is int"):
        taught.train(7, "spam")
    with pytest.raises(ValueError, match="processes must be at least 1"):
        taught.train_many([b"a"], "spam", processes=0)
    before = contents(taught)
    with pytest.raises(ValueError, match="2 messages and 1 labels; pair them"):
        taught.train_many([b"a", b"b"], ["spam"])
    assert contents(taught) == before


@pytest.mark.parametrize(
    ("labels", "found"),
    [(25, "more than 25 messages and 25 labels"), (31, "30 messages and more than 30 labels")],
)
def test_labels_that_are_too_few_or_too_many_are_counted_and_what_came_before_is_learned(monkeypatch, labels, found):
    monkeypatch.setattr("suffice.spam.filter.BATCH", 10)
    with SpamFilter() as spam_filter:
        with pytest.raises(ValueError, match=found):
            spam_filter.train_many(iter(HAMS[:30]), ("ham" for _ in range(labels)))
        assert spam_filter.stats().ham == min(labels, 30)


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"\xff\xfe\x00", b"Subject: \xed\xa0\x80 x\n\n&#xd800; y\x00z"])
def test_any_bytes_are_learned_scored_and_unlearned(taught, raw):
    before = contents(taught)
    assert taught.train(raw, "spam")
    assert 0 <= taught.score(raw).probability <= 1
    taught.untrain(raw)
    assert contents(taught) == before


def test_the_filter_starts_without_numpy_and_scikit_learn():
    code = (
        "import sys; from suffice.spam import SpamFilter; f = SpamFilter(); f.train(b'a', 'spam'); f.score(b'b'); "
        "print([name for name in ('numpy', 'scipy', 'sklearn', 'multiprocessing') if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert output.stdout.strip() == "[]"


def test_times_and_ages_beyond_all_bounds_are_taken_as_far_as_days_go(taught):
    before = taught.stats()
    assert taught.expire(days=1e300) == taught.expire(days=float("inf")) == 0
    assert taught.stats() == before
    for number, at in enumerate((-1e12, -1e30, float("-inf"))):
        assert taught.train(message(number + 900), "ham", at=at)
    assert taught.days()[0].isoformat() == "0001-01-01"
    assert taught.train(message(999), "ham", at=float("inf"))
    assert taught.expire(days=1000) == 3
    for days in (-1, float("nan")):
        with pytest.raises(ValueError, match="at least 0, but it is"):
            taught.expire(days)
    with pytest.raises(ValueError, match="it is not a number"):
        taught.train(message(1), "spam", at=float("nan"))


@pytest.mark.parametrize("half_life", [5.0, 0.001])
def test_messages_from_a_clock_that_was_wrong_are_of_today_when_weights_are_counted(half_life):
    clock = Clock(20_400)
    with SpamFilter(clock=clock) as spam_filter:
        for i in range(3):
            spam_filter.train(message(i), "ham")
            spam_filter.train(message(i, "spam"), "spam")
        clock.day = 20_000
        spam_filter.half_life = half_life
        assert spam_filter._store.totals() == (3 * UNIT, 3 * UNIT)
        assert {day for _, _, day in contents(spam_filter)[1]} == {20_000}
        spam_filter.train(message(50), "ham")
        spam_filter.untrain(message(1))
        tokens_now, totals = contents(spam_filter)[0], spam_filter._store.totals()
        assert recounted(spam_filter) == (tokens_now, totals)


def test_thresholds_of_another_kind_are_refused():
    with SpamFilter() as spam_filter, pytest.raises(TypeError, match=r"must be Thresholds\(ham, spam\)"):
        spam_filter.thresholds = (0.1, 0.2)
