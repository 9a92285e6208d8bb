"""The day on which a message arrived, according to the receiving server."""

from __future__ import annotations

import re

from suffice.spam.message import Message

#: prefix of the token that stores the arrival day of a learned message; it does not count as evidence
DAY_PREFIX = "day:"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = re.compile(
    rf"\b([0-9]{{1,2}})[ -]({'|'.join(_MONTHS)})[a-z]{{0,6}}[ -]([0-9]{{4}}|[0-9]{{2}})\b", re.IGNORECASE
)
#: ordinal of 1 January 1970, as of `date.toordinal`
_EPOCH = 719_163


def arrival_day(message: Message) -> int | None:
    r"""Return the day (since 1970) of the newest Received header, else of Date; None if neither has a date.

    The sender can forge all Received headers but the newest.

    Examples
    --------
    >>> from suffice.spam import read
    >>> from suffice.spam.arrival import arrival_day
    >>> arrival_day(read(b"Received: by mx.example.org; Fri, 2 Jan 1970 08:00:00 +0000\nDate: 1 Jan 2030\n\n"))
    1
    """
    for name in ("received", "date"):
        value = message.header(name)
        found = _DATE.search(value.rpartition(";")[2][:200] if name == "received" else value[:200])
        if found and (day := _day(*found.groups())) is not None:
            return day
    return None


def _day(day: str, month: str, year: str) -> int | None:
    from datetime import date  # imported here because scoring does not need it

    number = int(year)
    if len(year) == 2:
        number += 2000 if number < 70 else 1900
    try:
        return date(number, 1 + _MONTHS.index(month.lower()), int(day)).toordinal() - _EPOCH
    except ValueError:  # not a valid date
        return None


def kept_day(tokens: list[str]) -> int | None:
    """Return the arrival day stored among the tokens of a learned message; None if it is unknown.

    Examples
    --------
    >>> from suffice.spam.arrival import kept_day
    >>> kept_day(["a", "day:12345", "z"]), kept_day(["a"])
    (12345, None)
    """
    from bisect import bisect_left

    place = bisect_left(tokens, DAY_PREFIX)  # tokens are sorted
    if place < len(tokens) and tokens[place].startswith(DAY_PREFIX):
        number = tokens[place].removeprefix(DAY_PREFIX)
        if number.isascii() and number.removeprefix("-").isdigit() and len(number) < 10:
            return int(number)
    return None
