"""From messages to tokens, and to the form that a store keeps."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, repeat
from typing import Any, NamedTuple

from suffice.spam.arrival import DAY_PREFIX, arrival_day
from suffice.spam.isolation import Unread, isolated
from suffice.spam.message import identity, read
from suffice.spam.scan import compiled
from suffice.spam.tokenizing import all_tokens
from suffice.spam.workers import checked, spread

#: names of mail servers whose Authentication-Results are trusted
Servers = tuple[str, ...]


class Reading(NamedTuple):
    """A message to learn: its identity (32 bytes), and its distinct tokens, compressed."""

    digest: bytes
    packed: bytes

    @property
    def tokens(self) -> list[str]:
        """The distinct tokens."""
        return unpack(self.packed)


def names_of(raw: object) -> list[str]:
    r"""Return the distinct tokens of a message as learned and scored: sorted, without line ends in them.

    Examples
    --------
    >>> from suffice.spam.reading import names_of
    >>> names_of(b"\nfree money")[:3]
    ['free', 'free money', 'header:no date']
    """
    return _names(lines_of(raw))


def lines_of(raw: object, *, keep_day: bool = False, servers: Servers = ()) -> str:
    r"""Return the tokens of `names_of`, one per line.

    With `keep_day` there is one more token for the day on which the message arrived. The Authentication-Results of the
    named servers are read.

    Examples
    --------
    >>> from suffice.spam.reading import lines_of
    >>> lines_of(b"\nfree money").split("\n")[:3]
    ['free', 'free money', 'header:no date']
    """
    message = read(checked(raw))
    found = all_tokens(message)
    if servers:
        from suffice.spam.authentication import authentication_tokens  # most filters name no servers

        found += authentication_tokens(message, servers)
    if keep_day and (day := arrival_day(message)) is not None:
        found.append(f"{DAY_PREFIX}{day}")
    # the same order in every process, so that sums are bitwise equal
    return sorted_lines(found)


def sorted_lines(found: list[str]) -> str:
    """Return the distinct tokens, sorted, one per line."""
    if compiled is not None:
        lines: str | None = compiled.sorted_lines(found)
        if lines is not None and "\0" not in lines:
            return lines
    names = sorted(dict.fromkeys(found))
    text = "\n".join(names)
    with suppress(UnicodeEncodeError):  # a lone surrogate
        if "\0" not in text and text.count("\n") < max(1, len(names)) and text.encode():
            return text
    # line ends split tokens, SQLite's JSON would end a token at a NUL, and after replacement tokens may coincide
    plain = text.encode("utf-8", "replace").replace(b"\0", b"?").decode()
    return "\n".join(sorted(set(plain.split("\n"))))


def reading(raw: object, servers: Servers = ()) -> Reading:
    r"""Read one message.

    Examples
    --------
    >>> from suffice.spam.reading import reading
    >>> reading(b"\nfree money").tokens[:3]
    ['free', 'free money', 'header:no date']
    """
    raw = checked(raw)
    return Reading(identity(raw), pack(lines_of(raw, keep_day=True, servers=servers)))


def pack(lines: str) -> bytes:
    """Return tokens, given one per line, compressed."""
    return zlib.compress(lines.encode(), 1)


def unpack(packed: bytes) -> list[str]:
    """Return the list of tokens from the result of `pack`."""
    return _names(unpacked_lines(packed))


def unpacked_lines(packed: bytes) -> str:
    """Return the tokens, one per line, from the result of `pack`."""
    return zlib.decompress(packed).decode()


def _names(lines: str) -> list[str]:
    return lines.split("\n") if lines else []


def readings(raws: Iterable[bytes], processes: int | None = None, servers: Servers = ()) -> Iterator[Reading | Unread]:
    """Read messages, in their order, with few of them in memory; parameters as in `spread` and `lines_of`."""
    return chain.from_iterable(spread(partial(_read_chunk, servers), zip(raws, repeat(None)), processes))


def _read_chunk(servers: Servers, chunk: list[tuple[bytes, Any]]) -> list[Reading | Unread]:
    return [isolated(partial(reading, servers=servers), raw) for raw, _ in chunk]
