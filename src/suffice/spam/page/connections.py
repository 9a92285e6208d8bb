"""Limits on the number and the waiting time of connections, so that others cannot lock out the owner.

Anyone on the machine can connect, and only the request shows who it is. So no connection is refused: the one that has
waited longest without a request is closed to make room for the newest.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

#: limit of open connections; some systems allow a process only 256 files
LIMIT = 128
#: seconds within which a request must be complete, after the connection or the last answer
PATIENCE = 10.0


class Connection(H11Protocol):
    """A connection of the server with a time limit for waiting."""

    _since = 0.0
    _end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request; if there are too many connections, close the one that has waited longest."""
        super().connection_made(transport)
        self._wait()
        there = [other for other in self.connections if isinstance(other, Connection) and not other._is_closing]
        if len(there) > LIMIT:
            waiting = (other for other in there if other is not self and not other._is_asking)
            if oldest := min(waiting, key=lambda other: other._since, default=None):
                oldest.transport.close()

    def on_response_complete(self) -> None:
        """Start waiting for the next request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        if self._end is not None:
            self._end.cancel()

    @property
    def _is_asking(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _is_closing(self) -> bool:
        return self.transport.is_closing()

    def _wait(self) -> None:
        if self._end is not None:
            self._end.cancel()
        self._since = self.loop.time()
        self._end = self.loop.call_later(PATIENCE, self._give_up)

    def _give_up(self) -> None:
        if not self._is_asking:  # else waiting starts again after the answer
            self.transport.close()
