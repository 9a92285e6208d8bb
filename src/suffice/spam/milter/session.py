"""The protocol state of one connection: packets in, packets out, and messages to score; without sockets."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from suffice.spam import stamping
from suffice.spam.milter import wire
from suffice.spam.milter.wire import Action, Packet, Protocol, ProtocolError
from suffice.spam.stamping import stamps
from suffice.spam.verdict import Verdict

#: prefix of our headers, in lower case
PREFIX = b"x-suffice-"
#: names of our headers, all of which are removed from incoming messages
OURS = frozenset(name.lower().encode() for name in stamping.OURS)
#: Removing n headers costs a mail server n² steps, a second at 3,000. So a message with more than FORGED_LIMIT headers
#: of our names is refused, which no honest message has, and of other names with our prefix only the first OTHERS_LIMIT
#: are removed.
FORGED_LIMIT, OTHERS_LIMIT = 1000, 100
REFUSAL = "550 5.7.1 This message looks like spam and was not accepted"
FORGED_REFUSAL = "550 5.7.1 This message has too many forged headers and was not accepted"

#: per step, the bit that says that no reply is sent
_SILENT = {
    b"C": Protocol.SILENT_CONNECT,
    b"H": Protocol.SILENT_HELO,
    b"M": Protocol.SILENT_MAIL,
    b"R": Protocol.SILENT_RECIPIENT,
    b"T": Protocol.SILENT_DATA,
    b"U": Protocol.SILENT_UNKNOWN,
    b"L": Protocol.SILENT_HEADER,
    b"N": Protocol.SILENT_END_OF_HEADER,
}
# The requested protocol. Pieces of the body get a reply, since it may say that no more are needed.
_WANTED = (
    Protocol.NO_DATA
    | Protocol.NO_UNKNOWN
    | Protocol.NO_END_OF_HEADER
    | Protocol.SILENT_CONNECT
    | Protocol.SILENT_HELO
    | Protocol.SILENT_MAIL
    | Protocol.SILENT_RECIPIENT
    | Protocol.SILENT_HEADER
    | Protocol.SKIP
    | Protocol.LEADING_SPACE
)
_UNPRINTABLE = re.compile(rb"[^!-~]")
_QUEUE = re.compile(rb"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class Policy:
    """What to do with messages.

    Attributes
    ----------
    limit : int
        Number of bytes of a message that are kept and scored. A longer message is stamped, but never refused or
        quarantined.
    reject_from : float, optional
        Probability from which spam is refused; None (default) to refuse none.
    quarantine : bool
        Whether spam that is not refused is quarantined, that is, held in the queue.
    recipients : bool
        Whether the mail server is asked for recipients.
    details : bool
        Whether the probability and the strongest tokens are stamped in addition to the status. They reveal contents of
        the store to senders whose mail comes back to them, and to all who read the message.
    """

    limit: int = 1 << 20
    reject_from: float | None = None
    quarantine: bool = False
    recipients: bool = False
    details: bool = False


@dataclass(frozen=True)
class Arrived:
    """A complete message that waits for its verdict.

    Attributes
    ----------
    queue : str
        Its identifier in the mail server's queue, "-" if unknown.
    raw : bytes
        The message, with the headers on top that the mail server will add, since training messages have them.
    truncated : bool
        Whether it was longer than the limit.
    recipient : bytes
        The only recipient as given; empty if there are several, or recipients were not requested.
    forged : dict
        Number of headers per name that look like ours.
    """

    queue: str
    raw: bytes
    truncated: bool
    recipient: bytes
    forged: dict[bytes, int]


@dataclass
class _Client:
    """The sending client, and the mail server's host."""

    name: bytes = b""
    address: bytes = b""
    helo: bytes = b""
    host: bytes = b""


@dataclass
class _Incoming:
    """A message that is being received."""

    queue: bytes = b""
    begun: bool = False
    sender: bytes = b""
    recipients: int = 0
    recipient: bytes = b""
    head: bytearray = field(default_factory=bytearray)
    body: bytearray = field(default_factory=bytearray)
    truncated: bool = False
    forged: Counter[bytes] = field(default_factory=Counter)
    others: int = 0

    def keep(self, kept: bytearray, data: bytes, limit: int) -> None:
        """Keep as much of a piece as the limit allows."""
        self.begun = True
        room = max(0, limit - len(self.head) - len(self.body))
        kept += data[:room]
        self.truncated |= len(data) > room


