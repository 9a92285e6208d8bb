"""The coefficients of models whose log-odds are linear in x, and Fisher's discriminant directions."""

from __future__ import annotations

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


def linear_form(model: JointModel) -> tuple[FloatArray, FloatArray]:
    """Return W, k×d, and b, (k,), with log p(c | x) = x·W_c + b_c up to a term common to all classes.

    For a tied Gaussian W_c = Σ⁻¹μ_c; for counts and booleans W holds the natural parameters.
    """
    if model.class_of is not None:
        raise several_components()
    weights = np.zeros((len(model.log_prior), model.schema.n_columns))
    intercepts = model.log_prior.copy()
    for block, distributions in zip(model.schema.blocks, model.distributions, strict=True):
        found = linear_block(distributions)
        if found is None:
            raise not_linear_in(model.schema, block)
        w, b, center = found
        weights[:, list(block.columns)] = w
        intercepts += b - w @ center
    return weights, intercepts


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


def boundary_point(model: JointModel) -> FloatArray:
    """Return x0, the point on the line through the two class means where both classes are equally probable.

    x0 = ½(μ1 + μ0) − log(π1/π0) / (δᵀΣ⁻¹δ) · δ with δ = μ1 − μ0.
    """
    if len(model.log_prior) != 2:
        raise AttributeError(f"the boundary point belongs to two classes, but there are {len(model.log_prior)}")
    weights, _ = linear_form(model)
    distributions = model.distributions[0]
    if len(model.distributions) != 1 or not isinstance(distributions, GaussianDistributions):
        raise AttributeError("the boundary point needs one block of Gaussian columns with a tied covariance")
    mean0, mean1 = distributions.means
    delta = mean1 - mean0
    distance = float(delta @ (weights[1] - weights[0]))
    if distance == 0.0:
        raise AttributeError("the two classes have the same mean, so no point lies between them")
    log_odds = float(model.log_prior[1] - model.log_prior[0])
    return np.asarray(0.5 * (mean0 + mean1) - log_odds / distance * delta)


def discriminant_directions(
    statistics: ModelStatistics, log_prior: FloatArray, prior: PriorSpec
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the overall mean, Fisher's directions, d×r, and the fraction of the between-class variance of each.

    The directions maximise the ratio of the between-class to the within-class variance, whatever the covariances of the
    model: they are the right singular vectors of the weighted class means, whitened by the within-class covariance.
    """
    family = Gaussian(_only_gaussian(statistics).structure.shared)
    shared = statistics.for_families([family])
    distributions = family.estimate(shared.joint.blocks[0], prior)  # type: ignore[arg-type]
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
