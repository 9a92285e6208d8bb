"""Text that looks like a number, of any length and alphabet, wherever a message may hold one."""

import html
import random

import pytest

from suffice.spam import read, tokens
from suffice.spam.html import read_html, unescaped
from suffice.spam.page.index import Index
from suffice.spam.page.text import ShownMessage
from suffice.spam.reading import reading
from suffice.spam.serving.address import Address

#: Python makes no number of more than 4,300 digits; some of these are digits and no numbers, or numbers and no digits
DIGITS = [
    "9" * 20_000, "0" * 5000 + "65", "f" * 5000, "-" + "9" * 5000, "1e999", "1_0", "²", "٣" * 5000, "𝟗" * 40,
    "½", "", " ", "0x41", "1" * 19, "\0", "９" * 4301, "+", "nan", "inf", "١:٢", "7" * 4300 + ".5",
]  # fmt: skip
PLACES = {
    "entity": "Content-Type: text/html\n\n<p>a &#{0}; b &#x{0}; c &#{0} d</p>",
    "comment": "Content-Type: text/html\n\n<!-- &#{0}; --><p>text</p>",
    "link": "Content-Type: text/html\n\n<a href='http://a.example:{0}/&#{0};?n={0}'>x</a> http://b.example:{0}/",
    "style": "Content-Type: text/html\n\n<p style='font-size:{0}px;color:rgb({0},0,{0});opacity:{0}'><p color=#{0}>y",
    "attribute": "Content-Type: text/html\n\n<table width={0} bgcolor={0}><td colspan={0}>x",
    "date": "Date: {0} Jan {0} {0}:{0}:{0} +{0}\nReceived: from a by b; Mon, {0} Jan {0} {0}:00 {0}\n\nx",
    "zone": "Date: Mon, 1 Jan 2024 00:00:00 +{0}\n\nx",
    "year": "Date: Mon, 1 Jan {0} 00:00:00 +0000\n\nx",
    "length": "Content-Length: {0}\nLines: {0}\nX-UID: {0}\n\nx",
    "charset": "Content-Type: text/plain; charset={0}\n\n\xff",
    "codec": "Content-Type: text/plain; charset=cp{0}\n\n\xff",
    "word": "Subject: =?cp{0}?q?=FF=E9?= =?utf-8?q?={0}?= =?utf-8*{0}?b?{0}?=\n\nx",
    "quoted": "Content-Transfer-Encoding: quoted-printable\n\n={0} =\n={0}=",
    "uuencoded": "Content-Transfer-Encoding: x-uuencode\n\nbegin {0} a\n{0}\nend",
    "name": "Content-Type: application/x; name*{0}*=utf-8''%{0}; name*1={0}\n\nx",
    "version": "MIME-Version: {0}\nContent-Type: multipart/mixed; boundary={0}\n\n--{0}\n\nx\n--{0}--",
    "priority": "X-Priority: {0}\nMessage-ID: <{0}.{0}@{0}.{0}.{0}.{0}>\nReceived: from {0}.{0}.{0}\n\n{0}.{0}.{0}.{0}",
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_no_number_in_a_message_stops_the_reader_or_the_page(place):
    index = Index()
    try:
        for digits in DIGITS:
            raw = PLACES[place].replace("{0}", digits).encode("utf-8", "surrogateescape")
            assert tokens(read(raw))
            assert reading(raw).tokens
            assert ShownMessage.of(raw).headers is not None
            assert index.raw(index.add(raw, "box")) == raw
    finally:
        index.close()


def test_references_mean_what_they_mean_whatever_their_length():
    assert unescaped("&#" + "0" * 5000 + "65;&#X" + "0" * 5000 + "42;&#" + "0" * 9 + ";") == "AB�"
    assert unescaped("&#" + "9" * 4301 + ";&#x" + "9" * 9 + ";&#x110000;&#1114112;") == "����"
    assert "V" in read_html("&#" + "0" * 5000 + "86;iagra").visible


def test_references_of_a_length_that_python_takes_are_read_as_python_reads_them():
    chance = random.Random(5)
    pieces = [
        "&#",
        "&#x",
        "&#X",
        "0",
        "00000000",
        "65",
        "1f600",
        "d800",
        ";",
        "&",
        "a",
        "lt;",
        "9999999",
        "x",
        "#",
        "&amp",
    ]
    for _ in range(20_000):
        text = "".join(chance.choices(pieces, k=chance.randint(1, 9)))
        assert unescaped(text) == html.unescape(text), text


def test_a_long_port_is_refused_in_words():
    with pytest.raises(ValueError, match="the address must be inet:PORT@HOST"):
        Address.parse("inet:" + "9" * 5000)
