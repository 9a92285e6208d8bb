"""What is kept of a fitted linear model: plain values and arrays, from which it predicts the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.glm.design import Design, Term
from suffice.schema import Schema

#: attributes that are arrays; the factor of the covariance may be missing
_ARRAYS = ("_center", "_theta", "_factor", "coef_", "intercept_", "parameters_", "classes_")
_VALUES = (
    "intercept_", "terms_", "aliased_", "n_rows_", "n_iter_", "converged_", "df_residual_", "df_null_", "deviance_",
    "null_deviance_", "dispersion_", "log_likelihood_", "aic_", "bic_",
)  # fmt: skip


def state(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the plain values of a fitted model, its design among them, and its arrays."""
    fitted = vars(model)
    arrays = {name: fitted[name] for name in _ARRAYS if isinstance(fitted.get(name), np.ndarray)}
    labels = arrays.pop("classes_", None)
    design: Design = model.design_
    values = {name: fitted[name] for name in _VALUES if name in fitted and name not in arrays}
    values["design"] = {
        "names": None if design.schema.names is None else list(design.schema.names),
        "n_columns": design.schema.n_columns,
        "terms": [
            [term.column, None if term.levels is None else list(term.levels), term.keep_first] for term in design.terms
        ],
        "offset": design.offset,
        "exposure": design.exposure,
    }
    if labels is not None:
        values["classes"] = {"dtype": labels.dtype.str, "labels": list(labels.tolist())}
    return values, arrays


def restore(model: Any, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Give an unfitted model what `state` returned; a ValueError says what does not fit together."""
    packed = values["design"]
    names = packed["names"]
    schema = Schema(None if names is None else tuple(names), int(packed["n_columns"]), ())
    terms = tuple(
        Term(int(column), schema.labels[column], None if levels is None else tuple(levels), bool(first))
        for column, levels, first in packed["terms"]
    )
    model.design_ = Design(schema, terms, packed["offset"], packed["exposure"])
    model.n_features_in_ = schema.n_columns
    if schema.names is not None:
        model.feature_names_in_ = np.array(schema.names, dtype=object)
    model._factor = None
    for name in _ARRAYS:
        if name in arrays:
            setattr(model, name, np.array(arrays[name]))
    for name in _VALUES:
        if name in values:
            setattr(model, name, values[name])
    p = len(model.design_.names)
    if model._center.shape != (p,) or model._theta.shape[-1] != p + 1 or not np.isfinite(model._theta).all():
        raise ValueError(f"the parameters have shape {model._theta.shape}, but the design has {p} columns")
    if "classes" in values:
        kept = values["classes"]
        dtype = np.dtype(kept["dtype"])
        model.classes_ = np.array(kept["labels"], dtype=dtype)
        if len(model.classes_) != max(len(model._theta) + 1, 2):
            raise ValueError(f"there are {len(model.classes_)} classes, but {len(model._theta)} sets of coefficients")
