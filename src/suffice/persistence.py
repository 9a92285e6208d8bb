"""Models on disk: plain arrays and JSON in one zip file. Nothing in it is ever executed.

A model is saved as its settings and its statistics, and estimated again on load, which takes no time and is exact:
estimates are functions of the statistics alone. Where EM was needed they are not, and the parameters are saved too.
Generalised linear models have parameters alone.
"""

from __future__ import annotations

import datetime
import io
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, IntArray
from suffice._version import __version__
from suffice.covariance import Covariance
from suffice.errors import ModelFileError
from suffice.estimators.classifier import GenerativeClassifier
from suffice.estimators.glm import GLM
from suffice.estimators.logistic import LogisticRegression
from suffice.estimators.mixture import Mixture
from suffice.estimators.presets import GaussianDiscriminant, NaiveBayes
from suffice.estimators.soft_kmeans import SoftKMeans
from suffice.families import Family, family_from_config
from suffice.glm.links import Link
from suffice.glm.state import restore, state
from suffice.joint import JointModel
from suffice.labels import as_class_array, class_list
from suffice.model_statistics import ModelStatistics
from suffice.priors import (
    BetaPrior,
    DirichletPrior,
    GammaPrior,
    KnownVariance,
    NormalInverseWishart,
    Prior,
    PseudoCount,
)
from suffice.schema import Block, Categories, Schema
from suffice.statistics import CategoryCounts, JointStatistics, Moments, Statistics, Sums, statistics_from_arrays

FORMAT = "suffice model"
FORMAT_VERSION = 1
_HEADER = "suffice.json"

Model = GenerativeClassifier | Mixture
Linear = GLM | LogisticRegression
#: what a file may hold; a name that is not listed here is refused
_MODELS: dict[str, type[Model]] = {
    model.__name__: model for model in (GenerativeClassifier, NaiveBayes, GaussianDiscriminant, Mixture, SoftKMeans)
}
_PRIORS: dict[str, type[Prior]] = {
    prior.__name__: prior
    for prior in (PseudoCount, NormalInverseWishart, BetaPrior, DirichletPrior, GammaPrior, KnownVariance)
}
_LINEAR: dict[str, type[Linear]] = {model.__name__: model for model in (GLM, LogisticRegression)}


#: what a fit by EM leaves beside its parameters
_FITTED = ("bound_history_", "n_iter_", "converged_", "n_rows_")


def save(model: Model | Linear | ModelStatistics, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, or its statistics, to a file that `load` reads; the file is whole or not there at all.

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
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "written_by": f"suffice {__version__}",
    }
    if isinstance(model, ModelStatistics):
        header["model"] = None
        header["statistics"] = _pack_statistics(model, arrays)
    elif type(model) in _MODELS.values():
        if not hasattr(model, "schema_"):
            raise ValueError(f"only a fitted model can be saved; call fit on this {type(model).__name__} first")
        header["model"] = type(model).__name__
        header["params"] = {name: _pack(value) for name, value in _settings(model).items()}
        if hasattr(model, "statistics_"):
            header["statistics"] = _pack_statistics(model.statistics_, arrays)
        else:  # a mixture that was given its parameters, or is part of another one
            header["schema"] = _pack_schema(model.schema_)
        header["fitted"] = {name: _pack(getattr(model, name)) for name in _FITTED if hasattr(model, name)}
        if isinstance(model, Mixture) or (model._priors is not None and model.estimate != "predictive"):
            _pack_parameters(model._joint, arrays)
    elif isinstance(model, (GLM, LogisticRegression)) and type(model) in _LINEAR.values():
        _pack_linear(model, header, arrays)
    else:
        raise TypeError(f"only Suffice's models and statistics can be saved, not {type(model).__name__}")
    _write_atomically(Path(path), header, arrays)


def _settings(model: Model) -> dict[str, Any]:
    """Return the settings of a model; where it began, and generators, are not kept: they have done their work."""
    params = model.get_params(deep=False)
    if not isinstance(params.get("init", ""), str):
        params["init"] = "k-means++"
    if not isinstance(params.get("random_state"), (int, np.integer)):
        params["random_state"] = None
    return params


