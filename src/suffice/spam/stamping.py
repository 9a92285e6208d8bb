"""Verdicts written into messages, as headers: ours on top, and none that a sender has put there.

| header | value |
|---|---|
| `X-Suffice-Status` | spam, ham, unsure, or error for a message that was not judged, which then has no other of these |
| `X-Suffice-List` | allow or block, where the status comes from a list of senders and not from statistics |
| `X-Suffice-Bucket` | the bucket of a message that is clearly of one, and not spam; `%` and what is not ASCII are |
| | written as `%` and two digits for each byte |
| `X-Suffice-Score` | the probability of spam, to 6 digits |
| `X-Suffice-Reasons` | the strongest tokens, and what each adds to the log-odds (above 0 speaks for spam) |

All else in a message stays as it came, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:  # a filter that is started for one message loads what it needs
    from suffice.spam.verdict import Verdict

#: the headers that are ours
OURS = ("X-Suffice-Status", "X-Suffice-List", "X-Suffice-Bucket", "X-Suffice-Score", "X-Suffice-Reasons")
#: how many reasons are named, and how many characters of each
REASONS, REASON_WIDTH = 6, 48
_WIDTH = 78
#: what stands for itself in the name of a bucket, beside letters and digits; "=?" would begin an encoded word
_BUCKET_SAFE = " !#$&'()*+,-./:;<>?@[]^_`{|}~"
# Headers end at the first empty line. A bare CR ends a line for some readers and not for others: it is a line end where
# stamps are looked for, none where the headers end or ours are put, and no part of a "From " line, so that no reader
# finds a stamp that is not ours.
_FROM_LINE = re.compile(rb"(?:From [^\r\n]*\r?\n)?")
_EMPTY_LINE = re.compile(rb"\r?\n")
_HEADERS_END = re.compile(rb"\n(?=\r?\n)")
_LINE_END = rb"(?:\r\n|\n|\r)"


class _Removal:
    """Finds headers whose names begin in some way: those on top, and those below."""

    def __init__(self, *beginnings: bytes) -> None:
        self._beginnings = beginnings
        field = rb"(?:" + b"|".join(beginnings) + rb")[^\r\n]*(?:" + _LINE_END + rb"[ \t][^\r\n]*)*"
        self._on_top = re.compile(rb"(?:" + field + rb"(?:" + _LINE_END + rb"|\Z))*", re.IGNORECASE)
        self._below = re.compile(_LINE_END + field, re.IGNORECASE)

    def __call__(self, headers: bytes) -> bytes:
        """Return headers without those."""
        lower = headers.lower()
        if not any(beginning in lower for beginning in self._beginnings):
            return headers
        if on_top := self._on_top.match(headers):
            headers = headers[on_top.end() :]
        return self._below.sub(b"", headers)


_without_ours = _Removal(b"x-suffice-")
_without_spamassassins = _Removal(b"x-suffice-", b"x-spam-")


def stamps(verdict: Verdict, *, details: bool = True) -> dict[str, str]:
    """Return the headers for a verdict: values of ASCII on one line, whatever the tokens hold.

    Without `details` it is the status, the list that it comes from if it comes from one, and the bucket, if any; with
    them the entry of the list too.

    A space in a token is written as `_`, and what is not plain as `%` and two digits for each byte of its UTF-8.

    Examples
    --------
    >>> from suffice.spam import Verdict
    >>> from suffice.spam.stamping import stamps
    >>> stamps(Verdict(0.98, "spam", 4.2, [("free money", 2.5), ("from:@example.org", -0.31)]))
    {'X-Suffice-Status': 'spam', 'X-Suffice-Score': '0.980000',
     'X-Suffice-Reasons': 'free_money +2.50, from:@example.org -0.31'}
    """
    status: dict[str, str] = {"X-Suffice-Status": verdict.label}
    if verdict.listed:
        name, _, entry = verdict.listed.partition(" ")
        status["X-Suffice-List"] = f"{name} {_plain(entry)}" if details else name
    if verdict.bucket:
        status["X-Suffice-Bucket"] = quote(verdict.bucket, _BUCKET_SAFE)
    if verdict.label == "error" or not details:
        return status
    reasons = ", ".join(reason_texts(verdict))
    return status | {
        "X-Suffice-Score": f"{verdict.probability:.6f}",
        "X-Suffice-Reasons": reasons or "none",
    }


def reason_texts(verdict: Verdict) -> list[str]:
    """Return the strongest tokens of a verdict, each with what it adds to the log-odds, in printable ASCII."""
    return [f"{_plain(token)} {part:+.2f}" for token, part in verdict.evidence[:REASONS]]


def stamped(raw: bytes, verdict: Verdict, *, details: bool = True, also: Mapping[str, str] | None = None) -> bytes:
    r"""Return a message with the headers for a verdict on top, in place of all `X-Suffice-` headers that it had.

    They come behind the "From " line of a mailbox, and end their lines as the message does. On top they are headers for
    every reader, also where the message has none, or where nothing but a malformed line ends them. Only a message that
    begins with a space or a tab gets an empty line too, since its first line would continue ours.

    Parameters
    ----------
    raw, verdict, details
        The message; the others as of `stamps`.
    also : mapping, optional
        Headers in the style of SpamAssassin, which come behind ours; all `X-Spam-` headers that were there are removed.

    Examples
    --------
    >>> from suffice.spam import Verdict
    >>> from suffice.spam.stamping import stamped
    >>> raw = b"From ann\nX-Suffice-Status: ham\nSubject: Hello\n\nBuy!"
    >>> print(stamped(raw, Verdict(1.0, "spam", 9.0, [])).decode())
    From ann
    X-Suffice-Status: spam
    X-Suffice-Score: 1.000000
    X-Suffice-Reasons: none
    Subject: Hello
    <BLANKLINE>
    Buy!
    """
    top, message = _split(raw, _without_ours if also is None else _without_spamassassins)
    first = raw.find(b"\n")
    line_end = b"\r\n" if raw[first - 1 : first] == b"\r" else b"\n"
    block = b"".join(
        line.encode("ascii") + line_end
        for name, value in {**stamps(verdict, details=details), **(also or {})}.items()
        for line in _folded(name, value)
    )
    gap = line_end if message[:1] in (b" ", b"\t") else b""
    return b"".join((top, block, gap, message))


def unstamped(raw: bytes) -> bytes:
    r"""Return a message without its `X-Suffice-` headers.

    Examples
    --------
    >>> from suffice.spam.stamping import unstamped
    >>> unstamped(b"To: bob\nX-SUFFICE-Status: ham\n and more\nSubject: Hello\n\nX-Suffice-Status: body\n")
    b'To: bob\nSubject: Hello\n\nX-Suffice-Status: body\n'
    """
    return b"".join(_split(raw))


def _split(raw: bytes, without: Callable[[bytes], bytes] = _without_ours) -> tuple[bytes, bytes]:
    """Return the "From " line of a message, and all behind them without stamps."""
    top = _from_line(raw)
    if _EMPTY_LINE.match(raw, top):
        return raw[:top], raw[top:]
    ended = _HEADERS_END.search(raw, top)
    end = len(raw) if ended is None else ended.end()
    return raw[:top], without(raw[top:end]) + raw[end:]


def _from_line(raw: bytes) -> int:
    line = _FROM_LINE.match(raw)
    return 0 if line is None else line.end()


def _plain(token: str) -> str:
    """Return a token as printable ASCII without spaces, commas and equals signs, which begin encoded words."""
    letters: list[str] = []
    width = 0
    for letter in token:
        part = (
            "_"
            if letter == " "
            else "%5F"
            if letter == "_"
            else quote(letter, ":@$!'()*+;/|<>[]{}&#", errors="replace")
        )
        width += len(part)
        if width > REASON_WIDTH:
            return "".join(letters) + "..."
        letters.append(part)
    return "".join(letters)


def _folded(name: str, value: str) -> list[str]:
    """Return a header as lines, cut behind commas."""
    lines = [f"{name}:"]
    for part in value.split(", "):
        if len(lines[-1]) + len(part) + 2 > _WIDTH:
            lines.append("")
        lines[-1] += f" {part},"
    lines[-1] = lines[-1][:-1]
    return lines
