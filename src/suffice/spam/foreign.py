"""Readers for the text dumps of other filters: bogofilter and SpamAssassin.

A dump holds, per token, the number of spams and of hams that contain it, and the total numbers of both. Tokens that
both filters make are imported; other fields, such as word pairs and the traces of mail programs, are not in a dump.

SpamAssassin keeps five bytes of a hash of each token, so tokens can be looked up but not listed: the tokens of the
store and the given words are hashed the same way and looked up.
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
#: by field of bogofilter, our fields for the words and for the hosts of the same headers
_FIELDS = {
    "subj": ("subject:", None),
    "from": ("from:", "from:@"),
    "to": ("to:", "to:@"),
    "rtrn": (None, "return:@"),
    "rcvd": (None, "received:"),
    "url": (None, "url:"),
}


class DumpError(ValueError):
    """A dump cannot be read; the message names the line and the reason."""


class Learned(NamedTuple):
    """The contents of a dump.

    Attributes
    ----------
    program : str
        The program that wrote it.
    spam, ham : int
        Number of messages of each class that were learned.
    counts : dict
        Per token of ours, the number of spams and of hams that hold it.
    tokens : int
        Number of tokens in the dump, including those that are not imported.
    """

    program: str
    spam: int
    ham: int
    counts: dict[str, tuple[int, int]]
    tokens: int


def program_of(first: bytes) -> str:
    r"""Return the program whose dumps begin with this line; an empty string if it is unknown.

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
    r"""Read the output of `bogoutil -d wordlist.db`.

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
    """Return our tokens that correspond to a token of bogofilter."""
    if "\ufffd" in token:
        return []
    field, colon, text = token.partition(":")
    words, at = _FIELDS.get(field, (None, None)) if colon else ("", "url:")
    if not colon:
        text = token
    text = normalised(text).lower()
    if words == "" and text.count("*") == 1:  # a word pair, from a word list with several words per token
        pair = text.split("*")
        return [" ".join(pair)] if all(map(_is_word, pair)) else []
    if at is not None and hosts(text) == [text]:
        return [] if text[-1].isdigit() else [at + text]
    return [words + text] if words is not None and _is_word(text) else []


def _is_word(text: str) -> bool:
    return len(text) <= WORD_LIMIT and _WORD.fullmatch(text) is not None


def from_spamassassin(lines: Iterable[bytes], candidates: Iterable[str]) -> Learned:
    """Read the output of `sa-learn --backup`, restricted to the tokens (of ours) in `candidates`."""
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
        elif not line.startswith((b"s\t", b"v\t")):  # "s" lines are learned messages, "v" lines variables
            raise _damaged(number, line, "sa-learn --backup")
    spam, ham = _checked_totals(totals[b"spam"], totals[b"nonspam"])
    counts: dict[str, tuple[int, int]] = {}
    for name in candidates:
        for key in map(_hash, hashed_names(name)):
            if key in hashed:
                _add(counts, [name], *hashed[key])
    return Learned("spamassassin", spam, ham, _limited(counts, spam, ham), len(hashed))


def hashed_names(token: str) -> list[str]:
    """Return SpamAssassin's names, before hashing, of a token of ours; empty if it has no such token.

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
    """Return counts clipped to the number of messages: a message may hold several forms of a word, which add up."""
    return {name: (min(one, spam), min(other, ham)) for name, (one, other) in counts.items() if one or other}


def _checked_totals(spam: int, ham: int) -> tuple[int, int]:
    if spam < 1 or ham < 1:
        raise DumpError(f"spam and ham must both have been learned, but the dump has {spam} spam and {ham} ham")
    return spam, ham


def _damaged(number: int, line: bytes, program: str) -> DumpError:
    from suffice.spam.plain import one_line

    shown = one_line(line[:200].decode("utf-8", "replace"), 60)
    return DumpError(f"line {number} is not one that `{program}` writes: {shown!r}")
