"""Lists of senders decide before statistics do, are not fooled by how a sender is written, and say so."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mailbag import message
from typer.testing import CliRunner

from suffice.cli.app import app
from suffice.spam import ListError, Lists, SpamFilter, Verdict
from suffice.spam.daemon.answers import symbol
from suffice.spam.lists import checked_entry, sender_of
from suffice.spam.pipe import Settings, _answer
from suffice.spam.serving.scoring import Request, judge, points
from suffice.spam.stamping import stamped, stamps


def of(*values, rest=b""):
    return b"".join(b"From: " + value + b"\n" for value in values) + rest + b"Subject: x\n\nhello"


ALLOWED = Lists().with_entries("allow", ["ann@good.example", "bücher.example", ".sub.example"])
BLOCKED = Lists().with_entries("block", ["ann@good.example", "bücher.example", ".sub.example"])
PLAIN = [
    b"ann@good.example",
    b"Ann <ann@good.example>",
    b'"Ann, of \\"G\\"" <ANN@Good.Example>',
    b"=?utf-8?q?A=6En?=\n <ann@good.example>",
    b"Ann (of (good) things) <ann@good.example> (ann)",
    b'"ann"@good.example',
    b"ann @ good.example",
    b"<ann@good.example.>",
    b"x@xn--bcher-kva.example",
    "x@bücher.example".encode(),
    "x@BÜCHER.example".encode(),
    b"a@sub.example",
    b"a@deep.Sub.example",
]
#: who looks at the name, or at one of several addresses, may take these for ann@good.example
SPOOFED = [
    b'"ann@good.example" <eve@bad.example>',
    b"ann@good.example <eve@bad.example>",
    b"=?utf-8?q?=3Cann=40good=2Eexample=3E?= <eve@bad.example>",
    b"=?utf-8?q?ann=40good=2Eexample?=",
    b"<ann@good.example> <eve@bad.example>",
    b"<eve@bad.example> <ann@good.example>",
    b"ann@good.example, eve@bad.example",
    b"eve@bad.example, ann@good.example",
    b"ann@good.example (eve@bad.example",
    b"(ann@good.example) eve@bad.example",
    b"ann@good.example@bad.example",
    b'"ann@good.example"@bad.example',
    b"ann@good.example.bad.example",
    b"ann@notgood.example",
    b"ann@mail.good.example",
    b"xann@good.example",
    b"<@good.example:ann@bad.example>",
    b"Friends: ann@good.example;",
    b"ann@good.example\0@bad.example",
    b"x@deep.b\xc3\xbccher.example",
    b"x@b\xc3\xbccher.example\xe3\x80\x82bad.example",
    b"x@notsub.example",
    b"",
]


@pytest.mark.parametrize("value", PLAIN)
def test_a_sender_is_known_however_the_address_is_written(value):
    assert ALLOWED.decision(of(value))[0] == "allow"
    assert BLOCKED.decision(of(value))[0] == "block"
    crlf = of(value).replace(b"\n", b"\r\n")
    assert ALLOWED.decision(b"From x Mon Jan  1 00:00:00 2001\r\n" + crlf)[0] == "allow"


@pytest.mark.parametrize("value", SPOOFED)
def test_nobody_else_is_taken_for_an_allowed_sender(value):
    assert ALLOWED.decision(of(value)) is None


@pytest.mark.parametrize("value", PLAIN)
@pytest.mark.parametrize("other", [b"eve@bad.example", b"", b"ann@good.example", b"a@sub.example"])
def test_with_two_from_headers_nobody_is_allowed_and_anyone_is_blocked(value, other):
    for values in ((value, other), (other, value)):
        assert ALLOWED.decision(of(*values)) is None
        assert BLOCKED.decision(of(*values))[0] == "block"


@pytest.mark.parametrize(
    "value",
    [b"<ann@good.example> <eve@bad.example>", b"eve@bad.example, ann@good.example", b"Friends: ann@good.example;",
     b"ann@good.example (eve", b"[x] <ann@good.example>", b'"Ann <ann@good.example>', b"<<ann@good.example>>",
     b"ann@good.example <eve@bad.example>", b"<@bad.example:ann@good.example>", b"a <ann@good.example> b"],
)  # fmt: skip
def test_a_blocked_sender_does_not_hide_behind_odd_grammar(value):
    assert BLOCKED.decision(of(value))[0] == "block"


@pytest.mark.parametrize(
    "before", [b"X-A: b\n" * 5_000, b"X-A: " + b"b" * 500_000 + b"\n", b"X-A: b\n" + b" c\n" * 50_000]
)
def test_no_headers_before_it_hide_a_blocked_sender(before):
    lists = Lists().with_entries("block", ["eve@bad.example"])
    assert lists.decision(before + b"From: eve@bad.example\n\nx") == ("block", "eve@bad.example")


@pytest.mark.parametrize("space", [" ", "\t", "\n ", " (a) ", "(a)"])
def test_space_within_a_word_makes_no_other_address_of_it(space):
    """Spaces and comments may stand around dots and the @, and nowhere else within an address."""
    lists = Lists().with_entries("allow", ["ann@good.example"]).with_entries("block", ["eve@bad.example"])

    def said(address):
        return lists.decision(f"From: {address}\n\n".encode())

    for address, verdict in {"ann@good.example": "allow", "eve@bad.example": "block"}.items():
        for place in range(len(address) + 1):
            spaced = said(address[:place] + space + address[place:])
            is_free = place in (0, len(address)) or set(address[place - 1 : place + 1]) & set(".@")
            assert (spaced or ("",))[0] == (verdict if is_free else "")
        assert (said(address + space + "x") or ("",))[0] == ("block" if verdict == "block" else "")


def test_what_is_no_header_of_the_message_names_no_sender():
    assert ALLOWED.decision(b"Subject: x\n\nFrom: ann@good.example\n") is None
    inner = b"Content-Type: message/rfc822\n\nFrom: ann@good.example\n\nx"
    assert ALLOWED.decision(b"From: eve@bad.example\n" + inner) is None
    assert ALLOWED.decision(b"X-From: ann@good.example\nSender: ann@good.example\n\n") is None


def test_the_most_exact_entry_decides():
    lists = (
        Lists()
        .with_entries("block", [".example.org", "ann@work.example.org"])
        .with_entries("allow", ["work.example.org", ".deep.work.example.org"])
    )
    decided = {
        b"bob@example.org": ("block", ".example.org"),
        b"bob@work.example.org": ("allow", "work.example.org"),
        b"ann@work.example.org": ("block", "ann@work.example.org"),
        b"bob@a.work.example.org": ("block", ".example.org"),
        b"bob@a.deep.work.example.org": ("allow", ".deep.work.example.org"),
        b"bob@other.example": None,
    }
    assert {value: lists.decision(of(value)) for value in decided} == decided


@pytest.mark.parametrize(
    "entry",
    ["", "ann", "@", "ann@", "a@b@c.example", "exa mple.org", "ann@example", ".", "..org", "*@example.org",
     "a@" + "x" * 64 + ".org", "ex\nample.org", "<ann@example.org>"],
)  # fmt: skip
def test_an_entry_that_is_neither_an_address_nor_a_domain_is_refused(entry):
    with pytest.raises(ListError, match="an entry must be an address"):
        checked_entry(entry)


def test_sharp_s_is_no_double_s():
    assert checked_entry("straße.example") == "xn--strae-oqa.example" != checked_entry("strasse.example")


@given(st.binary(max_size=200))
def test_no_bytes_make_it_fail(value):
    sender_of(b"From: " + value + b"\n\n")
    assert ALLOWED.decision(b"From: " + value) is None or b"ood" in value.lower() or b"example" in value.lower()


@pytest.mark.parametrize(
    "piece", [b"<", b"(", b'"', b"\\", b"a@b.c,", b"a@b.c ", b".", b"a@", b'"\\', b"\xc3\xbc", b"\n "]
)
def test_time_is_linear(piece):
    def seconds(size):
        raw = b"From: " + piece * (size // len(piece)) + b"\n\n"
        begun = time.process_time()
        for _ in range(5):
            ALLOWED.decision(raw)
        return time.process_time() - begun

    seconds(1000)
    assert seconds(64_000) < 0.5 + 100 * seconds(2_000)
    assert seconds(64_000) < 2


# the filter


SPAM = message(7, "spam").replace(b"a2@example.org", b"Ann <ann@good.example>")


def test_a_list_changes_the_label_and_nothing_else(store):
    with SpamFilter.open(store) as spam_filter:
        before = spam_filter.score(SPAM)
        assert (before.label, before.listed) == ("spam", "")
        spam_filter.allow("good.example")
        after = spam_filter.score(SPAM)
        assert (after.label, after.listed) == ("ham", "allow good.example")
        assert (after.probability, after.log_odds, after.evidence) == (
            before.probability, before.log_odds, before.evidence,
        )  # fmt: skip
        many = [SPAM, message(3), *[SPAM] * 3]
        for processes in (1, 2):
            found = list(spam_filter.score_many(iter(many), processes=processes))
            assert [verdict.listed for verdict in found] == ["allow good.example", "", *["allow good.example"] * 3]
        assert spam_filter.evaluate().errors().false_positives == 0
        assert spam_filter.train(SPAM, "spam", only_errors=True) is False  # the statistics were right
        spam_filter.block("ann@good.example")
        assert spam_filter.score(SPAM).listed == "block ann@good.example"
        spam_filter.block("good.example")
        assert spam_filter.lists == Lists((), ("ann@good.example", "good.example"))
        spam_filter.unlist("block", "good.example", "Ann@GOOD.example")
        assert not spam_filter.lists
        with pytest.raises(ListError, match=r"not on the list of allowed"):
            spam_filter.unlist("allow", "good.example")


def test_lists_decide_before_anything_is_learned():
    with SpamFilter(budget=20.0) as spam_filter:
        spam_filter.block("good.example")
        assert [verdict.label for verdict in spam_filter.score_many([SPAM, message(1)])] == ["spam", "unsure"]


def test_stamps_say_that_a_list_decided():
    verdict = Verdict(0.99, "ham", 5.0, [("money", 5.0)], listed="allow good.example")
    assert stamps(verdict) == {
        "X-Suffice-Status": "ham",
        "X-Suffice-List": "allow good.example",
        "X-Suffice-Score": "0.990000",
        "X-Suffice-Reasons": "money +5.00",
    }
    assert stamps(verdict, details=False) == {"X-Suffice-Status": "ham", "X-Suffice-List": "allow"}
    forged = stamped(b"X-Suffice-List: allow\nSubject: a\n\n", Verdict(0.5, "unsure", 0.0, []))
    assert b"X-Suffice-List" not in forged


def test_filter_milter_and_classify_say_so(store, tmp_path):
    def run(*args):
        return CliRunner().invoke(app, ["spam", *map(str, args)], prog_name="suffice", catch_exceptions=False)

    added = run("allow", "--store", store, "Good.example", ".lists.example")
    assert added.stdout.split() == [".lists.example", "good.example"]
    assert json.loads(run("allow", "--store", store, "--json").stdout)["allow"] == [".lists.example", "good.example"]
    assert run("block", "--store", store).stdout == ""
    (tmp_path / "a.eml").write_bytes(SPAM)
    told = json.loads(run("classify", "--store", store, "--json", tmp_path / "a.eml").stdout)
    assert (told["label"], told["listed"]) == ("ham", "allow good.example")
    assert told["probability"] > 0.9
    assert "[allow good.example]" in run("classify", "--store", store, tmp_path / "a.eml").stdout
    assert "allow good.example" in run("explain", "--store", store, tmp_path / "a.eml").stdout
    assert json.loads(_answer(SPAM, Settings(store=store)))["listed"] == "allow good.example"
    judged = judge(Request(SPAM, store, None, tmp_path))
    assert (judged.verdict.listed, symbol(judged)) == ("allow good.example", "SUFFICE_ALLOW_LIST")
    assert judged.points < 5 < points(Verdict(judged.verdict.probability, "spam", 0.0, []), 0.5)
    assert run("allow", "--store", store, "--remove", "good.example").stdout.split() == [".lists.example"]
    assert run("allow", "--store", store, "--remove", "good.example").exit_code == 1
    assert run("allow", "--store", store, "--remove").exit_code == 2
    assert run("block", "--store", store, "nonsense").exit_code == 1
