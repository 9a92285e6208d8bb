"""A stored message, and what it adds to the counts: its whole weight to one class, or shares of it to both."""

from __future__ import annotations

from typing import Literal, NamedTuple

from suffice.spam.forgetting import UNIT, Forgetting

Label = Literal["spam", "ham"]
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
    soft_spam: int
    soft_ham: int

    def weights(self, forgetting: Forgetting) -> tuple[int, int]:
        """Return the weights that it adds to the counts of spam and of ham."""
        weight = forgetting.weight(self.day)
        if self.label == "unlabeled":
            return parts(weight, self.soft_spam, self.soft_ham)
        return (weight, 0) if self.label == "spam" else (0, weight)


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
