"""Allow and block lists of sender addresses and domains, which take precedence over the statistics.

| entry | matches the sender |
|---|---|
| `ann@example.org` | with this address |
| `example.org`, `@example.org` | with an address at this domain, but not at its subdomains |
| `.example.org` | with an address at this domain or any of its subdomains |

The most specific entry decides. The sender is the address in `From`, which anyone can forge: whoever knows an entry of
the allow list can send mail in its name, unless the mail server checks it (DMARC).

An allowed sender must be unambiguous: one `From` header with one address. Blocked senders are looked for in all `From`
headers and addresses.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple, Self

from suffice.spam.headers import raw_headers
from suffice.spam.isolation import Unread, isolated
from suffice.spam.names import addresses
from suffice.spam.verdict import Verdict

ListName = Literal["allow", "block"]

#: limits: bytes of `From` headers, and addresses per header, that are read
_VALUE_LIMIT, _ADDRESS_LIMIT = 10_000, 100
_DOMAIN_LIMIT, _LABEL_LIMIT, _LOCAL_LIMIT = 253, 63, 64
#: parts of a `From` value: a quoted string (perhaps unterminated), a delimiter of the grammar, white space, anything
#: else
_PART = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|(?P<open>\\?\Z))|[<>@,;:()\\\[\]]|\s+|[^<>@,;:()\\\[\]"\s]+', re.DOTALL)
_SPACED_DOT = re.compile(r" *+\. *+")
_ATOM = re.compile(r"[^\x00-\x20\x7f()<>@,;:\\\"\[\]]+")
_LABEL = re.compile(r"[^\W_](?:[\w-]*[^\W_])?|_[\w-]+")


class ListError(ValueError):
    """An entry of a list is neither an address nor a domain, or is not there."""


class Sender(NamedTuple):
    """The sender of a message: addresses in normal form, and whether there is exactly one, unambiguously."""

    addresses: tuple[tuple[str, str], ...]
    is_plain: bool


@dataclass(frozen=True)
class Lists:
    r"""The entries of both lists, in normal form, sorted.

    Parameters
    ----------
    allow, block : tuple of str, default ()
        The entries of each list: addresses and domains.

    Examples
    --------
    >>> from suffice.spam.lists import Lists
    >>> lists = Lists().with_entries("allow", ["Ann@Example.org"]).with_entries("block", [".example.org"])
    >>> lists.decision(b"From: Ann <ann@example.org>\n\n"), lists.decision(b"From: bob@mail.example.org\n\n")
    (('allow', 'ann@example.org'), ('block', '.example.org'))
    """

    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.allow or self.block)

    def with_entries(self, name: ListName, entries: Iterable[str]) -> Self:
        """Return the lists with entries added to one of them and removed from the other.

        Parameters
        ----------
        name : "allow" or "block"
            The list.
        entries : iterable of str
            Addresses and domains.
        """
        added = {checked_entry(entry) for entry in entries}
        other: ListName = "block" if name == "allow" else "allow"
        return self._changed(name, added.union(getattr(self, name)), other, set(getattr(self, other)) - added)

    def without_entries(self, name: ListName, entries: Iterable[str]) -> Self:
        """Return the lists with entries removed from one of them; raise ListError if one is not there.

        Parameters
        ----------
        name : "allow" or "block"
            The list.
        entries : iterable of str
            Addresses and domains.
        """
        known = set(getattr(self, name))
        for entry in entries:
            if checked_entry(entry) not in known:
                raise ListError(f"{entry!r} is not on the list of {_WORDS[name]} senders")
            known.discard(checked_entry(entry))
        return self._changed(name, known, name, known)

    def _changed(self, name: str, entries: set[str], other: str, others: set[str]) -> Self:
        return replace(self, **{other: tuple(sorted(others)), name: tuple(sorted(entries))})

    def decision(self, raw: bytes) -> tuple[ListName, str] | None:
        """Return the list and the entry that decide about a message; None if the statistics decide.

        Parameters
        ----------
        raw : bytes
            The message.
        """
        sender = isolated(sender_of, raw)
        if isinstance(sender, Unread):
            return None
        found: list[tuple[int, ListName, str]] = []
        for address in sender.addresses:
            for exactness, entry in enumerate(_entries_for(*address)):
                if entry in _as_set(self.block):
                    found.append((exactness, "block", entry))
                if sender.is_plain and entry in _as_set(self.allow):
                    found.append((exactness, "allow", entry))
        return min(found, key=lambda item: item[0])[1:] if found else None

    def applied(self, verdict: Verdict, raw: bytes) -> Verdict:
        """Return a verdict with the label set by the lists; probability and evidence stay those of the statistics.

        Parameters
        ----------
        verdict : Verdict
            The verdict of the statistics.
        raw : bytes
            The message.
        """
        if verdict.label == "error" or (decision := self.decision(raw)) is None:
            return verdict
        name, entry = decision
        return verdict.by_list("ham" if name == "allow" else "spam", f"{name} {entry}")


_WORDS = {"allow": "allowed", "block": "blocked"}


@lru_cache(maxsize=8)
def _as_set(entries: tuple[str, ...]) -> frozenset[str]:
    return frozenset(entries)


def _entries_for(local: str, domain: str) -> list[str]:
    """Return the entries that match an address, the most specific first."""
    labels = domain.split(".")
    return [f"{local}@{domain}", domain, *("." + ".".join(labels[place:]) for place in range(len(labels)))]


def checked_entry(entry: str) -> str:
    """Return an entry of a list in normal form; raise ListError if it is neither an address nor a domain.

    Examples
    --------
    >>> from suffice.spam.lists import checked_entry
    >>> checked_entry("Ann@Example.ORG"), checked_entry("@bücher.example"), checked_entry(".example.org")
    ('ann@example.org', 'xn--bcher-kva.example', '.example.org')
    """
    text = entry.strip()
    local, at, domain = text.rpartition("@")
    below = "." if not at and domain.startswith(".") else ""
    address = _compared(local or "x", domain.removeprefix(below))
    if address is None or "*" in text or (at and "@" in local):  # a user who writes * means a domain
        raise ListError(
            f"an entry must be an address (ann@example.org), a domain (example.org) or a domain with its "
            f"subdomains (.example.org), but it is {entry!r}"
        )
    return f"{address[0]}@{address[1]}" if local else below + address[1]


def _compared(local: str, domain: str) -> tuple[str, str] | None:
    """Return an address in normal form, in lower case with its domain in ASCII; None if it is not valid."""
    domain = unicodedata.normalize("NFC", domain.strip().removesuffix(".")).lower()
    local = unicodedata.normalize("NFC", local).lower()
    if not 0 < len(local) <= _LOCAL_LIMIT or len(domain) > _DOMAIN_LIMIT or not _ATOM.fullmatch(local):
        return None
    labels = [_label(label) for label in domain.split(".")]
    return None if not all(labels) or len(labels) < 2 else (local, ".".join(labels))


def _label(label: str) -> str:
    """Return a label of a domain in ASCII, or an empty string if it is not valid.

    Letters are not mapped to others as in IDNA 2003 (straße to strasse), since these can be domains of different
    owners.
    """
    if len(label) > _LABEL_LIMIT or not _LABEL.fullmatch(label):
        return ""
    if label.isascii():
        return label
    encoded = "xn--" + label.encode("punycode").decode("ascii")
    return encoded if len(encoded) <= _LABEL_LIMIT else ""


def sender_of(raw: bytes) -> Sender:
    r"""Return the addresses of all `From` headers of a message, as sent: encoded words are not decoded.

    Examples
    --------
    >>> from suffice.spam.lists import sender_of
    >>> sender_of(b'From: "boss@bank.example" <Eve@Example.org>\n\n')
    Sender(addresses=(('eve', 'example.org'),), is_plain=True)
    """
    values = [value for name, value in raw_headers(raw) if name == "from"]
    found: list[tuple[str, str]] = []
    is_plain = len(values) == 1
    for value in values[:_ADDRESS_LIMIT]:
        is_plain &= len(value) <= _VALUE_LIMIT
        named, is_clear = _addresses(value[:_VALUE_LIMIT])
        is_plain &= is_clear
        found += named
    return Sender(tuple(dict.fromkeys(found[:_ADDRESS_LIMIT])), is_plain and len(found) == 1)


def _addresses(value: str) -> tuple[list[tuple[str, str]], bool]:
    """Return the addresses in a `From` value, and whether it is a list of mailboxes as defined by RFC 5322.

    The text in angle brackets is the address of a mailbox, and the text before them a name, whatever it looks like.
    """
    mailboxes, is_clear = _mailboxes(value)
    found: list[tuple[str, str]] = []
    for parts in mailboxes:
        starts, ends = parts.count("<"), parts.count(">")
        if starts or ends:
            is_clear &= starts == ends == 1 and parts.index("<") < parts.index(">") == len(parts) - 1
            # if there are several, mail programs differ in which they show
            texts = [text.partition(">")[0] for text in "".join(parts).split("<")[1:]]
            found += [address for text in texts if (address := _split(text)) is not None]
            is_clear &= "@" not in parts[: parts.index("<")] if starts else False
        elif (address := _split("".join(parts))) is not None:
            found.append(address)
        else:
            is_clear = False
    is_clear &= len(found) == len(mailboxes)
    if not is_clear:  # add everything that a mail program may take for the sender
        found += [address for place in addresses(value) if (address := _split(value[slice(*place)])) is not None]
    return found, is_clear


def _mailboxes(value: str) -> tuple[list[list[str]], bool]:
    """Return the parts of each mailbox, white space and comments as spaces, and whether the list is well-formed."""
    result: list[list[str]] = [[]]
    depth, is_clear = 0, True
    for match in _PART.finditer(value):
        part = match[0]
        if part in "()":
            depth += 1 if part == "(" else -1
            is_clear &= depth >= 0
            result[-1].append(" ")
        elif depth > 0:
            continue
        elif part.isspace():
            result[-1].append(" ")
        elif part in ",;:":  # a group is not a mailbox, but holds some
            is_clear &= part == ","
            result.append([])
        else:
            is_clear &= part not in ("\\", "[", "]") and "\0" not in part and match["open"] is None
            result[-1].append(part)
    return [parts for parts in map(_stripped, result) if parts], is_clear and depth == 0


def _stripped(parts: list[str]) -> list[str]:
    """Return the parts without leading and trailing spaces."""
    filled = [place for place, part in enumerate(parts) if part != " "]
    return parts[filled[0] : filled[-1] + 1] if filled else []


def _split(text: str) -> tuple[str, str] | None:
    """Return an address in normal form, None if it is not valid; spaces around its dots and @ are allowed."""
    local, at, domain = text.rpartition("@")
    local, domain = local.strip(), _SPACED_DOT.sub(".", domain)
    if '"' not in local:
        local = _SPACED_DOT.sub(".", local)
    if len(local) > 1 and local[0] == local[-1] == '"':
        local = re.sub(r"\\(.)", r"\1", local[1:-1], flags=re.DOTALL)
    return _compared(local, domain) if at else None
