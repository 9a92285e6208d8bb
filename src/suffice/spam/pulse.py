"""Heartbeats: the status that a long-running service writes to a small file beside the store.

The web page, for example, reads from it which services use the store, when they were last active, and what went wrong.
The files hold counts and times, no mail.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from suffice.spam.plain import one_line

SUFFIX = ".pulse"
#: limits: number of files read, and bytes per file
FILES, BYTES = 20, 10_000
#: seconds that a heartbeat may be late
PATIENCE = 60.0


@dataclass(frozen=True)
class Sign:
    """The status of a service.

    Attributes
    ----------
    kind, name : str
        The kind of service, and what it serves, such as an account or an address.
    state : "running", "ended" or "silent"
        Silent if its next heartbeat is overdue.
    since, seen : float
        Times of the start and of the last heartbeat, in seconds since 1970.
    counts : dict of str to int
        Counts of what it has done since the start.
    problem : str
        The current problem; empty if there is none.
    """

    kind: str
    name: str
    state: Literal["running", "ended", "silent"]
    since: float
    seen: float
    counts: dict[str, int]
    problem: str


class Pulse:
    """The writer of one service's status file; errors of writing are ignored, so they do not disturb the service.

    Parameters
    ----------
    store : path
        The store of the filter that the service uses.
    kind, name : str
        As in `Sign`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from suffice.spam.pulse import Pulse, signs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Path(folder, "spam.sqlite")
    ...     pulse = Pulse(store, "milter", "inet:8891@127.0.0.1")
    ...     pulse.beat({"spam": 3})
    ...     [sign] = signs(store)
    >>> sign.kind, sign.state, sign.counts
    ('milter', 'running', {'spam': 3})
    """

    def __init__(self, store: Path, kind: str, name: str) -> None:
        short = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
        self._path = store.with_name(f"{store.name}.{kind}-{short}{SUFFIX}")
        self._facts: dict[str, Any] = {"kind": kind, "name": name, "since": time.time(), "ended": False}

    def beat(self, counts: Mapping[str, int], problem: str = "", within: float = 60.0) -> None:
        """Write the counts so far, and announce the next heartbeat within `within` seconds."""
        now = time.time()
        self._facts |= {"seen": now, "next": now + within, "counts": dict(counts), "problem": one_line(problem, 300)}
        self._write()

    def end(self) -> None:
        """Record that the service ended normally."""
        self._facts |= {"ended": True, "seen": time.time()}
        self._write()

    def _write(self) -> None:
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with suppress(OSError):  # such as no permission in a folder of another user
            with suppress(FileNotFoundError):
                new.unlink()  # left over by a process that was killed while writing
            with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640), "w", encoding="utf-8") as file:
                json.dump(self._facts, file)
            os.replace(new, self._path)


def signs(store: Path) -> list[Sign]:
    """Return the services with a status file beside a store, the most recent first; invalid files are left out."""
    found = [_read(path) for path in sorted(store.parent.glob(glob.escape(store.name) + f".*-*{SUFFIX}"))[:FILES]]
    return sorted((sign for sign in found if sign is not None), key=lambda sign: -sign.seen)


def _read(path: Path) -> Sign | None:
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with open(os.open(path, flags), "rb") as file:
            facts = json.loads(file.read(BYTES))
        is_late = time.time() > float(facts["next"]) + PATIENCE
        return Sign(
            one_line(str(facts["kind"]), 20),
            one_line(str(facts["name"]), 100),
            "ended" if facts["ended"] is True else "silent" if is_late else "running",
            _moment(facts["since"]),
            _moment(facts["seen"]),
            {one_line(str(name), 30): int(count) for name, count in list(facts["counts"].items())[:10]},
            one_line(str(facts["problem"]), 300),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None  # written by something else


def _moment(value: Any) -> float:
    """Return a time clipped to the range that can be shown as a date."""
    return min(max(float(value), 0.0), 4e9)
