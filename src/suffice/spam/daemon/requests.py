r"""Parsing of requests of mail programs: SpamAssassin's protocol, rspamd's old one, and HTTP.

| first line | protocol | spoken by |
|---|---|---|
| `CHECK SPAMC/1.5` | "spamc" | spamc, Exim |
| `CHECK RSPAMC/1.3` | "rspamc" | Exim with variant=rspamd |
| `POST /checkv2 HTTP/1.1` | "http" | rspamc, Haraka, curl |

Then follow headers, an empty line, and the number of bytes given by Content-Length, or without it all bytes up to the
end.
"""

from __future__ import annotations

import re
import zlib
from typing import NamedTuple

#: limit in bytes of the first line and the headers
HEAD_LIMIT = 16_384
_FIRST = re.compile(r"([A-Z_]{1,20}) (R?SPAMC)/([0-9]\.[0-9]{1,2})\Z")
_HTTP = re.compile(r"([A-Z]{1,20}) (?:http://[^/ ]*)?(/[^ ]*) HTTP/1\.[01]\Z")
_LENGTH = re.compile(r"[0-9]{1,12}\Z")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
#: headers of rspamd's clients (`rspamc --compressed`, `--key`) whose compressed or encrypted messages cannot be read
_OPAQUE = frozenset(("compression", "key"))
_HEAD_END = re.compile(rb"\r?\n\r?\n")


class Request(NamedTuple):
    """A request of a client.

    Attributes
    ----------
    protocol : "spamc", "rspamc" or "http"
        The protocol of request and answer.
    method : str
        Such as CHECK or POST.
    target : str
        The path for HTTP, else the protocol version.
    headers : dict
        Values by names in lower case.
    body : bytes
        The message, decompressed.
    """

    protocol: str
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class BadRequestError(ValueError):
    """A request that cannot be answered: its protocol, "" if unknown, and the reason."""

    def __init__(self, protocol: str, reason: str, *, too_long: bool = False) -> None:
        super().__init__(reason)
        self.protocol, self.too_long = protocol, too_long


