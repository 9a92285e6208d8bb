"""What a message does to the reader stays with that message: the one place where its exceptions are caught.

A message is written by whoever sends it, and the next one that the reader cannot take may be on its way. So whoever
reads messages calls `isolated` (many messages: skip this one, go on) or `readable` (one message: say so).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class UnreadableError(ValueError):
    """A message that the filter cannot read; says what went wrong inside."""


class Spoiled(bytes):
    """A message that is not read: it has ended the process that read it, took too long, or its file is damaged."""

    reason = ""

    @classmethod
    def by(cls, raw: bytes, error: Exception) -> Spoiled:
        """Make one of a message and what became of its process."""
        return cls.because(_reason(error), raw)

    @classmethod
    def because(cls, reason: str, raw: bytes = b"") -> Spoiled:
        """Make one of the reason why it is not read."""
        spoiled = cls(raw)
        spoiled.reason = reason
        return spoiled


class Unread(NamedTuple):
    """What stands in the place of a result for a message that could not be read."""

    reason: str


def readable(read: Callable[[bytes], T], raw: bytes) -> T:
    r"""Return what a function makes of a message; raise UnreadableError, whatever goes wrong inside.

    Examples
    --------
    >>> from suffice.spam.isolation import readable
    >>> readable(int, b"12")
    12
    >>> readable(int, b"x")
    Traceback (most recent call last):
        ...
    suffice.spam.isolation.UnreadableError: the message cannot be read (ValueError: invalid literal for int() ...)
    """
    if isinstance(raw, Spoiled):
        raise UnreadableError(raw.reason)
    try:
        return read(raw)
    except UnreadableError:
        raise
    except Exception as error:
        raise UnreadableError(_reason(error)) from error


def _reason(error: Exception) -> str:
    return f"the message cannot be read ({type(error).__name__}: {str(error)[:300]})"


def isolated(read: Callable[[bytes], T], raw: bytes) -> T | Unread:
    """Return what a function makes of a message, or `Unread`, whatever goes wrong inside.

    Examples
    --------
    >>> from suffice.spam.isolation import isolated
    >>> isolated(len, b"12"), isolated(int, b"x").reason[:42]
    (2, 'the message cannot be read (ValueError: in')
    """
    try:
        return readable(read, raw)
    except UnreadableError as error:
        return Unread(str(error))


class Skips:
    """Counts the messages that are skipped, and tells who wants to know.

    Parameters
    ----------
    tell : callable, optional
        Called with the number of each such message, from 0 on in the order they were given, and the reason.
    """

    def __init__(self, tell: Callable[[int, str], object] | None = None) -> None:
        self.count = 0
        self._tell = tell

    def skip(self, number: int, reason: str) -> None:
        """Take note of a message."""
        self.count += 1
        if self._tell is not None:
            self._tell(number, reason)

    def left(self, results: Iterable[T | Unread]) -> Iterator[T]:
        """Yield the results of messages that could be read.

        Examples
        --------
        >>> from suffice.spam.isolation import Skips, isolated
        >>> skips = Skips()
        >>> list(skips.left(isolated(int, raw) for raw in (b"1", b"x", b"3"))), skips.count
        ([1, 3], 1)
        """
        for number, result in enumerate(results):
            if isinstance(result, Unread):
                self.skip(number, result.reason)
            else:
                yield result
