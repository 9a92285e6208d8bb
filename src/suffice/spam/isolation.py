"""Isolation of messages from each other: the one place where exceptions of reading a message are caught.

Messages are untrusted input, and any of them may make the reader fail. Code that reads messages therefore calls
`isolated` (many messages: skip this one and continue) or `readable` (one message: raise UnreadableError).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class UnreadableError(ValueError):
    """A message that the filter cannot read; the text says what went wrong inside."""


class Spoiled(bytes):
    """A message that is not read: it crashed the process that read it, took too long, or its file is damaged."""

    reason = ""

    @classmethod
    def by(cls, raw: bytes, error: Exception) -> Spoiled:
        """Return a spoiled message, given the message and the error of the process that read it."""
        return cls.because(_reason(error), raw)

    @classmethod
    def because(cls, reason: str, raw: bytes = b"") -> Spoiled:
        """Return a spoiled message, given the reason why it is not read."""
        spoiled = cls(raw)
        spoiled.reason = reason
        return spoiled


class Unread(NamedTuple):
    """The placeholder result of a message that could not be read."""

    reason: str


def readable(read: Callable[[bytes], T], raw: bytes) -> T:
    r"""Return the result of a function on a message; raise UnreadableError if it raises any exception.

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
    """Return the result of a function on a message, or `Unread` if it raises any exception.

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
    """A counter of skipped messages that calls an optional callback.

    Parameters
    ----------
    tell : callable, optional
        Called with the number of each skipped message (from 0, in the order given) and the reason.
    """

    def __init__(self, tell: Callable[[int, str], object] | None = None) -> None:
        self.count = 0
        self._tell = tell

    def skip(self, number: int, reason: str) -> None:
        """Count a skipped message, and call the callback."""
        self.count += 1
        if self._tell is not None:
            self._tell(number, reason)

    def left(self, results: Iterable[T | Unread]) -> Iterator[T]:
        """Yield the results of readable messages, and count the others.

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
