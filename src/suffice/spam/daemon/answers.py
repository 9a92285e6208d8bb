"""Answers in the three protocols: verdicts, results of learning, and errors.

A client of SpamAssassin or rspamd compares a score with a required one. Our score is on the log-odds scale: 5 is the
spam threshold, and each further point multiplies the odds by e. See `suffice.spam.serving.scoring.points`.
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Any

from suffice.spam.daemon.requests import Request
from suffice.spam.serving.scoring import REQUIRED, Judged
from suffice.spam.stamping import OURS, reason_texts, stamped, stamps

#: exit codes of sysexits.h, as spamd uses them
OK, USAGE, DATA_ERROR, UNAVAILABLE, SOFTWARE, TEMPORARY, PROTOCOL = 0, 64, 65, 69, 70, 75, 76
_NAMES = {
    OK: "EX_OK",
    USAGE: "EX_USAGE",
    DATA_ERROR: "EX_DATAERR",
    UNAVAILABLE: "EX_UNAVAILABLE",
    SOFTWARE: "EX_SOFTWARE",
    TEMPORARY: "EX_TEMPFAIL",
    PROTOCOL: "EX_PROTOCOL",
}
#: the newest version of SpamAssassin's protocol
VERSION = "1.5"
#: methods that ask for a verdict
VERDICTS = ("CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "PROCESS", "HEADERS")
_BODY = re.compile(rb"\r?\n\r?\n")
_LEVEL = 50


def symbol(judged: Judged) -> str:
    """Return the name of a verdict in the style of SpamAssassin's and rspamd's tests."""
    if judged.verdict.listed:
        return f"SUFFICE_{judged.verdict.listed.partition(' ')[0].upper()}_LIST"
    return f"SUFFICE_{judged.verdict.label.upper()}"


def verdict_answer(request: Request, judged: Judged, *, details: bool) -> bytes:
    """Return the answer with a verdict, in the protocol of the request."""
    if request.protocol == "http":
        return _http(HTTPStatus.OK, _as_json(request, judged, details=details))
    if request.protocol == "rspamc":
        return _rspamd(judged)
    verdict, method = judged.verdict, request.method
    if verdict.label == "error" and method not in ("PROCESS", "HEADERS"):
        return spamd(SOFTWARE, ["Content-length: 0"], b"")
    body = b""
    if method in ("PROCESS", "HEADERS"):
        ours = "suffice" in request.headers  # our own client needs no SpamAssassin headers
        also = None if ours else _spamassassin_headers(judged)
        wanted = details and request.headers.get("suffice") != "status"
        body = stamped(request.body, verdict, details=wanted, also=also)
        if method == "HEADERS":
            end = _BODY.search(body)
            body = body if end is None else body[: end.end()]
    elif method == "SYMBOLS":
        body = symbol(judged).encode()
    elif method == "REPORT" or (method == "REPORT_IFSPAM" and verdict.label == "spam"):
        body = _report(judged, details=details)
    said = "True" if verdict.label == "spam" else "False"
    headers = [f"Spam: {said} ; {judged.points:.1f} / {REQUIRED:.1f}"]
    if "suffice" in request.headers:
        headers.append(f"Suffice: {verdict.label}")
    if float(request.target) >= 1.3:  # Exim speaks 1.2, and expects the score here instead
        headers.insert(0, f"Content-length: {len(body)}")
    return spamd(OK, headers, body)


def learned_answer(request: Request, lesson: str, changed: bool) -> bytes:
    """Return the answer for a message that was learned, forgotten or left unchanged."""
    if request.protocol == "http":
        if changed:
            return _http(HTTPStatus.OK, {"success": True})
        return _http(HTTPStatus.ALREADY_REPORTED, {"error": f"the message is known as {lesson} already"})
    headers = ["Content-length: 0"]
    if changed:
        headers.append("DidRemove: local" if lesson == "forget" else "DidSet: local")
    return spamd(OK, headers, b"")


def pong(request: Request) -> bytes:
    """Return the answer to a ping."""
    if request.protocol == "http":
        return _http(HTTPStatus.OK, "pong\r\n")
    return f"{_server(request.protocol)}/{VERSION} 0 PONG\r\n".encode()


def refusal(protocol: str, code: int, reason: str) -> bytes:
    """Return the answer to a refused request, with the reason; `code` is one of sysexits.h."""
    reason = reason.encode("ascii", "backslashreplace").decode().replace("\r", " ").replace("\n", " ")
    if protocol == "http":
        status = {
            USAGE: HTTPStatus.NOT_FOUND,
            DATA_ERROR: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            UNAVAILABLE: HTTPStatus.FORBIDDEN,
            SOFTWARE: HTTPStatus.INTERNAL_SERVER_ERROR,
            TEMPORARY: HTTPStatus.SERVICE_UNAVAILABLE,
            PROTOCOL: HTTPStatus.BAD_REQUEST,
        }[code]
        return _http(status, {"error": reason})
    return f"{_server(protocol)}/1.0 {code} {_NAMES[code]} {reason}\r\n\r\n".encode()


def spamd(code: int, headers: list[str], body: bytes) -> bytes:
    """Return an answer in SpamAssassin's protocol."""
    head = "".join(f"{line}\r\n" for line in (f"SPAMD/1.1 {code} {_NAMES[code]}", *headers, ""))
    return head.encode() + body


