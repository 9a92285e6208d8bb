"""The tokens of a message: its words, and features of how it was composed and sent.

| token | stands for |
|---|---|
| `word`, `word word` | a visible word, in lower case; a pair of words within the window |
| `subject:…` | words of the subject, and pairs of them |
| `from:…`, `reply-to:…`, `to:…`, … | words, addresses and hosts of the sender and the recipients |
| `received:…` | hosts and networks on the route |
| `list:…`, `mailer:…`, `id:…` | the mailing list, the mail program, the host of the message's identity |
| `header:…` | presence of a header |
| `shape:…` | the format of Message-ID, date, addresses and boundaries, typical of the program that wrote them |
| `type:…`, `charset:…`, `encoding:…`, `file:…` | types, charsets, encodings and file names of the parts |
| `url:…`, `path:…` | hosts of links with their suffixes, and words of their paths |
| `html:…`, `hidden:…` | elements, and hidden words |
| `long:…`, `text:…` | abbreviations of very long words; features of the text as a whole |
| `auth:…` | our own mail server's checks of the sender, see `suffice.spam.authentication` |
| `attached:…` | any of these, except pairs of words, in attachments and nested messages |
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from suffice.spam.evasion import normalised, plain_word, spaced_words
from suffice.spam.headers import Headers, is_stamp
from suffice.spam.message import Message, Part, both_ends
from suffice.spam.names import addresses, hosts
from suffice.spam.scan import compiled
from suffice.spam.scripts import is_plain, pairs_of_run, simple_words, words_with_marks

#: a word is paired with each of the next WINDOW − 1 words
WINDOW = 2
#: prefix of tokens from attachments and nested messages
ATTACHED = "attached:"
WORD_LIMIT = 20
#: limit of visible characters of all own texts; the middle of longer texts is left out
SHOWN_LIMIT = 65_536
#: largest number of words in a text of `SHOWN_LIMIT` characters
WORDS_LIMIT = 32_768
#: header lines of at most this many characters are cached with their tokens
LINE_LIMIT = 200

_WORD = re.compile(r"[$£€]?[^\W_]++(?:['’.,@$!|+-][^\W_]++)*+[!%]?")
_ASCII_WORD = re.compile(r"\$?[a-z0-9]++(?:['.,@$!|+-][a-z0-9]++)*+[!%]?")
_URL = re.compile(r"((?:https?:/?/?|ftp://|www\.)[^\s<>\"'()\[\]{}|]{2,}+)")
_URL_PARTS = re.compile(r"(?:[a-z]++:/*+)?(?:([^/?#@]*+)@)?([^/?#:@]*+)(?::(\d++))?(.*)", re.DOTALL)
_NETWORK = re.compile(r"(?<![\w.])(\d{1,3}\.\d{1,3})\.(\d{1,3})\.\d{1,3}(?![\w.])")
_ZONE = re.compile(r"[+-]\d{4}")
_BOUNDARY = re.compile(r"boundary\s*+=\s*+\"?([^\"\s;]++)", re.IGNORECASE)
_DIGITS, _CAPITAL_RUN, _SMALL_RUN = re.compile("[0-9]+"), re.compile("[A-Z]+"), re.compile("[a-z]+")
_NAME_RUN = re.compile(r"[aA9._-]+")
#: punctuation that may join or end words
_SIGNS = "'’.,@$!|+-%"

_ADDRESSES = {
    "from": "from:",
    "reply-to": "reply-to:",
    "to": "to:",
    "cc": "to:",
    "sender": "sender:",
    "return-path": "return:",
}
_VALUES = {"list-id": "list:", "x-mailer": "mailer:", "user-agent": "mailer:", "x-mailing-list": "list:"}
#: headers whose values are handled separately, or differ in every message
_SILENT = frozenset(("subject", "date", "message-id", "received", "content-type", "from", "to"))
#: headers that occur at most once in a message (RFC 5322), or of which a second one adds no information
_SINGLE = frozenset(
    ("subject", "date", "message-id", "from", "to", "cc", "reply-to", "sender", "return-path", *_VALUES, "content-type")
)
#: headers whose values hardly ever repeat
_RARE = frozenset(("subject", "date", "message-id", "received"))


def tokens(message: Message, window: int = WINDOW) -> list[str]:
    r"""Return the distinct tokens of a message, in order of appearance.

    Parameters
    ----------
    message : Message
        The result of `read`.
    window : int
        Width of the window for pairs of words: 1 makes no pairs, 2 pairs of adjacent words.

    Examples
    --------
    >>> from suffice.spam import read, tokens
    >>> tokens(read(b"Subject: Hello\n\nFree money"))
    ['subject:hello', ..., 'free', 'money', 'free money', 'text:size 2']
    """
    return list(dict.fromkeys(_each(all_tokens(message, window))))


def all_tokens(message: Message, window: int = WINDOW) -> list[str]:
    """Return the tokens of a message, with duplicates, some items with several lines; parameters as in `tokens`."""
    found: list[str] = []
    attached: list[str] = []
    _header_tokens(message.headers, found, window)
    if message.inner_headers:
        found.append("type:message/rfc822")
        _header_tokens(message.inner_headers, attached, 1)
    for part in message.parts:
        _part_tokens(part, attached if part.is_inner else found)
    _text_tokens([part for part in message.parts if not part.is_attached], found, window)
    if others := [part for part in message.parts if part.is_attached]:
        _text_tokens(others, attached, 1)
    found += [ATTACHED + token for token in dict.fromkeys(_each(attached))]
    return found


def _each(found: list[str]) -> list[str]:
    return "\n".join(found).split("\n") if found else []


def _header_tokens(headers: Headers, found: list[str], window: int) -> None:
    present: dict[str, str] = {}  # the first value of each header
    for name, value in headers:
        if name in present and name in _SINGLE:  # of a second one only its presence counts
            found.append("header:again " + name)
            continue
        present.setdefault(name, value)
        # lines of lists, programs and recipients repeat often and are cached; others are not worth the memory
        is_rare = name in _RARE or len(value) > LINE_LIMIT
        found += _read_line(name, value, window) if is_rare else _line_tokens(name, value, window)
    for name in ("subject", "date", "message-id", "from", "to"):
        if not present.get(name):
            found.append("header:no " + name)
    if "reply-to" in present:
        answer, sender = (_last_host(present.get(name, "")) for name in ("reply-to", "from"))
        if answer:
            found.append("header:reply elsewhere" if answer != sender else "header:reply to sender")


def _read_line(name: str, value: str, window: int) -> list[str]:
    """Return the tokens of one header line."""
    found: list[str] = []
    if name == "subject":
        _add_words(normalised(value).lower(), "subject:", found, window)
    elif name == "received":
        way = value.partition(";")[0].partition(" id ")[0]  # the rest differs in every message
        found += _known_routes(way) if len(way) <= LINE_LIMIT else _routes(way)
    elif name == "content-type":
        if boundary := _BOUNDARY.search(value):
            found.append("shape:boundary " + shape(boundary[1]))
    elif name == "date":
        zone = _ZONE.search(value)
        found += ["shape:date " + shape(value), "shape:zone " + (zone[0] if zone else "none")]
    elif name == "message-id":
        found.append("shape:id " + shape(value.partition("@")[0]))
        found += ["id:" + suffix for suffix in suffixes(value.rpartition("@")[2].strip("<> ").lower()[:100])]
    elif name in _ADDRESSES:
        value = normalised(value)
        _add_addresses(value, _ADDRESSES[name], found)
        if name in ("from", "to"):
            found.append(f"shape:{name} {_NAME_RUN.sub('a', shape(value))}")
        if name == "to":
            found.append(f"shape:recipients {min(value.count('@'), 9)}")
    elif name in _VALUES:
        found += [_VALUES[name] + word for word in simple_words(value.lower())[:10] if len(word) <= WORD_LIMIT]
    if name not in _SILENT and not is_stamp(name):
        found.append("header:" + name[:40])
    return found


@lru_cache(maxsize=2048)
def _line_tokens(name: str, value: str, window: int) -> tuple[str, ...]:
    return tuple(_read_line(name, value, window))


def _last_host(value: str) -> str:
    """Return the host of the last address in a header, or an empty string."""
    value = normalised(value).lower()
    places = addresses(value)[:30]
    return value[slice(*places[-1])].rpartition("@")[2] if places else ""


def _part_tokens(part: Part, found: list[str]) -> None:
    """Add the tokens for the type of a part."""
    found.append("type:" + part.content_type[:60])
    if part.charset:
        found.append("charset:" + part.charset)
    if part.encoding:
        found.append("encoding:" + part.encoding[:30])
    if part.disposition:
        found.append("disposition:" + part.disposition[:30])
    if part.file_name:
        name = normalised(part.file_name).lower()
        found.append("file:." + name.rpartition(".")[2][:10])
        found += ["file:" + word[:WORD_LIMIT] for word in simple_words(name)]


def _text_tokens(parts: Iterable[Part], found: list[str], window: int) -> None:
    """Add the tokens of texts."""
    letters = images = 0
    left = SHOWN_LIMIT
    for part in parts:
        images += part.content_type.startswith("image/")
        text = part.text
        if not text:
            continue
        if part.content_type == "text/html" or text[:100].lstrip()[:6].lower() in ("<html>", "<!doct"):
            from suffice.spam.html import read_html  # many messages do not need it

            page = read_html(text)
            text = page.visible
            found += ["html:" + element for element in sorted(page.elements)]
            images += "img" in page.elements
            for link in dict.fromkeys(page.links):
                _add_url(link, found)
            if not page.hidden.isspace() and page.hidden:
                found += ["hidden:" + w for w in simple_words(page.hidden[:20_000].lower()) if 2 < len(w) <= WORD_LIMIT]
        if len(text) > left // 2:
            text = both_ends(" ".join(text.split()), left // 2 + 1)
        left -= len(text)
        text = normalised(text).lower()
        if not text.isascii():
            share = 10 * (len(text) - len(text.encode("ascii", "ignore"))) // len(text)
            found.append(f"text:8-bit {10 * share}%")
        if "://" in text or "www." in text:
            pieces = _URL.split(text)  # alternating text and links
            for link in dict.fromkeys(pieces[1::2]):
                _add_url(link, found)
            text = " ".join(pieces[::2])
        letters += _add_words(text, "", found, window)
    found.append(f"text:size {letters.bit_length()}")
    if images and letters < 20:
        found.append("text:image only")


def _add_words(text: str, prefix: str, found: list[str], window: int) -> int:
    """Add the words of a text in lower case and their pairs; return how many words there are."""
    scanned = compiled.words(text, prefix, WORDS_LIMIT) if compiled is not None and window <= 2 else None
    if scanned is None:
        return _add_words_of(text, prefix, found, window)
    number, spaced, words, pairs = scanned  # the last three with one token per line
    if words:
        found.append(words)
    if spaced:
        found += [prefix + word[:WORD_LIMIT] for word in spaced_words(text)]
    if window == 2 and pairs:
        found.append(pairs)
    return number


def _add_words_of(text: str, prefix: str, found: list[str], window: int) -> int:
    """Add words as `_add_words` does (the Python fallback)."""
    if text.isascii():
        words = _ASCII_WORD.findall(text)[:WORDS_LIMIT]
    elif is_plain(text):
        words = _WORD.findall(text)[:WORDS_LIMIT]
    else:
        words = [pair for word in words_with_marks().findall(text)[:WORDS_LIMIT] for pair in pairs_of_run(word)]
    distinct = dict.fromkeys(words)
    lengths = set(map(len, distinct))
    spaced = 1 in lengths and list(map(len, words)).count(1) >= 4
    if lengths and max(lengths) > WORD_LIMIT:
        short = {word: _long_word(word) for word in distinct if len(word) > WORD_LIMIT}
        words = list(map(short.get, words, words))
        distinct = dict.fromkeys(words)
    found += [prefix + word for word in words] if prefix else words
    for word in distinct:
        if not word.isalpha():
            found += _marks(word, prefix)
            spaced = spaced or word[1:2] in _SIGNS
    if spaced:
        found += [prefix + word[:WORD_LIMIT] for word in spaced_words(text)]
    for distance in range(1, window):
        mark = prefix if distance == 1 else f"{prefix}{distance}:"
        pairs = map(" ".join, zip(words, words[distance:], strict=False))
        found += [mark + pair for pair in pairs] if mark else pairs
    return len(words)


def _marks(word: str, prefix: str) -> list[str]:
    """Return the tokens of a word that is not all letters, at most one."""
    if plain := plain_word(word):
        return [prefix + plain]
    if word[0] in "$£€":
        return ["text:money"]
    return [f"text:number {len(word)}"] if len(word) > 3 and word.isdigit() else []


def _long_word(word: str) -> str:
    """Return the abbreviation of a long word: its first letter and its length in steps of ten."""
    return f"long:{word[0]} {len(word) // 10 * 10}"


def suffixes(host: str) -> list[str]:
    """Return a host and its domains, down to two labels.

    Examples
    --------
    >>> from suffice.spam.tokenizing import suffixes
    >>> suffixes("mail.a.example.org")
    ['mail.a.example.org', 'a.example.org', 'example.org']
    """
    labels = host.split(".")[-6:]
    return [".".join(labels[i:]) for i in range(max(1, len(labels) - 1))]


def shape(value: str) -> str:
    """Return the shape of a value: runs of lower-case letters as a, of upper-case letters as A, of digits as 9.

    Examples
    --------
    >>> from suffice.spam.tokenizing import shape
    >>> shape("<20020830.ABCdef-12")
    '<9.Aa-9'
    """
    found: str | None = None if compiled is None else compiled.shape(value)
    if found is not None:
        return found
    value = _DIGITS.sub("9", value[:200])
    return _SMALL_RUN.sub("a", _CAPITAL_RUN.sub("A", value))[:30]


def _routes(way: str) -> tuple[str, ...]:
    """Return the tokens of the hosts in a Received line."""
    return tuple(token for host in hosts(way.lower()) for token in _route(host))


_known_routes = lru_cache(maxsize=2048)(_routes)


@lru_cache(maxsize=4096)
def _route(host: str) -> tuple[str, ...]:
    """Return the tokens of a host on the route, or of the networks of a numeric address."""
    if not host[-1].isdigit():
        return tuple("received:" + suffix for suffix in suffixes(host))
    network = _NETWORK.fullmatch(host)
    return () if network is None else (f"received:{network[1]}", f"received:{network[1]}.{network[2]}")


def _add_addresses(value: str, prefix: str, found: list[str]) -> None:
    """Add addresses, their hosts and the names before them."""
    value = value.lower()
    places = addresses(value) if "@" in value else []
    for start, end in places[:30]:
        address = value[start:end]
        found.append(prefix + address)
        found += [prefix + "@" + suffix for suffix in suffixes(address.rpartition("@")[2])]
    between = zip([0, *(end for _, end in places)], [*(start for start, _ in places), len(value)], strict=True)
    names = " ".join([value[start:end] for start, end in between]) if places else value
    found += [prefix + word for word in simple_words(names)[:60] if len(word) <= WORD_LIMIT]
    if not value.strip("<> "):
        found.append(prefix + "nobody")


def _add_url(link: str, found: list[str]) -> None:
    """Add the host of a link, its suffixes and the words of its path."""
    link = link[:500].lower()
    if link.startswith(("cid:", "mailto:", "#", "javascript:")):
        kind, _, rest = link.partition(":")
        found.append("url:" + kind)
        if kind == "mailto":
            found += ["url:" + suffix for suffix in suffixes(rest.partition("?")[0].rpartition("@")[2])]
        return
    parts = _URL_PARTS.match(link)
    assert parts is not None
    user, host, port, path = parts.groups()
    host = _unquoted(host).rstrip(".")[:100]
    if network := _NETWORK.fullmatch(host):
        found += ["url:number", f"url:{network[1]}.{network[2]}"]
    elif host:
        found += ["url:" + suffix for suffix in suffixes(host)]
    if user is not None:
        found.append("url:user")
    if port:
        found.append("url:port")
    found += ["path:" + word for word in simple_words(_unquoted(path))[:20] if len(word) <= WORD_LIMIT]


def _unquoted(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)
