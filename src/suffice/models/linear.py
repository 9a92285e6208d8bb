"""The coefficients of models whose log-odds are linear in x, and Fisher's discriminant directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.errors import NotLinearError
from suffice.families import Distributions, Gaussian, Text
from suffice.families.bernoulli import BernoulliDistributions
from suffice.families.exponential import ExponentialDistributions
from suffice.families.gaussian import GaussianDistributions
from suffice.families.gaussian.diagonal_form import DiagonalForm
from suffice.families.gaussian.shared_form import SharedForm
from suffice.families.multinomial import MultinomialDistributions
from suffice.families.negative_binomial import NegativeBinomialDistributions
from suffice.families.poisson import PoissonDistributions
from suffice.models.joint import JointModel
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Block, Schema
from suffice.priors import PriorSpec

#: families with φ(x) = x; not Bernoulli, whose normaliser is more accurate from its probabilities
_IDENTITY = (PoissonDistributions, ExponentialDistributions, NegativeBinomialDistributions)


@dataclass(frozen=True, eq=False)
class LinearForm:
    """log p(c | x) = (x − m)·W_c + b_c up to a term common to all classes, with W k×d, b (k,) and m (d,).

    The point m lies between the classes, so that nothing cancels however far the rows are from 0.
    """

    weights: FloatArray
    intercepts: FloatArray
    center: FloatArray
    #: what W_c − Σ⁻¹μ_c leaves out, Σ⁻¹m, (d,); 0 for families that are not Gaussian
    shift: FloatArray

    @classmethod
    def of(cls, model: JointModel) -> LinearForm:
        """Return the linear form of a model; raise NotLinearError if its log-odds are not linear."""
        if model.class_of is not None:
            raise several_components()
        k, d = len(model.log_prior), model.schema.n_columns
        weights, intercepts, center, shift = np.zeros((k, d)), model.log_prior.copy(), np.zeros(d), np.zeros(d)
        for block, distributions in zip(model.schema.blocks, model.distributions, strict=True):
            found = linear_block(distributions)
            if found is None:
                raise not_linear_in(model.schema, block)
            places = list(block.columns)
            weights[:, places], b, center[places] = found
            intercepts += b
            shift[places] = _shift(distributions, found[2])
        return cls(weights, intercepts, center, shift)

    def natural(self) -> tuple[FloatArray, FloatArray]:
        """Return β, k×d, and γ, (k,), of log p(c | x) = x·β_c + γ_c up to a common term: the natural parameters.

        For a tied Gaussian β_c = Σ⁻¹μ_c and γ_c = log π_c − ½ μ_cᵀΣ⁻¹μ_c.
        """
        half = 0.5 * float(self.shift @ self.center)
        return self.weights + self.shift, self.intercepts - self._at_center(self.weights) - half

    def log_odds(self, target: int, against: int) -> tuple[FloatArray, float]:
        """Return w and b of log p(target | x) / p(against | x) = x·w + b."""
        w = self.weights[target] - self.weights[against]
        return w, float(self.intercepts[target] - self.intercepts[against] - self._at_center(w))

    def _at_center(self, weights: FloatArray) -> Any:
        """Return m·w, where a weight of −∞, of a value that a class never has, does not count if m is 0."""
        return np.where(self.center == 0.0, 0.0, weights) @ self.center


def _shift(distributions: Distributions, center: FloatArray) -> FloatArray:
    """Return Σ⁻¹m, (d,), without constant columns, which say nothing about the class; 0 if not Gaussian."""
    if not isinstance(distributions, GaussianDistributions):
        return np.zeros(len(center))
    form = distributions.form
    if isinstance(form, SharedForm):
        shift = (form.whitener @ center) @ form.whitener
    else:
        assert isinstance(form, DiagonalForm)
        shift = center / form.variance[0]
    return shift if distributions.constant is None else np.where(distributions.constant, 0.0, shift)


def several_components() -> NotLinearError:
    """Return the error because classes have several components."""
    reason = "the log-odds of classes with several components are not linear"
    return NotLinearError(reason, "fit with n_components=1")


def not_linear_in(schema: Schema, block: Block) -> NotLinearError:
    """Return the error because the family of a block has no linear form."""
    names = [schema.column_labels[column] for column in block.columns]
    if isinstance(block.family, Text):
        reason = f"the log-odds are sums over the words of the text column {names[0]!r}, not multiples of a cell"
        return NotLinearError(reason, "see top_words() and explain()")
    return NotLinearError(f"the log-odds are not linear in the columns {names} of family {block.family!r}")


def linear_block(distributions: Distributions) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return W, k×d, b, (k,), and m, (d,), with log p(x | c) = (x − m)·W_c + b_c up to a term common to all classes.

    Families with φ(x) = x have W = η, their natural parameters, b = −A(η) and m = 0. For Gaussians m is a point between
    the classes, which avoids cancellation; those that are not linear raise NotLinearError. The result is None for other
    families without a linear form.
    """
    if isinstance(distributions, GaussianDistributions):
        return _gaussian(distributions)
    if not isinstance(distributions, (BernoulliDistributions, MultinomialDistributions, *_IDENTITY)):
        return None
    eta = distributions.natural_parameters()
    if isinstance(distributions, BernoulliDistributions):
        return eta, np.log1p(-distributions.probability).sum(1), np.zeros(eta.shape[1])
    if isinstance(distributions, MultinomialDistributions):  # the number of trials is given
        return eta, np.zeros(len(eta)), np.zeros(eta.shape[1])
    return eta, -distributions.family.log_normalizer(eta), np.zeros(eta.shape[1])


