"""Formatting of numbers and dates for the page."""

from __future__ import annotations

from datetime import datetime


def percent(share: float, digits: int = 1) -> str:
    """Return a probability in per cent, never rounded to 0 % or 100 %.

    Examples
    --------
    >>> from suffice.spam.page.formats import percent
    >>> percent(0.9731), percent(0.99996), percent(0.00001), percent(0.5, 0)
    ('97.3 %', '> 99.9 %', '< 0.1 %', '50 %')
    """
    edge = 10.0**-digits
    value = 100.0 * share
    if 0.0 <= value < edge:
        return f"< {edge:g} %"
    return f"> {100 - edge:g} %" if value > 100 - edge else f"{value:.{digits}f} %"


def signed(value: float) -> str:
    """Return a number with its sign.

    Examples
    --------
    >>> from suffice.spam.page.formats import signed
    >>> signed(1.5), signed(-0.25), signed(-0.001)
    ('+1.50', '−0.25', '0.00')
    """
    return f"{value:+.2f}".replace("-", "−") if abs(value) >= 0.005 else "0.00"


def day(when: datetime) -> str:
    """Return a date as text."""
    return f"{when.day} {when:%b %Y}"


def moment(when: datetime) -> str:
    """Return a date and a time as text."""
    return f"{when:%A}, {when.day} {when:%B %Y, %H:%M}"
