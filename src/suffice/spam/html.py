"""The visible text of HTML, and separately the text that is not shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from typing import NamedTuple

from suffice.spam.scan import compiled

# every quantifier that could backtrack is possessive, or stops at the end of the text at the latest, so the time is
# linear in the text
_UNSEEN = {name: rf"(?ai:</{name})[^<>]*+>?" for name in ("script", "style", "noembed", "template")}
#: a comment, an element whose contents are never shown, or a tag
_TAG = re.compile(
    r"(<(?:!(?=--).*?(?:-->|\Z)|"
    + "|".join(rf"(?ai:{name})(?![a-zA-Z0-9])[^<>]*+>.*?(?:{end}|\Z)" for name, end in _UNSEEN.items())
    + r"|[a-zA-Z!?/][^<>]*+>))",
    re.DOTALL,
)
_TAG_PARTS = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)([^<>]*+)>")
_LINK = re.compile(
    r"(?:href|src|action|background)\s*+=\s*+(?:\"\s*+([^\"]++)|'\s*+([^']++)|([^\"'\s>]++))", re.IGNORECASE
)
#: substrings of attributes that link to something, and of attributes that change visibility
_LINKING, _STYLING = ("href", "src", "action", "background"), ("style", "color", "hidden", "background")
_HIDING = re.compile(
    r"display\s*+:\s*+none|visibility\s*+:\s*+hidden|mso-hide\s*+:\s*+all|(?:^|\s)hidden(?=[\s=/]|$)"
    r"|font-size\s*+:\s*+(?:0++(?:\.0*+)?(?:px|pt|em|rem|%)?|[01]?(?:\.\d++)?(?:px|pt))\s*+(?:[;\"'!]|$)"
    r"|(?:max-height|opacity)\s*+:\s*+0++(?:\.0*+)?(?:px|pt|em|%)?\s*+(?:[;\"'!]|$)|text-indent\s*+:\s*+-\d{3}"
)
_COLOUR = re.compile(r"(?:^|[\s;\"'])color\s*+[:=]\s*+[\"']?(rgb\s*+\([\d\s,]*+\)|#?\w++)")
_BACKGROUND = re.compile(r"(bgcolor\s*+=|background(?:-color|-image)?\s*+[:=])\s*+[\"']?([#\w]*+(?:\([\d\s,]*+\))?)")
_NUMBERS = re.compile(r"\d++")
#: a numeric character reference too long for any character, and one with its digits without leading zeros
_LONG_REFERENCE = re.compile(r"&#(?:[0-9]{8}|[xX][0-9a-fA-F]{7})")
_REFERENCE = re.compile(r"&#(?:0*+([0-9]++|(?<=0))|([xX])0*+([0-9a-fA-F]++|(?<=0)));?+")

#: inline elements, which do not split a word
_INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
    "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr",
})  # fmt: skip
_VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "wbr"})
#: the kinds of the elements above as bits, for the compiled reader (`_scan_html.h`)
_KINDS = {
    name: (name in _INLINE) | (name in _VOID) << 1 | (name in _UNSEEN) << 2 for name in {*_INLINE, *_VOID, *_UNSEEN}
}
_COLOURS = {
    "white": (255, 255, 255), "black": (0, 0, 0), "red": (255, 0, 0), "blue": (0, 0, 255), "green": (0, 128, 0),
    "yellow": (255, 255, 0), "gray": (128, 128, 128), "silver": (192, 192, 192), "ivory": (255, 255, 240),
    "snow": (255, 250, 250), "whitesmoke": (245, 245, 245), "navy": (0, 0, 128),
}  # fmt: skip
#: colours whose channels differ by at most this much in total look the same on a screen
_COLOUR_DISTANCE = 24
#: limits of tracked open elements, and of characters of a link; these and the distance are also in `_scan_html.h`
_STACK_LIMIT, _LINK_LIMIT = 100, 2000
#: tags of at most this many characters are cached with their parsed form
_TAG_LIMIT = 200
_LINK_SIGNS = str.maketrans("\\", "/", "\t\r\n")

Colour = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Html:
    """The contents of an HTML text: visible text, hidden text, links and names of elements."""

    visible: str
    hidden: str
    links: tuple[str, ...]
    elements: frozenset[str]


def read_html(text: str) -> Html:
    """Return the contents of an HTML text in time linear in its length; no input makes it fail.

    Hidden text is in comments, scripts and styles, in elements that are not displayed or have no size, and in text of
    the same colour as its background, as far as attributes show it. Inline elements join their text, all others
    separate it.

    Examples
    --------
    >>> from suffice.spam.html import read_html
    >>> page = read_html('<p>Via<!-- x -->gr<b>a</b></p><p style="display:none">meeting</p>')
    >>> page.visible.split(), page.hidden.split()
    (['Viagra'], ['x', 'meeting'])
    """
    found = None if compiled is None else compiled.html(text, _KINDS, _links_and_style, _as_followed)
    visible, hidden, links, elements = _contents(text) if found is None else found
    return Html(unescaped(visible), unescaped(hidden), tuple(links), frozenset(elements))


def _contents(text: str) -> tuple[str, str, list[str], set[str]]:
    """Return visible and hidden text with references, links, and names of elements (the Python fallback)."""
    visible: list[str] = []
    hidden: list[str] = []
    all_links: list[str] = []
    elements: set[str] = set()
    stack = _Stack()
    entries = stack.entries
    pieces = _TAG.split(text)  # alternating text and tags
    shown = visible
    for before, source in zip(pieces[::2], pieces[1::2], strict=False):
        if before:
            shown.append(before)
        name, parts, is_closing, links, style, unseen = _tag(source)
        if parts:
            shown.append("\n")
        if is_closing:
            if entries and name in stack.places:
                stack.close(name)
                shown = hidden if stack.hidden else visible
            continue
        elements.add(name)
        if style is not None or (entries and entries[-1][0] == name):
            stack.open(name, style)
            shown = hidden if stack.hidden else visible
        if links:
            all_links += links
        if unseen:
            hidden.append(unseen)
    shown.append(pieces[-1])
    elements.discard("")
    return "".join(visible), "".join(hidden), all_links, elements


class _Style(NamedTuple):
    """The look of an element: hidden or not, its own background (None if unknown), and the text colour."""

    is_hidden: bool
    has_background: bool
    background: Colour
    ink: Colour


_PARENTS_STYLE = _Style(False, False, None, None)


class _Tag(NamedTuple):
    """A parsed tag: `name` is empty if it is not an element, `unseen` is the text inside that is not shown."""

    name: str = ""
    parts: bool = False
    is_closing: bool = False
    links: tuple[str, ...] = ()
    style: _Style | None = None
    unseen: str = ""


def _read_tag(source: str) -> _Tag:
    if source.startswith("<!--"):
        close = source.find("-->", 2)
        return _Tag(unseen=source[4 : close if close >= 0 else None] + " ")
    found = _TAG_PARTS.match(source)
    if found is None:
        return _Tag()
    slash, name, attributes = found.groups()
    name = name.lower()
    parts = name not in _INLINE
    if slash:
        return _Tag(name, parts, True)
    if name in _UNSEEN:
        end = re.search(_UNSEEN[name], source[found.end() :])
        return _Tag(name, parts, unseen=source[found.end() :][: end.start() if end else None] + " ")
    links: tuple[str, ...] = ()
    style = None
    lowered = attributes.lower()
    if any(map(lowered.__contains__, _LINKING)):
        links = tuple(_as_followed(double or single or bare) for double, single, bare in _LINK.findall(attributes))
    if name not in _VOID and any(map(lowered.__contains__, _STYLING)):
        style = _read_style(lowered)
    return _Tag(name, parts, False, links, style)


_known_tag = lru_cache(maxsize=4096)(_read_tag)


def _tag(source: str) -> _Tag:
    """Parse a tag, or return it from the cache, since the same tags occur again and again."""
    return _known_tag(source) if len(source) <= _TAG_LIMIT else _read_tag(source)


def _links_and_style(source: str) -> tuple[tuple[str, ...], _Style | None]:
    """Return the links and the style of a tag, for the compiled reader."""
    tag = _tag(source)
    return tag.links, tag.style


def _read_style(attributes: str) -> _Style | None:
    """Return the style set by attributes in lower case; None if it is the same as that of the parent."""
    # searching for a substring is much quicker than for a pattern that contains it
    has_background, background = False, None
    if "background" in attributes or "bgcolor" in attributes:
        for kind, value in _BACKGROUND.findall(attributes):
            # the colour of a background image is unknown
            has_background, background = True, colour(value) if "image" not in kind else None
    ink = _COLOUR.search(attributes) if "color" in attributes else None
    is_hidden = (":" in attributes or "hidden" in attributes) and _HIDING.search(attributes) is not None
    if ink is None and not is_hidden and not has_background:
        return None
    found = _Style(is_hidden, has_background, background, None if ink is None else colour(ink[1]))
    return None if found == _PARENTS_STYLE else found


def _as_followed(link: str) -> str:
    """Return a link as a browser follows it: references resolved, no line ends and tabs, backslashes as slashes."""
    return unescaped(link[:_LINK_LIMIT]).translate(_LINK_SIGNS).rstrip()


def unescaped(text: str) -> str:
    """Return the text with its character references resolved, however many digits they have.

    Examples
    --------
    >>> from suffice.spam.html import unescaped
    >>> unescaped("&lt;&#00000000065;&#x1F600;&#" + 5000 * "9")
    '<A😀�'
    """
    if "&" not in text:
        return text
    if _LONG_REFERENCE.search(text):  # Python converts at most 4,300 digits to an int
        text = _REFERENCE.sub(_short_reference, text)
    return unescape(text)


def _short_reference(match: re.Match[str]) -> str:
    """Return the reference without leading zeros, or the replacement character if there is no such character."""
    decimal, x, digits = match.groups("")
    digits = digits or decimal
    return f"&#{x}{digits or 0};" if len(digits) <= 7 else "\ufffd"


class _Stack:
    """The stack of open elements that change visibility or background; others are only counted by name."""

    def __init__(self) -> None:
        self.hidden = False
        #: per element, its name, and `hidden` and `background` outside of it; `depths` counts open elements of that
        #: name
        self.entries: list[tuple[str, bool, Colour]] = []
        self.depths: list[int] = []
        #: indices of `entries` by name
        self.places: dict[str, list[int]] = {}
        self.background: Colour = (255, 255, 255)

    def open(self, name: str, style: _Style | None) -> None:
        """Enter an element."""
        if style is not None and len(self.entries) < _STACK_LIMIT:
            background = style.background if style.has_background else self.background
            unseen = style.is_hidden or _alike(style.ink, background)
            if unseen or background != self.background:
                self.places.setdefault(name, []).append(len(self.entries))
                self.entries.append((name, self.hidden, self.background))
                self.depths.append(1)
                self.background = background
                # an element inside a hidden one stays hidden
                self.hidden = self.hidden or unseen
                return
        if self.entries and self.entries[-1][0] == name:
            self.depths[-1] += 1

    def close(self, name: str) -> None:
        """Leave an element, and those inside it that were not closed."""
        places = self.places.get(name)
        if not places:
            return
        index = places[-1]
        self.depths[index] -= 1
        if self.depths[index] == 0:
            _, self.hidden, self.background = self.entries[index]
            for inner, _, _ in self.entries[index:]:
                self.places[inner].pop()
            del self.entries[index:], self.depths[index:]


def colour(value: str) -> Colour:
    """Return (red, green, blue) of an HTML colour, or None if it is unknown."""
    if value in _COLOURS:
        return _COLOURS[value]
    if value.startswith("rgb"):
        channels = tuple(min(int(number[:4]), 255) for number in _NUMBERS.findall(value))
        return channels if len(channels) == 3 else None
    digits = value.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    try:
        return tuple(bytes.fromhex(digits)) if len(digits) == 6 else None
    except ValueError:
        return None


def _alike(ink: Colour, background: Colour) -> bool:
    if ink is None or background is None:
        return False
    return sum(abs(a - b) for a, b in zip(ink, background, strict=True)) <= _COLOUR_DISTANCE
