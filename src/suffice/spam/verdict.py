"""What a filter answers: a verdict about a message, and a count of what was learned."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

#: the probability from which on a message is said to be of a bucket
CLEAR_BUCKET = 0.9


@dataclass(frozen=True)
class Verdict:
    """What a filter says about a message.

    Attributes
    ----------
    probability : float
        Of spam.
    label : "spam", "ham", "unsure" or "error"
        Spam from the upper threshold on, ham up to the lower one; unsure between them, and while no spam or no ham is
        learned; error if the message could not be judged.
    log_odds : float
        The sum of the evidence, before the logistic link.
    evidence : list of (token, contribution)
        What each token that is known adds to `log_odds`, the strongest first; above 0 speaks for spam.
    problem : str
        Why the message could not be judged; empty if it was.
    listed : str
        The entry of a list that the label comes from, such as "block example.org"; all else is what the statistics say.
        Empty where they decided.
    buckets : dict
        The probability of each bucket, and of the mail in none of them as "", given that it is not spam; empty where
        there are no buckets, or nothing to compare them with.
    """

    probability: float
    label: Literal["spam", "ham", "unsure", "error"]
    log_odds: float
    evidence: list[tuple[str, float]]
    problem: str = ""
    listed: str = ""
    buckets: dict[str, float] = field(default_factory=dict)

    @property
    def bucket(self) -> str:
        """The bucket that the message is of, with a probability of 0.9 or more; empty if there is none, and for spam.

        Examples
        --------
        >>> from suffice.spam import Verdict
        >>> Verdict(0.01, "ham", -9.0, [], buckets={"": 0.02, "receipts": 0.95, "work": 0.03}).bucket
        'receipts'
        >>> Verdict(0.01, "ham", -9.0, [], buckets={"": 0.1, "receipts": 0.7, "work": 0.2}).bucket
        ''
        """
        if not self.buckets or self.label in ("spam", "error"):
            return ""
        name = max(self.buckets, key=self.buckets.__getitem__)
        return name if self.buckets[name] >= CLEAR_BUCKET else ""

    def in_buckets(self, buckets: dict[str, float]) -> Verdict:
        """Return a verdict with probabilities of buckets, and all else as it is."""
        verdict = object.__new__(type(self))
        verdict.__dict__.update(self.__dict__, buckets=buckets)
        return verdict

    def by_list(self, label: Literal["spam", "ham"], entry: str) -> Verdict:
        """Return a verdict with the label that an entry of a list says, and all else as it is."""
        verdict = object.__new__(type(self))
        verdict.__dict__.update(self.__dict__, label=label, listed=entry)
        return verdict

    @classmethod
    def error(cls, problem: str) -> Verdict:
        """Make the verdict about a message that could not be judged: probability ½, and no evidence."""
        return cls(0.5, "error", 0.0, [], problem)

    @classmethod
    def of(
        cls,
        probability: float,
        label: Literal["spam", "ham", "unsure"],
        log_odds: float,
        lines: str,
        contributions: Iterable[float],
    ) -> Verdict:
        """Make a verdict of tokens, one a line; its evidence is put in order when it is first looked at."""
        verdict = object.__new__(cls)
        parts = lines, array("d", contributions)  # small, and quick to send to another process
        verdict.__dict__.update(probability=probability, label=label, log_odds=log_odds, buckets={}, _parts=parts)
        return verdict

    def __getattr__(self, name: str) -> Any:
        """Return the evidence, of which only the parts are there until now."""
        if name != "evidence":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        parts = self.__dict__.get("_parts")
        if parts is not None:  # else another thread was quicker
            found = list(zip(parts[0].split("\n"), parts[1], strict=True)) if parts[1] else []
            found.sort(key=_strength, reverse=True)
            self.__dict__["evidence"] = found
            self.__dict__.pop("_parts", None)
        return self.__dict__["evidence"]


def _strength(part: tuple[str, float]) -> float:
    return abs(part[1])


@dataclass(frozen=True)
class Thresholds:
    """The probabilities up to which a message is ham, and from which on it is spam."""

    ham: float = 0.5
    spam: float = 0.9

    def __post_init__(self) -> None:
        if not 0.0 <= self.ham < self.spam <= 1.0:
            raise ValueError(
                f"thresholds must be 0 ≤ ham < spam ≤ 1, but ham is {self.ham!r} and spam is {self.spam!r}"
            )

    def label(self, probability: float) -> Literal["spam", "ham", "unsure"]:
        """Return the label of a probability.

        Examples
        --------
        >>> from suffice.spam import Thresholds
        >>> [Thresholds(0.5, 0.9).label(p) for p in (0.2, 0.5, 0.7, 0.9)]
        ['ham', 'ham', 'unsure', 'spam']
        """
        if probability >= self.spam:
            return "spam"
        return "ham" if probability <= self.ham else "unsure"


@dataclass(frozen=True)
class Training:
    """What became of messages that were to be learned.

    Attributes
    ----------
    learned : int
        They were new.
    moved : int
        They were known as of the other class.
    known : int
        They were known, and nothing was done.
    right : int
        The verdict was right, and they were not learned (`only_errors`).
    skipped : int
        They could not be read.
    """

    learned: int = 0
    moved: int = 0
    known: int = 0
    right: int = 0
    skipped: int = 0

    @property
    def changed(self) -> bool:
        """Whether anything was learned."""
        return self.learned + self.moved > 0

    def __add__(self, other: Training) -> Training:
        return Training(
            self.learned + other.learned,
            self.moved + other.moved,
            self.known + other.known,
            self.right + other.right,
            self.skipped + other.skipped,
        )


@dataclass(frozen=True)
class Size:
    """How much a store holds: messages of each class, distinct tokens, and messages without a label."""

    spam: int
    ham: int
    tokens: int
    unlabeled: int = 0
