"""Bytes to text: transfer encodings, character sets and encoded words, damaged or not."""

from __future__ import annotations

import binascii
import codecs
import re
from functools import lru_cache

#: a soft line break with white space that was added in transit
_PADDED_BREAK = re.compile(rb"=[ \t]++(?=\r?\n)")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_NOT_BASE64 = bytes(set(range(256)) - set(_ALPHABET))
_ENCODED_WORD = re.compile(
    r"=\?([^?\s*]{1,40})(?:\*[^?\s]{0,20})?\?([bq])\?([^?]{0,2000})\?=(?:\s+(?==\?))?", re.IGNORECASE
)
_FOLD = re.compile(r"\n\s*", re.ASCII)  # values are decoded as Latin-1
#: Python codecs that are not character sets of mail; some take quadratic time
_NOT_CHARSETS = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"})


@lru_cache(maxsize=256)
def _codec_of(charset: str) -> str:
    """Return Python's name of a declared charset, or an empty string if it is unknown."""
    if not charset.isascii() or not charset.replace("-", "").replace("_", "").isalnum():
        return ""
    try:
        codec = codecs.lookup(charset)
        b"a".decode(codec.name)
    except UnicodeError:
        pass  # one byte of a two-byte character
    except (LookupError, ValueError):
        return ""  # no such codec, or one from bytes to bytes
    return "" if codec.name.replace("-", "_") in _NOT_CHARSETS else codec.name


def as_text(raw: bytes, charset: str) -> str:
    r"""Return the bytes decoded in the declared charset, else in UTF-8, else in Windows-1252.

    Examples
    --------
    >>> from suffice.spam.decoding import as_text
    >>> as_text("naïve".encode("latin-1"), "us-ascii"), as_text(b"abc\xff", "no-such-charset")
    ('naïve', 'abcÿ')
    """
    if raw.isascii() and not charset.startswith(
        ("utf-16", "utf16", "utf-32", "utf32", "utf-7", "utf7", "iso-2022", "hz")
    ):
        return raw.decode("ascii")
    declared = _codec_of(charset) if charset else ""
    for codec in (declared, "utf-8"):
        if codec:
            try:
                return raw.decode(codec)
            except ValueError:
                continue
    if declared and declared not in ("ascii", "utf-8"):
        return raw.decode(declared, "replace")
    return raw.decode("cp1252", "replace")


def decoded_body(raw: bytes, encoding: str) -> bytes:
    """Return a body with its transfer encoding decoded; unchanged if the encoding is unknown or empty."""
    if encoding == "quoted-printable":
        return binascii.a2b_qp(_PADDED_BREAK.sub(b"=", raw))
    if encoding == "base64":
        return from_base64(raw)
    if encoding in ("x-uuencode", "uuencode", "x-uue", "uue"):
        return from_uuencoding(raw)
    return raw


def from_base64(raw: bytes) -> bytes:
    """Return the decoded base64; other characters are skipped, and an incomplete end is dropped.

    Examples
    --------
    >>> from suffice.spam.decoding import from_base64
    >>> from_base64(b"aGV s*bG8=aGVsbG8")
    b'hellohello'
    """
    pieces = []
    for piece in raw.translate(None, _NOT_BASE64).split(b"="):
        if piece:
            whole = piece[:-1] if len(piece) % 4 == 1 else piece
            pieces.append(binascii.a2b_base64(whole + b"=" * (-len(whole) % 4)))
    return b"".join(pieces)


def from_uuencoding(raw: bytes) -> bytes:
    """Return the decoded uuencoded data; invalid lines are skipped."""
    pieces = []
    for line in raw.split(b"\n"):
        if line.startswith((b"begin ", b"end")) or not line:
            continue
        try:
            pieces.append(binascii.a2b_uu(line))
        except binascii.Error:
            continue
    return b"".join(pieces)


def decoded_words(value: str) -> str:
    """Return a header value, given as Latin-1, with encoded words decoded and each fold replaced by one space.

    Examples
    --------
    >>> from suffice.spam.decoding import decoded_words
    >>> decoded_words("=?utf-8?b?Z3LDvG4=?= =?iso-8859-1?q?e_B=E4ume?= here")
    'grüne Bäume here'
    """
    if "\n" in value:
        value = _FOLD.sub(" ", value)
    if not value.isascii():
        value = as_text(value.encode("latin-1"), "")
    return _ENCODED_WORD.sub(_decoded_word, value) if "=?" in value else value


def _decoded_word(match: re.Match[str]) -> str:
    charset, kind, word = match.groups()
    raw = word.encode("latin-1", "replace")
    raw = from_base64(raw) if kind in "bB" else binascii.a2b_qp(raw, header=True)
    return as_text(raw, charset.lower())
