"""The loop of a watch: connect, look, wait, look again; connect anew when the server goes away; end when asked to."""

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

#: a server may end an IDLE of 30 minutes (RFC 2177)
LONGEST_WAIT = 28 * 60.0
#: seconds between attempts to connect: at first, and at most
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
#: a connection that held so long was a good one
GOOD_CONNECTION = 60.0


class _Stop(BaseException):
    """It was asked to end, and waits for something."""


class Stopping:
    """The wish of a user or a system to end: SIGINT and SIGTERM end a wait at once, and other work after a message.

    A second signal ends everything at once, which loses nothing either.
    """

    def __init__(self) -> None:
        self._is_asked = False
        self._is_waiting = False
        self._before: dict[int, Any] = {}

    def is_asked(self) -> bool:
        """Return whether it is time to end."""
        return self._is_asked

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let a signal end what is within at once."""
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
    """Return how many seconds to wait before an attempt to connect: doubled each time, and by chance up to half less.

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
    """Watch until it is asked to end.

    Parameters
    ----------
    account : Account
        Which.
    password : str
        Of its user.
    make_watch : callable
        Returns the watch, once there is a first connection.
    report : callable
        Is told when a connection is lost.
    stopping : Stopping
        Entered by the caller; ends the loop.
    once : bool
        Look once, and end.
    interval : float
        Seconds after which folders are looked into although nothing has happened in the inbox.
    looked : callable
        Called after each look with the seconds until the next one at the latest, and with what has kept it from
        looking, if anything has.

    Raises
    ------
    DisconnectedError
        If the server cannot be reached at first, or goes away with `once`; later it is tried again.
    MailboxError
        If the server refuses the user or the password, whenever that is, or lacks a folder.
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
            # at first a mistake of the user is more likely than one of the server
            if once or watch is None or (isinstance(error, RefusedError) and not has_looked):
                raise
            attempt = 0 if time.monotonic() - began > GOOD_CONNECTION else attempt
            seconds = pause(attempt, random.random())
            attempt += 1
            report(Event("note", watch.folders.inbox, text=f"{error}; trying again in {seconds:.1f} s"))
            looked(seconds, error)
            with stopping.waiting():
                time.sleep(seconds)
