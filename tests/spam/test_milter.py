"""What the milter answers to a mail server, whatever that sends."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mailbag import message
from spam.milter_client import OFFER, conversation, header, macros

from suffice.spam import Verdict
from suffice.spam.milter import Address, Policy, Session
from suffice.spam.milter.session import FORGED_LIMIT, OTHERS_LIMIT, Arrived
from suffice.spam.milter.wire import PacketReader, ProtocolError, packet
from suffice.spam.serving.stores import Stores

SPAM = Verdict(0.987654, "spam", 4.4, [("free money", 2.5), ("url:example.com", 1.9)])
HAM = Verdict(0.01, "ham", -4.4, [("lunch", -4.4)])
ERROR = Verdict.error("a reason")
CONTINUE = packet(b"c")


def play(session, *packets):
    """What a session answers to packets, and the messages that it found."""
    answers, found = b"", []
    for item in PacketReader().feed(b"".join(packets)):
        answer = session.answer(item)
        if isinstance(answer, Arrived):
            found.append(answer)
        else:
            answers += answer
    return PacketReader().feed(answers), found


def arrived(session, *packets):
    (found,) = play(session, *packets)[1]
    return found


def ready(policy=None, offer=OFFER):
    session = Session(policy)
    play(session, offer)
    return session


def test_only_what_is_offered_and_needed_is_asked_for():
    (answer,), _ = play(Session(), OFFER)
    assert answer.letter == b"O"
    version, actions, protocol = struct.unpack(">III", answer.data)
    assert (version, actions) == (6, 0x11)  # add and change headers
    assert protocol & 0x100000  # headers with their space
    assert not protocol & 0x30  # body and headers are needed
    assert protocol & 0x08  # recipients are not
    old = packet(b"O", struct.pack(">III", 2, 0x01, 0x7F))
    (answer,), _ = play(Session(Policy(quarantine=True, recipients=True)), old)
    assert struct.unpack(">III", answer.data) == (2, 0x01, 0x40)


def test_an_old_mail_server_gets_an_answer_to_every_step():
    session = ready(offer=packet(b"O", struct.pack(">III", 2, 0x11, 0x7F)))
    steps = [packet(b"C", b"mail\x004\0\x19192.0.2.1\0"), packet(b"H", b"mail\0"), packet(b"M", b"<>\0"),
             packet(b"R", b"<a@b>\0"), header(b"Subject", b"lunch"), packet(b"N"), packet(b"B", b"noon")]  # fmt: skip
    for step in steps:
        assert play(session, step)[0] == PacketReader().feed(CONTINUE)
    found = arrived(session, packet(b"E", b"?"))
    assert found.raw.endswith(b"\nSubject: lunch\n\nnoon?")  # the space that was left out is there
    assert b"X-Suffice-Status\0ham\0" in session.conclude(found, HAM)[1]  # as it will be put in again


def test_the_message_is_rebuilt_to_the_byte_below_what_the_mail_server_adds():
    session = ready()
    raw = b"Subject:  two  spaces \nX-Folded: a\n\tb\nTo:none\n\n\xff\0body\r\n.\r\n" + bytes(range(256)) * 600
    packets = [macros(b"C", j="mx.example.net"), packet(b"C", b"mail.example.org\x004\0\x19192.0.2.1\0"),
               packet(b"H", b"helo.example.org\0")]  # fmt: skip
    fields = [header(b"Subject", b"  two  spaces "), header(b"X-Folded", b" a\n\tb"), header(b"To", b"none")]
    body = raw.partition(b"\n\n")[2]
    pieces = [packet(b"B", body[:65535]), packet(b"B", body[65535:])]
    envelope = [macros(b"M", i="4ABC"), packet(b"M", b"<ann@example.org>\0SIZE=9\0")]
    found = arrived(session, *packets, *envelope, *fields, *pieces, packet(b"E"))
    assert found.raw == (
        b"Return-Path: <ann@example.org>\nReceived: from helo.example.org (mail.example.org [192.0.2.1])\n"
        b"\tby mx.example.net;\n" + raw
    )
    assert (found.queue, found.truncated, found.forged) == ("4ABC", False, {})


def test_a_client_cannot_write_headers_by_its_name():
    session = ready()
    packets = [packet(b"C", b"a\nSubject: x\x004\0\x191\r\n\0"), packet(b"H", b"b\r\n\r\nbody\0")]
    found = arrived(session, *packets, packet(b"M", b"<a>\nTo: b\0"), macros(b"E", i="4A\n5", j="c\n\n"), packet(b"E"))
    assert found.raw.count(b"\n") == 4
    assert found.queue == "-"


def test_forged_stamps_are_removed_from_the_last_to_the_first_before_ours_are_put_on_top():
    session = ready(Policy(details=True))
    names = [b"X-Suffice-Status", b"x-SUFFICE-status ", b"Subject", b"X-Suffice-Anything", b"X-Sufficed"]
    found = arrived(session, *(header(name, b" ham") for name in names), packet(b"E"))
    for verdict in (SPAM, ERROR):
        action, reply = session.conclude(found, verdict)
        edits = PacketReader().feed(reply)
        removed = [(*struct.unpack(">I", edit.data[:4]), edit.data[4:]) for edit in edits if edit.letter == b"m"]
        assert removed == [(2, b"x-suffice-status\0\0"), (1, b"x-suffice-status\0\0"), (1, b"x-suffice-anything\0\0")]
        assert edits[-1].letter == b"c"
        added = [edit.data for edit in edits[3:-1]]
        assert [edit.letter for edit in edits[3:-1]] == [b"i"] * len(added)
        assert (action, len(added)) == (("stamped", 3) if verdict is SPAM else ("passed", 1))
    reasons, score, status, _ = PacketReader().feed(session.conclude(found, SPAM)[1])[3:]  # the last is on top
    assert status.data == b"\0\0\0\0X-Suffice-Status\0 spam\0"
    assert score.data == b"\0\0\0\0X-Suffice-Score\0 0.987654\0"
    assert reasons.data.endswith(b"X-Suffice-Reasons\0 free_money +2.50,\n url:example.com +1.90\0")


def test_score_and_reasons_are_stamped_only_where_they_are_wanted():
    for policy, names in ((Policy(), [b"Status"]), (Policy(details=True), [b"Reasons", b"Score", b"Status"])):
        session = ready(policy)
        _, reply = session.conclude(arrived(session, header(b"Subject", b" x"), packet(b"E")), SPAM)
        added = [edit.data for edit in PacketReader().feed(reply) if edit.letter == b"i"]
        assert [data[4:].partition(b"\0")[0].removeprefix(b"X-Suffice-") for data in added] == names


def test_a_list_that_decided_is_stamped_and_spam_of_a_list_is_refused_where_all_spam_is():
    listed = Verdict(0.01, "spam", -4.4, [("lunch", -4.4)], listed="block bad.example")
    session = ready()
    sent = arrived(session, *conversation(message(1)))
    reply = session.conclude(sent, listed)[1]
    assert b"X-Suffice-List\0 block\0" in reply
    assert b"bad.example" not in reply
    assert session.conclude(sent, SPAM)[1].count(b"X-Suffice-List") == 0
    for policy, action in ((Policy(reject_from=0.0), "rejected"), (Policy(reject_from=0.9), "stamped")):
        session = ready(policy)
        assert session.conclude(arrived(session, *conversation(message(1))), listed)[0] == action


@pytest.mark.parametrize("verdict", [SPAM, ERROR])
def test_no_stamp_of_our_names_is_left_however_many_headers_come_before_it(verdict):
    session = ready()
    others = [header(b"X-Suffice-%d" % number, b" x") for number in range(5000)]
    ours = [header(name, b" ham") for name in (b"X-Suffice-Status", b"x-suffice-SCORE", b"X-Suffice-Reasons")]
    found = arrived(session, *others, *ours * 101, packet(b"E"))
    edits = PacketReader().feed(session.conclude(found, verdict)[1])
    removed = [(edit.data[4:-2], *struct.unpack(">I", edit.data[:4])) for edit in edits if edit.letter == b"m"]
    for name in (b"x-suffice-status", b"x-suffice-score", b"x-suffice-reasons"):
        assert [place for other, place in removed if other == name] == list(range(101, 0, -1))
    assert len(removed) == 3 * 101 + OTHERS_LIMIT  # names that nobody reads cost the mail server little


@pytest.mark.parametrize("verdict", [HAM, ERROR])
def test_a_message_with_more_forged_stamps_than_a_mail_server_can_remove_is_refused(verdict):
    session = ready()
    for count, action in ((FORGED_LIMIT, "stamped" if verdict is HAM else "passed"), (FORGED_LIMIT + 1, "rejected")):
        found = arrived(session, *[header(b"X-Suffice-Score", b" 0")] * count, packet(b"E"))
        done, reply = session.conclude(found, verdict)
        assert done == action
        assert (reply.count(b"x-suffice-score"), b"550 5.7.1 " in reply) == (
            (0, True) if action == "rejected" else (FORGED_LIMIT, False)
        )


def test_nothing_of_a_message_is_left_in_the_next_one():
    session = ready(Policy(recipients=True))
    first = [macros(b"M", i="1"), packet(b"M", b"<a@b>\0"), packet(b"R", b"<c@d>\0"), header(b"X-Suffice-A", b" x")]
    second = [packet(b"M", b"<>\0"), packet(b"R", b"<e@f>\0"), packet(b"B", b"two"), packet(b"E")]
    whole = b"Return-Path: <>\nReceived: from  ( [])\n\tby ;\n\ntwo"
    for end in (packet(b"A"), packet(b"K"), packet(b"B", b"x" * 99) + packet(b"E")):
        assert not session.busy
        play(session, *first)
        assert session.busy
        found = play(session, end, *second)[1][-1]
        assert (found.queue, found.recipient, found.forged, found.raw) == ("-", b"<e@f>", {}, whole)


def test_a_long_message_is_cut_stamped_and_never_refused():
    session = ready(Policy(limit=100_000, reject_from=0.5, quarantine=True))
    (first, second), _ = play(session, packet(b"B", b"x" * 60_000), packet(b"B", b"y" * 60_000))
    assert (first.letter, second.letter) == (b"c", b"s")  # no more pieces, please
    found = arrived(session, *[packet(b"B", b"z" * 60_000)] * 50, packet(b"E"))
    assert found.truncated
    assert found.raw.endswith(b"\n\n" + b"x" * 60_000 + b"y" * 40_000)
    action, reply = session.conclude(found, SPAM)
    assert action == "stamped"
    assert b"X-Suffice-Status\0 spam" in reply


@pytest.mark.parametrize(
    ("policy", "verdict", "action"),
    [
        (Policy(), SPAM, "stamped"),
        (Policy(reject_from=0.0), SPAM, "rejected"),
        (Policy(reject_from=0.99), SPAM, "stamped"),
        (Policy(reject_from=0.987654), SPAM, "rejected"),
        (Policy(reject_from=0.0), HAM, "stamped"),
        (Policy(reject_from=0.0), Verdict(0.8, "unsure", 1.0, []), "stamped"),
        (Policy(quarantine=True), SPAM, "quarantined"),
        (Policy(quarantine=True), HAM, "stamped"),
        (Policy(quarantine=True, reject_from=0.99), SPAM, "quarantined"),
        (Policy(quarantine=True, reject_from=0.5), SPAM, "rejected"),
        (Policy(quarantine=True, reject_from=0.0), ERROR, "passed"),
    ],
)
def test_only_sure_spam_is_refused_or_held(policy, verdict, action):
    session = ready(policy)
    found = arrived(session, header(b"Subject", b" x"), packet(b"E"))
    done, reply = session.conclude(found, verdict)
    letters = [item.letter for item in PacketReader().feed(reply)]
    assert done == action
    assert letters[-1] == (b"y" if action == "rejected" else b"c")
    assert (b"q" in letters) == (action == "quarantined")
    assert (b"550 5.7.1 " in reply) == (action == "rejected")


@pytest.mark.parametrize(
    "sent",
    [
        packet(b"H", b"before the offer\0"),
        packet(b"O", b"short"),
        packet(b"O", struct.pack(">III", 1, 0, 0)),
        OFFER + packet(b"L", b"Subject\0 no end"),
        OFFER + packet(b"L", b"Subject\0"),
        OFFER + packet(b"M", b""),
        OFFER + packet(b"D", b"Mi\0"[:-1]),
        OFFER + packet(b"?", b""),
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
        b"GET / HTTP/1.0\r\n\r\n",
    ],
)
def test_what_is_no_milter_protocol_is_refused(sent):
    with pytest.raises(ProtocolError):
        play(Session(), sent)


DIALOGUE = b"".join([OFFER, *conversation(message(1)), packet(b"A"), *conversation(message(2)), packet(b"K")])


@given(st.binary(max_size=200), st.lists(st.integers(0, len(DIALOGUE)), max_size=20), st.booleans())
def test_no_bytes_in_no_pieces_do_more_than_end_the_connection(noise, cuts, offered):
    for stream in ((OFFER if offered else b"") + noise, DIALOGUE[: sum(cuts) % len(DIALOGUE)] + noise):
        session, reader = Session(Policy(limit=1000)), PacketReader(10_000)
        places = [0, *sorted(cuts), len(stream)]
        try:
            for start, end in pairwise(places):
                for item in reader.feed(stream[start:end]):
                    answer = session.answer(item)
                    assert isinstance(answer, bytes | Arrived)
        except ProtocolError:
            pass


@given(st.lists(st.tuples(st.sampled_from(list(b"ABCDEHKLMNQRTUXO")), st.binary(max_size=40)), max_size=30))
def test_no_order_of_packets_does_more_than_end_the_connection(steps):
    session = ready(Policy(limit=100, recipients=True))
    try:
        for letter, data in steps:
            for _ in play(session, packet(bytes([letter]), data + b"\0"))[1]:
                pass
    except ProtocolError:
        pass


@given(st.lists(st.integers(0, len(DIALOGUE)), max_size=30))
def test_packets_may_arrive_in_any_pieces(cuts):
    reader = PacketReader()
    places = [0, *sorted(cuts), len(DIALOGUE)]
    found = [item for start, end in pairwise(places) for item in reader.feed(DIALOGUE[start:end])]
    assert found == PacketReader().feed(DIALOGUE)


def test_a_recipient_cannot_reach_what_is_not_a_store_of_the_pattern(tmp_path):
    shared, users = tmp_path / "shared", tmp_path / "users"
    (users / "example.org" / "a").mkdir(parents=True)
    own = users / "example.org" / "ann.sqlite"
    for path in (own, tmp_path / "secret.sqlite", users / "secret.sqlite", users / "example.org" / ".sqlite"):
        path.touch()
    (users / "example.org" / "link.sqlite").symlink_to(tmp_path / "secret.sqlite")
    stores = Stores(shared, f"{users}/{{domain}}/{{user}}.sqlite")
    for recipient in (b"<ann@example.org>", b"Ann@Example.ORG", b"<ann+lists@example.org>"):
        assert stores.of(recipient) == own
    users = ["../secret", "../../secret", "..", ".", "", "/etc/passwd", "ann\0", "\0", "link", "a/../ann", "{domain}"]
    for user in [*users, "ann\n", "bob", "é", "a" * 300]:
        for domain in ("example.org", "..", "../users", ".", "", "example.org\0", "example.org/", "example.org\n"):
            assert stores.of(f"<{user}@{domain}>".encode()) == shared
    assert stores.of(b"<ann@example.org/../example.org>") == stores.of(b"") == stores.of(b"ann") == shared
    with pytest.raises(ValueError, match=r"absolute path with \{user\}"):
        Stores(shared, "users/{user}")


@pytest.mark.parametrize(
    "text", ["", "8891", "inet:", "inet:x@127.0.0.1", "inet:70000", "inet:1@mail.example.org", "unix:a"]
)
def test_a_wrong_address_is_told(text):
    with pytest.raises(ValueError, match="must be inet:PORT@HOST with a numeric host, or unix:PATH"):
        Address.parse(text)


def test_addresses_that_others_can_reach_are_known():
    assert [
        Address.parse(text).is_local for text in ("inet:1@127.0.0.2", "inet6:1", "unix:/a", "inet:1@localhost")
    ] == [True] * 4
    assert [str(Address.parse(text)) for text in ("inet:1", "inet6:1@::1", "unix:/a")] == [
        "inet:1@127.0.0.1",
        "inet6:1@::1",
        "unix:/a",
    ]
    assert not any(Address.parse(text).is_local for text in ("inet:1@0.0.0.0", "inet6:1@::", "inet:1@192.0.2.1"))
