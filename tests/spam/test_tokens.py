"""The tokens of a message, field by field."""

import time

import pytest

from suffice.spam import read, tokens
from suffice.spam.tokenizing import suffixes

MAIL = b"""Return-Path: <bounce@lists.example.org>
Received: from mail.example.net (unknown [192.0.2.7])
	by mx.example.com with SMTP id ABC123; Mon, 2 Sep 2002 10:00:00 +0100
From: "Big Deals" <deals@shop.example.net>
Reply-To: other@elsewhere.example
To: me@example.com
Subject: Save 50% now
Date: Mon, 2 Sep 2002 10:00:00 -0700
Message-ID: <20020902.AB12@mail.example.net>
X-Mailer: Bulk Sender 3.0
List-Id: <news.example.org>
X-Spam-Status: Yes
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="=_abc"

--=_abc
Content-Type: text/html; charset=iso-8859-1

<p>Click <a href="http://user@www.shop.example.net:81/free/offer.html?id=1">here</a> for cheap pills</p>
<p style="display:none">meeting agenda</p><img src="http://192.0.2.9/x.gif">
--=_abc
Content-Type: application/octet-stream; name="Invoice_2002.exe"
Content-Transfer-Encoding: base64

AAAA
--=_abc--
"""


@pytest.fixture(scope="module")
def found():
    return tokens(read(MAIL))


@pytest.mark.parametrize(
    "token",
    [
        "click", "here", "cheap", "pills", "cheap pills", "click here",
        "subject:save", "subject:50%", "subject:save 50%",
        "from:deals@shop.example.net", "from:@shop.example.net", "from:@example.net", "from:big",
        "reply-to:@elsewhere.example", "header:reply elsewhere", "to:me@example.com", "return:@lists.example.org",
        "received:mail.example.net", "received:example.net", "received:192.0", "received:192.0.2",
        "received:mx.example.com",
        "id:mail.example.net", "id:example.net", "shape:id <9.A9", "shape:zone -0700", "shape:boundary =_a",
        "shape:recipients 1",
        "mailer:bulk", "list:news", "header:x-mailer", "header:mime-version",
        "type:text/html", "type:application/octet-stream", "charset:iso-8859-1", "encoding:base64",
        "file:.exe", "file:invoice", "url:www.shop.example.net", "url:shop.example.net", "url:example.net",
        "url:user", "url:port",
        "url:number", "url:192.0.2", "path:free", "path:offer", "html:img", "html:a", "hidden:meeting", "hidden:agenda",
    ],
)  # fmt: skip
def test_a_message_has_the_tokens_of_its_fields(found, token):
    assert token in found


def test_what_is_hidden_is_no_word_and_stamps_are_no_evidence(found):
    assert not {"meeting", "agenda", "cheap pills meeting"} & set(found)
    assert not [token for token in found if "spam" in token]


def test_the_date_itself_is_no_token(found):
    assert not [token for token in found if "sep" in token.split(":")[-1].split() or token.endswith("2002")] or (
        [token for token in found if "2002" in token] == ["file:2002"]
    )


def test_tokens_are_distinct_and_always_in_the_same_order(found):
    assert len(found) == len(set(found))
    assert tokens(read(MAIL)) == found


def test_pairs_reach_as_far_as_the_window():
    raw = b"\none two three four"
    assert not [token for token in tokens(read(raw), window=1) if " " in token and ":" not in token]
    wide = tokens(read(raw), window=3)
    assert {"one two", "2:one three", "2:two four"} <= set(wide)
    assert "3:one four" not in wide


def test_long_words_are_summarised():
    found = tokens(read(b"\n" + b"x" * 57))
    assert "long:x 50" in found
    assert max(map(len, found)) < 40


def test_ideographs_become_pairs_and_8_bit_text_is_marked():
    found = tokens(read("\n東京都民 text".encode()))
    assert {"東京", "京都", "都民"} <= set(found)
    assert [token for token in found if token.startswith("text:8-bit")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी में नमस्ते", ["हिन्दी", "में", "नमस्ते", "हिन्दी में"]),
        ("كِتَابٌ جَدِيدٌ", ["كِتَابٌ", "جَدِيدٌ", "كِتَابٌ جَدِيدٌ"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
        ("ที่นี่ดี", ["ที่นี่", "นี่ดี"]),
        ("東京，大阪！你好。世界", ["東京", "大阪", "你好", "世界"]),
        ("iPhone手机3月", ["iphone", "手机", "3", "月"]),
        ("が", ["が"]),
        ("v\u0337i\u0337a\u0337gra", ["viagra"]),
    ],
)
def test_words_of_every_script_are_whole(text, words):
    import unicodedata

    wanted = {unicodedata.normalize("NFKC", word) for word in words}
    for field in ("", "subject:"):
        raw = f"Subject: {text}\n\nx" if field else f"\n{text}"
        found = {token.removeprefix(field) for token in tokens(read(raw.encode())) if token.startswith(field)}
        assert wanted <= found
        assert not [token for token in found if any(sign in token for sign in ",!") or token.startswith("long:")]


def test_names_keep_their_marks():
    found = tokens(read("From: राम शर्मा <ram@example.org>\n\nx".encode()))
    assert {"from:राम", "from:शर्मा"} <= set(found)


def test_links_are_no_words():
    found = tokens(read(b"\nsee HTTP://www.Example.ORG/a/b now"))
    assert {"url:example.org", "path:a", "see now"} <= set(found)
    assert not {"http", "www.example.org"} & set(found)


def test_a_picture_alone_is_marked():
    raw = b"Content-Type: text/html\n\n<html><body><img src='cid:1'></body></html>"
    assert {"text:image only", "url:cid"} <= set(tokens(read(raw)))


def test_a_missing_subject_is_marked():
    assert "header:no subject" in tokens(read(b"From: a@example.org\n\nx"))


def test_suffixes_go_down_to_two_labels():
    assert suffixes("localhost") == ["localhost"]
    assert suffixes("a.b.c.d.e.f.g.h")[0] == "c.d.e.f.g.h"


def test_a_thousand_small_messages_take_seconds_at_most():
    start = time.process_time()
    for number in range(1000):
        tokens(read(MAIL.replace(b"pills", b"pills %d " % number * 100)))
    assert time.process_time() - start < 5
