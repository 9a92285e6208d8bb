"""A process that works on one message at a time for the event loop of a server, and is ended when it takes too long."""

from __future__ import annotations

import asyncio
import pickle
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from suffice.spam.workers import LENGTH, WorkerError, start_serving

#: takes a result, or the error that there is in its place
Done = Callable[[Any, Exception | None], object]
#: seconds that a process may take to end once it has nothing to do
_END = 2.0


class Process(asyncio.Protocol):
    """A process that is asked. Answers go to functions: a future and a task for each would take half of the time.

    Parameters
    ----------
    ended : callable
        Called with this process when it has ended, for whatever reason.
    """

    def __init__(self, ended: Callable[[Process], object]) -> None:
        self._ended = ended
        self._transport: asyncio.Transport | None = None
        self._program: subprocess.Popen[bytes] | None = None
        self._received = bytearray()
        self._done: Done | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_late = False

    async def start(self, ready: Callable[[None], object], seconds: float) -> None:
        """Start it, and wait until it answers; OSError or TimeoutError if it does not."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._program = start_serving(theirs, theirs)
            except OSError:
                ours.close()
                raise
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(lambda: self, ours)
        answer: asyncio.Future[Any] = loop.create_future()
        self.ask(ready, None, seconds, settling(answer))
        try:
            await answer
        except BaseException:
            self.end()
            raise

    @property
    def is_running(self) -> bool:
        """Whether it can be asked."""
        return self.is_connected and not self._is_late

    @property
    def is_connected(self) -> bool:
        """Whether it has not ended yet."""
        return self._transport is not None

    def ask(self, work: Callable[[Any], Any], given: Any, seconds: float, done: Done) -> None:
        """Let a function, which is pickled, make something of what is given there, and pass that on, or an error.

        The error is what the function raises, a TimeoutError if it takes longer, in which case the process is ended, or
        a WorkerError if the process ends on its own.
        """
        if self._transport is None:
            done(None, WorkerError("the process has ended"))
            return
        self._done = done
        self._timer = asyncio.get_running_loop().call_later(seconds, self._end_late, seconds)
        self._transport.write(pickle.dumps((work, given, seconds), pickle.HIGHEST_PROTOCOL))

    def _settle(self, result: Any, error: Exception | None) -> None:
        done, self._done = self._done, None
        if self._timer is not None:
            self._timer.cancel()
        if done is not None:
            done(result, error)

    def data_received(self, data: bytes) -> None:
        """Take a part of an answer."""
        received = self._received
        received += data
        if len(received) < LENGTH.size or len(received) < LENGTH.size + LENGTH.unpack_from(received)[0]:
            return
        self._received = bytearray()
        success, result = pickle.loads(memoryview(received)[LENGTH.size :])
        if success:
            self._settle(result, None)
        else:
            self._settle(None, result)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection to the process."""
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Take that the process has ended."""
        self._transport = None
        if self._program is not None:
            self._program.kill()
            with suppress(subprocess.TimeoutExpired):
                self._program.wait(_END)
        self._settle(None, WorkerError("a process that read messages has ended, perhaps for want of memory"))
        self._ended(self)

    def _end_late(self, seconds: float) -> None:
        self.end()
        self._settle(None, TimeoutError(f"it took more than {seconds:.3g} seconds"))

    def end(self) -> None:
        """End the process, whatever it is at."""
        self._is_late = True
        if self._program is not None:
            self._program.kill()
        if self._transport is not None:
            self._transport.abort()


def settling(answer: asyncio.Future[Any]) -> Done:
    """Return a function that passes a result or an error on to a future."""

    def settle(result: Any, error: Exception | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)

    return settle
