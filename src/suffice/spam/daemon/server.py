"""The daemon's server: many connections at once, one request each, isolated from each other."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, cast

from suffice.spam.daemon import answers
from suffice.spam.daemon.direct import BUSY, Direct, is_possible
from suffice.spam.daemon.judging import Outcome, Policy, asks_for_verdict, concluded, refused
from suffice.spam.daemon.requests import BadRequestError, Request, RequestReader
from suffice.spam.serving.address import BACKLOG
from suffice.spam.serving.journal import Journal
from suffice.spam.serving.scorer import Scorer
from suffice.spam.serving.scoring import Judged, Lesson
from suffice.spam.stamping import REASONS

#: limit of connections; beyond it the one that was silent longest is closed
CONNECTIONS = 500
#: time limits in seconds: silence of a client while it sends its request or reads the answer, and total time of both
IDLE_TIMEOUT, TOTAL = 60.0, 300.0
#: limit in bytes of all requests that are not answered yet
BUFFERED = 256 << 20
#: seconds to wait for complete requests when stopping
GRACE = 20.0
_SWEEP = 1.0
_PIECE = 1 << 18
_ACCEPTED = 16
_LEARN = {"/learnspam": "spam", "/learnham": "ham"}


class Connection:
    """One client with one request. Most requests arrive in one piece, before the event loop must watch the socket."""

    def __init__(self, server: DaemonServer, client: socket.socket, error: Exception | None = None) -> None:
        self._server, self._client = server, client
        #: why an earlier attempt to judge its message failed, None if there was none
        self.error = error
        self._loop = asyncio.get_running_loop()
        self._reader: RequestReader | None = RequestReader(server.policy.limit)
        self._answer = memoryview(b"")
        self._kept = 0
        self._is_open = True
        self.opened = self.last_activity = time.monotonic()
        self.is_asking = False

    def receive(self) -> None:
        """Read the available bytes, and answer the request once it is complete."""
        while self._reader is not None:
            try:
                data = self._client.recv(_PIECE)
            except (BlockingIOError, InterruptedError):
                self._loop.add_reader(self._client, self.receive)
                return
            except OSError:
                self.close()
                return
            self.last_activity = time.monotonic()
            try:
                request = self._reader.feed(data) if data else self._reader.end()
                self._keep(len(self._reader) if request is None else len(request.body))
                if request is None and self._reader.wants_continue:
                    self._client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            except BadRequestError as error:
                self._refuse(error)
                return
            except OSError:
                self.close()
                return
            if request is not None:
                self._reader = None
                self.is_asking = True
                self._loop.remove_reader(self._client)
                self._server.ask(self, request)
            elif not data:
                self.close()
                return
            else:  # let other connections run before the next piece
                self._loop.add_reader(self._client, self.receive)
                return

    def _refuse(self, error: BadRequestError) -> None:
        code = answers.DATA_ERROR if error.too_long else answers.PROTOCOL
        self._server.journal.trouble(error)  # logged once an hour, so that a client cannot fill the log
        self.answer(answers.refusal(error.protocol, code, str(error)))

    def _keep(self, size: int) -> None:
        """Update the number of bytes buffered for all connections."""
        self._server.buffered += size - self._kept
        self._kept = size
        if size and self._server.buffered > BUFFERED:
            self._server.make_room(self)

    @property
    def kept(self) -> int:
        """The number of buffered bytes."""
        return self._kept

    def answer(self, data: bytes) -> None:
        """Send an answer, and close the connection."""
        self._reader = None
        self.is_asking = False
        self._loop.remove_reader(self._client)
        self._answer = memoryview(data)
        self._send()

    def _send(self) -> None:
        try:
            while self._answer and self._is_open:
                self._answer = self._answer[self._client.send(self._answer) :]
                self.last_activity = time.monotonic()
        except (BlockingIOError, InterruptedError):
            self._loop.add_writer(self._client, self._send)
            return
        except OSError:
            pass  # nobody waits for the answer any more
        self.close()

    @property
    def is_answering(self) -> bool:
        """Whether an answer is being sent."""
        return len(self._answer) > 0

    def close(self) -> None:
        """Close the connection, and remove it from the server."""
        if not self._is_open:
            return
        self._is_open = False
        self._reader = None
        self._keep(0)
        self._loop.remove_reader(self._client)
        self._loop.remove_writer(self._client)
        self._client.close()
        self._server.leave(self)


class DaemonServer:
    """The server of the daemon.

    Parameters
    ----------
    scorer : Scorer
        Scores and learns messages.
    policy : Policy, optional
        What clients may request.
    timeout : float
        Time limit of an answer in seconds.
    journal : Journal, optional
        The log.
    quiet : bool
        Whether to leave out the log line per message.
    direct : bool
        Whether as many processes as `scorer` has also accept connections of unix sockets and judge messages themselves,
        unless users have their own stores.
    """

    def __init__(
        self,
        scorer: Scorer,
        policy: Policy | None = None,
        *,
        timeout: float = 5.0,
        journal: Journal | None = None,
        quiet: bool = False,
        direct: bool = False,
    ) -> None:
        self.policy = Policy() if policy is None else policy
        self.journal = Journal() if journal is None else journal
        self.buffered = 0
        self._scorer, self._timeout, self._quiet = scorer, timeout, quiet
        self._connections: set[Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stop = asyncio.Event()
        self._is_direct = direct and scorer.stores.pattern is None
        self.direct: Direct | None = None

    async def serve(self, listeners: Sequence[socket.socket], started: Callable[[], object] | None = None) -> None:
        """Serve listening sockets, and return once `stop` was called and the pending requests are answered."""
        loop = asyncio.get_running_loop()
        for listener in listeners:
            listener.setblocking(False)
            listener.listen(BACKLOG)
            loop.add_reader(listener, self._accept, listener)
        tasks = [loop.create_task(self._sweep())]
        if self._is_direct and (doors := [each for each in listeners if is_possible(each)]):
            tasks.append(loop.create_task(self._watch(doors)))
        try:
            if started is not None:
                started()
            await self._stop.wait()
        finally:
            for task in tasks:
                task.cancel()
            for listener in listeners:
                loop.remove_reader(listener)
            if self.direct is not None:
                await self.direct.close(GRACE)
            await self._finish()

    def _accept(self, listener: socket.socket) -> None:
        """Accept a limited number of waiting connections, so that others are served."""
        for _ in range(_ACCEPTED):
            try:
                client, _ = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # too many open files: waiting connections keep waiting
                self.journal.trouble(error)
                loop = asyncio.get_running_loop()
                loop.remove_reader(listener)
                loop.call_later(_SWEEP, self._accept_again, listener)
                return
            self._take(client)

    def _take(self, client: socket.socket, error: Exception | None = None) -> None:
        client.setblocking(False)
        connection = Connection(self, client, error)
        self.enter(connection)
        connection.receive()

    async def _watch(self, doors: Sequence[socket.socket]) -> None:
        """Run the processes that accept connections, and accept connections here while none of them can."""
        loop, scorer = asyncio.get_running_loop(), self._scorer
        self.direct = direct = Direct(
            doors,
            str(scorer.stores.shared),
            self.policy,
            timeout=self._timeout,
            patience=scorer.patience,
            workers=scorer.workers,
            passed=self._take,
            done=self._tell_outcome,
        )
        direct.start()
        while True:
            await asyncio.sleep(BUSY / 2)
            direct.end_late()
            for listener in doors:
                if direct.is_waiting:
                    loop.remove_reader(listener)
                else:
                    loop.add_reader(listener, self._accept, listener)

    def _accept_again(self, listener: socket.socket) -> None:
        if not self._stop.is_set():
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def stop(self) -> None:
        """Accept no more connections, and end after answering the complete requests."""
        self._stop.set()

    def reload(self) -> None:
        """Restart the scoring processes."""
        self._keep(self._reload())

    async def _reload(self) -> None:
        if self.direct is not None:
            self.direct.reload()
        await self._scorer.reload()
        self.journal.say("reloaded")

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish(self) -> None:
        for connection in [*self._connections]:
            if not connection.is_asking and not connection.is_answering:
                connection.close()
        end = time.monotonic() + GRACE
        while self._connections and time.monotonic() < end:
            await asyncio.sleep(0.01)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in [*self._connections]:
            connection.close()

    def enter(self, connection: Connection) -> None:
        """Add a connection, and close the one that was silent longest if there are too many."""
        self._connections.add(connection)
        if len(self._connections) <= CONNECTIONS:
            return
        self.journal.trouble(RuntimeError(f"there are more than {CONNECTIONS} connections"))
        idle = [each for each in self._connections if not each.is_asking]
        oldest = min(idle, key=lambda each: each.last_activity) if idle else connection
        oldest.close()

    def make_room(self, connection: Connection) -> None:
        """Close connections that are not being judged, largest buffer first; raise BadRequestError without any."""
        while self.buffered > BUFFERED:
            others = [each for each in self._connections if each.kept and each is not connection and not each.is_asking]
            if not others:
                raise BadRequestError("", "too many messages are in progress")
            self.journal.trouble(RuntimeError(f"more than {BUFFERED} bytes of messages are in progress"))
            max(others, key=lambda each: each.kept).close()

    def leave(self, connection: Connection) -> None:
        """Remove a connection."""
        self._connections.discard(connection)

    async def _sweep(self) -> None:
        """Close connections that are silent for too long."""
        while True:
            await asyncio.sleep(_SWEEP)
            now = time.monotonic()
            for connection in [*self._connections]:
                silent = now - connection.last_activity > IDLE_TIMEOUT or now - connection.opened > TOTAL
                if silent and not connection.is_asking:
                    connection.close()

    def ask(self, connection: Connection, request: Request) -> None:
        """Answer a request, or start the work for its answer."""
        protocol, method, path = request.protocol, request.method, request.target.partition("?")[0]
        is_http, is_post = protocol == "http", request.method in ("POST", "PUT")
        if asks_for_verdict(request):
            self._judge(connection, request)
        elif method == "PING" or (is_http and path == "/ping"):
            connection.answer(answers.pong(request))
        elif method == "TELL" and not is_http:
            self._keep(self._tell(connection, request))
        elif not is_http:
            is_skip = method == "SKIP"
            no = b"" if is_skip else answers.refusal(protocol, answers.PROTOCOL, f"there is no method {method}")
            connection.answer(no)
        elif (refusal := refused(request)) is not None:
            connection.answer(refusal)
        elif is_post and path in _LEARN:
            self._keep(self._learn(connection, request, cast(Lesson, _LEARN[path])))
        else:
            connection.answer(answers.refusal(protocol, answers.USAGE, f"there is no {method} {path[:100]}"))

    def _judge(self, connection: Connection, request: Request) -> None:
        done = partial(self._judged, connection, request, time.monotonic())
        if connection.error is not None:
            done(None, connection.error)
            return
        reasons = REASONS if self.policy.details else 0
        self._scorer.judge(request.body, _user(request), timeout=self._timeout, reasons=reasons, done=done)

    def _judged(
        self, connection: Connection, request: Request, begun: float, judged: Judged | None, error: Exception | None
    ) -> None:
        """Answer with a verdict; a message passes if it could not be judged (missing, damaged or slow store)."""
        outcome = concluded(request, self.policy, begun, judged, error)
        self._tell_outcome(outcome)
        connection.answer(outcome.answer)

    def _tell_outcome(self, outcome: Outcome) -> None:
        if outcome.kind:
            self.journal.trouble_of(outcome.kind, outcome.problem)
        if not self._quiet:
            self.journal.say("message", **outcome.facts)

    async def _tell(self, connection: Connection, request: Request) -> None:
        """Answer TELL: learn the message if its class is to be set in this filter, forget it if it is to be removed."""
        headers = request.headers
        places = {name: headers.get(name, "").lower().replace(",", " ").split() for name in ("set", "remove")}
        wanted = headers.get("message-class", "").lower()
        if "local" in places["set"] and wanted in ("spam", "ham"):
            await self._learn(connection, request, cast(Lesson, wanted))
        elif "local" in places["remove"]:
            await self._learn(connection, request, "forget")
        else:
            reason = "TELL needs Set: local with Message-class: spam or ham, or Remove: local"
            connection.answer(answers.refusal(request.protocol, answers.DATA_ERROR, reason))

    async def _learn(self, connection: Connection, request: Request, lesson: Lesson) -> None:
        if not self.policy.learning:
            reason = "learning is not allowed; start the daemon with --allow-learning"
            connection.answer(answers.refusal(request.protocol, answers.UNAVAILABLE, reason))
            return
        try:
            changed = await self._scorer.learn(request.body, lesson, _user(request), timeout=self._timeout)
        except Exception as error:
            self.journal.trouble(error)
            connection.answer(answers.refusal(request.protocol, answers.TEMPORARY, str(error)[:300]))
            return
        if not self._quiet:
            self.journal.say("learned", lesson=lesson, changed=changed, bytes=len(request.body))
        connection.answer(answers.learned_answer(request, lesson, changed))


def _user(request: Request) -> bytes:
    """Return the recipient of a message, as an address."""
    names = ("deliver-to", "rcpt", "user") if request.protocol == "http" else ("user",)
    user = next((request.headers[name] for name in names if request.headers.get(name)), "")
    found = user.encode("utf-8", "replace")[:400]
    return found if not found or b"@" in found else found + b"@localhost"
