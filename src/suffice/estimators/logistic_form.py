"""From generative to discriminative: the logistic regression that is equivalent to a model with linear log-odds.

If φ is the same for every class and linear in the columns of a design, log p(c | x) = Σ_j η_cj x_j + b_c up to a term
common to all classes: the posterior of a tied Gaussian or a discrete naive Bayes model is a softmax, and the natural
parameters are its coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from suffice._arrays import FloatArray
from suffice.errors import NotLinearError
from suffice.families.categorical_distributions import CategoricalDistributions
from suffice.glm.design import Design, Term
from suffice.models.joint import JointModel
from suffice.models.linear import linear_block, not_linear_in, several_components
from suffice.models.schema import Schema
from suffice.posteriors.predictive import Predictive
from suffice.statistics.category_counts import CategoryCounts
from suffice.tables.labels import sorted_order


def logistic_form(model: JointModel) -> tuple[Design, FloatArray, FloatArray, FloatArray]:
    """Return the design, coefficients, intercepts and centre of the logistic regression with the same posteriors.

    Raises
    ------
    ValueError
        If the log-odds of the model are not linear.
    """
    if model.class_of is not None:
        raise several_components().as_value_error()
    terms: dict[int, Term] = {}
    weights: dict[int, FloatArray] = {}
    centers: dict[int, float] = {}
    intercepts = model.log_prior.copy()
    for block, distributions in zip(model.schema.blocks, model.distributions, strict=True):
        if isinstance(distributions, CategoricalDistributions):
            for column, logs in zip(block.columns, _log_probabilities(distributions), strict=True):
                order = _order(model.schema, column)
                values = model.schema.categories[column].values
                terms[column] = Term(column, model.schema.column_labels[column], tuple(values[v] for v in order))
                weights[column] = logs[:, order[1:]] - logs[:, order[:1]]
                intercepts += logs[:, order[0]]
            continue
        if isinstance(distributions, Predictive):
            raise ValueError(
                "averages over parameters are not linear, so a model with estimate='predictive' is not a logistic "
                "regression; fit it with estimate='mean'"
            )
        try:
            found = linear_block(distributions)
        except NotLinearError as error:
            raise error.as_value_error() from None
        if found is None:
            raise not_linear_in(model.schema, block).as_value_error()
        w, b, center = found
        for j, column in enumerate(block.columns):
            terms[column] = Term(column, model.schema.column_labels[column])
            weights[column] = w[:, [j]]
            centers[column] = float(center[j])
        intercepts += b
    columns = range(model.schema.n_columns)
    coefficients = np.concatenate([weights[column] for column in columns], axis=1)
    if not (np.isfinite(coefficients).all() and np.isfinite(intercepts).all()):
        raise ValueError("a probability of 0 has no finite coefficient; fit the model with a prior")
    plain = Schema(model.schema.names, model.schema.n_columns, (), library=model.schema.library)
    design = Design(plain, tuple(terms[column] for column in columns))
    center = np.array([centers.get(term.column, 0.0) for term in design.terms for _ in term.names])
    return design, coefficients, intercepts, center


def _log_probabilities(distributions: CategoricalDistributions) -> Iterator[FloatArray]:
    """Yield the log-probabilities of the values of each column, k×values."""
    logs = distributions.natural_parameters()
    return (logs[:, values] for values in CategoryCounts(distributions.probability, distributions.sizes).columns())


def _order(schema: Schema, column: int) -> list[int]:
    """Return the codes of the values in the order of the logistic regression: as declared, or sorted."""
    known = schema.categories[column]
    return list(range(len(known.values))) if known.declared else sorted_order(list(known.values))
