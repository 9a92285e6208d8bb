"""Fitting of the logistic link and the two thresholds to a person's own mail.

**The link.** p(spam | x) = 1/(1 + e^−(a x + b)) for the log-odds x. As a prior, each of the n messages has a
pseudo-message at the same x, which is spam with the probability p₀ of the default link; together they weigh as much as
`PSEUDO` messages:

    maximise  Σ (y + w p₀) η − (1 + w) log(1 + e^η),    η = a x + b,  w = PSEUDO/n,

so that a and b are finite if spam and ham are perfectly separated, and near the default if there are few messages.

**The spam threshold.** With c the cost of a ham called spam, a message with probability p costs c (1 − p) if it is
called spam, and p if it is not: with calibrated probabilities T = c/(c + 1) is optimal. If hams score higher than the
link predicts, the threshold with the least cost on the messages themselves is higher. The larger of the two is used.

No threshold is below that of the untuned filter: if spam and ham of few messages are well separated, the fitted link is
steeper than future mail justifies.

**Comparison with the previous settings.** A lost ham is rare, so a small sample may contain none. By the link,
Σ (1 − p) hams are expected among the messages called spam; the larger of this and the observed number counts,

    cost = c · max(hams called spam, Σ (1 − p)) + spams not caught.

The previous settings are kept if they cost less, and the previous link is kept if its log-loss is smaller.

**The ham threshold.** A spam among the hams costs 1; a ham called unsure costs `UNSURE`. Calling a message ham is
cheaper if p < UNSURE (1 − p), that is, up to p = UNSURE/(1 + UNSURE).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from suffice.spam.evaluation import Evaluation
from suffice.spam.leave_one_out import Sample
from suffice.spam.scoring import Scoring, logistic
from suffice.spam.verdict import Thresholds

#: weight of the default link, in messages: leave-one-out scores of few messages are too optimistic
PSEUDO = 100.0
#: cost of a ham called unsure, relative to a spam called ham
UNSURE = 0.25
#: least number of spams, and of hams, needed to tune
FEWEST = 20
#: smallest slope: more evidence must not make spam less likely, whatever the sample
_LEAST_SLOPE = 0.01
#: largest slope, in case log-odds that hardly differ would give a very steep link
_MOST_SLOPE = 10.0
_MAX_ITERATIONS = 100


@dataclass(frozen=True)
class Tuning:
    """The result of `tune`.

    Attributes
    ----------
    thresholds : Thresholds
        The new thresholds.
    slope, intercept : float
        The new logistic link: probability = 1 / (1 + exp(−slope · log-odds − intercept)).
    cost : float
        Cost of a ham called spam, in units of spams not caught.
    before, after : Evaluation
        Evaluations with the previous link and thresholds, and with the new ones, which were fitted to these messages.
    lost : (float, float)
        Expected numbers of lost hams, before and after: the larger of the observed number and that expected by the
        probabilities.
    newest : int
        Number of newest messages, which were scored by a filter that had learned none of them.
    is_kept : bool
        Whether the previous thresholds and link were kept because the new ones cost more.
    """

    thresholds: Thresholds
    slope: float
    intercept: float
    cost: float
    before: Evaluation
    after: Evaluation
    lost: tuple[float, float] = (0.0, 0.0)
    newest: int = 0
    is_kept: bool = False

    @property
    def costs(self) -> tuple[float, float]:
        """The expected costs before and after, cost · lost + spams not caught."""
        before, after = (side.errors().not_caught for side in (self.before, self.after))
        return self.cost * self.lost[0] + before, self.cost * self.lost[1] + after


def tuned(sample: Sample, cost: float, slope: float, intercept: float, thresholds: Thresholds) -> Tuning:
    """Fit link and thresholds to a sample; `slope`, `intercept` and `thresholds` are the previous ones."""
    spam = sum(sample.is_spam)
    ham = len(sample.is_spam) - spam
    if spam < FEWEST or ham < FEWEST:
        raise ValueError(
            f"tuning needs at least {FEWEST} spams and {FEWEST} hams, but there are {spam} spams and {ham} hams; "
            "train more messages first, or give more of each"
        )
    new_slope, new_intercept = fit_link(sample.log_odds, sample.is_spam)
    before = sample.evaluation(slope, intercept, thresholds)
    calibrated = sample.evaluation(new_slope, new_intercept, thresholds)
    if calibrated.log_loss > before.log_loss:
        new_slope, new_intercept, calibrated = slope, intercept, before
    chosen = choose_thresholds(calibrated, cost)
    untuned = logistic(new_slope * _untuned_log_odds(cost) + new_intercept)
    if untuned > chosen.spam:
        chosen = Thresholds(chosen.ham, untuned)
    after = sample.evaluation(new_slope, new_intercept, chosen)
    lost = _lost(before, calibrated), _lost(after, calibrated)
    tuning = Tuning(chosen, new_slope, new_intercept, cost, before, after, lost, sample.newest)
    if tuning.costs[1] <= tuning.costs[0]:
        return tuning
    return Tuning(thresholds, slope, intercept, cost, before, before, (lost[0], lost[0]), sample.newest, True)


def _untuned_log_odds(cost: float) -> float:
    """Return the log-odds from which the untuned filter calls messages spam, or less for a low cost."""
    default = Scoring()
    return (_logit(min(cost / (cost + 1.0), Thresholds().spam)) - default.intercept) / default.slope


def _lost(judged: Evaluation, calibrated: Evaluation) -> float:
    """Return the number of hams called spam: observed, or expected by calibrated probabilities if that is larger."""
    called = [p >= judged.thresholds.spam for p in judged.probabilities]
    expected = math.fsum(1.0 - p for p, spam in zip(calibrated.probabilities, called, strict=True) if spam)
    return max(float(judged.errors().false_positives), expected)


def checked_cost(cost: float) -> float:
    """Return the cost of a false positive; raise ValueError if it is not positive and finite."""
    if not 0 < cost < math.inf:
        raise ValueError(f"the cost of a false positive must be a positive number, but it is {cost!r}; 100 is usual")
    return float(cost)


def fit_link(
    log_odds: Sequence[float],
    is_spam: Sequence[bool],
    default: Scoring = Scoring(),
) -> tuple[float, float]:
    """Return the slope and intercept of the logistic link, fitted by Newton's method.

    Examples
    --------
    >>> from suffice.spam.tuning import fit_link
    >>> slope, intercept = fit_link([-8.0, -3.0, 2.0, 9.0], [False, False, True, True])
    >>> 0.5 < slope < 1.0, abs(intercept) < 0.5
    (True, True)
    """
    weight = PSEUDO / len(log_odds)
    targets = [
        (spam + weight * logistic(default.slope * x + default.intercept)) / (1.0 + weight)
        for x, spam in zip(log_odds, is_spam, strict=True)
    ]
    slope, intercept = _newton(log_odds, targets, default.slope, default.intercept)
    within = min(max(slope, _LEAST_SLOPE), _MOST_SLOPE)
    if within != slope:
        return within, _newton(log_odds, targets, within, default.intercept, fixed=True)[1]
    return slope, intercept


def _newton(
    log_odds: Sequence[float], targets: Sequence[float], slope: float, intercept: float, *, fixed: bool = False
) -> tuple[float, float]:
    """Maximise the concave Σ t η − log(1 + e^η) over both parameters, or if `fixed` over the intercept only."""
    value = _log_likelihood(log_odds, targets, slope, intercept)
    for _ in range(_MAX_ITERATIONS):
        probabilities = [logistic(slope * x + intercept) for x in log_odds]
        residuals = [t - p for t, p in zip(targets, probabilities, strict=True)]
        curvatures = [p * (1.0 - p) for p in probabilities]
        down = math.fsum(residuals)
        across = math.fsum(r * x for r, x in zip(residuals, log_odds, strict=True))
        # a ridge, a thousandth of a message's curvature, keeps the Hessian regular if all log-odds are the same
        c0 = math.fsum(curvatures) + 1e-3
        c1 = math.fsum(c * x for c, x in zip(curvatures, log_odds, strict=True))
        c2 = math.fsum(c * x * x for c, x in zip(curvatures, log_odds, strict=True)) + 1e-3
        determinant = c0 * c2 - c1 * c1
        if fixed:
            steps = 0.0, down / c0
        else:
            steps = (c0 * across - c1 * down) / determinant, (c2 * down - c1 * across) / determinant
        gain = steps[0] * across + steps[1] * down
        if gain < 1e-10:
            break
        share = 1.0
        while share > 1e-9:
            trial = slope + share * steps[0], intercept + share * steps[1]
            found = _log_likelihood(log_odds, targets, *trial)
            if found >= value + 1e-4 * share * gain:
                (slope, intercept), value = trial, found
                break
            share /= 2.0
        else:
            break
    return slope, intercept


def _log_likelihood(log_odds: Sequence[float], targets: Sequence[float], slope: float, intercept: float) -> float:
    terms = []
    for x, t in zip(log_odds, targets, strict=True):
        eta = slope * x + intercept
        terms.append(t * eta - max(eta, 0.0) - math.log1p(math.exp(-abs(eta))))
    return math.fsum(terms)


def choose_thresholds(evaluation: Evaluation, cost: float) -> Thresholds:
    """Return the thresholds for a cost of a false positive, on calibrated probabilities.

    Examples
    --------
    >>> from suffice.spam import Evaluation, Thresholds
    >>> from suffice.spam.tuning import choose_thresholds
    >>> apart = Evaluation((0.001, 0.01, 0.995, 0.9999), (False, False, True, True), Thresholds())
    >>> choose_thresholds(apart, cost=9.0)
    Thresholds(ham=0.2, spam=0.9)
    """
    spam = max(cost / (cost + 1.0), _least_cost(evaluation, cost))
    return Thresholds(min(UNSURE / (1.0 + UNSURE), 0.5 * spam), spam)


def _least_cost(evaluation: Evaluation, cost: float) -> float:
    """Return the threshold of least cost: the middle, in log-odds, of the highest interval with that cost."""
    intervals = [
        (cost * point.false_positives + point.not_caught, -point.threshold, after.threshold)
        for point, after in pairwise(evaluation.trade_off())
    ]
    _, low, high = min(intervals)
    return logistic(0.5 * (_logit(-low) + _logit(high)))


def _logit(p: float) -> float:
    p = min(max(p, 1e-15), 1.0 - 1e-15)
    return math.log(p) - math.log1p(-p)
