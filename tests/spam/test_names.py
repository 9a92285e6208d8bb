"""Hosts and addresses: what the plain patterns find, whatever the text."""

import random
import re

from suffice.spam.names import addresses, hosts

ADDRESS = re.compile(r"[\w.+=&'-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){0,8}")
HOST = re.compile(r"[\w-]{1,64}(?:\.[\w-]{1,64}){0,8}\.(?:[a-z]{2,20}|\d{1,3})(?![\w-])")
PIECES = [
    "a", "com", "1", "23", "-", "_", ".", "..", "a" * 63, "b" * 64, "c" * 65, "d" * 21, " ", "@", "org", "x1", "é", "٣",
    ".a.b.c.d.e.f.g.h.i.j.k.", "(", "+", "=",
]  # fmt: skip


def test_hosts_and_addresses_are_those_of_the_patterns_that_take_long():
    chance = random.Random(3)
    for _ in range(2_000):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 30)))
        assert hosts(text) == HOST.findall(text)
        assert [text[start:end] for start, end in addresses(text)] == ADDRESS.findall(text)
