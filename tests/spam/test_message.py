"""The message reader: whatever the bytes are, in bounded time."""

import base64
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.spam import digest, read, tokens
from suffice.spam.decoding import as_text, from_base64, from_uuencoding
from suffice.spam.message import TEXT_LIMIT
from suffice.spam.parts import DELIMITER_LIMIT, DEPTH_LIMIT, PART_LIMIT

MULTIPART = b"""From sender Mon Jan  1 00:00:00 2001
Subject: =?iso-8859-1?Q?gr=FC=DFe?= =?utf-8?b?IGFuIGRpY2g=?=
Content-Type: multipart/mixed; boundary="outer"

preamble
--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=koi8-r
Content-Transfer-Encoding: quoted-printable

=D0=D2=C9=D7=C5=D4
--inner
Content-Type: text/html

<b>hello</b>
--inner--
--outer
Content-Type: application/pdf; name="a b.pdf"
Content-Disposition: attachment; filename*=utf-8''caf%C3%A9.pdf
Content-Transfer-Encoding: base64

AAAA
--outer--
epilogue
"""


def test_parts_of_nested_multiparts_are_read_in_order():
    message = read(MULTIPART)
    assert message.header("subject") == "grüße an dich"
    named = [(part.content_type, part.text.strip(), part.file_name) for part in message.parts]
    assert named == [
        ("multipart/mixed", "preamble", ""),
        ("multipart/alternative", "", ""),
        ("text/plain", "привет", ""),
        ("text/html", "<b>hello</b>", ""),
        ("application/pdf", "", "café.pdf"),
        ("text/plain", "epilogue", ""),
    ]


@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_line_ends_do_not_matter(end):
    assert read(MULTIPART.replace(b"\n", end)) == read(MULTIPART)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", None),
        (b"\n", None),
        (b"no header at all", "no header at all"),
        (b"Subject: a", None),
        (b"Subject: a\nthis line is no header\nnor this", "this line is no header\nnor this"),
        (b"\nHi: a body that looks like a header", "Hi: a body that looks like a header"),
        (b">From x\nSubject: a\n\nbody", "body"),
        (b"Subject: a\n\nNUL\0NUL", "NUL\0NUL"),
        (b"Content-Type: text/plain; charset=nonsense\n\n\xe9", "é"),
        (b'Content-Type: text/plain; charset="utf-8\n\n\xc3\xa9', "é"),
        (b"Content-Type: text/plain; charset=us-ascii\n\n\xc3\xa9", "é"),
        (b"Content-Type: text/plain; charset=utf-8\n\n\xe9", "é"),
        (b"Content-Type: text/plain; charset=idna\n\nxn--\xe9", "xn--é"),
        (b"Content-Type: text/plain; charset=zlib\n\nx\x9c\xe9", "xœé"),
        (b"Content-Type: text/plain; charset=rot13\n\nabc\xe9", "abcé"),
        (b"Content-Type: text/plain; charset=unicode_escape\n\n\\u0061\xe9", "\\u0061é"),
        (b"Content-Type: text/plain; charset=undefined\n\n\xe9", "é"),
        (b"Content-Type: text/plain; charset=big5\n\n\xa4\xa4\xff", "中\ufffd"),
        (b"Content-Type: text/plain; charset=utf-16\n\n\xff\xfea\0b\0", "ab"),
        (b"Content-Transfer-Encoding: BASE64\n\naGVs*bG8", "hello"),
        (b"Content-Transfer-Encoding: base64\n\na", None),
        (b"Content-Transfer-Encoding: quoted-printable\n\n=4=zz=41=", "=4=zzA"),
        (b"Content-Transfer-Encoding: no-such\n\nbody", "body"),
        (b"Content-Type: multipart/mixed\n\nno boundary", "no boundary"),
        (b"Content-Type: multipart/mixed; boundary=b\n\nnever used", "never used"),
        (b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nnot closed", "not closed"),
        (b"Content-Type: ; charset=\n\nbody", "body"),
        (b"Content-Type: message/rfc822\n\nSubject: inner\n\nbody", "body"),
        (b"Content-Type: message/rfc822\n\n", None),
        (b": empty name\n\nbody", ": empty name\n\nbody"),
        (b"A:" + b"x" * 200_000 + b"\n\nbody", ...),
    ],
)
def test_damaged_messages_give_what_can_be_read(raw, text):
    message = read(raw)
    if text is ...:
        return
    texts = [part.text for part in message.parts if part.text]
    assert texts == ([] if text is None else [text])


def test_parts_too_deep_are_read_as_the_text_that_they_are():
    depth = DEPTH_LIMIT + 1
    raw = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(depth)) + b"\ndeep"
    assert read(raw).parts[-1].text == f"--b{depth - 1}\n\ndeep"


