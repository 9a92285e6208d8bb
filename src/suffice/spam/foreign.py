"""What other filters have learned, read from their own text dumps: bogofilter and SpamAssassin.

A dump says in how many spams and in how many hams each token was seen, and how many of either there were. Tokens that
both filters make are taken over; those of other fields, such as pairs and the hand of programs, are not in a dump.

SpamAssassin keeps five bytes of a hash of each token. So tokens can be asked for, and not listed: whatever the store
knows, and words that are given, are hashed the same way and looked up.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from suffice.spam.evasion import normalised
from suffice.spam.names import hosts
from suffice.spam.tokenizing import WORD_LIMIT

_BOGOFILTER = re.compile(rb"(\S+) ([0-9]{1,9}) ([0-9]{1,9})(?: [0-9]{1,9})?")
_VERSION = re.compile(rb"v\t([0-9]{1,9})\tdb_version\b.*")
_TOTAL = re.compile(rb"v\t([0-9]{1,9})\tnum_(spam|nonspam)")
_HASHED = re.compile(rb"t\t([0-9]{1,9})\t([0-9]{1,9})\t[0-9]{1,12}\t([0-9a-f]{10})")
_WORD = re.compile(r"[^\W_](?:[^\W_]|['’.,@$!|+-](?=[^\W_]))*[!%]?")
#: fields of bogofilter with those of ours that hold the words, and the hosts, of the same headers
_FIELDS = {
    "subj": ("subject:", None),
    "from": ("from:", "from:@"),
    "to": ("to:", "to:@"),
    "rtrn": (None, "return:@"),
    "rcvd": (None, "received:"),
    "url": (None, "url:"),
}


class DumpError(ValueError):
    """A dump cannot be read; says which line, and why."""


class Learned(NamedTuple):
    """What a dump says.

    Attributes
    ----------
    program : str
        Who wrote it.
    spam, ham : int
        How many messages of each class were learned.
    counts : dict
        By token of ours, how many spams and how many hams hold it.
    tokens : int
        How many tokens the dump has, also those that are not taken over.
    """

    program: str
    spam: int
    ham: int
    counts: dict[str, tuple[int, int]]
    tokens: int


def program_of(first: bytes) -> str:
    r"""Return the program whose dump begins with a line; an empty string if it is none that is known.

    Examples
    --------
    >>> from suffice.spam.foreign import program_of
    >>> program_of(b".MSG_COUNT 10 20 20240101\n"), program_of(b"v\t3\tdb_version # this must be first\n")
    ('bogofilter', 'spamassassin')
    """
    line = first.rstrip(b"\r\n")
    if _VERSION.fullmatch(line):
        return "spamassassin"
    return "bogofilter" if _BOGOFILTER.fullmatch(line) else ""


def from_bogofilter(lines: Iterable[bytes]) -> Learned:
    r"""Read what `bogoutil -d wordlist.db` writes.

    Examples
    --------
    >>> from suffice.spam.foreign import from_bogofilter
    >>> from_bogofilter([b".MSG_COUNT 9 7 20240101\n", b"Money 6 0 20240101\n", b"money 2 1 20240101\n"]).counts
    {'money': (8, 1)}
    """
    totals: tuple[int, int] | None = None
    counts: dict[str, tuple[int, int]] = {}
    tokens = 0
    for number, line in _numbered(lines):
        found = _BOGOFILTER.fullmatch(line)
        if found is None:
            raise _damaged(number, line, "bogoutil -d")
        token, spam, ham = found[1], int(found[2]), int(found[3])
        if token.startswith(b"."):  # .MSG_COUNT, .ENCODING, .ROBX and the like; no word begins with a dot
            totals = (spam, ham) if token == b".MSG_COUNT" else totals
            continue
        tokens += 1
        _add(counts, _names_of(token.decode("utf-8", "replace")), spam, ham)
    if totals is None:
        raise DumpError(
            "there is no line .MSG_COUNT, which says how many messages were learned; dump the whole word list with "
            "`bogoutil -d wordlist.db`"
        )
    return Learned("bogofilter", *_checked_totals(*totals), _limited(counts, *totals), tokens)


def _names_of(token: str) -> list[str]:
    """Return the tokens of ours that one of bogofilter stands for."""
    if "\ufffd" in token:
        return []
    field, colon, text = token.partition(":")
    words, at = _FIELDS.get(field, (None, None)) if colon else ("", "url:")
    if not colon:
        text = token
    text = normalised(text).lower()
    if words == "" and text.count("*") == 1:  # a pair, of a word list with more than one word per token
        pair = text.split("*")
        return [" ".join(pair)] if all(map(_is_word, pair)) else []
    if at is not None and hosts(text) == [text]:
        return [] if text[-1].isdigit() else [at + text]
    return [words + text] if words is not None and _is_word(text) else []


def _is_word(text: str) -> bool:
    return len(text) <= WORD_LIMIT and _WORD.fullmatch(text) is not None


def from_spamassassin(lines: Iterable[bytes], candidates: Iterable[str]) -> Learned:
    """Read what `sa-learn --backup` writes, as far as its tokens are among the candidates, tokens of ours."""
    totals = {b"spam": 0, b"nonspam": 0}
    hashed: dict[bytes, tuple[int, int]] = {}
    for number, line in _numbered(lines):
        if found := _HASHED.fullmatch(line):
            hashed[bytes.fromhex(found[3].decode())] = int(found[1]), int(found[2])
        elif found := _TOTAL.fullmatch(line):
            totals[found[2]] = int(found[1])
        elif found := _VERSION.fullmatch(line):
            if int(found[1]) != 3:
                raise DumpError(
                    f"the dump has version {int(found[1])}, but version 3 is what can be read, which SpamAssassin 3.0 "
                    "and later write"
                )
        elif not line.startswith((b"s\t", b"v\t")):  # messages that were learned, and other facts
            raise _damaged(number, line, "sa-learn --backup")
    spam, ham = _checked_totals(totals[b"spam"], totals[b"nonspam"])
    counts: dict[str, tuple[int, int]] = {}
    for name in candidates:
        for key in map(_hash, hashed_names(name)):
            if key in hashed:
                _add(counts, [name], *hashed[key])
    return Learned("spamassassin", spam, ham, _limited(counts, spam, ham), len(hashed))


def hashed_names(token: str) -> list[str]:
    """Return what SpamAssassin calls a token of ours before it hashes it; nothing if it makes no such token.

    Examples
    --------
    >>> from suffice.spam.foreign import hashed_names
    >>> hashed_names("money"), hashed_names("from:@example.org"), hashed_names("shape:id a")
    (['money'], ['H*F:D*example.org'], [])
    """
    field, colon, text = token.rpartition(":")
    if not colon:
        return [] if " " in token or len(token) < 3 else [token]
    if field == "subject" and " " not in text:
        return [f"HSubject:{form}" for form in dict.fromkeys((text, text.capitalize(), text.upper()))]
    if field == "from" and text.startswith("@"):
        return [f"H*F:D*{text[1:]}"]
    return [f"UD:{text}"] if field == "url" and "." in text else []


def _hash(name: str) -> bytes:
    return hashlib.sha1(name.encode("utf-8", "replace"), usedforsecurity=False).digest()[-5:]


def _numbered(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(lines, 1):
        if stripped := line.rstrip(b"\r\n"):
            yield number, stripped


def _add(counts: dict[str, tuple[int, int]], names: Iterable[str], spam: int, ham: int) -> None:
    for name in names:
        one, other = counts.get(name, (0, 0))
        counts[name] = one + spam, other + ham


def _limited(counts: dict[str, tuple[int, int]], spam: int, ham: int) -> dict[str, tuple[int, int]]:
    """Return counts up to those of all messages, since a message may hold several forms of a word, which were added."""
    return {name: (min(one, spam), min(other, ham)) for name, (one, other) in counts.items() if one or other}


def _checked_totals(spam: int, ham: int) -> tuple[int, int]:
    if spam < 1 or ham < 1:
        raise DumpError(f"spam and ham must both have been learned, but the dump has {spam} spam and {ham} ham")
    return spam, ham


def _damaged(number: int, line: bytes, program: str) -> DumpError:
    from suffice.spam.plain import one_line

    shown = one_line(line[:200].decode("utf-8", "replace"), 60)
    return DumpError(f"line {number} is not one that `{program}` writes: {shown!r}")
