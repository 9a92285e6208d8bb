"""The texts for searching, in an unnamed temporary file."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Sequence

#: bytes read at a time (approximate)
BLOCK = 4_000_000


class Texts:
    """Texts by number, in the order they were added; one thread may add while others search.

    Examples
    --------
    >>> from suffice.spam.page.texts import Texts
    >>> texts = Texts()
    >>> for text in ("lunch at noon", "you have won", "lunch is won"):
    ...     texts.add(text)
    >>> sorted(texts.holding(["lunch"])), sorted(texts.holding(["won", "lunch"]))
    ([0, 2], [2])
    >>> texts.close()
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="suffice-")  # noqa: SIM115 - it is closed with its owner
        self._ends = [0]
        self._lock = threading.Lock()

    def add(self, text: str) -> None:
        """Add a text, under the next number."""
        data = text.encode("utf-8", "replace")
        with self._lock:
            self._file.seek(self._ends[-1])
            self._file.write(data)
            self._ends.append(self._ends[-1] + len(data))

    def holding(self, words: Sequence[str]) -> set[int]:
        """Return the numbers of the texts that hold all of the words, also within other words."""
        wanted = [word.encode("utf-8", "replace") for word in words]
        found: set[int] = set()
        for first, ends, data in self._blocks():
            start = 0
            for number, end in enumerate(ends, first):
                if all(data.find(word, start, end) >= 0 for word in wanted):
                    found.add(number)
                start = end
        return found

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _blocks(self) -> Iterator[tuple[int, list[int], bytes]]:
        """Yield blocks of complete texts: the first number, the end of each text within the bytes, and the bytes."""
        first, count = 0, len(self._ends) - 1
        while first < count:
            start = self._ends[first]
            last = first + 1
            while last < count and self._ends[last] - start < BLOCK:
                last += 1
            with self._lock:
                self._file.seek(start)
                data = self._file.read(self._ends[last] - start)
            yield first, [end - start for end in self._ends[first + 1 : last + 1]], data
            first = last
