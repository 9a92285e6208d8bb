"""Verdicts as headers of messages: ours are added on top, and forged ones are removed.

| header | value |
|---|---|
| `X-Suffice-Status` | spam, ham, unsure, or error for a message that was not judged, which gets none of the others |
| `X-Suffice-List` | allow or block, if the status comes from a list of senders and not from the statistics |
| `X-Suffice-Bucket` | the bucket, if its probability is high and the message is not spam; `%` and non-ASCII are |
| | written as `%` and two hexadecimal digits per byte |
| `X-Suffice-Score` | the probability of spam, to 6 digits |
| `X-Suffice-Reasons` | the strongest tokens, and the contribution of each to the log-odds (positive for spam) |

Everything else in a message is unchanged, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:  # a filter that is started for one message imports only what it needs
    from suffice.spam.verdict import Verdict

#: our headers
OURS = ("X-Suffice-Status", "X-Suffice-List", "X-Suffice-Bucket", "X-Suffice-Score", "X-Suffice-Reasons")
#: limits: number of reasons, and characters per reason
REASONS, REASON_WIDTH = 6, 48
_WIDTH = 78
#: characters of a bucket's name that are not escaped, besides letters and digits; "=?" would begin an encoded word
_BUCKET_SAFE = " !#$&'()*+,-./:;<>?@[]^_`{|}~"
# Headers end at the first empty line. A bare CR ends a line for some mail programs and not for others. It counts as a
# line end when forged stamps are searched, but not when the end of the headers or the place of our stamps is
# determined, and a "From " line cannot contain it. So no mail program finds a stamp that is not ours.
_FROM_LINE = re.compile(rb"(?:From [^\r\n]*\r?\n)?")
_EMPTY_LINE = re.compile(rb"\r?\n")
_HEADERS_END = re.compile(rb"\n(?=\r?\n)")
_LINE_END = rb"(?:\r\n|\n|\r)"


class _Removal:
    """A function that removes headers whose names begin with given prefixes, on top and below."""

    def __init__(self, *beginnings: bytes) -> None:
        self._beginnings = beginnings
        field = rb"(?:" + b"|".join(beginnings) + rb")[^\r\n]*(?:" + _LINE_END + rb"[ \t][^\r\n]*)*"
        self._on_top = re.compile(rb"(?:" + field + rb"(?:" + _LINE_END + rb"|\Z))*", re.IGNORECASE)
        self._below = re.compile(_LINE_END + field, re.IGNORECASE)

    def __call__(self, headers: bytes) -> bytes:
        """Return the headers without those."""
        lower = headers.lower()
        if not any(beginning in lower for beginning in self._beginnings):
            return headers
        if on_top := self._on_top.match(headers):
            headers = headers[on_top.end() :]
        return self._below.sub(b"", headers)


_without_ours = _Removal(b"x-suffice-")
_without_spamassassins = _Removal(b"x-suffice-", b"x-spam-")


def stamps(verdict: Verdict, *, details: bool = True) -> dict[str, str]:
    """Return the headers for a verdict, with values in ASCII on one line, whatever the tokens hold.

    Without `details` they are the status, the list that it comes from, if any, and the bucket, if any; with them also
    the entry of the list, the score and the reasons.

    A space in a token is written as `_`, and other special characters as `%` and two hexadecimal digits per byte of
    UTF-8.

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
    """Return the strongest tokens of a verdict, each with its contribution to the log-odds, in printable ASCII."""
    return [f"{_plain(token)} {part:+.2f}" for token, part in verdict.evidence[:REASONS]]


def stamped(raw: bytes, verdict: Verdict, *, details: bool = True, also: Mapping[str, str] | None = None) -> bytes:
    r"""Return a message with the headers for a verdict on top, replacing all its `X-Suffice-` headers.

    They come after the "From " line of a mailbox, with the line ends of the message. On top they are headers for every
    mail program, even if the message has no headers or a malformed line ends them. A message that begins with a space
    or a tab gets an empty line in between, since its first line would otherwise continue ours.

    Parameters
    ----------
    raw, verdict, details
        The message; the others as in `stamps`.
    also : mapping, optional
        Headers in the style of SpamAssassin, which come after ours; all earlier `X-Spam-` headers are removed.

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
    """Return the "From " line of a message, and the rest without stamps."""
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
    """Return a header folded into lines after commas."""
    lines = [f"{name}:"]
    for part in value.split(", "):
        if len(lines[-1]) + len(part) + 2 > _WIDTH:
            lines.append("")
        lines[-1] += f" {part},"
    lines[-1] = lines[-1][:-1]
    return lines
