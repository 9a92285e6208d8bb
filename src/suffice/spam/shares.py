"""A stored message, and what it adds to the counts: its whole weight to one class, or shares of it to both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from suffice.spam.forgetting import UNIT, Forgetting
from suffice.spam.imported import Imported
from suffice.spam.reading import unpack

Label = Literal["spam", "ham"]
LABELS: tuple[Label, Label] = ("spam", "ham")
#: token, weight of the spams that hold it, weight of the hams
Row = tuple[str, int, int]
#: the class of a stored message, which may be unlabelled
Known = Literal["spam", "ham", "unlabeled"]
#: the kind of a row of the store: a message of a class, or counts learned by another filter
Kind = Literal["spam", "ham", "unlabeled", "imported"]


class KnownMessage(NamedTuple):
    """A row of the store: identity, class, day, tokens; and for unlabelled messages shares, in units of 1/`UNIT`."""

    digest: bytes
    label: Kind
    day: int
    packed: bytes
    soft_spam: int = 0
    soft_ham: int = 0

    @property
    def own_label(self) -> Label | None:
        """The class that it was trained as; None if it is unlabelled or an import."""
        return self.label if self.label == "spam" or self.label == "ham" else None

    @property
    def tokens(self) -> list[str]:
        """The distinct tokens."""
        return list(Imported.unpacked(self.packed).counts) if self.label == "imported" else unpack(self.packed)

    def weights(self, forgetting: Forgetting) -> tuple[int, int]:
        """Return the weights that it adds to the totals of spam and of ham."""
        weight = forgetting.weight(self.day)
        if self.label == "unlabeled":
            return parts(weight, self.soft_spam, self.soft_ham)
        if self.label == "imported":
            return Imported.unpacked(self.packed).totals(weight)
        return (weight, 0) if self.label == "spam" else (0, weight)

    def rows(self, forgetting: Forgetting) -> Iterator[Row]:
        """Yield what it adds to the counts of its tokens; nothing if it has no weight."""
        weight = forgetting.weight(self.day)
        if self.label == "imported":
            yield from Imported.unpacked(self.packed).rows(weight) if weight else ()
        elif any(weights := self.weights(forgetting)):
            yield from ((token, *weights) for token in self.tokens)


class MessageState(NamedTuple):
    """What a store holds of one message: its row, None if it is not stored, and the bucket that it is in."""

    digest: bytes
    message: KnownMessage | None
    bucket: str = ""

    @property
    def label(self) -> Label | None:
        """The class that it was trained as; None if it was not, or is unlabelled."""
        return None if self.message is None else self.message.own_label


def parts(weight: int, spam: int, ham: int) -> tuple[int, int]:
    """Return the parts of a weight for spam and ham as integers, given the shares in units of 1/`UNIT`.

    Examples
    --------
    >>> from suffice.spam.forgetting import UNIT
    >>> from suffice.spam.shares import parts
    >>> parts(1000, UNIT // 4, 3 * UNIT // 4)
    (250, 750)
    """
    return weight * spam // UNIT, weight * ham // UNIT
