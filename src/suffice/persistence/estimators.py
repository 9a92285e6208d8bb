"""Models on disk: plain arrays and JSON in one zip file, from which no code is ever executed.

A model is saved as its settings and its statistics, and estimated again on load, which is fast and exact, because
estimates are functions of the statistics alone. After EM they are not, so the parameters are saved too. Generalised
linear models have parameters only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._threads import threads
from suffice.errors import ModelFileError
from suffice.estimators.classifier import GenerativeClassifier
from suffice.estimators.glm import GLM
from suffice.estimators.logistic import LogisticRegression
from suffice.estimators.mixture import Mixture
from suffice.estimators.presets import GaussianDiscriminant, NaiveBayes
from suffice.estimators.soft_kmeans import SoftKMeans
from suffice.glm.links import Link
from suffice.models.decisions import decide
from suffice.models.named_statistics import ModelStatistics
from suffice.models.predictive import check_estimate
from suffice.persistence import archive
from suffice.persistence.models import (
    pack_classes,
    pack_parameters,
    pack_schema,
    pack_statistics,
    require_numbers,
    unpack_classes,
    unpack_parameters,
    unpack_schema,
    unpack_statistics,
)
from suffice.persistence.regressions import complete, restore, state
from suffice.persistence.values import is_count, pack, require, unpack
from suffice.selection.mixture_search import MixtureSearch

Model = GenerativeClassifier | Mixture
Linear = GLM | LogisticRegression
#: the models that a file may hold; any other name is an error
_MODELS: dict[str, type[Model]] = {
    model.__name__: model for model in (GenerativeClassifier, NaiveBayes, GaussianDiscriminant, Mixture, SoftKMeans)
}
_LINEAR: dict[str, type[Linear]] = {model.__name__: model for model in (GLM, LogisticRegression)}


#: the attributes that a fit by EM sets besides its parameters, each with a check of its value
_FITTED: dict[str, Callable[[Any], bool]] = {
    "bound_history_": lambda value: isinstance(value, list) and all(isinstance(bound, float) for bound in value),
    "n_iter_": is_count,
    "converged_": lambda value: isinstance(value, bool),
    "n_rows_": is_count,
}


def save(model: Model | Linear | MixtureSearch | ModelStatistics, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, or its statistics, to a file that `load` reads; a failure leaves no partial file.

    Parameters
    ----------
    model : estimator, MixtureSearch or ModelStatistics
        What to write; estimators are fitted ones.
    path : str or path
        The name of the file; an existing one is replaced.

    Examples
    --------
    >>> import numpy as np, suffice, tempfile
    >>> model = suffice.NaiveBayes().fit(np.array([[0.0], [1.0], [5.0]]), ["a", "a", "b"])
    >>> file = tempfile.mkdtemp() + "/model.suffice"
    >>> suffice.save(model, file)
    >>> suffice.load(file).predict([[4.0]]).tolist()
    ['b']
    """
    arrays: dict[str, NDArray[Any]] = {}
    header: dict[str, Any] = {}
    if isinstance(model, MixtureSearch):
        header["search"], model = _pack_search(model), model.best_estimator_
    if isinstance(model, ModelStatistics):
        header["model"] = None
        header["statistics"] = pack_statistics(model, arrays)
    elif type(model) in _MODELS.values():
        if not hasattr(model, "schema_"):
            raise ValueError(f"only a fitted model can be saved; call fit on this {type(model).__name__} first")
        header["model"] = type(model).__name__
        header["params"] = {name: pack(value) for name, value in _settings(model).items()}
        if hasattr(model, "statistics_"):
            header["statistics"] = pack_statistics(model.statistics_, arrays)
        else:  # a model made from parameters, or part of another one, has no statistics
            header["schema"] = pack_schema(model.schema_)
            if not isinstance(model, Mixture):
                header["classes"] = pack_classes(model.classes_)
        header["fitted"] = {name: pack(getattr(model, name)) for name in _FITTED if hasattr(model, name)}
        learned = isinstance(model, Mixture) or (model._priors is not None and model.estimate != "predictive")
        if learned or "schema" in header:
            pack_parameters(model._joint, arrays)
    elif isinstance(model, (GLM, LogisticRegression)) and type(model) in _LINEAR.values():
        _pack_linear(model, header, arrays)
    else:
        raise TypeError(f"only Suffice's models and statistics can be saved, not {type(model).__name__}")
    archive.write(Path(path), header, arrays)


def _settings(model: Model | MixtureSearch) -> dict[str, Any]:
    """Return the settings of a model, without start values and random generators, which only the fit needs."""
    params = model.get_params(deep=False)
    if not isinstance(params.get("init", ""), str):
        params["init"] = "k-means++"
    if not isinstance(params.get("random_state"), (int, np.integer)):
        params["random_state"] = None
    return params