def _server(protocol: str) -> str:
    return "RSPAMD" if protocol == "rspamc" else "SPAMD"


def _spamassassin_headers(judged: Judged) -> dict[str, str]:
    if judged.verdict.label == "error":
        return {}
    is_spam = judged.verdict.label == "spam"
    flag = {"X-Spam-Flag": "YES"} if is_spam else {}
    stars = "*" * max(0, min(_LEVEL, int(judged.points)))
    said = f"{'Yes' if is_spam else 'No'}, score={judged.points:.1f} required={REQUIRED:.1f} tests={symbol(judged)}"
    return flag | ({"X-Spam-Level": stars} if stars else {}) | {"X-Spam-Status": said}


def _report(judged: Judged, *, details: bool) -> bytes:
    verdict = judged.verdict
    lines = [f"suffice: {verdict.label}, {judged.points:.1f} points, {REQUIRED:.1f} required"]
    if details:
        lines += [f"probability of spam {verdict.probability:.6f}", *reason_texts(verdict)]
    return "".join(f"{line}\r\n" for line in lines).encode("ascii")


def _rspamd(judged: Judged) -> bytes:
    said = "True" if judged.verdict.label == "spam" else "False"
    lines = [
        "RSPAMD/1.3 0 EX_OK",
        f"Metric: default; {said}; {judged.points:.2f} / {REQUIRED:.2f} / {REQUIRED:.2f}",
        f"Action: {_action(judged)}",
        f"Symbol: {symbol(judged)}({judged.points:.2f})",
        "",
        "",
    ]
    return "\r\n".join(lines).encode()


def _action(judged: Judged) -> str:
    return "add header" if judged.verdict.label == "spam" else "no action"


def _as_json(request: Request, judged: Judged, *, details: bool) -> dict[str, Any]:
    verdict, name = judged.verdict, symbol(judged)
    headers = stamps(verdict, details=details)
    found: dict[str, Any] = {
        "is_skipped": verdict.label == "error",
        "score": judged.points,
        "required_score": REQUIRED,
        "action": _action(judged),
        "thresholds": {"add header": REQUIRED},
        "symbols": {
            name: {
                "name": name,
                "score": judged.points,
                "metric_score": judged.points,
                "description": f"the spam filter suffice says {verdict.label}",
                "options": reason_texts(verdict) if details else [],
            }
        },
        "messages": {},
        "message-id": _message_id(request.body),
        "milter": {
            "remove_headers": dict.fromkeys(OURS, 0),
            "add_headers": headers,
        },
    }
    if request.target.partition("?")[0] in ("/check", "/symbols"):  # the format of rspamd versions before 1.6
        found = {"default": found, **{key: found[key] for key in ("messages", "message-id", "milter")}}
    return found


def _message_id(raw: bytes) -> str:
    found = re.search(rb"^message-id:[ \t]*<?([!-;=?-~]{1,200})", raw[:65536], re.IGNORECASE | re.MULTILINE)
    return "undef" if found is None else found[1].decode("ascii")


def _http(status: HTTPStatus, content: dict[str, Any] | str) -> bytes:
    is_text = isinstance(content, str)
    body = (content if isinstance(content, str) else json.dumps(content)).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nServer: suffice\r\nConnection: close\r\n"
        f"Content-Type: {'text/plain' if is_text else 'application/json'}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