def load(path: str | os.PathLike[str]) -> Any:
    """Read what `save` wrote: a model that predicts the same, or statistics.

    No code in the file is run; a damaged or foreign file gives a `ModelFileError` that says what is wrong.
    """
    header, arrays = _read(Path(path))
    try:
        if header["model"] in _LINEAR:
            return _unpack_linear(header, arrays)
        kept = "statistics" in header
        statistics = _unpack_statistics(header["statistics"], arrays) if kept else None
        if header["model"] is None:
            return statistics
        params = {name: _unpack(value) for name, value in header["params"].items()}
        model = _MODELS[header["model"]](**params)
        schema = _unpack_schema(header["schema"]) if statistics is None else statistics.schema
        parameters = _unpack_parameters(schema, None if statistics is None else statistics.class_of, arrays)
        if isinstance(model, Mixture):
            assert parameters is not None
            if statistics is not None:
                model.statistics_ = statistics
            model._know(parameters)
        else:
            assert statistics is not None
            model._adopt(statistics, later=True)
            if parameters is not None:
                model._estimated, model._priors = parameters, ()
        for name, value in header.get("fitted", {}).items():
            if name in _FITTED:
                setattr(model, name, _unpack(value))
        return model
    except (KeyError, TypeError, IndexError, ValueError, AttributeError, AssertionError, RecursionError) as error:
        raise ModelFileError(
            f"{os.fspath(path)} is a Suffice model file with contents that do not fit together ({error!r}); train and "
            f"save the model again"
        ) from error


# -- the file -----------------------------------------------------------------------------------------------------


def _write_atomically(path: Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    text = json.dumps(header, ensure_ascii=False, allow_nan=True)  # before any file is touched
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(_HEADER, text)
                for name, array in arrays.items():
                    buffer = io.BytesIO()
                    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
                    archive.writestr(f"{name}.npy", buffer.getvalue())
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    with path.open("rb") as file:  # a file that cannot be opened says so itself
        try:
            return _read_archive(path, file)
        except ModelFileError:
            raise
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, TypeError) as error:
            raise ModelFileError(
                f"{path} is not a Suffice model file, or is damaged or cut short ({error}); give a whole file that "
                f"suffice.save wrote"
            ) from error


