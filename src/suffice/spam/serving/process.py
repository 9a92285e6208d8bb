"""A worker process for the event loop of a server: one message at a time, killed if it takes too long."""

from __future__ import annotations

import asyncio
import pickle
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from suffice.spam.workers import LENGTH, WorkerError, start_serving

#: callback for a result, or for the error in its place
Done = Callable[[Any, Exception | None], object]
#: time limit in seconds for a process to exit after its connection is closed
_END = 2.0


class Process(asyncio.Protocol):
    """A worker process with callbacks: a future and a task per request would take half of the time.

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
        """Start the process, and wait until it answers; raise OSError or TimeoutError if it does not."""
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
        """Whether the process accepts requests."""
        return self.is_connected and not self._is_late

    @property
    def is_connected(self) -> bool:
        """Whether the process has not ended yet."""
        return self._transport is not None

    def ask(self, work: Callable[[Any], Any], given: Any, seconds: float, done: Done) -> None:
        """Call a pickled function in the process, and pass its result, or an error, to `done`.

        The error is what the function raises, a TimeoutError if it takes longer than `seconds`, in which case the
        process is killed, or a WorkerError if the process ends on its own.
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
        """Receive a part of an answer (asyncio callback)."""
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
        """Store the connection to the process (asyncio callback)."""
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Handle the end of the process (asyncio callback)."""
        self._transport = None
        if self._program is not None:
            self._program.kill()
            with suppress(subprocess.TimeoutExpired):
                self._program.wait(_END)
        self._settle(None, WorkerError("a process that read messages has ended, perhaps because it ran out of memory"))
        self._ended(self)

    def _end_late(self, seconds: float) -> None:
        self.end()
        self._settle(None, TimeoutError(f"it took more than {seconds:.3g} seconds"))

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
        self._is_late = True
        if self._program is not None:
            self._program.kill()
        if self._transport is not None:
            self._transport.abort()


def settling(answer: asyncio.Future[Any]) -> Done:
    """Return a callback that sets the result or the error of a future."""

    def settle(result: Any, error: Exception | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)

    return settle
