"""The mail server's side of the milter protocol, for tests: packets as they are on the wire."""

import asyncio
import struct
from contextlib import suppress

from suffice.spam.milter.wire import PacketReader, packet

#: all that a mail server of today offers
OFFER = packet(b"O", struct.pack(">III", 6, 0x1FF, 0x1FFFFF))


def macros(step, **values):
    return packet(b"D", step + b"".join(f"{name}\0{value}\0".encode() for name, value in values.items()))


def header(name, value):
    return packet(b"L", name + b"\0" + value + b"\0")


def conversation(raw, queue="4ABC", recipients=()):
    """What Postfix sends about a message, from MAIL on."""
    head, _, body = raw.partition(b"\n\n")
    packets = [macros(b"M", i=queue), packet(b"M", b"<ann@example.org>\0")]
    packets += [packet(b"R", b"<" + recipient + b">\0") for recipient in recipients]
    packets += [header(*line.split(b":", 1)) for line in head.split(b"\n")]
    packets += [packet(b"B", body[at : at + 65535]) for at in range(0, len(body), 65535)]
    return [*packets, packet(b"E")]


class Mta:
    """A mail server that is connected."""

    def __init__(self, reader, writer):
        self.reader, self.writer, self.packets, self.waiting = reader, writer, PacketReader(), []

    @classmethod
    async def connect(cls, path):
        mta = cls(*await asyncio.open_unix_connection(path))
        mta.send(OFFER)
        with suppress(OSError):
            answer = await mta.receive()
            if answer is not None and answer.letter == b"O":
                return mta
        await mta.close()
        raise ConnectionError("the offer was not answered")

    def send(self, *packets):
        self.writer.write(b"".join(packets))

    async def receive(self):
        """The next packet, or None where the connection is closed."""
        while not self.waiting:
            data = await asyncio.wait_for(self.reader.read(65536), 20)
            if not data:
                return None
            self.waiting += self.packets.feed(data)
        return self.waiting.pop(0)

    async def deliver(self, raw, **options):
        """The packets that a message is answered with at its end."""
        self.send(*conversation(raw, **options))
        answers = []
        while not answers or answers[-1].letter not in b"cy" or len(answers) < 2:
            found = await self.receive()
            assert found is not None
            answers.append(found)
        return answers[1:]  # without the one about the body

    async def status(self, raw, **options):
        """The status that a message is stamped with, or the letter of the answer."""
        answers = await self.deliver(raw, **options)
        stamped = [answer.data[4:].split(b"\0")[1] for answer in answers if b"X-Suffice-Status" in answer.data]
        return stamped[-1].strip().decode() if stamped else answers[-1].letter.decode()

    async def close(self):
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()
