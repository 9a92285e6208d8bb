"""Evaluation of a filter on labelled messages: errors, calibration, and the trade-off over thresholds."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from suffice.spam.verdict import Thresholds

#: probabilities are clipped this far from 0 and 1 in the log-loss, which stays finite
_TINY = 1e-15


@dataclass(frozen=True)
class Errors:
    """The errors of two thresholds on messages of known class.

    Attributes
    ----------
    spam, ham : int
        Number of messages of each class.
    false_positives : int
        Hams called spam.
    missed : int
        Spams called ham.
    unsure_spam, unsure_ham : int
        Spams and hams between the thresholds.
    """

    spam: int
    ham: int
    false_positives: int
    missed: int
    unsure_spam: int
    unsure_ham: int

    @property
    def not_caught(self) -> int:
        """Spams called ham or unsure."""
        return self.missed + self.unsure_spam


@dataclass(frozen=True)
class Bin:
    """Messages with probabilities from `low` to `high`: mean probability, fraction of spam, number of messages.

    Attributes
    ----------
    low, high : float
        The ends of the bin.
    probability : float
        The mean probability.
    spam : float
        The fraction of spam.
    count : int
        The number of messages.
    """

    low: float
    high: float
    probability: float
    spam: float
    count: int


@dataclass(frozen=True)
class Point:
    """Hams called spam and spams not caught at this threshold, and at all thresholds below the next point.

    Attributes
    ----------
    threshold : float
        The threshold.
    false_positives : int
        The number of hams called spam.
    not_caught : int
        The number of spams not caught.
    """

    threshold: float
    false_positives: int
    not_caught: int


@dataclass(frozen=True)
class Evaluation:
    """Predicted probabilities of messages of known class, and the measures derived from them.

    Attributes
    ----------
    probabilities : tuple of float
        The probability of spam of each message.
    is_spam : tuple of bool
        Whether each message is spam.
    thresholds : Thresholds
        The thresholds of the filter.
    left_out : int
        Number of messages that the filter has learned; each of them was scored leave-one-out.
    skipped : int
        Number of messages that could not be read, which are not included.

    Examples
    --------
    >>> from suffice.spam import Evaluation, Thresholds
    >>> evaluation = Evaluation((0.1, 0.2, 0.7, 0.95), (False, True, False, True), Thresholds(0.5, 0.9))
    >>> evaluation.errors()
    Errors(spam=2, ham=2, false_positives=0, missed=1, unsure_spam=0, unsure_ham=1)
    >>> evaluation.one_minus_auc, round(evaluation.log_loss, 3)
    (25.0, 0.743)
    >>> [(round(point.threshold, 3), point.false_positives, point.not_caught) for point in evaluation.trade_off()]
    [(0.0, 2, 0), (0.1, 1, 0), (0.2, 1, 1), (0.7, 0, 1), (0.95, 0, 2), (1.0, 0, 2)]
    """

    probabilities: tuple[float, ...]
    is_spam: tuple[bool, ...]
    thresholds: Thresholds
    left_out: int = 0
    skipped: int = 0

    def errors(self, thresholds: Thresholds | None = None) -> Errors:
        """Return the errors at the given thresholds, by default those of the filter.

        Parameters
        ----------
        thresholds : Thresholds or None, default None
            The thresholds; by default those of the filter.
        """
        label = (thresholds or self.thresholds).label
        found = Counter(zip(self.is_spam, map(label, self.probabilities), strict=True))
        return Errors(
            spam=sum(self.is_spam),
            ham=len(self.is_spam) - sum(self.is_spam),
            false_positives=found[False, "spam"],
            missed=found[True, "ham"],
            unsure_spam=found[True, "unsure"],
            unsure_ham=found[False, "unsure"],
        )

    def cost(self, thresholds: Thresholds | None = None, false_positive: float = 100.0) -> float:
        """Return the cost of the errors, false_positive · (hams called spam) + (spams not caught).

        Parameters
        ----------
        thresholds : Thresholds or None, default None
            The thresholds; by default those of the filter.
        false_positive : float, default 100.0
            The cost of a ham called spam, in units of spams not caught.
        """
        errors = self.errors(thresholds)
        return false_positive * errors.false_positives + errors.not_caught

    @property
    def one_minus_auc(self) -> float:
        """The percentage of (spam, ham) pairs that are ranked in the wrong order; ties count half.

        NaN without spams or without hams.
        """
        wrong, hams_below = 0.0, 0
        spams = sum(self.is_spam)
        hams = len(self.is_spam) - spams
        if not spams or not hams:
            return math.nan
        ordered = sorted(zip(self.probabilities, self.is_spam, strict=True))
        for _, tied in groupby(ordered, key=itemgetter(0)):
            kinds = [spam for _, spam in tied]
            hams_here = len(kinds) - sum(kinds)
            wrong += sum(kinds) * (hams - hams_below - 0.5 * hams_here)
            hams_below += hams_here
        return 100.0 * wrong / (spams * hams)

    @property
    def log_loss(self) -> float:
        """The mean of −log p(class of the message), in nats."""
        losses = [
            -math.log(max(p if spam else 1.0 - p, _TINY))
            for p, spam in zip(self.probabilities, self.is_spam, strict=True)
        ]
        return math.fsum(losses) / len(losses)

    @property
    def calibration_error(self) -> float:
        """The expected calibration error, Σ count |probability − spam fraction| / n over ten bins."""
        bins = self.reliability()
        return math.fsum(each.count * abs(each.probability - each.spam) for each in bins) / len(self.is_spam)

    def reliability(self, bins: int = 10) -> list[Bin]:
        """Return the non-empty bins of equal width; if calibrated, four of five messages with p = 0.8 are spam.

        Parameters
        ----------
        bins : int, default 10
            The number of bins.
        """
        if bins < 1:
            raise ValueError(f"bins must be at least 1, but it is {bins!r}")
        edges = [number / bins for number in range(bins + 1)]
        inside: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
        for p, spam in zip(self.probabilities, self.is_spam, strict=True):
            # each bin is (low, high]; the first one includes 0
            inside[max(bisect_left(edges, p) - 1, 0)].append((p, spam))
        return [
            Bin(
                edges[number],
                edges[number + 1],
                math.fsum(p for p, _ in each) / len(each),
                sum(spam for _, spam in each) / len(each),
                len(each),
            )
            for number, each in enumerate(inside)
            if each
        ]

    def trade_off(self) -> list[Point]:
        """Return the errors at every spam threshold T: a point at 0, one at each change, and one at 1.

        As T grows there are fewer false positives and more spams that are not caught. The errors at any T are those of
        the last point at or below it.
        """
        false_positives = len(self.is_spam) - sum(self.is_spam)
        points = [Point(0.0, false_positives, 0)]
        ordered = sorted(zip(self.probabilities, self.is_spam, strict=True))
        not_caught = 0
        for p, tied in groupby(ordered, key=itemgetter(0)):
            if p < 1.0:  # a message with p is called spam up to T = p, and not from the next float on
                kinds = [spam for _, spam in tied]
                false_positives -= len(kinds) - sum(kinds)
                not_caught += sum(kinds)
                points.append(Point(math.nextafter(p, 1.0), false_positives, not_caught))
        if points[-1].threshold < 1.0:
            points.append(Point(1.0, false_positives, not_caught))
        return points