def test_headers_of_a_message_within_are_kept():
    message = read(b"Subject: a\nContent-Type: message/rfc822\n\nSubject: b\n\n")
    assert message.inner_headers == (("subject", "b"),)
    assert ("subject", "b") not in message.headers


def test_encoded_words_of_unknown_kind_stay():
    assert read(b"Subject: =?x?z?y?= =?utf-8?b?!!!?=\n\n").header("subject").startswith("=?x?z?y?=")


def test_base64_is_decoded_through_damage():
    whole = base64.b64encode(b"hidden words" * 10)
    assert from_base64(whole[:40] + b"\n \0" + whole[40:]) == b"hidden words" * 10


def test_uuencoded_text_is_decoded():
    assert from_uuencoding(b"begin 644 a\n%:&5L;&\\\nno line of it: \xff\n`\nend\n").startswith(b"hello")


def test_a_declared_charset_wins_over_utf8():
    assert as_text("é".encode(), "latin-1") == "Ã©"


STAMPS = [b"X-Spam-Status: Yes,\n\tscore=9", b"X-Bogosity: Ham", b"x-suffice-score: 3", b"Status: RO", b"X-UID: 5"]


@pytest.mark.parametrize("stamp", STAMPS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_stamped_copy_is_the_same_message(stamp, place):
    lines = [b"Subject: a", b"From: b@example.org"]
    plain = b"\n".join(lines) + b"\n\nbody\n"
    stamped = b"\r\n".join([*lines[:place], stamp.replace(b"\n", b"\r\n"), *lines[place:]]) + b"\r\n\r\nbody\r\n\r\n"
    assert digest(b"From b Mon Jan\r\n" + stamped) == digest(plain)
    assert tokens(read(stamped)) == tokens(read(plain))


def test_other_messages_have_other_identities():
    raws = [
        b"Subject: a\n\nb",
        b"Subject: a\n\nc",
        b"Subject: b\n\nb",
        b"\nb",
        b"\nX-Spam-Status: b",
        b"",
        b"Subject: a\n\nX-Spam: a\nb",
    ]
    assert len({digest(raw) for raw in raws}) == len(raws)


def test_fifty_megabytes_take_bounded_time_and_memory():
    raw = (
        b"Subject: a\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: image/gif\n\n" + b"A" * 49 + b"\n"
    )
    raw = raw + b"A" * 50_000_000 + b"\n--b\n\nbehind\n--b--\n"
    tracemalloc.start()
    start = time.process_time()
    tokens(read(raw))
    digest(raw)
    assert time.process_time() - start < 5
    assert tracemalloc.get_traced_memory()[1] < 150e6
    tracemalloc.stop()


def hostile():
    deep = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(10_000))
    yield "10,000 deep", deep + b"\ntext"
    yield "10,000 messages deep", b"Content-Type: message/rfc822\n\n" * 10_000
    yield "many delimiters", b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--x\n" * 500_000
    yield "many parts", b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 200_000
    yield "many headers", b"A: b\n" * 200_000
    yield "one long header", b"Subject: " + b"=?utf-8?q?" * 100_000
    yield "one word", b"\n" + b"a" * 2_000_000
    yield "letters apart", b"\n" + b"a.b." * 500_000 + b"zz"
    yield "open tags", b"Content-Type: text/html\n\n" + b"<a" * 500_000
    yield "open comments", b"Content-Type: text/html\n\n" + b"<!--" * 300_000
    yield "long tag", b"Content-Type: text/html\n\n<" + b"a" * 1_000_000
    yield "styled tags", b"Content-Type: text/html\n\n" + b"<p style='color:red;background:red'>" * 30_000
    yield "ampersands", b"Content-Type: text/html\n\n" + b"&" * 500_000 + b"&#" * 200_000
    yield "combining marks", b"\n" + "\u0316\u0301".encode() * 300_000
    yield "addresses", b"To: " + b"a@" * 30_000 + b"\n\n"
    yield "hosts", b"Received: from " + b"a." * 30_000 + b"\n\n"
    yield "links", b"\n" + b"http://" * 50_000 + b" " + b"www." * 50_000
    yield "equal signs", b"Content-Transfer-Encoding: base64\n\n" + b"=a" * 500_000
    yield "parameters", b"Content-Type: text/plain" + b"; a=" * 15_000 + b"\n\n"


@pytest.mark.parametrize(("name", "raw"), [pytest.param(name, raw, id=name) for name, raw in hostile()])
def test_messages_made_to_cost_time_do_not(name, raw):
    start = time.process_time()
    message = read(raw)
    tokens(message)
    digest(raw)
    assert time.process_time() - start < 5
    assert len(message.parts) <= PART_LIMIT + 1
    assert sum(len(part.text) for part in message.parts) <= TEXT_LIMIT


