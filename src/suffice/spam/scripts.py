"""Words in scripts with combining marks (Devanagari, Arabic) and in scripts without spaces (Thai, Chinese).

A mark belongs to the letter before it and does not end a word. In a script without spaces a run of letters is a whole
sentence; it is split into pairs of adjacent letters, each with its marks. Punctuation and letters of other scripts end
a run.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise

#: Thai, Lao, Burmese, Khmer, kana, ideographs and Hangul; the same as in `is_unspaced` of `_scan_letters.h`
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
#: marks are characters of the categories Mn and Mc from the first of these up to the last
FIRST_MARK, LAST_MARK = 0x300, 0x1EFFF

_UNSPACED = re.compile(f"[{UNSPACED}]")
#: matches all marks, and few letters of scripts without marks
_MAY_BE_MARK = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0590-\u1cff\u1dc0-\u1dff\u20d0-\u20ff\u2cef-\u2cf1\u2d7f\u2de0-\u2dff\u302a-\u302f"
    "\u3099\u309a\ua66f-\uabff\ufb1e\ufe00-\ufe2f\U00010100-\U0001efff]"
)
_SIMPLE_WORD = re.compile(r"[^\W_]+")


def is_plain(text: str) -> bool:
    """Return whether a text has neither marks nor letters of a script without spaces; False if in doubt.

    Examples
    --------
    >>> from suffice.spam.scripts import is_plain
    >>> is_plain("naïve Москва"), is_plain("हिन्दी"), is_plain("東京")
    (True, False, False)
    """
    return text.isascii() or not (_MAY_BE_MARK.search(text) or _UNSPACED.search(text))


def simple_words(text: str) -> list[str]:
    """Return the runs of letters and digits, with their marks.

    Examples
    --------
    >>> from suffice.spam.scripts import simple_words
    >>> simple_words("राम_शर्मा, ann")
    ['राम', 'शर्मा', 'ann']
    """
    if text.isascii() or not _MAY_BE_MARK.search(text):
        return _SIMPLE_WORD.findall(text)
    return _simple_words_with_marks().findall(text)


@cache
def words_with_marks() -> re.Pattern[str]:
    """Return the pattern of the words of a text in lower case; a run in a script without spaces is one word."""
    letter, mark = f"(?![{UNSPACED}])[^\\W_]", f"[{_marks()}]"
    piece = f"{letter}(?:{letter}|{mark})*+"
    run = f"(?:(?=[{UNSPACED}])[^\\W_]{mark}*+)++"
    return re.compile(f"{run}|[$£€]?{piece}(?:['’.,@$!|+-]{piece})*+[!%]?")


def pairs_of_run(word: str) -> list[str]:
    """Return the pairs of letters, with marks, of a run in a script without spaces; any other word unchanged.

    Examples
    --------
    >>> from suffice.spam.scripts import pairs_of_run
    >>> pairs_of_run("東京都"), pairs_of_run("ที่นี่"), pairs_of_run("東"), pairs_of_run("word")
    (['東京', '京都'], ['ที่นี่'], ['東'], ['word'])
    """
    if not _UNSPACED.match(word):
        return [word]
    return ["".join(pair) for pair in pairwise(_letters_with_marks().findall(word))] or [word]


@cache
def _simple_words_with_marks() -> re.Pattern[str]:
    return re.compile(f"[^\\W_](?:[^\\W_]|[{_marks()}])*+")


@cache
def _letters_with_marks() -> re.Pattern[str]:
    return re.compile(f"[^\\W_][{_marks()}]*+")


@cache
def _marks() -> str:
    """Return all marks as ranges for a regex character class; computed on first use, which takes milliseconds."""
    codes = [code for code in range(FIRST_MARK, LAST_MARK + 1) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    starts = [code for before, code in zip([0, *codes], codes, strict=False) if code != before + 1]
    ends = [code for code, after in zip(codes, [*codes[1:], 0], strict=True) if after != code + 1]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))
