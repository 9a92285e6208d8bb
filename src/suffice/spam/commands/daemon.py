"""`suffice spam daemon`: answers spamc and clients of rspamd."""

from __future__ import annotations

from typing import Annotated

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.listening import (
    RemoteOption,
    SocketModeOption,
    StoreForUserOption,
    TimeoutOption,
    WorkersOption,
    checked_address,
    checked_mode,
    checked_timeout,
    run_until_signal,
    tell_missing,
)
from suffice.spam.commands.options import StoreOption, store_path

_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam daemon --listen unix:/run/suffice/spam.sock --listen inet:783[/cyan]

[cyan]spamc -U /run/suffice/spam.sock < message.eml[/cyan]

[cyan]suffice spam filter --daemon < message.eml[/cyan]"""


@app.command(epilog=_EXAMPLE)
def daemon(
    store: StoreOption = None,
    listen: Annotated[
        list[str] | None,
        typer.Option(
            "--listen",
            "-l",
            metavar="ADDRESS",
            help="The address to listen on: unix:PATH, inet:PORT@HOST or inet6:PORT@HOST. Repeatable. By default the "
            "sockets that systemd passes, or the socket that `filter --daemon` uses.",
        ),
    ] = None,
    allow_learning: Annotated[
        bool,
        typer.Option(
            "--allow-learning", help="Let every client that can connect train the filter: spamc -L, /learnspam."
        ),
    ] = False,
    details: Annotated[
        bool,
        typer.Option("--details", help="Send clients the exact score and the reasons, which reveal what was learned."),
    ] = False,
    store_for_user: StoreForUserOption = None,
    timeout: TimeoutOption = 5.0,
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="BYTES", min=1, max=1 << 30, help="The largest accepted size of a message."),
    ] = 16 << 20,
    workers: WorkersOption = 2,
    socket_mode: SocketModeOption = "660",
    allow_remote: RemoteOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not log each message.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write the log as lines of JSON on standard output.")] = False,
) -> None:
    """Answer spamc, clients of rspamd and `filter --daemon`, with the store loaded once.

    Every address accepts both protocols. What is trained meanwhile is used from the next message on.

    SIGTERM and Ctrl-C stop it after the requests in progress; SIGHUP restarts its processes.
    """
    from suffice.spam.ask import daemon_address
    from suffice.spam.daemon.judging import Policy
    from suffice.spam.daemon.server import DaemonServer
    from suffice.spam.pulse import Pulse
    from suffice.spam.serving.activation import inherited_sockets, notify
    from suffice.spam.serving.address import Listeners
    from suffice.spam.serving.journal import Journal
    from suffice.spam.serving.scorer import Scorer
    from suffice.spam.serving.stores import Stores

    passed = inherited_sockets()
    wanted = listen if listen is not None else [] if passed else [daemon_address()]
    addresses = [checked_address(text, allow_remote, "daemon", "unix:PATH or inet:783@127.0.0.1") for text in wanted]
    mode, timeout = checked_mode(socket_mode), checked_timeout(timeout)
    shared, journal = store_path(store), Journal(as_json)
    stores = Stores(shared, store_for_user)
    with Listeners(addresses, mode, passed) as listeners:
        tell_missing(shared, journal)
        scorer = Scorer(stores, workers, patience=timeout)
        policy = Policy(limit=limit, learning=allow_learning, details=details)
        server = DaemonServer(scorer, policy, timeout=timeout, journal=journal, quiet=quiet, direct=True)

        def started() -> None:
            for name in listeners.names:
                journal.say("listening", address=name)
            notify("READY=1")

        def stop() -> None:
            notify("STOPPING=1")
            server.stop()

        async def serve() -> None:
            async with scorer:  # starts its processes now, so that no message has to wait for that
                await server.serve(listeners.sockets, started)

        pulse = Pulse(shared, "daemon", " ".join(listeners.names))
        run_until_signal(serve, stop, server.reload, signs=(pulse, journal))
    journal.say("ended")
