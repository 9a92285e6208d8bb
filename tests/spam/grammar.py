"""Messages by chance with the structure of mail: headers, trees of parts, HTML, character references, much of it wrong.

Mutations of real messages seldom keep a structure whole that leads deep into the reader. Here every level of a message
is made by its own rule, and each rule makes now and then what is too long, too deep, unfinished or of another kind.
"""

from __future__ import annotations

import base64
import binascii
import quopri
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from suffice.spam import Verdict, digest, html, read, reading, tokens
from suffice.spam.page.excerpts import SEARCHED, SNIPPET, excerpt_of
from suffice.spam.page.text import ShownMessage
from suffice.spam.stamping import stamped

CHARSETS = [
    "utf-8", "us-ascii", "iso-8859-1", "windows-1252", "utf-7", "utf-16", "utf-16le", "utf-32", "iso-2022-jp", "hz",
    "gb18030", "big5", "shift_jis", "euc-kr", "koi8-r", "idna", "punycode", "zlib", "unicode_escape", "undefined",
    "x", "", "utf-8\0", "é", "cp" + "9" * 30, "cp037", "utf_8_sig", "raw_unicode_escape", "rot13", "johab", "mbcs",
    "../utf-8", "charmap",
]  # fmt: skip
TYPES = [
    "text/plain", "text/html", "TEXT/HTML", "text/", "text", "/", "", "multipart/mixed", "multipart/alternative",
    "multipart/", "message/rfc822", "message/", "image/png", "application/pdf", "text/html; charset", "\0",
    "text/plain;;;", "text /html",
]  # fmt: skip
ENCODINGS = [
    "7bit", "8bit", "base64", "quoted-printable", "x-uuencode", "BASE64", "base64;x", "", "binary", "uue",
]  # fmt: skip
NAMES = [
    "From", "To", "Cc", "Reply-To", "Sender", "Return-Path", "Subject", "Date", "Message-ID", "Received",
    "Content-Type", "Content-Disposition", "Content-Transfer-Encoding", "Content-Length", "Lines", "Status",
    "X-Mailer", "User-Agent", "List-Id", "X-Mailing-List", "X-Spam-Status", "X-Suffice-Status", "X-UID",
    "MIME-Version", "DKIM-Signature", "X", "from", "SUBJECT ", "Bad Name", "é", "", ">From ",
]  # fmt: skip
WORDS = [
    "free", "money", "v1@gra", "F R E E", "m.o.n.e.y", "100%", "$1,000", "€5", "naïve", "漢字", "Москва", "vi\u0430gra",
    "a\u0301", "\u200b", "\u202e", "\ufdfa", "👩‍👧", "ﬀ", "x" * 40, "1" * 30, "http://a.example/b?c=d%20e#f",
    "www.example.com", "http:", "http://u@h:99999999999/", "mailto:a@b.example", "a@b.example", "<b>", "&amp;", "--",
    "--b", "=", "=3D", "=?", "?=", "\0",
]  # fmt: skip
DIGITS = [
    "0", "65", "97", "128", "55296", "65279", "1114111", "1114112", "9" * 30, "9" * 4301, "0" * 5000 + "65", "٣", "²",
    "",
]  # fmt: skip
ELEMENTS = [
    "p", "b", "div", "span", "font", "a", "img", "table", "td", "style", "script", "template", "br", "x", "h1",
    "marquee",
]  # fmt: skip
STYLES = [
    "display:none", "visibility : hidden", "font-size:0", "font-size:1px", "color:white",
    "color:#fff;background:#fefefe", "color:rgb(255,255,255)", "background:url(x)", "opacity:0.0", "max-height:0",
    "text-indent:-999px", "mso-hide:all", ";", ":", "color:" + "9" * 50, "color:#" + "f" * 7, "background-color:red",
    "color:rgb(1,2)", "color:rgb(" + "9" * 4400 + ",1,1)",
]  # fmt: skip


