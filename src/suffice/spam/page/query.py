"""The query of a list of messages, as encoded in a URL."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from suffice.spam.plain import one_line

#: orders by name: the sort key, and whether the largest come first
ORDERS = {
    "newest": ("arrival", True),
    "oldest": ("arrival", False),
    "spam": ("probability", True),
    "ham": ("probability", False),
}
#: "odd" are messages whose verdict disagrees with their folder
FILTERS = ("all", "spam", "unsure", "ham", "odd")
QUERY_LIMIT = 200
_DEFAULTS: dict[str, str | int] = {"show": "all", "order": "newest", "text": "", "folder": "", "bucket": "", "page": 1}


@dataclass(frozen=True)
class Query:
    """The messages that a list shows, and their order; invalid values become the default."""

    show: str = "all"
    order: str = "newest"
    text: str = ""
    folder: str = ""
    bucket: str = ""
    page: int = 1

    @classmethod
    def of(cls, given: dict[str, str]) -> Query:
        """Return the query of a request."""
        show, order = given.get("show", ""), given.get("order", "")
        return cls(
            show if show in FILTERS else "all",
            order if order in ORDERS else "newest",
            one_line(given.get("text", ""), QUERY_LIMIT),
            one_line(given.get("folder", ""), QUERY_LIMIT),
            one_line(given.get("bucket", ""), QUERY_LIMIT),
            max(1, whole_number(given.get("page", ""), 1)),
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The words that all found messages must hold, in lower case."""
        return tuple(dict.fromkeys(self.text.casefold().split()))

    def url(self, **changes: str | int) -> str:
        """Return the query as part of a URL, with changes; a change leads to the first page.

        Examples
        --------
        >>> from suffice.spam.page.query import Query
        >>> Query(text="a b", page=2).url(), Query(page=2).url(show="spam"), Query().url(at=7)
        ('?text=a+b&page=2', '?show=spam', '?at=7')
        """
        values: dict[str, str | int] = {
            "show": self.show, "order": self.order, "text": self.text, "folder": self.folder,
            "bucket": self.bucket,
        }  # fmt: skip
        values |= changes or {"page": self.page}
        kept = {key: value for key, value in values.items() if value != _DEFAULTS.get(key)}
        return "?" + urlencode(kept) if kept else "?"


def whole_number(text: str, default: int) -> int:
    """Return a text of at most nine digits as an integer, or the default if it is not one.

    Examples
    --------
    >>> from suffice.spam.page.query import whole_number
    >>> whole_number("12", 1), whole_number("-1", 1), whole_number("9" * 5000, 1)
    (12, 1, 1)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default