def load(path: str | os.PathLike[str]) -> Any:
    """Read a file that `save` wrote, and return a model with the same predictions, or statistics.

    No code in the file is run; a damaged or foreign file raises a `ModelFileError` that says what is wrong.

    Parameters
    ----------
    path : str or path
        The name of the file.
    """
    header, arrays = archive.read(Path(path))
    kind = header.get("model", "")
    if kind is not None and str(kind) not in {*_MODELS, *_LINEAR}:
        raise ModelFileError(f"{os.fspath(path)} holds a model of the unknown kind {kind!r}; update suffice")
    try:
        with np.errstate(all="ignore"):  # invalid numbers are checked for afterwards
            return _unpack_linear(header, arrays) if kind in _LINEAR else _unpack_model(header, arrays)
    except Exception as error:  # inconsistent contents can raise almost any exception
        raise ModelFileError(
            f"{os.fspath(path)} is a Suffice model file with contents that do not fit together ({error!r}); train and "
            f"save the model again"
        ) from error


def _unpack_model(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    statistics = unpack_statistics(header["statistics"], arrays) if "statistics" in header else None
    if header["model"] is None:
        require(statistics is not None, "there are neither statistics nor a model")
        assert statistics is not None
        return statistics
    params = {name: unpack(value) for name, value in header["params"].items()}
    if header["version"] == 1 and params.get("estimate") == "map":
        params["estimate"] = "mean"  # its name then
    model = _MODELS[header["model"]](**params)
    schema = unpack_schema(header["schema"]) if statistics is None else statistics.schema
    parameters = unpack_parameters(schema, None if statistics is None else statistics.class_of, arrays)
    if isinstance(model, Mixture):
        assert parameters is not None
        if statistics is not None:
            model.statistics_ = statistics
        model._set_parameters(parameters)
    elif statistics is None:
        assert parameters is not None
        classes = unpack_classes(header["classes"])
        require(len(classes) == len(parameters.log_prior), f"{len(classes)} classes have {parameters.log_prior}")
        model._with_parameters(classes, parameters)
    else:
        model._adopt(statistics, later=True)
        if parameters is not None:
            model._estimated, model._priors = parameters, ()
    for name, value in header.get("fitted", {}).items():
        require(name in _FITTED and _FITTED[name](value), f"{name} is {value!r}")
        setattr(model, name, value)
    _check_settings(model)
    _require_all_used(model, arrays)
    return model if "search" not in header else _unpack_search(header["search"], model)


def _check_settings(model: Model) -> None:
    """Raise if a setting cannot be used for prediction."""
    threads(model.n_jobs)
    if isinstance(model, Mixture):
        model._check_parameters()
    else:
        check_estimate(model.estimate, model.prior)
        k = len(model.classes_)
        decide(np.full((1, k), 1.0 / k), model.classes_, model.threshold, model.cost)
        for distributions in () if model._estimated is None else model.distributions_:
            require_numbers(distributions)


def _require_all_used(model: Model, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise unless the arrays are those that saving the model would write."""
    again: dict[str, NDArray[Any]] = {}
    if hasattr(model, "statistics_"):
        pack_statistics(model.statistics_, again)
    if "log_prior" in arrays:
        pack_parameters(model._joint, again)
    require(
        again.keys() == arrays.keys(), f"the arrays {sorted(again.keys() ^ arrays.keys())} are missing or unexpected"
    )


# -- searches: their best mixture, and the table of all ---------------------------------------------------------------


def _pack_search(search: MixtureSearch) -> dict[str, Any]:
    if not hasattr(search, "best_estimator_"):
        raise ValueError("only a fitted model can be saved; call fit on this MixtureSearch first")
    params = _settings(search)
    if isinstance(params["n_components"], range):
        params["n_components"] = list(params["n_components"])
    results = {name: pack(values) for name, values in search.results_.items()}
    return {
        "params": {name: pack(value) for name, value in params.items()},
        "results": results,
        "best": search.best_index_,
    }


def _unpack_search(packed: Mapping[str, Any], best: Any) -> MixtureSearch:
    search = MixtureSearch(**{name: unpack(value) for name, value in packed["params"].items()})
    results = {name: unpack(values) for name, values in packed["results"].items()}
    n = len(results["covariance"])
    whole = all(isinstance(values, np.ndarray) and values.shape == (n,) for values in results.values())
    require(whole and search.criterion in results, f"the results of the search are {sorted(results)}")
    require(isinstance(best, Mixture), f"the best of the search is a {type(best).__name__}")
    require(is_count(packed["best"]) and packed["best"] < n, f"the best of {n} mixtures is number {packed['best']!r}")
    search.results_, search.best_index_ = results, packed["best"]
    return search._use(best)


# -- linear models, which have parameters and no statistics ----------------------------------------------------------


def _pack_linear(model: Linear, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    if not hasattr(model, "coef_"):
        raise ValueError(f"only a fitted model can be saved; call fit on this {type(model).__name__} first")
    params = model.get_params(deep=False)
    if isinstance(params.get("link"), Link):
        params["link"] = str(params["link"])
    values, found = state(model)
    header["model"] = type(model).__name__
    header["params"] = {name: pack(value) for name, value in params.items()}
    header["linear"] = pack(values)
    arrays.update({f"linear.{name}": array for name, array in found.items()})


def _unpack_linear(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Linear:
    model = _LINEAR[header["model"]](**{name: unpack(value) for name, value in header["params"].items()})
    threads(model.n_jobs)
    values, found = unpack(header["linear"]), {name.removeprefix("linear."): each for name, each in arrays.items()}
    if header["version"] == 1:
        values, found = complete(values, found, fit_intercept=model.fit_intercept)
    restore(model, values, found)
    return model
