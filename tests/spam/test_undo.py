"""Undo: whatever a message was, after undoing what was done to it the store is what it was, table by table."""

import itertools
import random
import re
import time

import pytest
from mailbag import bucketed, message, tables
from spam_site import Site, picked, post, write_mbox
from typer.testing import CliRunner

from suffice.cli.app import app
from suffice.spam import NotTrainedError, SpamFilter
from suffice.spam.forgetting import DAY

NOW = time.time()
#: a message of each state that it may have in a store
STATES = {
    "unknown": message(900),
    "unlabelled": message(901, "spam"),
    "unlabelled, without weight": b"From: new@example.net\nSubject: 7\n\nspamword1 hamword1 spamword2 hamword2\n",
    "spam": message(1, "spam"),
    "ham": message(1),
    "in a bucket": bucketed(1, "work"),
}
TRAININGS = {
    "spam": lambda spam_filter, raw: spam_filter.train(raw, "spam"),
    "ham": lambda spam_filter, raw: spam_filter.train(raw, "ham"),
    "only errors": lambda spam_filter, raw: spam_filter.train(raw, "spam", only_errors=True),
    "bucket": lambda spam_filter, raw: spam_filter.train(raw, "ham", bucket="receipts"),
    "no bucket": lambda spam_filter, raw: spam_filter.train(raw, "ham", bucket=""),
    "dated": lambda spam_filter, raw: spam_filter.train(raw, "spam", at=NOW - 300 * DAY),
    "untrain": lambda spam_filter, raw: spam_filter.untrain(raw),
    "retrain": lambda spam_filter, raw: spam_filter.retrain(raw, "ham"),
}


#: what the forms of the page send
FORMS = {
    "spam": {"label": "spam"},
    "good": {"label": "ham"},
    "bucket": {"label": "ham", "file": "receipts"},
    "no bucket": {"label": "ham", "file": ""},
}
#: two of them after another
PAIRS = [*itertools.pairwise([*FORMS, "spam"])]


@pytest.fixture(scope="module")
def aged(tmp_path_factory):
    """A store whose messages were learned a hundred days ago, and count less than those of today."""
    path = tmp_path_factory.mktemp("aged") / "spam.sqlite"
    with SpamFilter(path, clock=lambda: NOW - 100 * DAY) as spam_filter:
        spam_filter.half_life = 30.0
        for label in ("spam", "ham"):
            spam_filter.train_many([message(i, label) for i in range(30)], label, processes=1)
        for name in ("work", "receipts"):
            spam_filter.train_many([bucketed(i, name) for i in range(10)], "ham", bucket=name, processes=1)
        spam_filter.train_unlabeled([STATES["unlabelled"], STATES["unlabelled, without weight"], message(902)])
        states = {name: spam_filter.state_of(raw) for name, raw in STATES.items()}
    assert [state.label for state in states.values()] == [None, None, None, "spam", "ham", "ham"]
    shares = [states[name].message[4:] for name in ("unlabelled", "unlabelled, without weight")]
    assert shares[0] != shares[1] == (0, 0)
    assert states["in a bucket"].bucket == "work"
    return path


@pytest.fixture
def store(aged, tmp_path):
    path = tmp_path / "spam.sqlite"
    path.write_bytes(aged.read_bytes())
    return path


def act(training, spam_filter, raw):
    try:
        TRAININGS[training](spam_filter, raw)
    except NotTrainedError:
        assert training in ("untrain", "retrain")


@pytest.mark.parametrize("state", STATES)
def test_restoring_a_state_undoes_every_training(store, state):
    raw = STATES[state]
    with SpamFilter(store, clock=lambda: NOW) as spam_filter:
        before, held = tables(spam_filter), spam_filter.state_of(raw)
        for first, second in itertools.product(TRAININGS, TRAININGS):
            act(first, spam_filter, raw)
            act(second, spam_filter, raw)
            spam_filter.restore_states([held])
            assert tables(spam_filter) == before, (first, second)


def test_messages_are_restored_together_or_not_at_all(store):
    rng = random.Random(0)
    with SpamFilter(store, clock=lambda: NOW) as spam_filter:
        before, held = tables(spam_filter), [spam_filter.state_of(raw) for raw in STATES.values()]
        for _ in range(100):
            act(rng.choice(list(TRAININGS)), spam_filter, rng.choice(list(STATES.values())))
        after = tables(spam_filter)
        assert after != before
        with pytest.raises(AttributeError):
            spam_filter.restore_states([*held, None])
        assert tables(spam_filter) == after
        spam_filter.restore_states(held)
        assert tables(spam_filter) == before


