"""The names of buckets: any printable text, within limits."""

from __future__ import annotations

import unicodedata

#: limits: characters of a name, and buckets of a store
NAME_LIMIT, BUCKET_LIMIT = 60, 250
#: names that verdicts already use
_TAKEN = ("spam", "ham", "unsure", "error")


class BucketError(ValueError):
    """A bucket's name is not valid, the bucket does not exist, or there are too many; the text says what to do."""


def checked_name(name: object) -> str:
    """Return the name of a bucket in its normal form (NFC); raise BucketError if it is not valid.

    Examples
    --------
    >>> from suffice.spam.buckets.names import checked_name
    >>> checked_name("Work: 2026 ✓"), checked_name("Cafe\u0301")
    ('Work: 2026 ✓', 'Café')
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a bucket must be a text, but it is {name!r}")
    found = unicodedata.normalize("NFC", name)
    if not 1 <= len(found) <= NAME_LIMIT or not found.isprintable() or found != found.strip():
        raise BucketError(
            f"the name of a bucket must have 1 to {NAME_LIMIT} printable characters and no space at its ends, but it "
            f"is {name[: 2 * NAME_LIMIT]!r}; give another"
        )
    if found.casefold() in _TAKEN:
        raise BucketError(
            f"a bucket cannot be called {name!r}, because that is the name of a verdict; give another name"
        )
    return found