class Session:
    r"""The state of one connection of a mail server.

    Examples
    --------
    >>> from suffice.spam.milter import Session
    >>> from suffice.spam.milter.wire import Packet
    >>> session = Session()
    >>> offer = Packet(b"O", bytes([0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0]))
    >>> session.answer(offer)[4:5], session.answer(Packet(b"N", b""))
    (b'O', b'\x00\x00\x00\x01c')
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = Policy() if policy is None else policy
        self.ended = False
        self._actions = Action(0)
        self._protocol: Protocol | None = None  # until negotiated
        self._client = _Client()
        self._message = _Incoming()

    @property
    def agreed(self) -> bool:
        """Whether the mail server has made its offer."""
        return self._protocol is not None

    @property
    def busy(self) -> bool:
        """Whether a message is being received."""
        return self._message.begun

    def answer(self, packet: Packet) -> bytes | Arrived:
        """Return the reply, which may be empty, or the message that is now complete and needs a verdict.

        Raises
        ------
        ProtocolError
            If the packet is not allowed in this state; the connection must then be closed.
        """
        letter, data = packet
        if letter == b"O":
            return self._negotiate(data)
        if letter == b"Q":
            self.ended = True
            return b""
        if self._protocol is None:
            raise ProtocolError(f"the offer must come first, but a packet {letter!r} came")
        message = self._message
        match letter:
            case b"A":
                self._message = _Incoming()
                return b""
            case b"B":
                message.keep(message.body, data, self.policy.limit)
                return wire.SKIP if message.truncated and Protocol.SKIP in self._protocol else wire.CONTINUE
            case b"C":
                self._connect(data)
            case b"D":
                self._define(data)
                return b""
            case b"E":
                message.keep(message.body, data, self.policy.limit)
                return self._arrived()
            case b"H":
                self._client.helo = wire.strings(data)[0]
            case b"K":
                self._client, self._message = _Client(), _Incoming()
                return b""
            case b"L":
                self._add_header(data)
            case b"M":  # its macros arrived before it
                self._message = _Incoming(queue=message.queue, begun=True, sender=wire.strings(data)[0])
            case b"R":
                message.recipients += 1
                message.recipient = wire.strings(data)[0]
            case b"N" | b"T" | b"U":
                pass
            case _:
                raise ProtocolError(f"there is no packet {letter!r} in the protocol")
        return b"" if letter in _SILENT and _SILENT[letter] in self._protocol else wire.CONTINUE

    def conclude(self, message: Arrived, verdict: Verdict) -> tuple[str, bytes]:
        """Return the action for a message, as a word, and the reply that performs it.

        A message that was not judged passes with the status "error". Stamps that it came with are removed; if there are
        more than `FORGED_LIMIT` of them, the message is refused.
        """
        if sum(message.forged.get(name, 0) for name in OURS) > FORGED_LIMIT:
            return "rejected", wire.replied(FORGED_REFUSAL)
        reply = []
        if Action.CHANGE_HEADERS in self._actions:
            for forged, count in message.forged.items():
                # from last to first, since removing one may renumber those after it
                reply += [wire.deleted_header(forged, occurrence) for occurrence in range(count, 0, -1)]
        condemned = verdict.label == "spam" and not message.truncated
        reject_from = self.policy.reject_from
        if condemned and reject_from is not None and verdict.probability >= reject_from:
            return "rejected", wire.replied(REFUSAL)
        action = "passed"
        if Action.ADD_HEADERS in self._actions:
            action = "stamped" if verdict.label != "error" else action
            space = " " if self._has_leading_space else ""
            for name, value in reversed(
                stamps(verdict, details=self.policy.details).items()
            ):  # reversed, since each is inserted above the previous one
                reply.append(wire.inserted_header(name, space + value.replace(", ", ",\n ")))
        if condemned and Action.QUARANTINE in self._actions:
            action = "quarantined"
            reply.append(wire.quarantined("suffice: spam"))
        return action, b"".join([*reply, wire.CONTINUE])

    @property
    def _has_leading_space(self) -> bool:
        """Whether header values include the space after the colon; else the mail server strips and re-adds it."""
        return self._protocol is not None and Protocol.LEADING_SPACE in self._protocol

    def _negotiate(self, data: bytes) -> bytes:
        version, actions, protocol = wire.offer(data)
        wanted = Action.ADD_HEADERS | Action.CHANGE_HEADERS
        if self.policy.quarantine:
            wanted |= Action.QUARANTINE
        steps = _WANTED if self.policy.recipients else _WANTED | Protocol.NO_RECIPIENT
        self._actions, self._protocol = Action(wanted & actions), Protocol(steps & protocol)
        self._client, self._message = _Client(), _Incoming()
        return wire.agreed(min(version, wire.VERSION), self._actions, self._protocol)

    def _connect(self, data: bytes) -> None:
        name, _, rest = data.partition(b"\0")
        # one byte for the address family, two for the port, then the address
        address = rest[3:].rstrip(b"\0") if rest[:1] in (b"4", b"6") else b""
        self._client = _Client(name, address, host=self._client.host)
        self._message = _Incoming()

    def _define(self, data: bytes) -> None:
        """Read macros, of which two matter: the message's queue identifier, and the mail server's host name."""
        pairs = wire.strings(data[1:]) if len(data) > 1 else []
        for name, value in zip(pairs[::2], pairs[1::2], strict=False):
            if name in (b"i", b"{i}"):
                self._message.queue = value[:100]
            elif name in (b"j", b"{j}"):
                self._client.host = value[:255]

    def _add_header(self, data: bytes) -> None:
        parts = wire.strings(data)
        if len(parts) != 2:
            raise ProtocolError(f"a header must be a name and a value, but {len(parts)} texts came")
        name, value = parts
        message = self._message
        plain = name.strip().lower()
        if plain in OURS or (plain.startswith(PREFIX) and message.others < OTHERS_LIMIT):
            message.forged[plain] += 1
            message.others += plain not in OURS
        space = b"" if self._has_leading_space else b" "
        message.keep(message.head, name + b":" + space + value + b"\n", self.policy.limit)

    def _arrived(self) -> Arrived:
        message, client = self._message, self._client
        self._message = _Incoming()
        on_top = b"Return-Path: <%s>\nReceived: from %s (%s [%s])\n\tby %s;\n" % tuple(
            _UNPRINTABLE.sub(b"?", text[:255])
            for text in (message.sender.strip(b"<>"), client.helo, client.name, client.address, client.host)
        )
        return Arrived(
            queue=message.queue.decode("ascii") if _QUEUE.fullmatch(message.queue) else "-",
            raw=b"".join((on_top, message.head, b"\n", message.body)),
            truncated=message.truncated,
            recipient=message.recipient if message.recipients == 1 else b"",
            forged=dict(message.forged),
        )
