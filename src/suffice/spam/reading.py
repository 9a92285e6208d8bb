"""Messages made into tokens, and into what a store keeps of them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, repeat
from typing import Any, NamedTuple

from suffice.spam.message import digest, read
from suffice.spam.tokens import tokens
from suffice.spam.workers import checked, spread


class Reading(NamedTuple):
    """A message as it is learned: its identity (32 bytes), and its distinct tokens, compressed."""

    digest: bytes
    packed: bytes

    @property
    def tokens(self) -> list[str]:
        """The distinct tokens."""
        return unpack(self.packed)


def names_of(raw: object) -> list[str]:
    r"""Return the distinct tokens of a message as they are learned and scored: sorted, none with a line end.

    Examples
    --------
    >>> from suffice.spam.reading import names_of
    >>> names_of(b"\nfree money")[:3]
    ['free', 'free money', 'header:no date']
    """
    # in one order in every process, so that sums are the same to the last bit
    names = sorted(tokens(read(checked(raw))))
    text = "\n".join(names)
    if text.isascii() and "\0" not in text and text.count("\n") < max(1, len(names)):
        return names
    return _names(_lines(names))


def reading(raw: object) -> Reading:
    r"""Read one message.

    Examples
    --------
    >>> from suffice.spam.reading import reading
    >>> reading(b"\nfree money").tokens[:3]
    ['free', 'free money', 'header:no date']
    """
    raw = checked(raw)
    return Reading(bytes.fromhex(digest(raw)), pack(sorted(tokens(read(raw)))))


def pack(names: list[str]) -> bytes:
    """Return distinct tokens as compressed lines of UTF-8."""
    return zlib.compress(_lines(names), 1)


def unpack(packed: bytes) -> list[str]:
    """Return the tokens that `pack` was given."""
    return _names(zlib.decompress(packed))


def _lines(names: list[str]) -> bytes:
    text = "\n".join(names)
    if "\0" not in text and text.count("\n") < max(1, len(names)):
        with suppress(UnicodeEncodeError):  # a surrogate
            return text.encode()
    # a token with a line end is two, SQLite's JSON would end one at a NUL, and what was different may now be the same
    lines = text.encode("utf-8", "replace").replace(b"\0", b"?").split(b"\n")
    return b"\n".join(sorted(set(lines)))


def _names(lines: bytes) -> list[str]:
    text = lines.decode("utf-8")
    return text.split("\n") if text else []


def readings(raws: Iterable[bytes], processes: int | None = None) -> Iterator[Reading]:
    """Read messages, in their order, holding only few of them in memory; parameters as of `spread`."""
    return chain.from_iterable(spread(_read_chunk, zip(raws, repeat(None)), processes))


def _read_chunk(chunk: list[tuple[bytes, Any]]) -> list[Reading]:
    return [reading(raw) for raw, _ in chunk]
