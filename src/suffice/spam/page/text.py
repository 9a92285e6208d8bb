"""Sanitised text of mail: without anything that executes, loads resources, or changes the direction of text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from suffice.spam.html import read_html
from suffice.spam.message import Message, Part, read
from suffice.spam.plain import many_lines, one_line

#: limit of characters shown of a message; longer texts are cut, and the page says so
TEXT_SHOWN = 60_000
HEADERS_SHOWN = 100
PARTS_SHOWN = 50
LINKS_SHOWN = 40

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Shown:
    """A part of a message as shown on the page: its kind, and its text, which may be cut."""

    title: str
    text: str
    cut: bool
    links: tuple[str, ...] = ()
    hidden: str = ""


@dataclass(frozen=True)
class ShownMessage:
    """A message as shown on the page: recipients, headers, texts, and name, type and size of attachments."""

    to: str
    headers: list[tuple[str, str]]
    texts: list[Shown]
    attached: list[tuple[str, str, int]]

    @classmethod
    def of(cls, raw: bytes) -> ShownMessage:
        """Return the contents of a message."""
        message = read(raw)
        headers = [(one_line(name, 60), one_line(value, 2_000)) for name, value in message.headers[:HEADERS_SHOWN]]
        return cls(one_line(message.header("to")), headers, *_shown_parts(message))

    @classmethod
    def unread(cls, reason: str) -> ShownMessage:
        """Return the contents shown for an unreadable message: a sentence with the reason."""
        return cls("", [], [Shown("error", reason, False)], [])


def _shown_parts(message: Message) -> tuple[list[Shown], list[tuple[str, str, int]]]:
    texts: list[Shown] = []
    attached: list[tuple[str, str, int]] = []
    left = TEXT_SHOWN
    for part in message.parts[:PARTS_SHOWN]:
        if part.file_name or part.disposition == "attachment" or not part.content_type.startswith("text/"):
            if not part.content_type.startswith("multipart/"):
                attached.append((one_line(part.file_name or "(no name)"), one_line(part.content_type, 60), part.size))
        elif part.text.strip():
            shown = _shown(part, left)
            left = max(0, left - len(shown.text))
            texts.append(shown)
    return texts, attached


def _shown(part: Part, left: int) -> Shown:
    if part.content_type != "text/html":
        text = part.text.strip("\r\n")
        return Shown(one_line(part.content_type, 60), many_lines(text, left), len(text) > left)
    # line ends of the source become spaces, so that the remaining ones come from elements
    html = read_html(_SPACES.sub(" ", part.text))
    visible = _paragraphs(html.visible)
    links = tuple(dict.fromkeys(one_line(link, 200) for link in html.links[:LINKS_SHOWN]))
    hidden = one_line(_SPACES.sub(" ", html.hidden).strip(), 2_000)
    return Shown("text/html, as text", many_lines(visible, left), len(visible) > left, links, hidden)


def _paragraphs(text: str) -> str:
    r"""Return a text in which consecutive empty lines are replaced by one.

    Examples
    --------
    >>> from suffice.spam.page.text import _paragraphs
    >>> _paragraphs("one\ntwo \n \n\t\n three\n")
    'one\ntwo\n\nthree'
    """
    kept: list[str] = []
    for line in text.split("\n"):
        if line.strip(" \t"):
            kept.append(line if not kept or kept[-1] else line.lstrip(" \t"))
        elif kept and kept[-1]:
            kept[-1] = kept[-1].rstrip(" \t")
            kept.append("")
    return "\n".join(kept).strip()


def file_size(count: int) -> str:
    """Return a number of bytes in readable form.

    Examples
    --------
    >>> from suffice.spam.page.text import file_size

    >>> file_size(512), file_size(20_480), file_size(5_000_000)
    ('512 B', '20 KB', '5.0 MB')
    """
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:.0f} KB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
