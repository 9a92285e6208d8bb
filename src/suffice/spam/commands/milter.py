"""`suffice spam milter`: stamps mail as Postfix or Sendmail receives it."""

from __future__ import annotations

from typing import Annotated

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import StoreOption, store_path


@app.command()
def milter(
    store: StoreOption = None,
    listen: Annotated[
        str, typer.Option("--listen", "-l", metavar="ADDRESS", help="inet:PORT@HOST, inet6:PORT@HOST or unix:PATH.")
    ] = "inet:8891@127.0.0.1",
    reject: Annotated[bool, typer.Option("--reject", help="Refuse spam with 550 5.7.1 while it is sent.")] = False,
    reject_above: Annotated[
        float | None,
        typer.Option("--reject-above", metavar="P", help="Refuse only spam of at least this probability."),
    ] = None,
    quarantine: Annotated[
        bool, typer.Option("--quarantine", help="Hold spam that is not refused in the mail server's queue.")
    ] = False,
    store_for_user: Annotated[
        str | None,
        typer.Option(
            "--store-for-user",
            metavar="PATTERN",
            help="Stores of recipients, a path with {user} and {domain}; where there is none, --store is used.",
        ),
    ] = None,
    details: Annotated[
        bool,
        typer.Option("--details", help="Stamp X-Suffice-Score and X-Suffice-Reasons too, which tell what was learned."),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", help="How long mail waits for a verdict at most; it passes then."),
    ] = 5.0,
    limit: Annotated[
        int, typer.Option("--limit", metavar="BYTES", min=1, help="How much of a message is kept and scored.")
    ] = 1 << 20,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="How many processes score messages.")] = 2,
    socket_mode: Annotated[
        str, typer.Option("--socket-mode", metavar="MODE", help="Permissions of a unix socket, in octal.")
    ] = "660",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Allow an address that other machines can reach.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write lines of JSON on standard output.")] = False,
) -> None:
    """Stamp mail as Postfix or Sendmail receives it, and refuse spam if wanted.

    Adds X-Suffice-Status, and with --details X-Suffice-Score and X-Suffice-Reasons; those from outside are removed,
    and a message with more than a thousand of them is refused.

    Mail passes with the status error when the store is missing or damaged, or a verdict takes too long.

    Writes one line a message. SIGTERM and Ctrl-C end it after the messages that are on their way.
    """
    import asyncio
    import signal

    from suffice.spam.milter.journal import Journal
    from suffice.spam.milter.scorer import Scorer
    from suffice.spam.milter.server import Address, MilterServer
    from suffice.spam.milter.session import Policy
    from suffice.spam.milter.stores import Stores

    address = Address.parse(listen)
    if not address.is_local and not allow_remote:
        raise ValueError(
            f"the milter knows no passwords, so that it listens on this machine only, but {listen!r} can be reached by "
            f"others; give inet:8891@127.0.0.1, or add --allow-remote behind a firewall"
        )
    if reject_above is not None and not (reject and 0.0 <= reject_above <= 1.0):
        raise ValueError(
            f"--reject-above needs --reject and a probability from 0 to 1, but it is {reject_above!r} "
            f"{'with' if reject else 'without'} --reject"
        )
    if not 0.0 < timeout <= 240.0:
        raise ValueError(f"--timeout must be above 0 and at most 240 seconds, but it is {timeout!r}")
    try:
        mode = int(socket_mode, 8)
    except ValueError:
        mode = -1
    if not 0 <= mode <= 0o777:
        raise ValueError(f"--socket-mode must be an octal number up to 777, but it is {socket_mode!r}")

    shared = store_path(store)
    journal = Journal(as_json)
    if not shared.exists():
        journal.trouble(FileNotFoundError(f"there is no store {str(shared)!r} yet; `suffice spam train` makes it"))
    policy = Policy(
        limit=limit,
        reject_from=(reject_above or 0.0) if reject else None,
        quarantine=quarantine,
        recipients=store_for_user is not None,
        details=details,
    )
    scorer = Scorer(Stores(shared, store_for_user), workers, patience=timeout)
    scorer.wait()  # so that no message is late because of the start
    server = MilterServer(scorer, policy, timeout=timeout, journal=journal)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, server.stop)
        await server.serve(address, mode=mode, started=lambda where: journal.say("listening", address=where))

    try:
        asyncio.run(serve())
    finally:
        scorer.close()
    journal.say("ended")
