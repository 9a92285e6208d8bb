"""Readable words for verdicts, folders and tokens, instead of the filter's own."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from suffice.spam.mailboxes import IMAP_ADDRESS
from suffice.spam.plain import one_line
from suffice.spam.tokenizing import ATTACHED
from suffice.spam.verdict import Verdict

#: verdicts and classes
LABEL_NAMES = {"spam": "spam", "ham": "good", "unsure": "unsure", "error": "not judged"}
FILTER_NAMES = {"all": "All", "spam": "Spam", "unsure": "Unsure", "ham": "Good", "odd": "Against its folder"}
ORDER_NAMES = {"newest": "Newest first", "oldest": "Oldest first", "spam": "Spam first", "ham": "Good first"}
TOKEN_SHOWN = 40

_PLACES = {
    "from": "sender {}", "sender": "sender {}", "reply-to": "reply address {}", "return": "return address {}",
    "id": "message ID {}", "received": "route over {}", "to": "recipient {}", "subject": "{} in the subject",
    "header": "header {}", "mailer": "mail program {}", "list": "mailing list {}", "type": "part of type {}",
    "charset": "character set {}", "encoding": "encoding {}", "disposition": "part shown as {}",
    "file": "attachment {}", "html": "HTML {}", "hidden": "{}, hidden", "url": "link to {}", "path": "link with {}",
    "auth": "authentication {}", "long": "long word {}",
}  # fmt: skip
#: descriptions of features of a message's form, by the first word of the token
_MARKS = {
    "shape:boundary": "how its parts are separated", "shape:date": "how its date is written",
    "shape:zone": "its time zone", "shape:id": "how its message ID is written",
    "shape:from": "how its sender is written",
    "shape:to": "how its recipient is written", "shape:recipients": "its number of recipients",
    "text:size": "its length", "text:8-bit": "its share of letters outside ASCII",
    "text:image": "an image without text",
    "text:money": "sums of money",
}  # fmt: skip
_NUMBERED = re.compile(r"(.+):\d{1,12}", re.DOTALL)
_JUNK = re.compile(
    r"junk|spam|bulk|unerwünscht|indésirable|no deseado|indesiderat|lixo|ongewenst|skräp|søppel|roskaposti"
    r"|спам|迷惑|垃圾",
    re.IGNORECASE,
)
_THROWN_AWAY = re.compile(
    r"trash|deleted|\bbin\b|papierkorb|gelöscht|corbeille|papelera|cestino|lixeira", re.IGNORECASE
)


class Reason(NamedTuple):
    """A token in words, and the class that it is evidence for."""

    text: str = ""
    side: str = ""


NO_REASON = Reason()


def reason_of(verdict: Verdict) -> Reason:
    """Return the strongest reason for a verdict; for an unsure one the strongest of all.

    Examples
    --------
    >>> from suffice.spam import Verdict
    >>> from suffice.spam.page.words import reason_of
    >>> reason_of(Verdict(0.2, "ham", -0.5, [("money", 2.0), ("subject:lunch", -1.5)]))
    Reason(text='“lunch” in the subject', side='ham')
    """
    if verdict.listed:
        return Reason(f"your list: {one_line(verdict.listed, TOKEN_SHOWN)}", verdict.label)
    sign = {"spam": 1.0, "ham": -1.0}.get(verdict.label)
    for token, value in verdict.evidence:
        if value == 0.0:
            break
        if sign is None or value * sign > 0.0:
            return Reason(in_words(token), "spam" if value > 0.0 else "ham")
    return NO_REASON


def in_words(token: str) -> str:
    """Return a readable description of a token.

    Examples
    --------
    >>> from suffice.spam.page.words import in_words
    >>> in_words("free money"), in_words("url:example.org"), in_words("attached:file:a.pdf"), in_words("new:kind")
    ('“free money”', 'link to “example.org”', 'attachment “a.pdf”', '“new:kind”')
    """
    if token.startswith(ATTACHED):
        inner = in_words(token.replace(ATTACHED, ""))
        return inner if inner.startswith("attachment") else f"{inner}, attached"
    if mark := _MARKS.get(token.partition(" ")[0]):
        return mark
    prefix, colon, rest = token.partition(":")
    place = _PLACES.get(prefix) if colon and rest else None
    return (place or "{}").format(f"“{one_line(rest if place else token, TOKEN_SHOWN)}”")


def folder_name(root: Path, place: str) -> str:
    """Return the name of the folder of a message, given the mailbox that was opened and the message's place.

    Examples
    --------
    >>> from pathlib import Path
    >>> from suffice.spam.page.words import folder_name
    >>> folder_name(Path("/home/ann/inbox"), "/home/ann/inbox:12")
    'inbox'
    >>> folder_name(Path("/home/ann/Maildir"), "/home/ann/Maildir/.Junk/cur/17.host:2,S")
    'Maildir/Junk'
    """
    name = one_line(root.name or str(root))
    if IMAP_ADDRESS.match(str(root)):
        return name
    numbered = _NUMBERED.fullmatch(place)
    file = Path(numbered[1] if numbered else place)
    inner = file if numbered else file.parent
    if file.parent.name in ("cur", "new"):  # a Maildir, whose file names may end in numbers
        inner = file.parent.parent
    relative = os.path.relpath(inner, root) if inner.is_relative_to(root) else "."
    parts = [part.lstrip(".") for part in Path(relative).parts if part.lstrip(".")]
    return one_line("/".join([name, *parts]))


def is_against(folder: str, label: str) -> bool:
    """Return whether a verdict disagrees with the name of a folder: spam outside junk, or good mail in junk.

    Examples
    --------
    >>> from suffice.spam.page.words import is_against
    >>> is_against("INBOX", "spam"), is_against("Junk E-Mail", "ham"), is_against("Trash", "spam")
    (True, True, False)
    """
    kind = _kind(folder)
    return (label == "ham" and kind == "junk") or (label == "spam" and kind == "kept")


@lru_cache(maxsize=4096)
def _kind(folder: str) -> str:
    if _JUNK.search(folder):
        return "junk"
    return "thrown away" if _THROWN_AWAY.search(folder) else "kept"