@pytest.mark.parametrize(
    ("state", "there", "back"),
    [
        ("unknown", ["train", "--spam"], ["untrain"]),
        ("unknown", ["train", "--bucket", "work"], ["untrain"]),
        ("spam", ["retrain", "--ham"], ["retrain", "--spam"]),
        ("spam", ["train", "--ham"], ["train", "--spam"]),
        ("ham", ["retrain", "--spam"], ["retrain", "--ham"]),
        ("ham", ["train", "--bucket", "work"], ["train", "--bucket", "receipts"]),
        ("in a bucket", ["train", "--bucket", "receipts"], ["train", "--bucket", "work"]),
        ("in a bucket", ["train", "--spam"], ["train", "--bucket", "work"]),
    ],
    ids=str,
)
def test_commands_undo_commands(store, tmp_path, state, there, back):
    box = tmp_path / "letter.eml"
    box.write_bytes(STATES[state])
    before = tables(store)
    for command in (there, back):
        result = CliRunner().invoke(app, ["spam", *command, str(box), "--store", str(store)])
        assert result.exit_code == 0, result.output
        if command is there:
            assert tables(store) != before
    if (state, back[-1]) == ("ham", "receipts"):  # it was in no bucket, which no command can say
        with SpamFilter.open(store) as spam_filter:
            spam_filter.train(STATES[state], "ham", bucket="")
    assert tables(store) == before


@pytest.fixture
def site(store, tmp_path):
    pytest.importorskip("uvicorn")
    site = Site(store, write_mbox(tmp_path / "inbox", STATES.values()))
    site.wait()
    yield site
    assert site.end()[0] == 0


def train(site, number, form, view="list"):
    answer = site.post(f"/message/{number}/train", {"view": view, **form}, part=True)
    assert answer.status == 200, answer.text
    return answer


def undo(site, answer):
    """Undo an action by the button that its answer has."""
    undone = post(site, re.search(r'hx-post="[^"]*(/undo/\d+)"', answer.text)[1], "")
    assert undone.status == 200
    assert "Undone for" in undone.text


def test_the_undo_of_a_notice_undoes_one_message(site):
    before = tables(site.store)
    for number, form in itertools.product(range(len(STATES)), FORMS.values()):
        undo(site, train(site, number, form))
        assert tables(site.store) == before, (number, form)
    for number, state in enumerate(STATES):
        forget = {"view": "list", "label": "undo"}
        if state in ("spam", "ham", "in a bucket"):
            undo(site, train(site, number, forget))
        else:  # unlabelled mail that is counted was not trained by a person
            assert site.post(f"/message/{number}/train", forget, part=True).status == 409
        assert tables(site.store) == before, state


def test_the_undo_beside_a_message_undoes_all_that_was_trained_on_the_page(site):
    before = tables(site.store)
    for number, (first, second) in itertools.product(range(len(STATES)), PAIRS):
        train(site, number, FORMS[first], "message")
        train(site, number, FORMS[second], "message")
        if tables(site.store) != before:
            train(site, number, {"label": "undo"}, "message")
            assert tables(site.store) == before, (number, first, second)


def test_the_undo_of_a_notice_undoes_several_messages(site):
    before = tables(site.store)
    everything = range(len(STATES))
    for form in (*FORMS.values(), {"label": "undo"}):
        answer = post(site, "/bulk", picked(*everything, **form))
        assert answer.status == 200
        assert tables(site.store) != before
        undo(site, answer)
        assert tables(site.store) == before, form
    for pair in PAIRS:  # the newest first
        answers = [post(site, "/bulk", picked(*everything, **FORMS[form])) for form in pair]
        for answer in reversed(answers):
            undo(site, answer)
        assert tables(site.store) == before, pair


def test_what_was_trained_elsewhere_since_is_not_undone_by_the_undo_beside_a_message(site):
    raw = STATES["unlabelled"]
    train(site, 1, FORMS["spam"])
    with SpamFilter.open(site.store) as spam_filter:
        spam_filter.train(raw, "ham")
    train(site, 1, {"label": "undo"})
    with SpamFilter.open(site.store) as spam_filter:
        assert spam_filter.state_of(raw).message is None  # as a message that was trained before the page was started
