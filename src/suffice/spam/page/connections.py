"""Connections that wait: how many there may be, and for how long, so that strangers cannot keep the owner out.

Anyone on the machine can connect, and only the request that follows shows who it is. So none is refused: the connection
that has waited longest without a request makes room for the newest.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

#: how many connections may be open at once; some systems allow a process no more than 256 files
LIMIT = 128
#: seconds in which a request must be whole, from the connection or the last answer on
PATIENCE = 10.0


class Connection(H11Protocol):
    """A connection of the server that does not wait for ever."""

    _since = 0.0
    _end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, in the place of who has waited longest if there are too many."""
        super().connection_made(transport)
        self._wait()
        there = [other for other in self.connections if isinstance(other, Connection) and not other._is_closing]
        if len(there) > LIMIT:
            waiting = (other for other in there if other is not self and not other._is_asking)
            if oldest := min(waiting, key=lambda other: other._since, default=None):
                oldest.transport.close()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
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
        if not self._is_asking:  # or else the answer begins the waiting anew
            self.transport.close()
