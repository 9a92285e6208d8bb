"""The loop of a watch: connect, check the folders, wait, repeat; reconnect after failures; end on request."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from suffice.spam.imap.account import Account
from suffice.spam.imap.connection import Connection
from suffice.spam.imap.events import Event
from suffice.spam.imap.session import DisconnectedError, RefusedError
from suffice.spam.imap.watching import Watch

#: limit of a wait in seconds: a server may end an IDLE after 30 minutes (RFC 2177)
LONGEST_WAIT = 28 * 60.0
#: seconds between attempts to connect: the first pause, and the longest
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
#: seconds after which a connection counts as good, so that pauses start over
GOOD_CONNECTION = 60.0


class _Stop(BaseException):
    """A request to end during a wait."""


class Stopping:
    """The handling of SIGINT and SIGTERM: they end a wait at once, and other work after the current message.

    A second signal ends everything at once, also without losing anything.
    """

    def __init__(self) -> None:
        self._is_asked = False
        self._is_waiting = False
        self._before: dict[int, Any] = {}

    def is_asked(self) -> bool:
        """Return whether a signal was received."""
        return self._is_asked

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let a signal end the `with` block at once."""
        self._is_waiting = True
        try:
            if self._is_asked:
                raise _Stop
            yield
        finally:
            self._is_waiting = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._is_asked and not self._is_waiting:
            raise _Stop
        self._is_asked = True
        if self._is_waiting:
            raise _Stop

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        return isinstance(error, _Stop)


def pause(attempt: int, chance: float) -> float:
    """Return the seconds to wait before an attempt to connect: doubled each time, randomly reduced by up to half.

    Examples
    --------
    >>> [pause(attempt, 1.0) for attempt in (0, 1, 2, 20)], pause(0, 0.0)
    ([1.0, 2.0, 4.0, 300.0], 0.5)
    """
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt, 30)) * (0.5 + 0.5 * chance)


def run(
    account: Account,
    password: str,
    make_watch: Callable[[Connection], Watch],
    report: Callable[[Event], object],
    stopping: Stopping,
    *,
    once: bool = False,
    interval: float = 60.0,
    looked: Callable[[float, Exception | None], object] = lambda seconds, error: None,
) -> None:
    """Watch an account until asked to end.

    Parameters
    ----------
    account : Account
        The account to watch.
    password : str
        The password of its user.
    make_watch : callable
        Called with the first connection; returns the watch.
    report : callable
        Called with an event when a connection is lost.
    stopping : Stopping
        Ends the loop on a signal; entered by the caller.
    once : bool
        Check the folders once, and end.
    interval : float
        Seconds after which the folders are checked even if nothing happened in the inbox.
    looked : callable
        Called after each check with the seconds until the next one at the latest, and with the error that prevented the
        check, or None.

    Raises
    ------
    DisconnectedError
        If the first connection fails, or any with `once`; later failures are retried.
    MailboxError
        If the server refuses the user or the password, at any time, or lacks a folder.
    """
    watch: Watch | None = None
    has_looked = False
    attempt = 0
    while not stopping.is_asked():
        began = time.monotonic()
        try:
            with stopping.waiting():
                connection = Connection(account, password)
            with connection:
                watch = watch or make_watch(connection)
                watch.look(connection)
                has_looked = True
                looked(min(interval, LONGEST_WAIT), None)
                if not once:
                    report(Event("note", watch.folders.inbox, text=f"watching {account}"))
                while not once and not stopping.is_asked():
                    with stopping.waiting():
                        if not connection.wait(watch.folders.inbox, watch.newest, min(interval, LONGEST_WAIT)):
                            time.sleep(interval)
                    watch.look(connection)
                    looked(min(interval, LONGEST_WAIT), None)
            return
        except (DisconnectedError, RefusedError) as error:
            # before the first success a mistake of the user is more likely than one of the server
            if once or watch is None or (isinstance(error, RefusedError) and not has_looked):
                raise
            attempt = 0 if time.monotonic() - began > GOOD_CONNECTION else attempt
            seconds = pause(attempt, random.random())
            attempt += 1
            report(Event("note", watch.folders.inbox, text=f"{error}; trying again in {seconds:.1f} s"))
            looked(seconds, error)
            with stopping.waiting():
                time.sleep(seconds)