def test_boundaries_behind_very_many_false_ones_are_not_looked_for():
    def parts(false_ones):
        raw = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\n1\n" + b"--x\n" * false_ones + b"--b\n\n2\n--b--\n"
        return len(read(raw).parts)

    limit = DELIMITER_LIMIT
    assert parts(limit - 10) == parts(0)
    assert parts(limit) == parts(0) - 1


PIECES = st.sampled_from(
    [b"\n", b"\n\n", b"\r\n", b"--b", b"--b--", b"Content-Type: ", b"multipart/mixed; boundary=b", b"text/html",
    b"; charset=",
     b"utf-7", b"utf-16", b"message/rfc822", b"Content-Transfer-Encoding: ", b"base64", b"quoted-printable",
     b"uuencode", b"=?",
     b"?=", b"?q?", b"?b?", b"utf-8", b"iso-2022-jp", b"<", b">", b"<!--", b"-->", b"<style>", b"</",
     b"display:none", b"&#", b"http://",
     b"@", b".", b"%", b"From ", b"Received: ", b"To: ", b"Subject: ", b"\0", b"\xff", b"\x1b$B", b"begin 644 a",
     b"name*=", b"''", b"="]
)  # fmt: skip
RAW = st.lists(st.one_of(PIECES, st.binary(max_size=12)), max_size=60).map(b"".join)


def survives(raw):
    message = read(raw)
    found = tokens(message)
    assert len(found) == len(set(found))
    assert all(isinstance(token, str) for token in found)
    "\n".join(found).encode("utf-8", "surrogatepass")
    assert len(digest(raw)) == 64


@settings(max_examples=300)
@given(RAW)
def test_any_bytes_are_read(raw):
    survives(raw)


@pytest.mark.slow
@settings(max_examples=20_000)
@given(RAW)
def test_any_bytes_are_read_many_times(raw):
    survives(raw)


def test_a_header_in_raw_utf_8_keeps_its_last_letter():
    letters = [chr(code) for code in range(0x80, 0x3000) if chr(code).encode()[-1] in (0x85, 0xA0)]
    assert {"à", "Å", "अ"} & set(letters)
    for letter in letters:
        raw = f"Subject: voil{letter}\nFrom: {letter}\n\t{letter} <a@example.org>\nTo:{letter}\n\nx".encode()
        found = read(raw)
        assert found.header("subject") == f"voil{letter}"
        assert found.header("from") == f"{letter} {letter} <a@example.org>"
        assert found.header("to") == letter


#: ways to write the first word of a structured header that mail programs read alike
WRITTEN = ["{}", "{} (a)", "(a;b) {}", '"{}"', "{};", "{};;", "{},", "{} ; x=y", "\n {}", "{}\t(a)", "{} x"]


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("case", [str.lower, str.upper])
def test_a_type_and_an_encoding_mean_the_same_however_they_are_written(written, case):
    """Else a person sees what the filter does not."""
    body = base64.encodebytes(b"<p hidden>good</p><b>bad</b>")
    kind, encoding = (written.replace("{}", case(word)) for word in ("text/html", "base64"))
    raw = f"Content-Type: {kind}\nContent-Transfer-Encoding: {encoding}\n\n".encode() + body
    (part,) = read(raw).parts
    assert (part.content_type, part.encoding, part.text) == ("text/html", "base64", "<p hidden>good</p><b>bad</b>")


@pytest.mark.parametrize(
    ("declared", "boundary"),
    [
        ("boundary=ab", "ab"),
        ('boundary="ab"', "ab"),
        ('boundary = "ab"', "ab"),
        ('(c) ; boundary="a b"', "a b"),
        ('boundary="a\\"b"', 'a"b'),
        ('boundary="(a)"', "(a)"),
        ("boundary*0=a; boundary*1=b", "ab"),
        ("boundary*=us-ascii''a%62", "ab"),
        ("boundary=ab; boundary=cd", "ab"),
        ("charset=x; boundary=ab; x=y", "ab"),
    ],
)
def test_a_boundary_is_found_however_it_is_declared(declared, boundary):
    body = f"--{boundary}\nContent-Transfer-Encoding: base64\n\naGVsbG8=\n--{boundary}--\n"
    parts = read(f"Content-Type: multipart/mixed; {declared}\n\n{body}".encode()).parts
    assert "hello" in [part.text for part in parts]


def test_a_line_that_goes_on_may_have_white_space_behind_its_mark():
    for padding in (b"", b" ", b"\t ", b" \r"):
        raw = b"Content-Transfer-Encoding: quoted-printable\n\nmon=" + padding + b"\ney"
        assert read(raw).parts[0].text == "money"