class Grammar:
    """Rules that make a message, given a source of chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.left = 0
        self._pick = chance.choice

    def message(self) -> bytes:
        """Return a message of at most some hundred kilobytes."""
        self.left = self._pick((1, 2, 4, 4, 12, 60))
        raw = self._entity(0)
        if self.chance.random() < 0.1:
            raw = b"From a Mon Jan  1 00:00:00 2024\n" + raw
        if self.chance.random() < 0.2:
            raw = raw.replace(b"\n", self._pick((b"\r\n", b"\r", b"\n\r")))
        if self.chance.random() < 0.1:
            raw = raw[: self.chance.randint(0, len(raw))]
        return raw[:400_000]

    def _some(self, make: Callable[[], str], most: int, between: str = "") -> str:
        return between.join(make() for _ in range(self.chance.randint(0, most)))

    def _entity(self, depth: int, fields: bytes = b"") -> bytes:
        """Return headers and a body."""
        self.left -= 1
        boundary = self._pick(("b", f"b{depth}", "=_x", "", "a b", "--", "b" * 70, "é"))
        kind = self._pick(TYPES if self.left > 0 else TYPES[:3])
        encoding, charset = self._pick(ENCODINGS), self._pick(CHARSETS)
        lines = [self._header() for _ in range(self._pick((0, 1, 3, 10)))]
        quote = self._pick(("", '"', "'"))
        declared = f"charset={quote}{charset}{quote}; boundary={quote}{boundary}{quote}"
        lines.append(f"Content-Type: {kind}; {declared}{self._parameters()}")
        if self.chance.random() < 0.5:
            lines.append(f"Content-Transfer-Encoding: {encoding}")
        if self.chance.random() < 0.2:
            lines.append(f"Content-Disposition: attachment{self._parameters()}")
        self.chance.shuffle(lines)
        head = fields + "\n".join(lines).encode("utf-8", "surrogatepass") + b"\n"
        return (
            head
            + self._pick((b"\n", b"\n", b"\n", b"", b"\n\n"))
            + self._body(kind, encoding, charset, boundary, depth)
        )

    def _body(self, kind: str, encoding: str, charset: str, boundary: str, depth: int) -> bytes:
        lower = kind.lower()
        if lower.startswith("multipart/") and depth < 30:
            mark = b"--" + boundary.encode()
            parts = [self._entity(depth + 1) for _ in range(self._pick((0, 1, 2, 4)) if self.left > 0 else 0)]
            end = self._pick((b"--\n", b"", b"--", b"-\n"))
            return b"preamble\n" + b"".join(mark + b"\n" + part + b"\n" for part in parts) + mark + end
        if lower.startswith("message/") and self.left > 0:
            return self._entity(depth + 1)
        text = self._html() if "html" in lower or self.chance.random() < 0.1 else self._text()
        return self._encoded(self._in_charset(text, charset), encoding)

    def _in_charset(self, text: str, charset: str) -> bytes:
        try:
            return text.encode(charset or "utf-8", "replace")
        except (LookupError, ValueError, TypeError, AssertionError):
            return text.encode("utf-8", "surrogatepass")

    def _encoded(self, raw: bytes, encoding: str) -> bytes:
        if self.chance.random() < 0.2:
            return raw  # not as declared
        if encoding.lower() == "base64":
            return base64.encodebytes(raw)
        if encoding == "quoted-printable":
            return quopri.encodestring(raw)
        if encoding in ("x-uuencode", "uue"):
            return (
                b"begin 644 a\n" + b"".join(binascii.b2a_uu(raw[i : i + 45]) for i in range(0, len(raw), 45)) + b"end\n"
            )
        return raw

    def _parameters(self) -> str:
        names = ["name", "filename", "charset", "boundary", "name*0", "name*1*", "filename*", "x" * 50]
        values = ["a.exe", '"a b.pdf"', "utf-8''%C3%A9%20b", "%", "%zz", '"', "é", "x" * 300, "9" * 30]
        return self._some(lambda: f"; {self._pick(names)}={self._pick(values)}", 3)

    def _header(self) -> str:
        name, value = self._pick(NAMES), self._value()
        return name + self._pick((":", ": ", " : ", "", ":\n ")) + value

    def _value(self) -> str:
        choice = self.chance.randrange(9)
        if choice == 0:
            return self._some(lambda: self._pick(WORDS), 40, self._pick((" ", "", "\n ", "\t")))
        if choice == 1:
            return self._some(self._encoded_word, 6, self._pick((" ", "", "\n ")))
        if choice == 2:
            return self._some(lambda: f'"{self._pick(WORDS)}" <{self._local()}@{self._host()}>', 8, ", ")
        if choice == 3:
            return (
                f"from {self._host()} ({self._host()} [{self._digits()}.2.3.4]) by {self._host()} id x; {self._date()}"
            )
        if choice == 4:
            return self._date()
        if choice == 5:
            return f"<{self._local()}.{self._digits()}@{self._host()}>"
        if choice == 6:
            return self._digits() * self._pick((1, 3))
        if choice == 7:
            return self._pick(WORDS) * self._pick((1, 1, 20, 300))
        return self._pick(("<", '"', " ", "@", ".", "(", "\\", ";", "=?", "a.", ", ")) * self._pick((1, 1, 40, 1000))

    def _encoded_word(self) -> str:
        text, charset = self._pick(WORDS), self._pick(CHARSETS)
        raw = self._in_charset(text, charset)
        kind = self._pick("bqBQx")
        body = base64.b64encode(raw).decode() if kind in "bB" else "".join(f"={byte:02X}" for byte in raw)
        return f"=?{charset}{self._pick(('', '*en', '*'))}?{kind}?{body}{self._pick(('?=', '?=', '?', ''))}"

    def _local(self) -> str:
        return self._pick(("ann", "a.b+c", "", "x" * 70, "é", "a'b"))

    def _host(self) -> str:
        label = self._pick(("a", "mail-1", "x" * 63, "x" * 70, "1", "é", "", "xn--a"))
        return ".".join([label] * self._pick((1, 2, 5, 30))) + self._pick((".example", ".com", ".1", "", "."))

    def _digits(self) -> str:
        return self._pick(DIGITS if self.chance.random() < 0.1 else DIGITS[:9])

    def _date(self) -> str:
        parts = [
            self._digits() if self.chance.random() < 0.2 else part for part in ("1", "2024", "10", "20", "30", "0100")
        ]
        day, year, hour, minute, second, zone = parts
        return f"Mon, {day} {self._pick(('Jan', 'Foo', ''))} {year} {hour}:{minute}:{second} {self._pick('+-')}{zone}"

    def _text(self) -> str:
        joint = self._pick((" ", "\n", "", ".", "  "))
        return self._some(lambda: self._pick(WORDS), self._pick((5, 30, 30, 300)), joint)

    def _html(self) -> str:
        return self._pick(("", "<html>", "<!doctype html>")) + self._some(self._node, self._pick((3, 15, 15, 100)))

    def _node(self) -> str:
        name = self._pick(ELEMENTS)
        choice = self.chance.randrange(8)
        if choice == 0:
            return self._reference() * self._pick((1, 1, 1, 30))
        if choice == 1:
            return f"<!--{self._pick(WORDS)}{self._reference()}{self._pick(('-->', '--', '>', ''))}"
        if choice == 2:
            return f"</{name}{self._pick(('>', ' >', '', '<'))}"
        if choice == 3:
            return self._pick(("<![CDATA[x]]>", "<?php x?>", "<!x", "<", ">", "<<", "</", "<a", "<1>"))
        if choice == 4:
            return self._pick(WORDS)
        return f"<{name}{self._attributes()}{self._pick(('>', '/>', '>', ' '))}{self._pick(WORDS)}"

    def _attributes(self) -> str:
        def one() -> str:
            name = self._pick(("href", "src", "style", "color", "bgcolor", "hidden", "background", "x"))
            value = self._pick((self._pick(STYLES), self._pick(WORDS), self._reference(), self._digits()))
            quote = self._pick(("", '"', "'"))
            return f" {name}{self._pick(('=', ' = ', ''))}{quote}{value}{quote}"

        return self._some(one, 3)

    def _reference(self) -> str:
        kind = self._pick(("&#", "&#x", "&#X", "&", "&amp;#"))
        name = self._pick(("lt", "amp", "copy", "nbsp", "zwnj", "notit", "CounterClockwiseContourIntegral", ""))
        body = name if kind == "&" else self._pick((self._digits(), "41", "1f600", "d800", "f" * 500, "g"))
        return kind + body + self._pick((";", ""))


def examine(raw: bytes) -> float:
    """Do with a message all that is ever done with it, and return how many seconds that took; raise what it raises."""
    start = time.process_time()
    found = tokens(read(raw))
    "\n".join(found).encode("utf-8", "surrogatepass")
    lines = reading.lines_of(raw)
    digest(raw)
    ShownMessage.of(raw)
    excerpt = excerpt_of(raw)
    f"{excerpt.sender}{excerpt.address}{excerpt.subject}{excerpt.snippet}".encode()
    assert excerpt.arrival is None or excerpt.arrival.isoformat()
    assert len(excerpt.snippet) <= SNIPPET
    assert len(excerpt.searched) <= SEARCHED
    assert b"X-Suffice-Status: error" in stamped(raw, Verdict.error("x"))
    taken = time.process_time() - start
    assert (found, lines) == fallback(raw), "the compiled loops and their fallbacks differ"
    return taken


def fallback(raw: bytes) -> tuple[list[str], str]:
    """Return the tokens of a message, and their lines, as Python alone finds them."""
    modules: tuple[Any, ...] = (sys.modules["suffice.spam.tokenizing"], html, reading)
    kept = [module.compiled for module in modules]
    try:
        for module in modules:
            module.compiled = None
        return tokens(read(raw)), reading.lines_of(raw)
    finally:
        for module, compiled in zip(modules, kept, strict=True):
            module.compiled = compiled
