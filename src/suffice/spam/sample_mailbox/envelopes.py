"""Messages as the bytes that a mail server would deliver: headers, MIME, encodings."""

from __future__ import annotations

import base64
import html
import quopri
import random
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.utils import format_datetime

from suffice.spam.sample_mailbox.templates import Template

#: header of every message that marks it as synthetic
NOTE = "X-Note: synthetic, written for a demonstration"
#: an image of one pixel
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_ALIKE = str.maketrans("aeopc", "аеорс")
_WORD = re.compile(r"[A-Za-z]{4,}")


@dataclass(frozen=True)
class Program:
    """The traces of a mail program: its headers, and the format of Message-IDs and boundaries (# is a digit)."""

    headers: tuple[str, ...]
    identity: str
    boundary: str


PROGRAMS: dict[str, Program] = {
    "desk": Program(("User-Agent: Quill 3.2",), "########.#######", "------------############"),
    "phone": Program(("X-Mailer: Pocket Post (4.1)",), "A#B#####-C#D#-E###-##########F#", "Pocket-########"),
    "web": Program((), "CA+##############", "000000000000########"),
    "list": Program(
        (
            "List-Id: Handbinders <handbinders.lists.example.org>",
            "List-Unsubscribe: <mailto:handbinders-leave@lists.example.org>",
            "Precedence: list",
        ),
        "########.#######",
        "===============##########==",
    ),
    "shop": Program(("Auto-Submitted: auto-generated",), "order.######.####", "--=_part_####_##########"),
    # wanted newsletters and spam come from the same program
    "bulk": Program(("List-Unsubscribe: <https://{host}/leave>", "Precedence: bulk"), "bulk-##########", "=_########"),
    "burst": Program(("X-Mailer: Writer 6.00", "X-Priority: 1"), "0000##a#b###$########$", "----=_NextPart_000_####"),
}


def envelope(template: Template, sent: datetime, rng: random.Random) -> bytes:
    """Return a filled template as a message with headers, as delivered at a given time."""
    program = PROGRAMS[template.program]
    address = template.sender.rpartition("<")[2].rstrip(">")
    host = address.rpartition("@")[2]
    network = rng.choice(("192.0.2", "198.51.100", "203.0.113"))  # networks reserved for documentation
    date = format_datetime(sent)
    client = f"{network}.{rng.randrange(1, 255)}"
    headers = [
        f"Return-Path: <{address}>",
        f"Received: from {host} ({host} [{client}])\n\tby mx.benning.example.org with ESMTPS id "
        f"{_digits('#A##B###', rng)}\n\tfor <clara@benning.example.org>; {date}",
        f"From: {_encoded_address(template.sender)}",
        f"To: {_encoded_address(template.to)}",
        f"Subject: {_encoded(template.subject)}",
        f"Date: {date}",
        f"Message-ID: <{_digits(program.identity, rng)}@{host}>",
        *(header.format(host=host) for header in program.headers),
        NOTE,
        "MIME-Version: 1.0",
    ]
    body = _body(template, lambda: _digits(program.boundary, rng))
    return "\n".join(headers).encode("ascii") + b"\n" + body


def _body(template: Template, boundary: Callable[[], str]) -> bytes:
    """Return the headers of the content, an empty line and the content."""
    text = DISGUISES[template.disguise](template.text)
    plain = _text("plain", text + (f"\n\n{template.link}" if template.link else ""), template.encoding)
    page = _text("html", _page(template, text), template.encoding)
    if template.form == "plain":
        content = plain
    elif template.form == "alternative":
        content = _multipart("alternative", boundary(), plain, page)
    elif template.form == "image":
        content = _multipart("related", boundary(), page, _file("picture.png", "image/png", PICTURE, "inline"))
    else:
        content = page
    if template.attachment:
        # the contents do not matter: the filter reads names and types
        attached = _file(template.attachment, "application/octet-stream", b"synthetic " * 20, "attachment")
        content = _multipart("mixed", boundary(), content, attached)
    return content


def _page(template: Template, text: str) -> str:
    if template.form == "image":
        return f'<html><body><a href="{template.link}"><img src="cid:picture"></a></body></html>'
    paragraphs = "".join(f"<p>{html.escape(part)}</p>\n" for part in text.split("\n\n"))
    link = f'<p><a href="{template.link}">{template.link}</a></p>\n' if template.link else ""
    hidden = f'<div style="display:none">{html.escape(template.hidden)}</div>\n' if template.hidden else ""
    return f"<html><body>\n{paragraphs}{link}{hidden}</body></html>"


def _text(kind: str, text: str, encoding: str) -> bytes:
    charset = "us-ascii" if text.isascii() else "utf-8"
    if encoding == "quoted-printable" and not text.isascii() and _is_western(text):
        charset = "iso-8859-1"
    if encoding == "7bit" and not text.isascii():
        encoding = "8bit"
    raw = text.encode(charset) + b"\n"
    if encoding == "base64":
        raw = base64.encodebytes(raw)
    elif encoding == "quoted-printable":
        raw = quopri.encodestring(raw)
    return f"Content-Type: text/{kind}; charset={charset}\nContent-Transfer-Encoding: {encoding}\n\n".encode() + raw


def _multipart(kind: str, boundary: str, *parts: bytes) -> bytes:
    mark = boundary.encode()
    joined = b"".join(b"--" + mark + b"\n" + part + b"\n" for part in parts)
    return f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n'.encode() + joined + b"--" + mark + b"--\n"


def _file(name: str, kind: str, content: bytes, disposition: str) -> bytes:
    identity = "Content-ID: <picture>\n" if disposition == "inline" else ""
    return (
        f'Content-Type: {kind}; name="{name}"\nContent-Disposition: {disposition}; filename="{name}"\n{identity}'
        "Content-Transfer-Encoding: base64\n\n"
    ).encode() + base64.encodebytes(content)


def _is_western(text: str) -> bool:
    try:
        text.encode("iso-8859-1")
    except UnicodeEncodeError:
        return False
    return True


def _encoded(text: str) -> str:
    return text if text.isascii() else Header(text, "utf-8", maxlinelen=70).encode(linesep="\n")


def _encoded_address(address: str) -> str:
    name, mark, rest = address.partition(" <")
    return _encoded(name) + mark + rest


def _digits(form: str, rng: random.Random) -> str:
    return re.sub("#", lambda _: str(rng.randrange(10)), form)


def _zero_width(text: str) -> str:
    return _WORD.sub(lambda match: f"{match[0][:2]}\u200b{match[0][2:]}", text)


def _look_alike(text: str) -> str:
    return _WORD.sub(lambda match: match[0].translate(_ALIKE), text)


def _spaced(text: str) -> str:
    return _WORD.sub(lambda match: f" {' '.join(match[0])} ", text)


DISGUISES: dict[str, Callable[[str], str]] = {
    "": lambda text: "\n".join(textwrap.fill(line, 76) for line in text.split("\n")),
    "zero-width": _zero_width,
    "look-alike": _look_alike,
    "spaced": _spaced,
}
