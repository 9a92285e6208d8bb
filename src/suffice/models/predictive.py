"""The joint model with its parameters integrated out: each block has the predictive distribution of its posterior."""

from __future__ import annotations

from typing import Any

from suffice._arrays import FloatArray
from suffice.errors import EstimateError
from suffice.models.joint import JointModel
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Schema
from suffice.posteriors import takes
from suffice.priors import Prior, PriorSpec, check_prior
from suffice.tables.labels import class_list

ESTIMATES = ("mean", "map", "mle", "predictive")


def check_estimate(estimate: Any, prior: PriorSpec) -> None:
    """Raise ValueError if `estimate` is not one of ESTIMATES, or does not go with `prior`."""
    check_prior(prior)
    if not isinstance(estimate, str) or estimate not in ESTIMATES:
        raise ValueError(f"estimate must be one of {', '.join(map(repr, ESTIMATES))}, not {estimate!r}")
    if estimate == "mle" and prior is not None and not (isinstance(prior, str) and prior == "auto"):
        raise ValueError(
            f"estimate='mle' is maximum likelihood, which has no prior, but prior={prior!r}; leave one of them out"
        )
    if estimate == "predictive" and prior is None:
        raise ValueError(
            "estimate='predictive' averages over a posterior, which needs a prior, but prior=None; use prior='auto', "
            "or estimate='mle'"
        )


def prior_of_blocks(schema: Schema, prior: PriorSpec) -> PriorSpec:
    """Return a prior that the blocks of other families ignore, if it is for some of them."""
    if isinstance(prior, Prior) and any(takes(block.family, prior) for block in schema.blocks):
        return [prior]
    return prior


def predictive_model(statistics: ModelStatistics, prior: PriorSpec, log_prior: FloatArray) -> JointModel:
    """Return p(y) p(x | y, data), with the parameters of each block integrated out under their posterior.

    Parameters
    ----------
    statistics : ModelStatistics
        After EM these are the expected statistics, so the uncertainty of the labels themselves is not included.
    prior : as for `GenerativeClassifier`
    log_prior : array of shape (k,)
        log p(y), or log p(m) if classes have several components.
    """
    schema, predictives = statistics.schema, []
    prior = prior_of_blocks(schema, prior)
    for block, sums in zip(schema.blocks, statistics.joint.blocks, strict=True):
        try:
            predictives.append(block.family.posterior(sums, prior).predictives())
        except EstimateError as error:
            classes, class_of = class_list(statistics.classes), statistics.class_of
            names = classes if class_of is None else [classes[c] for c in class_of]
            noun = "class" if class_of is None else "component of class"
            raise error.named(names, block.columns, schema.column_labels, noun) from None
    return JointModel(schema, log_prior, tuple(predictives), statistics.class_of)
