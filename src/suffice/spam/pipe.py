"""`suffice spam filter`: stamp a message from standard input to standard output, with a quick start and no lost mail.

Only the standard library and the removal of stamps are imported before the message is read, and the message is written
out in spite of any error, even a missing package. It then has the status "error", and stamps that it came with are
removed, since they are forged. A message that cannot be written out gives the exit code of a temporary failure.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from suffice.spam.forged import not_judged

#: exit codes; the last, EX_TEMPFAIL of sysexits.h, tells mail programs to keep the message and try again later
SPAM, HAM, UNSURE, ERROR, RETRY = 0, 1, 2, 3, 75
CODES = {"spam": SPAM, "ham": HAM, "unsure": UNSURE, "error": ERROR}
#: bytes of a message that are kept in memory and read by the filter; the rest is copied
HEAD = 16_000_000
_CHUNK = 1_000_000

#: per option, its setting and whether a value follows; None if a value is optional, after "="
OPTIONS: dict[str, tuple[str, bool | None]] = {
    "--store": ("store", True),
    "-s": ("store", True),
    "--no-exit-code": ("no_exit_code", False),
    "-p": ("no_exit_code", False),
    "--json": ("as_json", False),
    "--no-details": ("no_details", False),
    "--timeout": ("timeout", True),
    "--daemon": ("daemon", None),
}
#: default time limit of a verdict in seconds
TIMEOUT = 20.0


class Settings(NamedTuple):
    """The values of the options."""

    store: Path | None = None
    no_exit_code: bool = False
    as_json: bool = False
    timeout: float = TIMEOUT
    no_details: bool = False
    #: address of the daemon to ask, "" for the default one; None to judge messages in this process
    daemon: str | None = None


def main(arguments: list[str]) -> int:
    """Filter one message, and return the exit code; with wrong options the message is still written out."""
    try:
        settings = parse(arguments)
    except ValueError as error:
        return run(ValueError(f"{error} (see `suffice spam filter --help`)"))
    return run(settings)


def parse(arguments: list[str]) -> Settings:
    """Return the settings given by command-line arguments.

    Examples
    --------
    >>> parse(["-ps", "mail.sqlite"]).no_exit_code
    True
    """
    found: dict[str, bool | str] = {}
    waiting = list(arguments)
    while waiting:
        argument = waiting.pop(0)
        name, equals, value = argument.partition("=")
        if not argument.startswith("--"):
            name, value = argument[:2], argument[2:]
        if name not in OPTIONS:
            kind = "option" if argument.startswith("-") and len(argument) > 1 else "argument"
            raise ValueError(f"there is no {kind} {argument!r}")
        setting, takes_value = OPTIONS[name]
        if takes_value is None:
            found[setting] = value
        elif not takes_value:
            if equals and argument.startswith("--"):
                raise ValueError(f"the option {name!r} takes no value, but it has {value!r}")
            if value:  # -ps is -p -s
                waiting.insert(0, f"-{value}")
            found[setting] = True
        elif value or equals:
            found[setting] = value
        elif waiting:
            found[setting] = waiting.pop(0)
        else:
            raise ValueError(f"the option {name!r} needs a value")
    store, timeout = found.get("store"), str(found.get("timeout", TIMEOUT))
    try:
        seconds = float(timeout)
    except ValueError:
        raise ValueError(f"the option '--timeout' needs a number of seconds, but it has {timeout!r}") from None
    path = Path(str(store)) if store else None
    no_exit_code, as_json, no_details = (bool(found.get(key)) for key in ("no_exit_code", "as_json", "no_details"))
    daemon = str(found["daemon"]) if "daemon" in found else None
    if daemon is not None and (as_json or store):
        raise ValueError("--daemon excludes --json and --store, because the daemon has its own store")
    return Settings(path, no_exit_code, as_json, seconds, no_details, daemon)


def run(settings: Settings | ValueError) -> int:
    """Filter one message from standard input to standard output, and return the exit code.

    Instead of settings, the error of parsing them may be given: the message is then written out as after any error.
    """
    if sys.stdin is None:
        _say("error: standard input is closed; give the message there")
        return RETRY
    try:
        if sys.stdin.isatty():
            _say("reading a message from the terminal, up to Ctrl-D")
        message = sys.stdin.buffer.read(HEAD)
    except (OSError, MemoryError) as error:
        _say(f"error: standard input cannot be read: {error or 'not enough memory'}")
        return RETRY
    is_all = len(message) < HEAD
    no_exit_code = isinstance(settings, Settings) and settings.no_exit_code
    try:
        if isinstance(settings, ValueError):
            raise settings
        if not 0 < settings.timeout <= 3600:
            raise ValueError(f"--timeout must be above 0 and at most 3600 seconds, but it is {settings.timeout:g}")
        answered = None if settings.daemon is None else _asked(message, settings)
        if answered is not None:
            message, code = answered
        else:
            message, code, answer = _judged(message, settings)
            if settings.as_json:
                _say(answer)
    except Exception as error:  # the mail must be written out whatever happens
        reason = _described(error)
        try:
            message = not_judged(message)
        except MemoryError:  # with its forged stamps it must not go on
            _say(f"error: the message is not passed on, because there is not enough memory: {reason}")
            return RETRY
        _say(f"error: the message is passed on with the status error: {reason}")
        code = ERROR
    return _write(message, 0 if no_exit_code else code, is_all)


def _asked(message: bytes, settings: Settings) -> tuple[bytes, int] | None:
    """Return a message as stamped by the daemon, and the exit code; None if the daemon cannot be asked."""
    from suffice.spam.ask import running_daemon, stamped_by_daemon

    address = settings.daemon or running_daemon()
    try:
        message, label = stamped_by_daemon(message, address, details=not settings.no_details, timeout=settings.timeout)
    except (OSError, ValueError) as error:
        _say(f"the daemon at {address} cannot be reached ({error}); this command classifies the message itself")
        return None
    return message, CODES[label]


def _described(error: Exception) -> str:
    """Return the reason for an error in words."""
    try:
        from suffice.terminal.descriptions import describe

        return describe(error, "message")
    except Exception:  # a part of the package that cannot be loaded must not keep the message back
        return " ".join(f"{type(error).__name__}: {error}".split())


def _judged(message: bytes, settings: Settings) -> tuple[bytes, int, str]:
    """Return a message with its stamps, the exit code for its verdict, and the verdict in JSON."""
    import json

    from suffice.spam.bounded import forked
    from suffice.spam.stamping import stamped
    from suffice.spam.verdict import Verdict

    written = forked(lambda: _answer(message, settings), settings.timeout)
    if not written:
        raise OSError("the process that classifies messages has ended, perhaps because it ran out of memory")
    answer = json.loads(written)
    if "error" in answer:
        raise ValueError(answer["error"])
    reasons = [(reason["token"], reason["log_odds"]) for reason in answer["reasons"]]
    verdict = Verdict(
        answer["probability"],
        answer["label"],
        answer["log_odds"],
        reasons,
        listed=answer["listed"],
        buckets=answer.get("buckets", {}),
    )
    return stamped(message, verdict, details=not settings.no_details), CODES[verdict.label], written.decode()


def _answer(message: bytes, settings: Settings) -> bytes:
    """Return the verdict on a message as JSON, or the error that prevented it."""
    import json

    try:
        from suffice.spam.filter import SpamFilter
        from suffice.spam.location import existing_store
        from suffice.spam.stamping import REASONS

        with SpamFilter.open(existing_store(settings.store)) as spam_filter:
            verdict = spam_filter.score(message)
        if verdict.label == "error":
            raise ValueError(verdict.problem)
    except Exception as error:  # the waiting process reports it
        return json.dumps({"error": _described(error)}).encode()
    answer: dict[str, object] = {
        "label": verdict.label,
        "probability": verdict.probability,
        "log_odds": verdict.log_odds,
        "listed": verdict.listed,
        "reasons": [{"token": token, "log_odds": part} for token, part in verdict.evidence[:REASONS]],
    }
    if verdict.buckets:
        answer |= {"bucket": verdict.bucket, "buckets": verdict.buckets}
    return json.dumps(answer).encode()


def _write(message: bytes, code: int, is_all: bool = False) -> int:
    """Write a message and the rest of it from standard input, and return the exit code, which tells if that failed."""
    try:
        sink = sys.stdout.buffer
        sink.write(message)
        while not is_all and (message := sys.stdin.buffer.read(_CHUNK)):
            sink.write(message)
        sink.flush()
    except (OSError, AttributeError) as error:  # also a closed pipe: the reader did not get the message
        _say(f"error: the message cannot be passed on: {error}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python reports the broken pipe at exit
        return RETRY
    return code


def _say(line: str) -> None:
    if sys.stderr is not None:  # if stderr is None, print would write to standard output, into the message
        with suppress(OSError):
            print(line, file=sys.stderr)
