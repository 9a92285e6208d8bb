"""A message as the store knows it, and what it adds to the counts: all of its weight to one class, or shares."""

from __future__ import annotations

from typing import Literal, NamedTuple

from suffice.spam.forgetting import UNIT, Forgetting

Label = Literal["spam", "ham"]
#: the class of a message that is known, with that of messages without a label
Known = Literal["spam", "ham", "unlabeled"]
#: what a row of the store is: a message, or counts that another filter has learned
Kind = Literal["spam", "ham", "unlabeled", "imported"]


class KnownMessage(NamedTuple):
    """A row of the store: identity, class, day, tokens; and shares, in units of 1/`UNIT`, if it has no label."""

    digest: bytes
    label: Kind
    day: int
    packed: bytes
    soft_spam: int
    soft_ham: int

    def weights(self, forgetting: Forgetting) -> tuple[int, int]:
        """Return what it adds to the counts of spam and of ham."""
        weight = forgetting.weight(self.day)
        if self.label == "unlabeled":
            return parts(weight, self.soft_spam, self.soft_ham)
        return (weight, 0) if self.label == "spam" else (0, weight)


def parts(weight: int, spam: int, ham: int) -> tuple[int, int]:
    """Return the parts of a weight that fall to spam and ham, by shares in units of 1/`UNIT`, as whole numbers.

    Examples
    --------
    >>> from suffice.spam.forgetting import UNIT
    >>> from suffice.spam.shares import parts
    >>> parts(1000, UNIT // 4, 3 * UNIT // 4)
    (250, 750)
    """
    return weight * spam // UNIT, weight * ham // UNIT
