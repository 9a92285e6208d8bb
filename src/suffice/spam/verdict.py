"""The results of a filter: verdicts on messages, and counts of what was learned."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

#: the probability from which a message is assigned to a bucket
CLEAR_BUCKET = 0.9


@dataclass(frozen=True)
class Verdict:
    """The verdict of a filter on a message.

    Attributes
    ----------
    probability : float
        The probability of spam.
    label : "spam", "ham", "unsure" or "error"
        Spam from the upper threshold on, ham up to the lower one; unsure between them, and as long as no spam or no ham
        was learned; error if the message could not be judged.
    log_odds : float
        The sum of the evidence, before the logistic link.
    evidence : list of (token, contribution)
        The contribution of each known token to `log_odds`, the strongest first; positive values are evidence for spam.
    problem : str
        Why the message could not be judged; empty if it was.
    listed : str
        The list entry that decided the label, such as "block example.org"; the other attributes come from the
        statistics. Empty if the statistics decided the label.
    buckets : dict
        The probability of each bucket, and of no bucket as "", given that the message is not spam; empty if there are
        no buckets, or nothing to compare them with.
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
        """The bucket of the message, if its probability is at least 0.9; empty if there is none, and for spam.

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
        """Return the verdict with the given probabilities of buckets.

        Parameters
        ----------
        buckets : dict of str to float
            The probability of each bucket.
        """
        verdict = object.__new__(type(self))
        verdict.__dict__.update(self.__dict__, buckets=buckets)
        return verdict

    def by_list(self, label: Literal["spam", "ham"], entry: str) -> Verdict:
        """Return the verdict with the label set by an entry of a list.

        Parameters
        ----------
        label : "spam" or "ham"
            The label.
        entry : str
            The entry that decides.
        """
        verdict = object.__new__(type(self))
        verdict.__dict__.update(self.__dict__, label=label, listed=entry)
        return verdict

    @classmethod
    def error(cls, problem: str) -> Verdict:
        """Return the verdict on a message that could not be judged: probability ½, no evidence.

        Parameters
        ----------
        problem : str
            Why it could not be judged.
        """
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
        """Return a verdict, given the tokens, one per line; its evidence is sorted on first access.

        Parameters
        ----------
        probability : float
            The probability of spam.
        label : "spam", "ham" or "unsure"
            The label.
        log_odds : float
            The log-odds of spam.
        lines : str
            The tokens, one per line.
        contributions : iterable of float
            What each token adds to the log-odds.
        """
        verdict = object.__new__(cls)
        parts = lines, array("d", contributions)  # compact, and quick to send to another process
        verdict.__dict__.update(probability=probability, label=label, log_odds=log_odds, buckets={}, _parts=parts)
        return verdict

    def __getattr__(self, name: str) -> Any:
        """Build the evidence from its parts on first access."""
        if name != "evidence":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        parts = self.__dict__.get("_parts")
        if parts is not None:  # else another thread has built it
            found = list(zip(parts[0].split("\n"), parts[1], strict=True)) if parts[1] else []
            found.sort(key=_strength, reverse=True)
            self.__dict__["evidence"] = found
            self.__dict__.pop("_parts", None)
        return self.__dict__["evidence"]


def _strength(part: tuple[str, float]) -> float:
    return abs(part[1])


@dataclass(frozen=True)
class Thresholds:
    """The probability up to which a message is ham, and the one from which it is spam.

    Parameters
    ----------
    ham : float, default 0.5
        The largest probability of a ham.
    spam : float, default 0.9
        The smallest probability of a spam.
    """

    ham: float = 0.5
    spam: float = 0.9

    def __post_init__(self) -> None:
        if not 0.0 <= self.ham < self.spam <= 1.0:
            raise ValueError(
                f"thresholds must be 0 ≤ ham < spam ≤ 1, but ham is {self.ham!r} and spam is {self.spam!r}"
            )

    def label(self, probability: float) -> Literal["spam", "ham", "unsure"]:
        """Return the label of a probability.

        Parameters
        ----------
        probability : float
            The probability of spam.

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
    """The result of training, as numbers of messages.

    Attributes
    ----------
    learned : int
        New messages.
    moved : int
        Messages known with the other class, now moved.
    known : int
        Messages known already, left unchanged.
    right : int
        Messages not learned because the verdict was right (`only_errors`).
    skipped : int
        Messages that could not be read.
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
    """The size of a store.

    Attributes
    ----------
    spam, ham : int
        The number of messages of each class.
    tokens : int
        The number of distinct tokens.
    unlabeled : int
        The number of messages without a label.
    """

    spam: int
    ham: int
    tokens: int
    unlabeled: int = 0
