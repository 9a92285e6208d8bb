"""Undo the disguises that spammers use to hide words from filters."""

from __future__ import annotations

import re
import unicodedata

#: zero-width characters: they split words for a program but not for a reader
_UNSEEN = re.compile(
    "[\0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
#: combining marks that remain after Unicode composition (NFKC), such as strokes and phonetic accents
_UPON_LETTERS = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_LOOK_ALIKE = str.maketrans(
    "аеорсухіјѕԁһԛԝвкмнтгпАВЕКМНОРСТУХІЈЅԌԚԜ" + "αοερτυνικχωβΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "ıɑɡℓո",
    "aeopcyxijsdhqwbkmhtrnABEKMHOPCTYXIJSGQW" + "aoeptuvikxwbABEZHIKMNOPTYX" + "iaglh",
)
_ASCII = bytes(range(128))
_FOREIGN = re.compile("[\u0370-\u052fıɑɡℓո]")
_WORD = re.compile(r"\w+")
_LATIN = re.compile("[a-zA-Z]")
#: at least four single letters with the same separator between them
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_]([ .\-_*/|])[^\W\d_](?:\1[^\W\d_]){2,40}(?![^\W_]|[.\-_*/|][^\W\d_])")
#: a quick pre-check that any of them matches; it starts at separators, which are rarer than letters
_SPACED_HINT = re.compile(r"[ .\-_*/|][^\W\d_][ .\-_*/|][^\W\d_][ .\-_*/|]")
_DISGUISE = str.maketrans("013457|@$!+", "oieastlasit")
#: normalisation sorts combining marks in quadratic time; pieces of this many characters bound it
_PIECE = 512


def normalised(text: str) -> str:
    r"""Return a text in which characters that look alike are the same.

    Zero-width characters are removed, compatibility forms (full width, ligatures, mathematical letters) become plain,
    combining marks that compose with no letter are removed, and letters of other alphabets within a Latin word become
    the Latin letters that they resemble.

    Examples
    --------
    >>> from suffice.spam.evasion import normalised
    >>> normalised("mo\u200bney ｆｒｅｅ vi\u0430gra Москва v\u0337i\u0337p e\u0301te\u0301")
    'money free viagra Москва vip été'
    """
    if text.isascii():
        return text.replace("\0", "") if "\0" in text else text
    if "\0" in text or _UNSEEN.search(_beyond_ascii(text)):
        text = _UNSEEN.sub("", text)
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    text = "".join([piece if piece.isascii() else unicodedata.normalize("NFKC", piece) for piece in pieces])
    beyond = _beyond_ascii(text)
    if _UPON_LETTERS.search(beyond):
        text = _UPON_LETTERS.sub("", text)
    if _FOREIGN.search(beyond):
        text = _WORD.sub(_in_one_alphabet, text)
    return text


def _beyond_ascii(text: str) -> str:
    """Return the characters of a text that are not ASCII, which are few in most texts."""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


def _in_one_alphabet(match: re.Match[str]) -> str:
    word = match[0]
    return word if word.isascii() or not _LATIN.search(word) else word.translate(_LOOK_ALIKE)


def spaced_words(text: str) -> list[str]:
    """Return the words that were written with a separator between all letters.

    Examples
    --------
    >>> from suffice.spam.evasion import spaced_words
    >>> spaced_words("F R E E m.o.n.e.y now, a b")
    ['FREE', 'money']
    """
    words = []
    hint = _SPACED_HINT.search(text, 1)
    while hint:  # the hint starts at the first separator, after the first letter
        match = _SPACED.match(text, hint.start() - 1)
        if match:
            words.append(match[0].replace(match[1], ""))
        hint = _SPACED_HINT.search(text, 1 + (match.end() if match else hint.start()))
    return words


def plain_word(word: str) -> str:
    """Return a word with digits and symbols replaced by the letters they stand for; empty if it is not disguised.

    Examples
    --------
    >>> from suffice.spam.evasion import plain_word
    >>> plain_word("v1@gra"), plain_word("2002"), plain_word("money")
    ('viagra', '', '')
    """
    word = word.rstrip("!%+")
    plain = word.translate(_DISGUISE)
    if plain == word or not plain.isalpha() or not 4 <= len(word) <= 20:
        return ""
    # a disguise replaces only a few letters; 1st, 90s and 2nd are not disguised words
    changed = sum(a != b for a, b in zip(word, plain, strict=True))
    return plain if 2 * changed < len(word) else ""
