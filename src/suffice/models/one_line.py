"""Cells and words as they are printed."""

from __future__ import annotations


def in_one_line(text: str, longest: int = 60) -> str:
    """Return text without line breaks, shortened to `longest` characters.

    Examples
    --------
    >>> in_one_line("see   you at noon", 12)
    'see you at …'
    """
    plain = " ".join(text.split())
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"
