"""python -m benchmarks.spam_fuzz: messages by chance through all that reads them; none may raise or take long.

Half of them are made by a grammar of mail (`tests/spam/grammar.py`), the others are mutated messages. Where the
compiled loops were built, the Python code must find the same tokens in the same order.
"""

from __future__ import annotations

import argparse
import random
import time

from tests.spam.grammar import Grammar, examine

from benchmarks.spam_corpus import DATA, corpus

SEED = b"""Received: from a.example (b [192.0.2.1]) by c.example; Mon, 1 Jan 2001 00:00:00 +0000
From: "A" <a@example.org>
Subject: =?iso-8859-1?q?h=E9llo?= =?utf-8?b?d29ybGQ=?=
Content-Type: multipart/mixed; boundary="b1"

--b1
Content-Type: multipart/alternative; boundary=b2

--b2
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

F r e e m=
oney =E2=82=AC100 http://user@www.example.com:80/a%20b?c=d
--b2
Content-Type: text/html; charset=big5
Content-Transfer-Encoding: base64

PHAgc3R5bGU9ImRpc3BsYXk6bm9uZSI+aGlkZGVuPC9wPjxiPnNlZW48L2I+
--b2--
--b1
Content-Type: message/rfc822

Subject: inner

<html><font color=white>x</font><!-- y --></html>
--b1
Content-Type: application/x-zip; name*=utf-8''a%C3%A9.zip
Content-Transfer-Encoding: x-uuencode

begin 644 a
%:&5L;&\\
end
--b1--
"""
CHARSETS = [
    b"utf-7",
    b"utf-16",
    b"iso-2022-jp",
    b"hz",
    b"gb18030",
    b"idna",
    b"punycode",
    b"zlib",
    b"x" * 50,
    b"\xff",
    b"shift_jis",
]
PIECES = [b"\0", b"\n\n", b"\r", b"--b1", b"--b1--\n", b"=?", b"?=", b"<!--", b"<style>", b"&#x110000;", b"%",
b"\xff\xfe", b"\x1b$B", b"From ", b": ",
          b"\n ", b"@@", b"..", b"\xe2\x80\x8b", b"\xcc\x81" * 30, b"<div hidden>", b"a.b.c.d.e.",
          b"Content-Type: message/rfc822\n\n"]  # fmt: skip


def mutated(raw: bytes, chance: random.Random) -> bytes:
    """Return a message with a few of its bytes changed, removed, repeated or exchanged."""
    data = bytearray(raw[: chance.choice((500, 3000, 20_000))])
    for _ in range(chance.randint(1, 12)):
        at = chance.randint(0, len(data))
        to = min(len(data), at + chance.randint(0, 60))
        kind = chance.randrange(7)
        if kind == 0 and at < len(data):
            data[at] = chance.randrange(256)
        elif kind == 1:
            del data[at:to]
        elif kind == 2:
            data[at:at] = data[at:to] * chance.randint(1, 30)
        elif kind == 3:
            data[at:at] = chance.choice(PIECES)
        elif kind == 4:
            data[at:at] = chance.randbytes(chance.randint(1, 20))
        elif kind == 5:
            data = data.replace(b"utf-8", chance.choice(CHARSETS), 1).replace(b"iso-8859-1", chance.choice(CHARSETS), 1)
        else:
            other = chance.randint(0, len(data))
            data[at:to], data[other : other + 5] = data[other : other + 5], data[at:to]
    return bytes(data)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spam_fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=("grammar", "mutations", "both"), default="both")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    grammar = Grammar(chance)
    seeds = [SEED] + (corpus()[0] if (DATA / "spamassassin").exists() else [])
    slowest, largest, size = 0.0, 0, 0
    begin = time.monotonic()
    for number in range(options.count):
        is_made = options.kind == "grammar" or (options.kind == "both" and number % 2 == 0)
        raw = grammar.message() if is_made else mutated(SEED if number % 4 == 1 else chance.choice(seeds), chance)
        try:
            taken = examine(raw)
        except BaseException:
            print(f"message {number} of seed {options.seed}: {raw!r}")
            raise
        size += len(raw)
        if taken > slowest:
            slowest, largest = taken, len(raw)
    print(
        f"{options.count} messages of {size / options.count:.0f} bytes on average in {time.monotonic() - begin:.0f} s; "
        f"the slowest took {1e3 * slowest:.0f} ms ({largest:,} bytes)"
    )


if __name__ == "__main__":
    main()