def _gaussian(distributions: GaussianDistributions) -> tuple[FloatArray, FloatArray, FloatArray]:
    form = distributions.form
    if isinstance(form, SharedForm):
        w = form.directions()
    elif isinstance(form, DiagonalForm) and len(form.variance) == 1:
        w = (form.means - form.origin) / form.variance
    else:
        raise NotLinearError(
            f"the log-odds of Gaussians with covariance={distributions.family.structure.name!r} are quadratic",
            "a tied covariance makes them linear",
        )
    return w, -0.5 * ((form.means - form.origin) * w).sum(1), form.origin


def within_classes(statistics: ModelStatistics, prior: PriorSpec) -> GaussianDistributions:
    """Return the Gaussians with the covariance within the classes, whatever the covariances of the model."""
    family = Gaussian(_only_gaussian(statistics).structure.shared)
    shared = statistics.for_families([family])
    return family.estimate(shared.joint.blocks[0], prior)  # type: ignore[arg-type]


def discriminant_directions(
    distributions: GaussianDistributions, log_prior: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the overall mean, Fisher's directions, d×r, and the fraction of the between-class variance of each.

    The directions maximise the ratio of the between-class to the within-class variance: they are the right singular
    vectors of the weighted class means, whitened by the within-class covariance.
    """
    share = np.exp(log_prior)
    center = share @ distributions.means
    whitener = distributions.form.whitener_of(0)
    white = np.sqrt(share)[:, None] * ((distributions.means - center) @ whitener.T)
    _, singular, rows = np.linalg.svd(white, full_matrices=False)
    rank = min(len(share) - 1, len(center))
    rank = int((singular[:rank] > 1e-10 * max(singular[0], 1e-300)).sum())
    directions = whitener.T @ rows[:rank].T
    # make the signs independent of the SVD library: the largest coefficient of each direction is positive
    largest = np.argmax(np.abs(directions), axis=0)
    directions = directions * np.sign(directions[largest, np.arange(rank)])
    variance = singular[:rank] ** 2
    return center, directions, variance / variance.sum()


def _only_gaussian(statistics: ModelStatistics) -> Gaussian:
    blocks = statistics.schema.blocks
    if len(blocks) != 1 or not isinstance(blocks[0].family, Gaussian):
        raise AttributeError("discriminant directions need one block of Gaussian columns")
    return blocks[0].family