def _read_archive(path: Path, file: IO[bytes]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    with zipfile.ZipFile(file) as archive:
        if _HEADER not in archive.namelist():
            raise ModelFileError(f"{path} is a zip file, but not a Suffice model; give a file that suffice.save wrote")
        header = json.loads(archive.read(_HEADER))
        _require_known_format(path, header)
        arrays = {
            name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
            for name in archive.namelist()
            if name.endswith(".npy")
        }
    return header, arrays


def _require_known_format(path: Path, header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a Suffice model file; give a file that suffice.save wrote")
    if header.get("version") != FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {header.get('version')!r}, written by {header.get('written_by')!r}, but "
            f"suffice {__version__} reads version {FORMAT_VERSION}; update suffice"
        )
    if header.get("model") is not None and str(header["model"]) not in {*_MODELS, *_LINEAR}:
        raise ModelFileError(f"{path} holds a model of the unknown kind {header['model']!r}; update suffice")


# -- the statistics -----------------------------------------------------------------------------------------------


def _pack_statistics(statistics: ModelStatistics, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    schema, joint = statistics.schema, statistics.joint
    arrays["class_count"] = joint.class_count
    if statistics.class_of is not None:
        arrays["class_of"] = statistics.class_of
    for number, block in enumerate(joint.blocks):
        for name, array in block.arrays().items():
            arrays[f"block{number}.{name}"] = array
    packed = _pack_schema(schema)
    for entry, sums in zip(packed["blocks"], joint.blocks, strict=True):
        entry["statistics"] = sums.kind
    return {
        "classes": [_pack(label) for label in class_list(statistics.classes)],
        "classes_dtype": statistics.classes.dtype.str,
        "declared": statistics.declared,
        **packed,
    }


def _pack_schema(schema: Schema) -> dict[str, Any]:
    return {
        "names": schema.names,
        "n_columns": schema.n_columns,
        "library": schema.library,
        "categories": [
            [column, [_pack(value) for value in known.values], known.declared]
            for column, known in schema.categories.items()
        ],
        "blocks": [{"family": _pack(block.family), "columns": block.columns} for block in schema.blocks],
    }


def _unpack_schema(packed: Mapping[str, Any]) -> Schema:
    blocks = [Block(_unpack(entry["family"]), tuple(entry["columns"])) for entry in packed["blocks"]]
    names = packed["names"]
    read = sorted(column for block in blocks for column in block.columns)
    if read != list(range(packed["n_columns"])) or (names is not None and len(names) != len(read)):
        raise ValueError(f"the blocks read the columns {read} of {packed['n_columns']}")
    return Schema(
        None if names is None else tuple(names),
        packed["n_columns"],
        tuple(blocks),
        {
            column: Categories(tuple(_unpack(value) for value in values), declared)
            for column, values, declared in packed["categories"]
        },
        packed["library"],
    )


def _unpack_statistics(packed: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ModelStatistics:
    schema = _unpack_schema(packed)
    sums = [
        statistics_from_arrays(entry["statistics"], _of_block("block", number, arrays))
        for number, entry in enumerate(packed["blocks"])
    ]
    class_of = _unpack_class_of(arrays, len(packed["classes"]))
    k = len(packed["classes"]) if class_of is None else len(class_of)
    _require_whole(schema, sums, np.asarray(arrays["class_count"]), k)
    classes = as_class_array([_unpack(label) for label in packed["classes"]], np.dtype(packed["classes_dtype"]))
    joint = JointStatistics(np.array(arrays["class_count"]), tuple(sums))
    return ModelStatistics(classes, schema, joint, packed["declared"], class_of)


def _unpack_class_of(arrays: Mapping[str, NDArray[Any]], n_classes: int) -> IntArray | None:
    """Return which class each component belongs to; None where each class is one."""
    if "class_of" not in arrays:
        return None
    class_of = np.array(arrays["class_of"])
    ends = (class_of[0], class_of[-1])
    if class_of.dtype.kind != "i" or ends != (0, n_classes - 1) or not np.isin(np.diff(class_of), (0, 1)).all():
        raise ValueError(f"the classes of the components are {class_of.tolist()}, of {n_classes} classes")
    return class_of.astype(np.intp)


def _require_whole(schema: Schema, sums: Sequence[Statistics], class_count: FloatArray, k: int) -> None:
    """Raise unless the arrays are the sums of this schema and these classes."""
    if class_count.shape != (k,) or not (class_count >= 0).all():
        raise ValueError(f"the weights of {k} classes are {class_count}")
    for block, statistics in zip(schema.blocks, sums, strict=True):
        for name, array in statistics.arrays().items():
            if not np.isfinite(array).all() or (name in statistics.class_fields and len(array) != k):
                raise ValueError(f"the {name} of {block.family!r} has shape {array.shape} or is not finite")
        if isinstance(statistics, CategoryCounts) and not np.array_equal(statistics.sizes, schema.sizes(block)):
            raise ValueError(f"{block.family!r} has counts of {statistics.sizes.tolist()} values")
        if isinstance(statistics, Sums):
            widths = statistics.count.shape[1], statistics.total.shape[1]
            nothing = block.family.empty(k, len(block.columns))
            if not isinstance(nothing, Sums) or widths != (nothing.count.shape[1], nothing.total.shape[1]):
                raise ValueError(f"{block.family!r} has sums of {widths} columns")
        if isinstance(statistics, Moments) and statistics.center.shape[1] != len(block.columns):
            raise ValueError(f"{block.family!r} has sums of {statistics.center.shape[1]} columns")


# -- the parameters, where EM was needed ---------------------------------------------------------------------------


def _pack_parameters(model: JointModel, arrays: dict[str, NDArray[Any]]) -> None:
    arrays["log_prior"] = model.log_prior
    for number, distributions in enumerate(model.distributions):
        for name, array in distributions.parameters().items():
            arrays[f"parameters{number}.{name}"] = array


def _unpack_parameters(
    schema: Schema, class_of: IntArray | None, arrays: Mapping[str, NDArray[Any]]
) -> JointModel | None:
    if "log_prior" not in arrays:
        return None
    log_prior = np.array(arrays["log_prior"])
    distributions = []
    for number, block in enumerate(schema.blocks):
        found = block.family.with_parameters(_of_block("parameters", number, arrays))
        if found.n_classes != len(log_prior) or len(log_prior) != len(arrays.get("class_count", log_prior)):
            raise ValueError(f"there are parameters of {found.n_classes} classes, but {len(log_prior)} shares")
        distributions.append(found)
    return JointModel(schema, log_prior, tuple(distributions), class_of)


def _of_block(kind: str, number: int, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of one block, by their own names."""
    prefix = f"{kind}{number}."
    return {name.removeprefix(prefix): np.array(a) for name, a in arrays.items() if name.startswith(prefix)}


# -- linear models, which have parameters and no statistics ----------------------------------------------------------


def _pack_linear(model: Linear, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    if not hasattr(model, "coef_"):
        raise ValueError(f"only a fitted model can be saved; call fit on this {type(model).__name__} first")
    params = model.get_params(deep=False)
    if isinstance(params.get("link"), Link):
        params["link"] = str(params["link"])
    values, found = state(model)
    header["model"] = type(model).__name__
    header["params"] = {name: _pack(value) for name, value in params.items()}
    header["linear"] = _pack(values)
    arrays.update({f"linear.{name}": array for name, array in found.items()})


def _unpack_linear(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Linear:
    model = _LINEAR[header["model"]](**{name: _unpack(value) for name, value in header["params"].items()})
    restore(model, _unpack(header["linear"]), {name.removeprefix("linear."): array for name, array in arrays.items()})
    return model


# -- values -------------------------------------------------------------------------------------------------------


def _pack(value: Any) -> Any:
    """Return a parameter as JSON; what is not a plain value says what it is."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return {"time": str(value.astype(np.int64)), "dtype": value.dtype.str}
    if isinstance(value, np.generic):
        return _pack(value.item())
    if isinstance(value, (datetime.datetime, datetime.date)):
        return {"date": value.isoformat(), "clock": isinstance(value, datetime.datetime)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Covariance):
        return value.name
    if isinstance(value, type) and issubclass(value, Family):
        value = value()  # a class stands for the family with its own settings
    if isinstance(value, Family):
        return {"family": value.name, "config": value.config()}
    if isinstance(value, Prior) and type(value).__name__ in _PRIORS:
        return {"prior": type(value).__name__, "config": {name: _pack(v) for name, v in vars(value).items()}}
    if isinstance(value, np.ndarray):
        return {"array": _pack(value.tolist())}
    if isinstance(value, tuple):
        return {"tuple": [_pack(item) for item in value]}
    if isinstance(value, list):
        return [_pack(item) for item in value]
    if isinstance(value, Mapping):
        return {"mapping": [[_pack(key), _pack(item)] for key, item in value.items()]}
    raise TypeError(
        f"{value!r} of type {type(value).__name__} cannot be saved without pickle; use numbers, words, booleans, "
        f"families and priors"
    )


_UNPACKERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "family": lambda packed: family_from_config(packed["family"], packed["config"]),
    "prior": lambda packed: _PRIORS[packed["prior"]](
        **{name: _unpack(value) for name, value in packed["config"].items()}
    ),
    "time": lambda packed: np.array([int(packed["time"])], dtype=np.int64).view(packed["dtype"])[0],
    "date": lambda packed: (datetime.datetime if packed["clock"] else datetime.date).fromisoformat(packed["date"]),
    "bytes": lambda packed: bytes.fromhex(packed["bytes"]),
    "array": lambda packed: np.array(packed["array"]),
    "tuple": lambda packed: tuple(_unpack(item) for item in packed["tuple"]),
    "mapping": lambda packed: {_unpack(key): _unpack(item) for key, item in packed["mapping"]},
}


def _unpack(packed: Any) -> Any:
    if isinstance(packed, list):
        return [_unpack(item) for item in packed]
    if isinstance(packed, dict):
        for name, unpacker in _UNPACKERS.items():
            if name in packed:
                return unpacker(packed)
        raise ValueError(f"a value of an unknown kind: {sorted(packed)}")
    return packed
