"""The handling of a request for a verdict, the same for every process that answers it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

from suffice.spam.daemon import answers
from suffice.spam.daemon.requests import Request
from suffice.spam.serving.scoring import Judged


@dataclass(frozen=True)
class Policy:
    """What clients may request.

    Attributes
    ----------
    limit : int
        Limit of a message in bytes; a longer one is refused, so that its client lets it pass.
    learning : bool
        Whether clients may let the filter learn and forget messages.
    details : bool
        Whether answers include the probability and the strongest tokens, which reveal contents of the store to clients.
    """

    limit: int = 16 << 20
    learning: bool = False
    details: bool = False


class Outcome(NamedTuple):
    """The answer for a message, the facts for the log, and the kind and text of an error, empty if there is none."""

    answer: bytes
    facts: dict[str, Any]
    kind: str = ""
    problem: str = ""


def refused(request: Request) -> bytes | None:
    """Return the refusal of an HTTP request that is not allowed; None if it may be answered."""
    headers, protocol = request.headers, request.protocol
    if protocol != "http":
        return None
    if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
        return answers.refusal(protocol, answers.UNAVAILABLE, "requests from pages in a browser are refused")
    if "file" in headers or "shm" in headers:
        return answers.refusal(protocol, answers.PROTOCOL, "the message itself must be sent, not its path")
    return None


def asks_for_verdict(request: Request) -> bool:
    """Return whether a request asks for the verdict on a message, and may be answered."""
    if request.protocol != "http":
        return request.method in answers.VERDICTS
    is_post, path = request.method in ("POST", "PUT"), request.target.partition("?")[0]
    return is_post and path in ("/checkv2", "/check", "/symbols") and refused(request) is None


def concluded(
    request: Request, policy: Policy, begun: float, judged: Judged | None, error: Exception | None
) -> Outcome:
    """Return the outcome for a verdict, or for an error, in which case the message passes."""
    kind, problem = ("", "") if error is None else (type(error).__name__, str(error))
    if judged is None:
        judged = Judged.error(problem)
    elif judged.verdict.label == "error":
        kind, problem = "UnreadableError", judged.verdict.problem
    facts: dict[str, Any] = {
        "asked": request.target.partition("?")[0] if request.protocol == "http" else request.method,
        "label": judged.verdict.label,
        "points": None if kind else judged.points,
        "bytes": len(request.body),
        "seconds": round(time.monotonic() - begun, 4),
    }
    if kind:
        facts["error"] = kind
    return Outcome(answers.verdict_answer(request, judged, details=policy.details), facts, kind, problem)
