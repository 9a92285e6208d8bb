"""Compressed mailboxes, decompressed as they are read, with limits on memory and expansion (decompression bombs)."""

from __future__ import annotations

import io
import re
import zlib
from typing import Any, BinaryIO

#: limits of expansion: this many times the size of the file, and this many bytes for a file of any size
EXPANSION_LIMIT, EXPANSION_FREE = 200, 64_000_000
#: memory limit for the dictionary of an xz file; `xz -9` needs 65 MiB
DICTIONARY_LIMIT = 128 << 20

_READ = 1 << 16
_GZIP, _BZIP2, _XZ = b"\x1f\x8b\x08", re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), b"\xfd7zXZ\0"


class CompressedError(ValueError):
    """A compressed file is damaged, or expands beyond the limit."""


def is_compressed(first: bytes) -> bool:
    r"""Return whether a file that begins with these bytes is compressed by gzip, bzip2 or xz.

    Examples
    --------
    >>> from suffice.spam.compressed import is_compressed
    >>> is_compressed(b"\x1f\x8b\x08\0"), is_compressed(b"From ann")
    (True, False)
    """
    return first.startswith((_GZIP, _XZ)) or _BZIP2.match(first) is not None


def expanded(first: bytes, file: BinaryIO) -> BinaryIO:
    r"""Return the decompressed contents as a file, given the first bytes and the file positioned after them.

    Examples
    --------
    >>> import gzip, io
    >>> from suffice.spam.compressed import expanded
    >>> file = io.BytesIO(gzip.compress(b"Subject: 1\n") + gzip.compress(b"\nHello"))
    >>> expanded(file.read(10), file).read()
    b'Subject: 1\n\nHello'
    """
    return io.BufferedReader(_Expanding(first, file), _READ)


class _Expanding(io.RawIOBase):
    """The decompressed bytes of one or several concatenated compressed streams."""

    def __init__(self, first: bytes, file: BinaryIO) -> None:
        self._waiting, self._file = first, file
        self._taken, self._given = len(first), 0
        self._decoder = _decoder(first)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._decoder.eof and not self._next():
                return 0
            if self._decoder.needs_input and not self._waiting:
                self._waiting = self._more()
                if not self._waiting:
                    raise CompressedError("it is damaged: the compressed data ends too early")
            waiting, self._waiting = self._waiting, b""
            try:
                piece = self._decoder.decompress(waiting, len(buffer))
            except Exception as error:  # zlib.error, OSError of bz2, LZMAError
                raise CompressedError(f"it is damaged: {error}") from error
            self._given += len(piece)
            if self._given > EXPANSION_FREE + EXPANSION_LIMIT * self._taken:
                raise CompressedError(
                    f"it expands to more than {EXPANSION_LIMIT} times its size, which mail never does; decompress it "
                    "yourself if it is mail"
                )
            if piece:
                buffer[: len(piece)] = piece
                return len(piece)

    def _next(self) -> bool:
        """Start the next concatenated stream, and return whether there is one."""
        rest = (self._decoder.unused_data + self._waiting).lstrip(b"\0")
        while len(rest) < 10 and (more := self._more()):
            rest = (rest + more).lstrip(b"\0")
        if not is_compressed(rest):  # trailing garbage is ignored, as gzip itself does
            return False
        self._decoder, self._waiting = _decoder(rest), rest
        return True

    def _more(self) -> bytes:
        piece = self._file.read(_READ)
        self._taken += len(piece)
        return piece


class _Gzip:
    """zlib's decoder, with the interface of those of bz2 and lzma."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(31)
        self._left = b""
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, most: int) -> bytes:
        piece = self._decoder.decompress(self._left + data, most)
        self._left = self._decoder.unconsumed_tail
        self.needs_input = not self._left and len(piece) < most
        return piece


def _decoder(first: bytes) -> Any:
    if first.startswith(_GZIP):
        return _Gzip()
    if first.startswith(_XZ):
        import lzma

        return lzma.LZMADecompressor(memlimit=DICTIONARY_LIMIT)
    import bz2

    return bz2.BZ2Decompressor()
