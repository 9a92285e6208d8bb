"""The milter on a socket: many connections at once, none of which can harm the others, and an orderly end."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import re
import socket
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self

from suffice.spam.isolation import UnreadableError
from suffice.spam.milter.journal import Journal
from suffice.spam.milter.scorer import Scorer
from suffice.spam.milter.session import Arrived, Policy, Session
from suffice.spam.milter.wire import PacketReader, ProtocolError
from suffice.spam.verdict import Verdict

#: of more connections than these the one that was silent longest is closed
CONNECTIONS = 500
#: how many may wait to be accepted
BACKLOG = 512
#: seconds in which a connection must begin to talk, and that one within a message may be silent before it makes room
FIRST, PAUSE = 60.0, 60.0
#: seconds: how long a mail server may be silent, as its client may be, and how long messages that have begun are waited
#: for in the end
SILENCE, GRACE = 3600.0, 20.0
_READ = 1 << 16
_PORT = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True)
class Address:
    """Where a milter listens: a path, or a port at a numeric address."""

    path: str = ""
    host: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address of "inet:PORT@HOST", "inet6:PORT@HOST", "inet:PORT" or "unix:PATH".

        Examples
        --------
        >>> from suffice.spam.milter import Address
        >>> Address.parse("inet:8891"), Address.parse("unix:/run/suffice.sock").is_local
        (Address(path='', host='127.0.0.1', port=8891), True)
        """
        kind, _, rest = text.partition(":")
        if kind in ("unix", "local") and os.path.isabs(rest) and "\0" not in rest:
            return cls(path=rest)
        port, _, host = rest.partition("@")
        host = host or ("::1" if kind == "inet6" else "127.0.0.1")
        host = "127.0.0.1" if host == "localhost" else host.strip("[]")
        if kind in ("inet", "inet6") and _PORT.fullmatch(port) and int(port) < 65536:
            with suppress(ValueError):
                return cls(host=str(ipaddress.ip_address(host)), port=int(port))
        raise ValueError(
            f"the address must be inet:PORT@HOST with a numeric host, or unix:PATH with an absolute path, but it is "
            f"{text!r}; give one such as inet:8891@127.0.0.1"
        )

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"{'inet6' if ':' in self.host else 'inet'}:{self.port}@{self.host}"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        return bool(self.path) or ipaddress.ip_address(self.host).is_loopback

    def listen(self, mode: int) -> socket.socket:
        """Return a socket that listens here; `mode` is that of the file, if it is one."""
        if not self.path:
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            try:
                return socket.create_server((self.host, self.port), family=family, backlog=BACKLOG)
            except OSError as error:
                reason = os.strerror(error.errno) if error.errno else str(error)
                raise ValueError(f"the milter cannot listen on {self}: {reason}; give another address") from error
        _remove_stale(self.path)
        listener = socket.socket(socket.AF_UNIX)
        before = os.umask(0o777 & ~mode)  # so that it is never open to more
        try:
            listener.bind(self.path)
        except OSError as error:
            listener.close()
            if error.errno is None:  # it does not reach the system
                raise ValueError(
                    f"the path of a unix socket can have about 100 bytes, but {self.path!r} has "
                    f"{len(os.fsencode(self.path))}; give a shorter one"
                ) from None
            raise OSError(error.errno, error.strerror, self.path) from error
        finally:
            os.umask(before)
        listener.listen(BACKLOG)
        return listener


def _remove_stale(path: str) -> None:
    """Remove the socket that a milter which was killed has left; refuse any other file, and one that is in use."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise ValueError(f"{path!r} exists and is not a socket; give another path, or remove it")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(5.0)
        try:
            probe.connect(path)
        except OSError as error:
            if error.errno not in (errno.ECONNREFUSED, errno.ENOENT):
                raise OSError(error.errno, error.strerror, path) from error
        else:
            raise ValueError(f"another program is listening on {path!r}; end it, or give another path")
    with suppress(FileNotFoundError):
        os.unlink(path)


class MilterServer:
    """Serves mail servers until it is stopped.

    Parameters
    ----------
    scorer : Scorer
        Gives verdicts.
    policy : Policy, optional
        What is done with messages.
    timeout : float
        How many seconds a verdict may take; then the message passes.
    journal : Journal, optional
        Where lines are written.
    """

    def __init__(
        self, scorer: Scorer, policy: Policy | None = None, *, timeout: float = 5.0, journal: Journal | None = None
    ) -> None:
        self._scorer = scorer
        self._policy = policy
        self._timeout = timeout
        self._journal = Journal() if journal is None else journal
        self._sessions: dict[asyncio.Task[None], Session] = {}
        #: when each connection was heard of last
        self._heard: dict[asyncio.Task[None], float] = {}
        self._scoring: set[asyncio.Task[None]] = set()
        self._stop: asyncio.Event | None = None

    async def serve(
        self, address: Address, *, mode: int = 0o660, started: Callable[[str], object] | None = None
    ) -> None:
        """Listen, and return once `stop` was called and the messages that had begun are done."""
        self._stop = asyncio.Event()
        listener = address.listen(mode)
        file = os.lstat(address.path).st_ino if address.path else None
        server = await asyncio.start_server(self._connected, sock=listener, limit=_READ, backlog=BACKLOG)
        try:
            if started is not None:
                # port 0 stands for any that is free
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
        """Take no more connections, and end after the messages that have begun."""
        if self._stop is not None:
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
                self._sessions[task], self._heard[task] = session, time.monotonic()
                await self._converse(session, task, reader, writer)
        except ProtocolError as error:
            self._journal.say("closed", reason=str(error))
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the mail server is gone, or silent, or we are to end
        except Exception as error:  # a bug here costs one connection, whose mail passes
            self._journal.trouble(error)
        finally:
            self._sessions.pop(task, None)
            self._heard.pop(task, None)
            writer.close()

    def _make_room(self) -> None:
        """Close the connection that was silent longest, but none that is scored, or was heard of within a message."""
        old = time.monotonic() - PAUSE
        idle = [
            (session.busy, self._heard[task], id(task), task)
            for task, session in self._sessions.items()
            if task not in self._scoring and (not session.busy or self._heard[task] < old)
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
            data = await asyncio.wait_for(reader.read(_READ), SILENCE if session.agreed else FIRST)
            if not data:
                return
            self._heard[task] = time.monotonic()
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
        return self._stop is not None and self._stop.is_set()

    async def _judge(self, session: Session, message: Arrived) -> bytes:
        begun = time.monotonic()
        error: Exception | None = None
        try:
            verdict = await self._scorer.score(message.raw, message.recipient, timeout=self._timeout)
            if verdict.label == "error":
                error = UnreadableError(verdict.problem)
        except Exception as caught:  # missing, damaged, slow: mail passes
            verdict, error = Verdict.error(str(caught)), caught
        if error is not None:
            self._journal.trouble(error)
        action, reply = session.conclude(message, verdict)
        facts: dict[str, object] = {
            "queue": message.queue,
            "label": verdict.label,
            "probability": None if error is not None else round(verdict.probability, 6),
            "action": action,
            "seconds": round(time.monotonic() - begun, 3),
        }
        if error is not None:
            facts["error"] = type(error).__name__
        self._journal.say("message", **facts)
        return reply
