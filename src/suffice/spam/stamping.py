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

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from suffice.spam.forged import split, with_stamps, without_ours, without_spamassassins

if TYPE_CHECKING:  # a filter that is started for one message imports only what it needs
    from suffice.spam.verdict import Verdict

#: our headers
OURS = ("X-Suffice-Status", "X-Suffice-List", "X-Suffice-Bucket", "X-Suffice-Score", "X-Suffice-Reasons")
#: limits: number of reasons, and characters per reason
REASONS, REASON_WIDTH = 6, 48
_WIDTH = 78
#: characters of a bucket's name that are not escaped, besides letters and digits; "=?" would begin an encoded word
_BUCKET_SAFE = " !#$&'()*+,-./:;<>?@[]^_`{|}~"


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

    On top they are headers for every mail program, even if the message has no headers or a malformed line ends them.

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
    lines = [
        line.encode("ascii")
        for name, value in {**stamps(verdict, details=details), **(also or {})}.items()
        for line in _folded(name, value)
    ]
    return with_stamps(raw, lines, without_ours if also is None else without_spamassassins)


def unstamped(raw: bytes) -> bytes:
    r"""Return a message without its `X-Suffice-` headers.

    Examples
    --------
    >>> from suffice.spam.stamping import unstamped
    >>> unstamped(b"To: bob\nX-SUFFICE-Status: ham\n and more\nSubject: Hello\n\nX-Suffice-Status: body\n")
    b'To: bob\nSubject: Hello\n\nX-Suffice-Status: body\n'
    """
    return b"".join(split(raw))


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
