"""The saved state of a fitted linear model: plain values and arrays that give the same predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.glm.design import Design, Term
from suffice.glm.formulas import FormulaDesign
from suffice.models.schema import Schema
from suffice.persistence.values import is_count, require

#: attributes that are arrays; the factor of the covariance may be missing
_ARRAYS = ("_center", "_theta", "_factor", "_totals", "coef_", "intercept_", "parameters_")
_NUMBER = (int, float)
#: attributes that are plain values, and their types
_VALUES: dict[str, Any] = {
    "intercept_": _NUMBER, "terms_": list, "aliased_": list, "n_rows_": int, "n_iter_": int, "converged_": bool,
    "df_residual_": int, "df_null_": int, "deviance_": _NUMBER, "null_deviance_": _NUMBER, "dispersion_": _NUMBER,
    "log_likelihood_": _NUMBER, "aic_": _NUMBER, "bic_": _NUMBER,
}  # fmt: skip
#: the attributes that a classifier does not have
_NOT_OF_CLASSES = {"dispersion_"}
#: plain values that only some models have
_OPTIONAL: dict[str, Any] = {
    "shape_": _NUMBER, "shape_std_error_": _NUMBER, "cov_type_": str, "n_groups_": (int, type(None)), "_given": list,
}  # fmt: skip


#: what files of version 1 do not say: of a GLM, and of a classifier
_NEW: dict[str, Any] = {"cov_type_": "nonrobust", "n_groups_": None, "_given": []}
_NEW_OF_CLASSES = {"aliased_": [], "n_rows_": 0, "df_null_": 0, "df_residual_": 0} | dict.fromkeys(
    ("null_deviance_", "aic_", "bic_"), float("nan")
)


def state(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the plain values of a fitted model, including its design, and its arrays."""
    fitted = vars(model)
    arrays = {name: fitted[name] for name in _ARRAYS if isinstance(fitted.get(name), np.ndarray)}
    labels = fitted.get("classes_")
    design: Design = model.design_
    if isinstance(design, FormulaDesign):
        raise ValueError(
            "a model with a formula cannot be saved as a file: a formula is code, and no file of a model runs code; "
            "use pickle, or fit a table without a formula"
        )
    values = {name: fitted[name] for name in (*_VALUES, *_OPTIONAL) if name in fitted and name not in arrays}
    values["design"] = {
        "names": None if design.schema.names is None else list(design.schema.names),
        "n_columns": design.schema.n_columns,
        "library": design.schema.library,
        "terms": [
            [term.column, None if term.levels is None else list(term.levels), term.keep_first] for term in design.terms
        ],
        "offset": design.offset,
        "exposure": design.exposure,
    }
    if fitted.get("levels_") is not None:
        values["levels"] = list(fitted["levels_"])
    if labels is not None:
        values["classes"] = {"dtype": labels.dtype.str, "labels": list(labels.tolist())}
    return values, arrays


def restore(model: Any, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Set the attributes that `state` returned on an unfitted model; raise ValueError if they are inconsistent."""
    model.design_ = design = _design(values["design"])
    model.n_features_in_ = design.schema.n_columns
    if design.schema.names is not None:
        model.feature_names_in_ = np.array(design.schema.names, dtype=object)
    model._factor = None
    for name, array in arrays.items():
        require(name in _ARRAYS and array.dtype == np.float64, f"there is an array {name!r} of {array.dtype}")
        setattr(model, name, array)
    levels = values.get("levels")
    require(levels is None or (isinstance(levels, list) and len(levels) == 2), f"the levels are {levels!r}")
    classes = values.get("classes")
    if classes is None:
        model.levels_ = None if levels is None else tuple(levels)
    if classes is not None:
        model.classes_ = np.array(classes["labels"], dtype=np.dtype(classes["dtype"]))
    for name, value in values.items():
        if name not in ("design", "classes", "levels"):
            kind = (_VALUES | _OPTIONAL).get(name)
            require(kind is not None and isinstance(value, kind), f"{name} is {value!r}")
            words = not isinstance(value, list) or all(isinstance(word, str) for word in value)
            require(words, f"{name} is {value!r}")
            setattr(model, name, value)
    _require_shapes(model, len(design.names), None if classes is None else len(model.classes_))
    again, kept = state(model)
    missing = {"_factor", "intercept_"} if classes is None else {"_factor"}
    expected = {*_ARRAYS, *_VALUES} - (set() if classes is None else _NOT_OF_CLASSES)
    require(expected - missing <= {*again, *kept}, f"there is no {sorted(expected - missing - {*again, *kept})}")


def complete(
    values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, fit_intercept: bool
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the state in a file of version 1 with what such files lack; what nobody knows is NaN, or 0 rows."""
    arrays = {"_totals": np.full(1, np.nan), **arrays}
    if values.get("classes") is None:
        return _NEW | dict(values), arrays
    theta = arrays["_theta"].copy()
    theta[:, 0] -= theta[:, 1:] @ arrays["_center"]
    parameters = (theta if fit_intercept else theta[:, 1:]).ravel()
    deviance = -2.0 * values["log_likelihood_"]
    return _NEW_OF_CLASSES | {"deviance_": deviance} | dict(values), {"parameters_": parameters} | arrays


def _design(packed: Mapping[str, Any]) -> Design:
    names, n = packed["names"], packed["n_columns"]
    words = names is None or all(isinstance(name, str) for name in names)
    require(
        words and (names is None or len(set(names)) == len(names) == n), f"there are {n} columns of the names {names!r}"
    )
    library = packed.get("library")
    require(library is None or isinstance(library, str), f"the library is {library!r}")
    schema = Schema(None if names is None else tuple(names), n, (), library=library)
    places = [packed["offset"], packed["exposure"], *(column for column, _, _ in packed["terms"])]
    known = [place for place in places if place is not None]
    whole = all(is_count(place) and place < n for place in known)
    require(whole and len(set(known)) == len(known), f"the terms are of the columns {places} of {n}")
    terms = tuple(
        Term(column, schema.column_labels[column], None if levels is None else tuple(levels), bool(first))
        for column, levels, first in packed["terms"]
    )
    for term in terms:
        require(term.levels is None or len(set(term.levels)) == len(term.levels), "a term has a level twice")
    return Design(schema, terms, packed["offset"], packed["exposure"])


def _require_shapes(model: Any, p: int, n_classes: int | None) -> None:
    """Raise ValueError unless the arrays fit a design of p columns, and are finite if predictions need them."""
    others = () if n_classes is None else (n_classes - 1,)
    shown = () if n_classes is None else (1 if n_classes == 2 else n_classes,)
    shapes = {"_center": (p,), "_theta": (*others, p + 1), "coef_": (*shown, p)}
    if n_classes is None:
        shapes["parameters_"] = (len(model.terms_),)
        require(len(model.terms_) - p == int(bool(model.fit_intercept)), f"there are {len(model.terms_)} terms of {p}")
        model._pair()
    else:
        shapes["intercept_"] = shown
        require(len(set(model.classes_.tolist())) == n_classes >= 2, f"the classes are {model.classes_}")
        shapes["parameters_"] = ((n_classes - 1) * (p + int(bool(model.fit_intercept))),)
    size = (p + 1) * (1 if n_classes is None else n_classes - 1)
    if model._factor is not None:
        shapes["_factor"] = (size, size)
    for name, shape in shapes.items():
        array = getattr(model, name)
        finite = name == "_factor" or np.isfinite(array).all()  # unknown without residual degrees of freedom
        require(array.shape == shape and bool(finite), f"{name} has shape {array.shape}, not {shape}, or is not finite")
