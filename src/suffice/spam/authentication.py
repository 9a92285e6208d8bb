"""Tokens of the receiving mail server's checks of the sender: SPF, DKIM and DMARC (RFC 8601).

A sender can forge Authentication-Results headers, so only those of the configured servers are read. A server adds its
headers above the message that it received, and removes incoming ones that carry its own name (RFC 8601, section 5). In
case it does not remove them, only the topmost header and those below it up to the next Received header count, and only
the first result of each method.

| token | stands for |
|---|---|
| `auth:spf pass`, `auth:dkim fail`, `auth:dmarc none`, … | the server's result, per method |
| `auth:spf agrees`, `auth:dkim elsewhere`, … | whether the domain that passed is that of the visible sender |
| `auth:proven`, `auth:proven @example.org` | at least one method proves the sender's domain |
| `auth:unproven`, `auth:unproven @example.org` | no method proves it: anyone may have written it |
| `auth:missing` | none of our servers reported a result |
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from string import ascii_lowercase, ascii_uppercase

from suffice.spam.headers import Headers
from suffice.spam.message import Message
from suffice.spam.names import addresses
from suffice.spam.tokenizing import suffixes

#: limits: characters read per header, and number of headers
VALUE_LIMIT, COUNT_LIMIT = 4_000, 20
_RESULTS = frozenset(
    ("pass", "fail", "softfail", "neutral", "none", "policy", "temperror", "permerror", "hardfail", "bestguesspass")
)
_METHODS = ("spf", "dkim", "dmarc")
_METHOD = re.compile(r"\s*+([a-z][a-z0-9-]*+)(?:\s*+/\s*+[0-9]++)?\s*+=\s*+([a-z]++)(?!\S)", re.ASCII)
_PROPERTY = re.compile(r"(?<!\S)(smtp\.mailfrom|header\.(?:d|i|from))\s*+=\s*+(\S++)", re.ASCII)
_SERVER = re.compile(r"[!#-'*-:<-\[\]-~]++")
#: the server's name (authserv-id), one word, and the version of the header
_SPEAKER = re.compile(r"\s*+([!-~]++)(?:\s++[0-9]++)?\s*+", re.ASCII)
#: a delimiter of the grammar, or a run of other characters
_PART = re.compile(r"\\.|[\\();\"]|[^\\();\"]++", re.DOTALL)
#: characters that end words and values outside of quotes
_SIGNS = re.compile(r"[\s;=]")
#: lowercase ASCII only: `str.lower` would map some other characters to ASCII, such as the Kelvin sign to k
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def checked_server(name: str) -> str:
    """Return the name of a server in the form used for comparisons; raise ValueError if it is not valid.

    Examples
    --------
    >>> from suffice.spam.authentication import checked_server
    >>> checked_server("MX.example.org")
    'mx.example.org'
    """
    if not isinstance(name, str) or not _SERVER.fullmatch(name.strip('"')) or len(name) > 255:
        raise ValueError(
            f"the name of a server (authserv-id) must be one word such as 'mx.example.org', but it is {name!r}; it is "
            "the first word of the Authentication-Results headers that your own mail server writes"
        )
    return name.strip('"').lower()


def authentication_tokens(message: Message, servers: Collection[str]) -> list[str]:
    r"""Return the tokens of the results that the named servers reported; no tokens if no server is named.

    Examples
    --------
    >>> from suffice.spam import read
    >>> from suffice.spam.authentication import authentication_tokens
    >>> raw = b"Authentication-Results: mx.example.org; dkim=pass header.d=example.net\nFrom: a@example.net\n\n"
    >>> authentication_tokens(read(raw), ["mx.example.org"])
    ['auth:dkim pass', 'auth:dkim agrees', 'auth:proven', 'auth:proven @example.net']
    >>> authentication_tokens(read(raw), ["mx.example.com"])
    ['auth:missing']
    """
    if not servers:
        return []
    said = _by_method(message.headers, servers)
    if not said:
        return ["auth:missing"]
    sender = _sender(message)
    found, is_proven = [], False
    for method in _METHODS:
        results = said.get(method, [])
        if not results:
            continue
        counted = results if method == "dkim" else results[:1]  # a message may have several signatures
        passed = [domain for result, domain in counted if result == "pass"]
        # a DMARC pass is about the sender's domain, which the header need not repeat
        agrees = any(_agree(domain or (sender if method == "dmarc" else ""), sender) for domain in passed)
        found.append(f"auth:{method} {'pass' if passed else results[0][0]}")
        if passed:
            found.append(f"auth:{method} {'agrees' if agrees else 'elsewhere'}")
        is_proven = is_proven or agrees
    verdict = "auth:proven" if is_proven else "auth:unproven"
    return [*found, verdict, *(f"{verdict} @{domain}" for domain in (suffixes(sender) if sender else ()))]


def _by_method(headers: Headers, servers: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """Return (result, domain) pairs per method, from a server's topmost headers up to the next Received header."""
    said: dict[str, list[tuple[str, str]]] = {}
    read = 0
    for name, value in headers:
        if name == "received" and read:
            break
        if name == "authentication-results" and read < COUNT_LIMIT:
            server, *pieces = _pieces(value[:VALUE_LIMIT].translate(_LOWER))
            told = _SPEAKER.fullmatch(server)
            if told and told[1] in servers:
                read += 1
                here: dict[str, list[tuple[str, str]]] = {}
                for method, result, domain in _results(pieces):
                    here.setdefault(method, []).append((result, domain))
                said = here | said  # the first result of a method counts
    return said


def _results(pieces: list[str]) -> Iterator[tuple[str, str, str]]:
    for piece in pieces:
        match = _METHOD.match(piece)
        if match and match[1] in _METHODS and match[2] in _RESULTS:
            properties = dict(reversed(_PROPERTY.findall(piece, match.end())))
            domain = {
                "spf": properties.get("smtp.mailfrom", ""),
                "dkim": properties.get("header.d") or properties.get("header.i", ""),
                "dmarc": properties.get("header.from", ""),
            }[match[1]]
            yield match[1], match[2], domain.rpartition("@")[2].rstrip(".")


def _pieces(text: str) -> list[str]:
    """Return the pieces between semicolons, without comments, which may be nested; in one pass.

    In quoted strings, which the sender may have chosen, characters that would end a word become underscores.
    """
    pieces, depth, is_quoted = [""], 0, False
    for part in _PART.findall(text):
        if is_quoted:
            is_quoted = part != '"'
            pieces[-1] += _SIGNS.sub("_", part) if is_quoted else ""
        elif part in ("(", ")"):
            depth = max(0, depth + (1 if part == "(" else -1))
            pieces[-1] += " "
        elif depth:
            continue
        elif part == ";":
            pieces.append("")
        elif part == '"':
            is_quoted = True
        else:
            pieces[-1] += part
    return pieces


def _sender(message: Message) -> str:
    """Return the domain of the visible sender, or an empty string if there is none or more than one."""
    value = message.header("from").lower()
    domains = {value[start:end].rpartition("@")[2] for start, end in addresses(value)[:30]}
    return domains.pop() if len(domains) == 1 else ""


def _agree(domain: str, sender: str) -> bool:
    """Return whether two domains are equal or one is a subdomain of the other (relaxed alignment, RFC 7489)."""
    shorter, longer = sorted((domain, sender), key=len)
    return "." in shorter and (longer == shorter or longer.endswith("." + shorter))
