"""The boundary between two classes with linear log-odds: its direction w, and the point x0 that the prior moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from suffice._arrays import FloatArray, issparse, to_float64
from suffice.families.gaussian import GaussianDistributions
from suffice.models.joint import JointModel
from suffice.models.linear import LinearForm
from suffice.models.schema import Schema
from suffice.tables.conversion import as_table


@dataclass(frozen=True, eq=False, repr=False)
class Boundary:
    """The hyperplane {x : wᵀ(x − x0) = 0} on which two classes are equally probable.

    The log-odds of `target` against `against` are wᵀ(x − x0) = wᵀx + b, so that the probability of `target`, if the
    class is one of the two, is σ(wᵀ(x − x0)). The point x0 lies on the line through the two means. With a tied Σ,

        w = Σ⁻¹δ,   x0 = ½(μ_target + μ_against) − log(π_target / π_against) / (δᵀΣ⁻¹δ) · δ,   δ = μ_target − μ_against

    With equal class probabilities x0 is the midpoint of the means; as `target` becomes more probable, x0 moves away
    from its mean. If Σ = σ²I, then w = δ/σ² is parallel to δ, and a row is classified by the side of x0 on which its
    projection on the line through the means lies: with equal class probabilities, by the nearer mean.

    Parameters
    ----------
    target, against : class labels
        The two classes.
    w : array of shape (d,)
        The weights of the log-odds.
    means : array of shape (2, d)
        The means of `target` and of `against`.
    x0 : array of shape (d,)
        The point on the boundary.
    log_prior_odds : float
        log(π_target / π_against).
    covariance : array of shape (d, d), or None
        The covariance Σ that the classes share; None if not all columns are Gaussian.
    schema : Schema
        The columns, by which rows are read.

    Examples
    --------
    >>> from suffice import GaussianDiscriminant, GivenSphere
    >>> X, y = [[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]], ["a", "a", "b", "b"]
    >>> boundary = GaussianDiscriminant(GivenSphere(1.0), prior=None).fit(X, y).boundary("b", "a")
    >>> boundary.w, boundary.x0, boundary.b
    (array([4., 0.]), array([2., 1.]), -8.0)
    >>> boundary.with_prior(0.9).x0.round(3)   # 2 − log 9 / 16 · 4: the more probable class has more room
    array([1.451, 1.   ])
    """

    target: Any
    against: Any
    w: FloatArray
    means: FloatArray
    x0: FloatArray
    log_prior_odds: float
    covariance: FloatArray | None
    schema: Schema

    @classmethod
    def of(cls, model: JointModel, classes: Sequence[Any], target: int, against: int) -> Boundary:
        """Return the boundary between two classes, given by their numbers.

        Parameters
        ----------
        model : JointModel
            A model with linear log-odds.
        classes : sequence
            The labels of the classes.
        target, against : int
            The numbers of the two classes.
        """
        form = LinearForm.of(model)
        w, log_prior_odds = form.log_odds(target, against)[0], float(model.log_prior[target] - model.log_prior[against])
        means = np.empty((2, model.schema.n_columns))
        for block, found in zip(model.schema.blocks, model.distributions, strict=True):
            means[:, list(block.columns)] = found.mean()[[target, against]]
        delta, midpoint = means[0] - means[1], 0.5 * means[0] + 0.5 * means[1]
        if not float(w @ delta) > 0.0:
            raise ValueError(
                f"the classes {classes[target]!r} and {classes[against]!r} have the same mean, so no point of the line "
                f"through the means is on their boundary"
            )
        if not np.isfinite(log_prior_odds):
            raise ValueError(
                f"one of the classes {classes[target]!r} and {classes[against]!r} has probability 0, so no row is on "
                f"their boundary; use class_prior=PseudoCount(1)"
            )
        at_midpoint = float((midpoint - form.center) @ w + form.intercepts[target] - form.intercepts[against])
        if _all_gaussian(model):  # exactly
            at_midpoint = log_prior_odds
        x0 = midpoint - at_midpoint / float(w @ delta) * delta
        return cls(
            classes[target], classes[against], w, means, x0, log_prior_odds, _covariance(model, target), model.schema
        )

    @property
    def columns(self) -> list[str | int]:
        """The names of the columns, or their positions if they have no names."""
        return list(self.schema.column_labels)

    @property
    def b(self) -> float:
        """The intercept of the log-odds wᵀx + b, −wᵀx0."""
        return -float(self.w @ self.x0)

    @property
    def midpoint(self) -> FloatArray:
        """The midpoint ½(μ_target + μ_against) of the means, (d,)."""
        return np.asarray(0.5 * self.means[0] + 0.5 * self.means[1])

    @property
    def separation(self) -> float:
        """The distance of the two means, √(wᵀδ): with a tied covariance, their Mahalanobis distance √(δᵀΣ⁻¹δ)."""
        return float(np.sqrt(self.w @ (self.means[0] - self.means[1])))

    def log_odds(self, X: Any) -> FloatArray:
        """Return log p(target | x) / p(against | x) = wᵀ(x − x0) of each row, (n,); NaN for rows with missing cells.

        Parameters
        ----------
        X : array or data frame
            The rows, with the columns of training.
        """
        table = as_table(X)
        self.schema.check(table, "the boundary", extra=True)
        arranged = self.schema.arranged(table)
        rows = arranged.numbers(list(range(self.schema.n_columns)))[0 : len(arranged)]
        dense = to_float64(rows.toarray() if issparse(rows) else rows)
        return np.asarray((dense - self.x0) @ self.w)

    def probability(self, X: Any) -> FloatArray:
        """Return σ(wᵀ(x − x0)) of each row, (n,): the probability of `target` if the class is one of the two.

        Parameters
        ----------
        X : array or data frame
            The rows, with the columns of training.
        """
        return np.asarray(expit(self.log_odds(X)))

    def projection(self, X: Any) -> FloatArray:
        """Return wᵀ(x − x0) / ‖w‖ of each row, (n,): its place on the direction of w, from x0 on.

        It is the distance of the row to the boundary, positive on the side of `target`.

        Parameters
        ----------
        X : array or data frame
            The rows, with the columns of training.
        """
        return np.asarray(self.log_odds(X) / np.linalg.norm(self.w))

    def with_prior(self, prior: float | Mapping[Any, float]) -> Boundary:
        """Return the boundary for other class probabilities: x0 − log-odds' change / (wᵀδ) · δ, with the same w.

        Parameters
        ----------
        prior : float, or mapping of the two classes to their probabilities
            The probability of `target` among the two classes, between 0 and 1.
        """
        if isinstance(prior, Mapping):
            if not {self.target, self.against} <= set(prior):
                raise ValueError(f"prior must name {self.target!r} and {self.against!r}, but names {list(prior)}")
            odds = float(prior[self.target]) / float(prior[self.against]) if prior[self.against] > 0 else np.inf
        else:
            odds = float(prior) / (1.0 - float(prior)) if prior < 1 else np.inf
        if not 0.0 < odds < np.inf:
            raise ValueError(f"the probabilities of both classes must be more than 0, but prior is {prior!r}")
        log_odds, delta = float(np.log(odds)), self.means[0] - self.means[1]
        moved = self.x0 - (log_odds - self.log_prior_odds) / float(self.w @ delta) * delta
        return replace(self, x0=moved, log_prior_odds=log_odds)

    def plot(self, X: Any = None, y: Any = None, ax: Any = None) -> Any:
        """Draw the boundary, and return the axes; see `suffice.plot.boundary`.

        Parameters
        ----------
        X : array or data frame, optional
            Rows to draw too.
        y : labels, optional
            The classes of the rows; those of other classes are left out.
        ax : matplotlib Axes, optional
            The axes to draw on; by default new ones.
        """
        from suffice.plot import boundary

        return boundary(self, X, y, ax)

    def __repr__(self) -> str:
        return f"<Boundary of {self.target!r} against {self.against!r}, {len(self.w)} columns>"

    def __str__(self) -> str:
        share = float(expit(self.log_prior_odds))
        place = float((self.x0 - self.means[1]) @ self.w) / self.separation**2
        width = max(len("column"), *(len(str(name)) for name in self.columns))
        head = f"  {'column':<{width}} {'w':>10} {'x0':>10} {str(self.target)[:12]:>12} {str(self.against)[:12]:>12}"
        lines = [
            f"  {name!s:<{width}} {w:>10.4g} {at:>10.4g} {one:>12.4g} {other:>12.4g}"
            for name, w, at, one, other in zip(self.columns, self.w, self.x0, *self.means, strict=True)
        ]
        return "\n".join(
            [
                f"{self.target} rather than {self.against} if wᵀ(x − x0) > 0, that is wᵀx > {-self.b:.4g}",
                f"x0 is {place:.0%} of the way from the mean of {self.against} to that of {self.target}, "
                f"as p({self.target}) : p({self.against}) is {share:.3g} : {1.0 - share:.3g}",
                f"the means are {self.separation:.3g} standard deviations apart",
                head,
                *lines,
            ]
        )


def _all_gaussian(model: JointModel) -> bool:
    return all(isinstance(found, GaussianDistributions) for found in model.distributions)


def _covariance(model: JointModel, c: int) -> FloatArray | None:
    """Return the covariance of all columns, 0 between blocks; None if some are not Gaussian."""
    if not _all_gaussian(model):
        return None
    covariance = np.zeros((model.schema.n_columns, model.schema.n_columns))
    for block, found in zip(model.schema.blocks, model.distributions, strict=True):
        places = np.array(block.columns)
        covariance[places[:, None], places] = found.covariance()[c]
    return covariance