class RequestReader:
    r"""A buffer for the bytes of one connection until they are a complete request.

    Parameters
    ----------
    limit : int
        Limit of the message in bytes, also after decompression.

    Examples
    --------
    >>> from suffice.spam.daemon.requests import RequestReader
    >>> reader = RequestReader(1000)
    >>> reader.feed(b"CHECK SPAMC/1.5\r\nContent-length: 5\r\n\r\nHel")
    >>> reader.feed(b"lo").body
    b'Hello'
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._head: Request | None = None
        self._length: int | None = None
        self._is_chunked = False
        self._chunks = bytearray()
        self._searched = 0

    def __len__(self) -> int:
        """Return the number of buffered bytes."""
        return len(self._buffer) + len(self._chunks)

    @property
    def wants_continue(self) -> bool:
        """Whether an HTTP client waits for "100 Continue" before it sends its message; True at most once."""
        head = self._head
        return head is not None and head.headers.pop("expect", "").lower() == "100-continue"

    def feed(self, data: bytes) -> Request | None:
        """Add bytes, and return the request if complete; raise BadRequestError if it cannot become valid."""
        self._buffer += data
        if self._head is None and not self._read_head():
            return None
        assert self._head is not None
        if self._is_chunked:
            return self._finished(bytes(self._chunks)) if self._unchunk(self._head.protocol) else None
        if len(self._buffer) > self._limit:
            raise self._too_long()
        if self._length is not None and len(self._buffer) >= self._length:
            return self._finished(bytes(self._buffer[: self._length]))
        return None

    def end(self) -> Request | None:
        """End the input; without a length the message is all bytes received; None if there are none."""
        head = self._head
        if head is None and not self._buffer:
            return None
        if head is None or self._is_chunked or self._length is not None or head.protocol == "http":
            raise BadRequestError("" if head is None else head.protocol, "the request ends too early")
        return self._finished(bytes(self._buffer))

    def _read_head(self) -> bool:
        end = _HEAD_END.search(self._buffer, max(0, self._searched - 3))
        self._searched = len(self._buffer)
        if end is None or end.start() > HEAD_LIMIT:
            if self._searched > HEAD_LIMIT:
                raise BadRequestError("", f"the headers of a request may have {HEAD_LIMIT} bytes")
            first, line_end, _ = self._buffer[:2048].partition(b"\n")
            if line_end or len(first) > 1024:  # refuse an invalid first line without waiting for more
                _first_line(first.decode("latin-1").rstrip("\r"))
            return False
        # not `splitlines`: other Unicode line ends, such as 0x85, may be bytes of UTF-8 letters
        lines = self._buffer[: end.start()].decode("latin-1").replace("\r\n", "\n").split("\n")
        protocol, method, target = _first_line(lines[0])
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise BadRequestError(protocol, f"a header needs a colon, but there is {line[:100]!r}")
            name, value = name.strip().lower(), value.strip()
            if headers.setdefault(name, value) != value and name in ("content-length", "transfer-encoding", "compress"):
                raise BadRequestError(protocol, f"the header {name!r} is repeated with different values")
        del self._buffer[: end.end()]
        self._head = Request(protocol, method, target, headers, b"")
        self._read_length(headers)
        return True

    def _read_length(self, headers: dict[str, str]) -> None:
        assert self._head is not None
        protocol, length = self._head.protocol, headers.get("content-length")
        self._is_chunked = protocol == "http" and headers.get("transfer-encoding", "").lower() == "chunked"
        if length is not None:
            if not _LENGTH.match(length) or self._is_chunked:
                raise BadRequestError(protocol, f"Content-length must be a number of bytes, but it is {length[:100]!r}")
            self._length = int(length)
            if self._length > self._limit:
                raise self._too_long()
        elif "transfer-encoding" in headers and not self._is_chunked:
            raise BadRequestError(protocol, "the only known transfer encoding is chunked")
        elif self._head.method in ("PING", "SKIP", "GET", "HEAD", "OPTIONS") or (
            protocol == "http" and not self._is_chunked
        ):
            self._length = 0  # there is no message

    def _unchunk(self, protocol: str) -> bool:
        """Move complete chunks out of the buffer, and return whether the last one was received."""
        at = 0
        while chunk := _CHUNK.match(self._buffer, at):
            size = int(chunk[1], 16)
            if size == 0:
                return True
            if len(self._chunks) + size > self._limit:
                raise self._too_long()
            end = chunk.end() + size
            ended = self._buffer[end : end + 2]
            if not ended or ended == b"\r":
                break
            if ended[:1] != b"\n" and ended != b"\r\n":
                raise BadRequestError(protocol, "a chunk has another length than announced")
            self._chunks += self._buffer[chunk.end() : end]
            at = end + (1 if ended[:1] == b"\n" else 2)
        del self._buffer[:at]
        if len(self._buffer) > 1024 and not _CHUNK.match(self._buffer):
            raise BadRequestError(protocol, "a chunk must begin with its length")
        return False

    def _finished(self, body: bytes) -> Request:
        assert self._head is not None
        self._buffer, self._chunks = bytearray(), bytearray()
        headers, is_http = self._head.headers, self._head.protocol == "http"
        if is_http and not _OPAQUE.isdisjoint(headers):
            raise BadRequestError(
                "http", "a message that is encrypted, or compressed as rspamd does it, is not supported"
            )
        if compression := headers.get("content-encoding" if is_http else "compress"):
            body = self._decompressed(body, compression)
        return self._head._replace(body=body)

    def _decompressed(self, body: bytes, compression: str) -> bytes:
        assert self._head is not None
        known = ("zlib",) if self._head.protocol != "http" else ("deflate", "gzip")
        if compression.lower() not in known:
            words = f"a message may be compressed by {' or '.join(known)}, but it is by {compression[:100]!r}"
            raise BadRequestError(self._head.protocol, words)
        inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        try:
            found = inflate.decompress(body, self._limit + 1)
        except zlib.error as error:
            raise BadRequestError(self._head.protocol, f"the message cannot be decompressed: {error}") from None
        if len(found) > self._limit:
            raise self._too_long()
        if not inflate.eof:
            raise BadRequestError(self._head.protocol, "the compressed message is not complete")
        return found

    def _too_long(self) -> BadRequestError:
        assert self._head is not None
        return BadRequestError(
            self._head.protocol, f"a message may have {self._limit} bytes, but this one has more", too_long=True
        )


def _first_line(line: str) -> tuple[str, str, str]:
    if found := _FIRST.match(line):
        return found[2].lower(), found[1], found[3]
    if found := _HTTP.match(line):
        return "http", found[1], found[2]
    raise BadRequestError(
        "", f"a request must begin like CHECK SPAMC/1.5 or POST /checkv2 HTTP/1.1, not {line[:100]!r}"
    )
