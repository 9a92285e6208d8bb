"""What a filter writes into the headers of a message that it has looked at."""

from __future__ import annotations

import json

from suffice.spam.verdict import Verdict

#: how many tokens are named as reasons, how much of each, and how long a value may be
REASONS, TOKEN_LIMIT, VALUE_LIMIT = 10, 60, 900


def stamps(verdict: Verdict) -> list[tuple[str, str]]:
    r"""Return the names and values of the headers that tell a verdict: printable ASCII on one line each.

    The reasons are the strongest tokens, as JSON strings, with what each adds to the log-odds; "; " separates them.

    Examples
    --------
    >>> from suffice.spam import Verdict
    >>> from suffice.spam.stamping import stamps
    >>> for name, value in stamps(Verdict(0.98, "spam", 3.1, [("free money", 2.5), ("caf\xe9\n", 0.6)])):
    ...     print(f"{name}: {value}")
    X-Suffice-Status: spam
    X-Suffice-Score: 0.980000
    X-Suffice-Reasons: "free money" +2.50; "caf\u00e9\n" +0.60
    """
    reasons = ""
    for token, contribution in verdict.evidence[:REASONS]:
        # JSON escapes whatever is not ASCII, and all control characters but DEL
        name = json.dumps(token[:TOKEN_LIMIT]).replace("\x7f", "\\u007f")
        longer = f"{reasons}{'; ' if reasons else ''}{name} {contribution:+.2f}"
        if len(longer) > VALUE_LIMIT:
            break
        reasons = longer
    return [
        ("X-Suffice-Status", verdict.label),
        ("X-Suffice-Score", f"{verdict.probability:.6f}"),
        ("X-Suffice-Reasons", reasons or "none"),
    ]
