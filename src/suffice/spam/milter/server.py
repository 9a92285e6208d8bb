"""The milter's server: many connections at once, isolated from each other, and an orderly shutdown."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from suffice.spam.isolation import UnreadableError
from suffice.spam.milter.session import Arrived, Policy, Session
from suffice.spam.milter.wire import PacketReader, ProtocolError
from suffice.spam.serving.address import BACKLOG, Address
from suffice.spam.serving.journal import Journal
from suffice.spam.serving.scorer import Scorer
from suffice.spam.stamping import REASONS
from suffice.spam.verdict import Verdict

#: limit of connections; beyond it the one that was silent longest is closed
CONNECTIONS = 500
#: time limits in seconds: until the first packet of a connection, and of silence within a message before the connection
#: may be closed to make room
FIRST, PAUSE = 60.0, 60.0
#: time limits in seconds: silence of a mail server (its client may be silent too), and waiting for messages in progress
#: when stopping
IDLE_TIMEOUT, GRACE = 3600.0, 20.0
_READ = 1 << 16


class MilterServer:
    """The server of the milter, whose clients are mail servers.

    Parameters
    ----------
    scorer : Scorer
        Scores messages.
    policy : Policy, optional
        What is done with messages.
    timeout : float
        Time limit of a verdict in seconds, after which the message passes.
    journal : Journal, optional
        The log.
    """

    def __init__(
        self, scorer: Scorer, policy: Policy | None = None, *, timeout: float = 5.0, journal: Journal | None = None
    ) -> None:
        self._scorer = scorer
        self._policy = policy
        self._timeout = timeout
        self._journal = Journal() if journal is None else journal
        self._sessions: dict[asyncio.Task[None], Session] = {}
        #: time of the last packet of each connection
        self._last_activity: dict[asyncio.Task[None], float] = {}
        self._scoring: set[asyncio.Task[None]] = set()
        self._stop = asyncio.Event()

    async def serve(
        self, address: Address, *, mode: int = 0o660, started: Callable[[str], object] | None = None
    ) -> None:
        """Serve, and return once `stop` was called and the messages in progress are done."""
        listener = address.listen(mode)
        file = os.lstat(address.path).st_ino if address.path else None
        server = await asyncio.start_server(self._connected, sock=listener, limit=_READ, backlog=BACKLOG)
        try:
            if started is not None:
                # port 0 means any free port
                started(str(address if address.path else replace(address, port=listener.getsockname()[1])))
            await self._stop.wait()
        finally:
            server.close()
            if file is not None:
                with suppress(OSError):
                    if os.lstat(address.path).st_ino == file:
                        os.unlink(address.path)
            await self._finish()

    def stop(self) -> None:
        """Accept no more connections, and end after the messages in progress."""
        self._stop.set()

    async def _finish(self) -> None:
        for task, session in self._sessions.items():
            if not session.busy and task not in self._scoring:
                task.cancel()
        if self._sessions:
            await asyncio.wait(list(self._sessions), timeout=GRACE)
        for task in self._sessions:
            task.cancel()
        await asyncio.gather(*self._sessions, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        session = Session(self._policy)
        try:
            if len(self._sessions) >= CONNECTIONS:
                self._journal.trouble(RuntimeError(f"there are more than {CONNECTIONS} connections"))
                self._make_room()
            if len(self._sessions) < CONNECTIONS:
                self._sessions[task], self._last_activity[task] = session, time.monotonic()
                await self._converse(session, task, reader, writer)
        except ProtocolError as error:
            self._journal.say("closed", reason=str(error))
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the mail server is gone or silent, or we are stopping
        except Exception as error:  # a bug affects only one connection, whose mail passes
            self._journal.trouble(error)
        finally:
            self._sessions.pop(task, None)
            self._last_activity.pop(task, None)
            writer.close()

    def _make_room(self) -> None:
        """Close the connection that was silent longest, but none being scored or recently active within a message."""
        old = time.monotonic() - PAUSE
        idle = [
            (session.busy, self._last_activity[task], id(task), task)
            for task, session in self._sessions.items()
            if task not in self._scoring and (not session.busy or self._last_activity[task] < old)
        ]
        if idle:
            *_, task = min(idle)
            del self._sessions[task]
            task.cancel()

    async def _converse(
        self,
        session: Session,
        task: asyncio.Task[None],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        packets = PacketReader()
        while not session.ended and not (self._is_stopping and not session.busy):
            data = await asyncio.wait_for(reader.read(_READ), IDLE_TIMEOUT if session.agreed else FIRST)
            if not data:
                return
            self._last_activity[task] = time.monotonic()
            for packet in packets.feed(data):
                answer = session.answer(packet)
                if isinstance(answer, Arrived):
                    self._scoring.add(task)
                    try:
                        answer = await self._judge(session, answer)
                    finally:
                        self._scoring.discard(task)
                if answer:
                    writer.write(answer)
            await asyncio.wait_for(writer.drain(), self._timeout)

    @property
    def _is_stopping(self) -> bool:
        return self._stop.is_set()

    async def _judge(self, session: Session, message: Arrived) -> bytes:
        begun = time.monotonic()
        error: Exception | None = None
        try:
            verdict = await self._scorer.score(
                message.raw, message.recipient, timeout=self._timeout, reasons=REASONS if session.policy.details else 0
            )
            if verdict.label == "error":
                error = UnreadableError(verdict.problem)
        except Exception as caught:  # missing, damaged or slow store: mail passes
            verdict, error = Verdict.error(str(caught)), caught
        if error is not None:
            self._journal.trouble(error)
        action, reply = session.conclude(message, verdict)
        facts: dict[str, object] = {
            "queue": message.queue,
            "label": verdict.label,
            "probability": None if error is not None else round(verdict.probability, 6),
            **({"list": verdict.listed.partition(" ")[0]} if verdict.listed else {}),
            "action": action,
            "seconds": round(time.monotonic() - begun, 3),
        }
        if error is not None:
            facts["error"] = type(error).__name__
        self._journal.say("message", **facts)
        return reply
