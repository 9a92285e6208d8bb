"""Checks of the filter's servers before they start, and running them until a signal ends them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from suffice.spam.pulse import Pulse
    from suffice.spam.serving.address import Address
    from suffice.spam.serving.journal import Journal

#: seconds between two heartbeats
SIGN_INTERVAL = 30.0

StoreForUserOption = Annotated[
    str | None,
    typer.Option(
        "--store-for-user",
        metavar="PATTERN",
        help="The path of the store of each recipient, with {user} and {domain}; --store is used for the others.",
    ),
]
TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        help="The longest time a message waits for a verdict; after that it is accepted.",
    ),
]
WorkersOption = Annotated[
    int, typer.Option("--workers", metavar="NUMBER", min=1, max=64, help="The number of processes that score messages.")
]
SocketModeOption = Annotated[
    str, typer.Option("--socket-mode", metavar="MODE", help="The permissions of a unix socket, in octal.")
]
RemoteOption = Annotated[bool, typer.Option("--allow-remote", help="Allow an address that other machines can reach.")]


def checked_address(text: str, allow_remote: bool, what: str, example: str) -> Address:
    """Return the address to listen at; raise unless only the local host can connect, or others are allowed to."""
    from suffice.spam.serving.address import Address

    address = Address.parse(text)
    if not address.is_local and not allow_remote:
        raise ValueError(
            f"the {what} has no passwords, so it listens on this machine only, but {text!r} can be reached by "
            f"others; give {example}, or add --allow-remote behind a firewall"
        )
    return address


def checked_timeout(timeout: float) -> float:
    """Return the time limit in seconds; raise if it is not valid."""
    if not 0.0 < timeout <= 240.0:
        raise ValueError(f"--timeout must be above 0 and at most 240 seconds, but it is {timeout!r}")
    return timeout


def checked_mode(socket_mode: str) -> int:
    """Return the permissions of a socket; raise if they are not valid."""
    try:
        mode = int(socket_mode, 8)
    except ValueError:
        mode = -1
    if not 0 <= mode <= 0o777:
        raise ValueError(f"--socket-mode must be an octal number up to 777, but it is {socket_mode!r}")
    return mode


def tell_missing(store: Path, journal: Journal) -> None:
    """Log it if there is no store yet; one that is created later is used."""
    if not store.exists():
        journal.trouble(FileNotFoundError(f"there is no store {str(store)!r} yet; create it with `suffice spam train`"))


def run_until_signal(
    serve: Callable[[], Coroutine[Any, Any, None]],
    stop: Callable[[], object],
    reload: Callable[[], object] | None = None,
    signs: tuple[Pulse, Journal] | None = None,
) -> None:
    """Run a server and write heartbeats; SIGTERM and SIGINT stop it, SIGHUP reloads it."""
    import asyncio
    import signal

    async def run() -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        if reload is not None:
            loop.add_signal_handler(signal.SIGHUP, reload)
        beating = None if signs is None else asyncio.create_task(_beat(*signs))
        try:
            await serve()
        finally:
            if beating is not None:
                beating.cancel()

    asyncio.run(run())
    if signs is not None:
        signs[0].end()


async def _beat(pulse: Pulse, journal: Journal) -> None:
    import asyncio

    while True:
        pulse.beat(journal.counts, journal.problem, within=SIGN_INTERVAL)
        await asyncio.sleep(SIGN_INTERVAL)
