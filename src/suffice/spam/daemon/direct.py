"""Processes that accept connections and judge messages themselves, so that most requests need only one process.

A message of ordinary size that is sent in one piece to a unix socket is judged by the process that accepted the
connection. Every other connection is passed on to the server. The request is only peeked at (MSG_PEEK) until the
verdict is known, and the server holds the same connection meanwhile: if a process takes too long and is killed, or ends
otherwise, the server reads the request and answers it.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import select
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from suffice.spam.daemon.judging import Outcome, Policy, asks_for_verdict, concluded
from suffice.spam.daemon.requests import BadRequestError, Request, RequestReader
from suffice.spam.serving.scorer import SHARE
from suffice.spam.serving.scoring import Request as Scored
from suffice.spam.serving.scoring import judge
from suffice.spam.stamping import REASONS
from suffice.spam.workers import WorkerError, end_after, quieten, start_python

#: limit in bytes of a request that is judged directly: it and its answer fit into the socket's buffer
MOST = 65_536
#: time limit in seconds for a client to send its request, before the connection is passed on
PATIENCE = 0.002
#: seconds after which a process counts as busy, and the server also accepts connections
BUSY = 0.2
#: seconds between two reads of the processes' reports, and between attempts to start a process
LOOK, AGAIN = 0.02, 1.0
#: kinds of reports from a process to the server
READY, BEGUN, DONE, PASSED = b"R", b"B", b"D", b"P"
#: limit of reports of a process that are read at a time
_TAKEN = 256
#: limit in seconds of the time saved up for waiting
_MOST_SPARE = 0.02
#: seconds between two peeks at an incomplete request
_PAUSE = 0.0002
_TIME = struct.Struct("d")


def is_possible(listener: socket.socket) -> bool:
    """Return whether this system lets several processes wait for connections of a listener."""
    return listener.family == socket.AF_UNIX and hasattr(select, "EPOLLEXCLUSIVE")


class _Process:
    """A process, the connection that it is working on, and since when."""

    def __init__(self, arguments: tuple[Any, ...], listeners: Sequence[socket.socket]) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.setblocking(False)
        doors = [each.fileno() for each in listeners]
        code = f"from suffice.spam.daemon.direct import serve; serve(*{(*arguments, theirs.fileno(), doors)!r})"
        with theirs:
            try:
                self.program = start_python(code, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(), *doors))
            except OSError:
                self.control.close()
                raise
        self.is_ready = self.is_late = self.is_retired = False
        self.begun = 0.0
        self.client: socket.socket | None = None


class Direct:
    """The pool of these processes.

    Parameters
    ----------
    listeners : sequence of sockets
        Sockets at which they accept connections.
    shared : str
        The path of the store.
    policy : Policy
        What clients may request.
    timeout, patience : float
        Time limits in seconds of an answer, and of waiting for a locked store.
    workers : int
        Number of processes.
    passed : callable
        Called with each connection that is passed on, and with the error that prevented its verdict, or None.
    done : callable
        Called with the outcome of each message, without the answer.
    """

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        shared: str,
        policy: Policy,
        *,
        timeout: float,
        patience: float,
        workers: int,
        passed: Callable[[socket.socket, Exception | None], object],
        done: Callable[[Outcome], object],
    ) -> None:
        self._listeners, self._workers, self._passed, self._done = listeners, workers, passed, done
        self._seconds = SHARE * timeout
        # shorter than the time limit, so that a locked store gives an error before the process must be killed
        self._arguments = shared, policy.limit, policy.details, self._seconds, min(patience, 0.8 * self._seconds)
        self._processes: set[_Process] = set()
        self._last_request = 0.0
        self._is_closed = False

    def start(self) -> None:
        """Start the processes."""
        for _ in range(self._workers):
            self._add()

    def _add(self) -> None:
        if self._is_closed or sum(not each.is_retired for each in self._processes) >= self._workers:
            return
        loop = asyncio.get_running_loop()
        try:
            process = _Process(self._arguments, self._listeners)
        except OSError:
            loop.call_later(AGAIN, self._add)
            return
        self._processes.add(process)
        loop.add_reader(process.control, self._look, process)

    @property
    def is_waiting(self) -> bool:
        """Whether any process accepts connections; all may be busy for long, or not running."""
        now = time.monotonic()
        if now - self._last_request > BUSY and select.select(self._listeners, (), (), 0.0)[0]:
            return False
        return any(each.is_ready and (not each.begun or now - each.begun < BUSY) for each in self._processes)

    def end_late(self) -> None:
        """Kill the processes that took too long."""
        for process in [*self._processes]:
            self._receive(process)
            if process.begun and time.monotonic() - process.begun > self._seconds:
                process.is_late = True
                process.program.kill()

    def reload(self) -> None:
        """Replace the processes; each ends after its current message."""
        for process in [each for each in self._processes if each.is_ready]:  # others are new, or already ending
            process.is_ready, process.is_retired = False, True
            self._add()
            with suppress(OSError):
                process.control.shutdown(socket.SHUT_WR)

    async def close(self, seconds: float) -> None:
        """End the processes after their current messages."""
        self._is_closed = True
        end = time.monotonic() + seconds
        for process in self._processes:
            with suppress(OSError):
                process.control.shutdown(socket.SHUT_WR)
        while self._processes and time.monotonic() < end:
            self.end_late()
            await asyncio.sleep(LOOK)
        for process in [*self._processes]:
            process.program.kill()
            self._ended(process)

    def _look(self, process: _Process) -> None:
        """Read the reports of a process, then pause reading, so that the server does not wake up for every message."""
        if self._receive(process):
            loop = asyncio.get_running_loop()
            loop.remove_reader(process.control)
            loop.call_later(LOOK, self._look_again, process)

    def _look_again(self, process: _Process) -> None:
        if process in self._processes:
            asyncio.get_running_loop().add_reader(process.control, self._look, process)

    def _receive(self, process: _Process) -> bool:
        """Read a limited number of reports, so that others are served; return whether the process still runs."""
        for _ in range(_TAKEN):
            try:
                told, descriptors, _, _ = socket.recv_fds(process.control, MOST, 1)
            except (BlockingIOError, InterruptedError):
                return True
            except OSError:
                told, descriptors = b"", []
            self._last_request = time.monotonic()
            client = socket.socket(fileno=descriptors[0]) if descriptors else None
            kind = told[:1]
            if kind == BEGUN:
                process.client, process.begun = client, _TIME.unpack(told[1:])[0]
            elif kind == DONE:
                self._forget(process)
                self._done(Outcome(b"", *pickle.loads(told[1:])))
            elif kind == PASSED and client is not None:
                self._passed(client, None)
            elif kind == READY:
                process.is_ready = True
            else:
                self._ended(process)
                return False
        return True

    def _forget(self, process: _Process) -> None:
        if process.client is not None:
            process.client.close()
        process.client, process.begun = None, 0.0

    def _ended(self, process: _Process) -> None:
        loop = asyncio.get_running_loop()
        self._processes.discard(process)
        loop.remove_reader(process.control)
        process.control.close()
        process.program.kill()
        process.program.wait()
        if process.client is not None:
            late = TimeoutError(f"a message was not scored within {self._seconds:g} seconds")
            gone = WorkerError("a process that read messages has ended, perhaps because it ran out of memory")
            self._passed(process.client, late if process.is_late else gone)
        loop.call_later(0.0 if process.is_ready else AGAIN, self._add)


def serve(
    shared: str, limit: int, details: bool, seconds: float, patience: float, control: int, listeners: list[int]
) -> None:
    """Accept connections and judge messages until the server closes its end of the control socket."""
    os.dup2(2, 1)  # printed text goes to stderr, since standard output is the server's log
    quieten()
    doors = {number: socket.socket(fileno=number) for number in listeners}
    judging = _Judging(socket.socket(fileno=control), shared, Policy(limit=limit, details=details), seconds, patience)
    waiting = select.epoll()
    waiting.register(control, select.EPOLLIN)
    for number, door in doors.items():
        door.setblocking(False)
        waiting.register(number, select.EPOLLIN | select.EPOLLEXCLUSIVE)  # only one process wakes up per connection
    with suppress(OSError):  # raised if the server has ended
        judging.server.send(READY)
        while True:
            for number, _ in waiting.poll():
                if number == control:
                    os._exit(0)
                try:
                    client, _ = doors[number].accept()
                except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                    continue
                with client:
                    judging.answer(client)
    os._exit(0)


class _Judging:
    """The handling of a connection in a process; parameters as in `Direct`, `server` is the control socket."""

    def __init__(self, server: socket.socket, shared: str, policy: Policy, seconds: float, patience: float) -> None:
        self.server, self._policy, self._seconds = server, policy, seconds
        self._request = Scored(b"", shared, None, os.sep, patience, REASONS if policy.details else 0)
        #: seconds that may be spent waiting for clients; the budget grows by a tenth of the elapsed time
        self._spare, self._waited_at = 0.0, time.monotonic()

    def answer(self, client: socket.socket) -> None:
        """Judge the message of a connection, or pass the connection on."""
        data, request = self._peeked(client)
        if request is None or not asks_for_verdict(request):
            socket.send_fds(self.server, [PASSED], [client.fileno()])
            return
        begun = time.monotonic()
        socket.send_fds(self.server, [BEGUN + _TIME.pack(begun)], [client.fileno()])
        end_after(self._seconds)  # in case the server is gone by then
        judged, error = None, None
        try:
            judged = judge(self._request._replace(raw=request.body))
        except Exception as found:
            error = found
        end_after(None)
        outcome = concluded(request, self._policy, begun, judged, error)
        with suppress(OSError):  # raised if nobody waits for the answer any more
            client.recv(len(data))
            client.settimeout(self._seconds)
            client.sendall(outcome.answer)
            client.shutdown(socket.SHUT_RDWR)  # closing is not enough, since the server also holds the connection
        self.server.send(DONE + pickle.dumps((outcome.facts, outcome.kind, outcome.problem[:1000])))

    def _peeked(self, client: socket.socket) -> tuple[bytes, Request | None]:
        """Return the bytes that a client has sent, and the request if complete; wait within the time budget."""
        client.setblocking(False)
        begun, left = time.monotonic(), None
        while True:
            data = b""
            with suppress(BlockingIOError, InterruptedError):
                data = client.recv(MOST + 1, socket.MSG_PEEK)
            try:
                request = RequestReader(self._policy.limit).feed(data) if len(data) <= MOST else None
            except BadRequestError:
                return data, None
            now = time.monotonic()
            if left is None:  # first pass: most requests are complete by now
                self._spare = min(_MOST_SPARE, self._spare + 0.1 * (now - self._waited_at))
                self._waited_at, left = now, min(PATIENCE, self._spare)
            if request is not None or len(data) > MOST or now - begun >= left:
                self._spare -= now - begun
                return data, request
            select.select([] if data else [client], [], [], _PAUSE if data else left)
