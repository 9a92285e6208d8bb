"""`suffice spam milter`: stamps mail as Postfix or Sendmail receives it."""

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


@app.command()
def milter(
    store: StoreOption = None,
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            "-l",
            metavar="ADDRESS",
            help="The address to listen on: inet:PORT@HOST, inet6:PORT@HOST or unix:PATH.",
        ),
    ] = "inet:8891@127.0.0.1",
    reject: Annotated[
        bool, typer.Option("--reject", help="Reject spam with 550 5.7.1 during the SMTP session.")
    ] = False,
    reject_above: Annotated[
        float | None,
        typer.Option("--reject-above", metavar="PROBABILITY", help="Reject only spam of at least this probability."),
    ] = None,
    quarantine: Annotated[
        bool, typer.Option("--quarantine", help="Hold spam that is not rejected in the mail server's queue.")
    ] = False,
    store_for_user: StoreForUserOption = None,
    details: Annotated[
        bool,
        typer.Option("--details", help="Add X-Suffice-Score and X-Suffice-Reasons too, which reveal what was learned."),
    ] = False,
    timeout: TimeoutOption = 5.0,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", metavar="BYTES", min=1, help="The number of bytes of a message that are kept and scored."
        ),
    ] = 1 << 20,
    workers: WorkersOption = 2,
    socket_mode: SocketModeOption = "660",
    allow_remote: RemoteOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write the log as lines of JSON on standard output.")] = False,
) -> None:
    """Add the verdict to mail as Postfix or Sendmail receives it, and optionally reject spam.

    Adds the header X-Suffice-Status, and with --details X-Suffice-Score and X-Suffice-Reasons. Headers of these names
    that a message already has are removed; a message with more than a thousand of them is rejected.

    If the store is missing or damaged, or a verdict takes too long, mail is accepted with the status "error".

    Writes one line per message. SIGTERM and Ctrl-C stop it after the messages in progress.
    """
    from suffice.spam.milter.server import MilterServer
    from suffice.spam.milter.session import Policy
    from suffice.spam.pulse import Pulse
    from suffice.spam.serving.activation import notify
    from suffice.spam.serving.journal import Journal
    from suffice.spam.serving.scorer import Scorer
    from suffice.spam.serving.stores import Stores

    address = checked_address(listen, allow_remote, "milter", "inet:8891@127.0.0.1")
    if reject_above is not None and not (reject and 0.0 <= reject_above <= 1.0):
        raise ValueError(
            f"--reject-above needs --reject and a probability from 0 to 1, but it is {reject_above!r} "
            f"{'with' if reject else 'without'} --reject"
        )
    timeout, mode = checked_timeout(timeout), checked_mode(socket_mode)
    shared = store_path(store)
    journal = Journal(as_json)
    tell_missing(shared, journal)
    policy = Policy(
        limit=limit,
        reject_from=(reject_above or 0.0) if reject else None,
        quarantine=quarantine,
        recipients=store_for_user is not None,
        details=details,
    )
    scorer = Scorer(Stores(shared, store_for_user), workers, patience=timeout)
    server = MilterServer(scorer, policy, timeout=timeout, journal=journal)

    async def serve() -> None:
        def started(where: str) -> None:
            journal.say("listening", address=where)
            notify("READY=1")

        async with scorer:  # starts its processes now, so that no message has to wait for that
            await server.serve(address, mode=mode, started=started)

    run_until_signal(serve, server.stop, signs=(Pulse(shared, "milter", listen), journal))
    journal.say("ended")
