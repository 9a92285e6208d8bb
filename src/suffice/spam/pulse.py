"""Signs of life: what a service that runs for long tells of itself in a small file beside the store.

Whoever looks after the filter, as its page does, sees from it which services use the store, when they last worked, and
what went wrong. The files hold counts and times, no mail.
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
#: how many files are looked at, and how many bytes of each
FILES, BYTES = 20, 10_000
#: seconds that a service may be late
PATIENCE = 60.0


@dataclass(frozen=True)
class Sign:
    """What is known of a service.

    Attributes
    ----------
    kind, name : str
        What it is, and what it serves, such as an account or an address.
    state : "running", "ended" or "silent"
        Silent if it has not said anything for longer than it meant to.
    since, seen : float
        When it began, and when it was last heard of, as seconds since 1970.
    counts : dict of str to int
        What it has done since it began.
    problem : str
        What went wrong last, empty if nothing does.
    """

    kind: str
    name: str
    state: Literal["running", "ended", "silent"]
    since: float
    seen: float
    counts: dict[str, int]
    problem: str


class Pulse:
    """Writes the file of one service; what keeps it from being written does not disturb the service.

    Parameters
    ----------
    store : path
        Of the filter that the service uses.
    kind, name : str
        As of `Sign`.

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
        """Say what was done until now, and within how many seconds more is to be heard."""
        now = time.time()
        self._facts |= {"seen": now, "next": now + within, "counts": dict(counts), "problem": one_line(problem, 300)}
        self._write()

    def end(self) -> None:
        """Say that the service has ended as it was asked to."""
        self._facts |= {"ended": True, "seen": time.time()}
        self._write()

    def _write(self) -> None:
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with suppress(OSError):  # such as in a folder that belongs to another user
            with suppress(FileNotFoundError):
                new.unlink()  # left over by a process that was ended while it wrote
            with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640), "w", encoding="utf-8") as file:
                json.dump(self._facts, file)
            os.replace(new, self._path)


def signs(store: Path) -> list[Sign]:
    """Return the services that have left a sign beside a store, those last heard of first; what is none is left out."""
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
    """Return a time that has a date."""
    return min(max(float(value), 0.0), 4e9)
