"""Packets between a mail server and a milter, protocol versions 2 to 6.

A packet is its length (four bytes, big-endian, without these four), a letter, and data; strings in it end in NUL.
"""

from __future__ import annotations

import struct
from enum import IntFlag
from typing import NamedTuple

#: the newest and the oldest supported protocol version
VERSION, OLDEST_VERSION = 6, 2
#: limit of a packet in bytes: mail servers send bodies in pieces of 64 KB, and limit headers to about 100 KB
PACKET_LIMIT = 1 << 20


class ProtocolError(ValueError):
    """A violation of the protocol by a mail server; the only remedy is to close its connection."""


class Action(IntFlag):
    """The actions that a milter may request."""

    ADD_HEADERS = 0x01
    CHANGE_HEADERS = 0x10
    QUARANTINE = 0x20


class Protocol(IntFlag):
    """Steps that are left out (NO_…), steps without a reply (SILENT_…), and other protocol options."""

    NO_CONNECT = 0x01
    NO_HELO = 0x02
    NO_MAIL = 0x04
    NO_RECIPIENT = 0x08
    NO_BODY = 0x10
    NO_HEADER = 0x20
    NO_END_OF_HEADER = 0x40
    SILENT_HEADER = 0x80
    NO_UNKNOWN = 0x100
    NO_DATA = 0x200
    SKIP = 0x400
    SILENT_CONNECT = 0x1000
    SILENT_HELO = 0x2000
    SILENT_MAIL = 0x4000
    SILENT_RECIPIENT = 0x8000
    SILENT_DATA = 0x10000
    SILENT_UNKNOWN = 0x20000
    SILENT_END_OF_HEADER = 0x40000
    SILENT_BODY = 0x80000
    LEADING_SPACE = 0x100000


class Packet(NamedTuple):
    """The letter of a packet, and its data."""

    letter: bytes
    data: bytes


class PacketReader:
    r"""A splitter of a byte stream into packets, whatever pieces it arrives in.

    Examples
    --------
    >>> from suffice.spam.milter.wire import PacketReader
    >>> reader = PacketReader()
    >>> reader.feed(b"\0\0\0\1"), reader.feed(b"A\0\0\0\2Q")
    ([], [Packet(letter=b'A', data=b'')])
    """

    def __init__(self, limit: int = PACKET_LIMIT) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Packet]:
        """Add bytes, and return the packets that are now complete; raise ProtocolError for an empty or too long one."""
        self._buffer += data
        packets: list[Packet] = []
        start = 0
        while len(self._buffer) - start >= 4:
            length = int.from_bytes(self._buffer[start : start + 4], "big")
            if not 0 < length <= self._limit:
                raise ProtocolError(f"a packet must have 1 to {self._limit:,} bytes, but one of {length:,} came")
            if len(self._buffer) - start - 4 < length:
                break
            body = bytes(self._buffer[start + 4 : start + 4 + length])
            packets.append(Packet(body[:1], body[1:]))
            start += 4 + length
        del self._buffer[:start]
        return packets


def packet(letter: bytes, data: bytes = b"") -> bytes:
    r"""Return a packet as bytes.

    Examples
    --------
    >>> from suffice.spam.milter.wire import packet
    >>> packet(b"c")
    b'\x00\x00\x00\x01c'
    """
    return struct.pack(">I", 1 + len(data)) + letter + data


def strings(data: bytes) -> list[bytes]:
    r"""Return the strings in a packet, each of which must end in NUL.

    Examples
    --------
    >>> from suffice.spam.milter.wire import strings
    >>> strings(b"Subject\0 lunch\0")
    [b'Subject', b' lunch']
    """
    if not data.endswith(b"\0"):
        raise ProtocolError(f"text in a packet must end in NUL, but it ends in {data[-10:]!r}")
    return data[:-1].split(b"\0")


def offer(data: bytes) -> tuple[int, int, int]:
    """Return the version, action bits and protocol bits that a mail server offers."""
    if len(data) < 12:
        raise ProtocolError(f"an offer must have three numbers of 4 bytes, but it has {len(data)} bytes")
    version, actions, protocol = struct.unpack(">III", data[:12])
    if version < OLDEST_VERSION:
        raise ProtocolError(f"protocol version {OLDEST_VERSION} or later is required, but {version} was offered")
    return version, actions, protocol


CONTINUE = packet(b"c")
SKIP = packet(b"s")


def agreed(version: int, actions: int, protocol: int) -> bytes:
    """Return the answer to an offer."""
    return packet(b"O", struct.pack(">III", version, actions, protocol))


def deleted_header(name: bytes, occurrence: int) -> bytes:
    """Return the request to remove the n-th header with this name, counted from 1."""
    return packet(b"m", struct.pack(">I", occurrence) + name + b"\0\0")


def inserted_header(name: str, value: str) -> bytes:
    """Return the request to insert a header above all others."""
    return packet(b"i", struct.pack(">I", 0) + f"{name}\0{value}\0".encode("ascii"))


def quarantined(reason: str) -> bytes:
    """Return the request to hold a message in the queue."""
    return packet(b"q", reason.encode("ascii") + b"\0")


def replied(text: str) -> bytes:
    """Return an SMTP reply such as "550 5.7.1 …", by which a message is refused."""
    # mail servers use it as a format string
    return packet(b"y", text.replace("%", "%%").encode("ascii") + b"\0")
