"""Conversion of statistics and parameters to JSON and plain arrays, and back; inconsistent ones raise ValueError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from suffice._arrays import FloatArray, IntArray
from suffice.families import Categorical, Codes, Distributions, Family, Gaussian, Text
from suffice.models.joint import JointModel
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Block, Categories, Schema
from suffice.persistence.values import is_count, pack, require, unpack
from suffice.statistics.base import Statistics, statistics_from_arrays
from suffice.statistics.category_counts import CategoryCounts
from suffice.statistics.joint import JointStatistics
from suffice.statistics.moments import Moments
from suffice.statistics.sums import Sums
from suffice.statistics.value_counts import ValueCounts
from suffice.statistics.word_counts import WordCounts
from suffice.tables.labels import as_class_array, class_list
from suffice.tables.words import Bags

# -- the statistics -----------------------------------------------------------------------------------------------


def pack_statistics(statistics: ModelStatistics, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the classes and schema of the statistics as JSON, and put their sums into `arrays`."""
    schema, joint = statistics.schema, statistics.joint
    arrays["class_count"] = joint.class_count
    if statistics.class_of is not None:
        arrays["class_of"] = statistics.class_of
    for number, block in enumerate(joint.blocks):
        for name, array in block.arrays().items():
            arrays[f"block{number}.{name}"] = array
    packed = pack_schema(schema)
    for entry, sums in zip(packed["blocks"], joint.blocks, strict=True):
        entry["statistics"] = sums.kind
    return {
        **pack_classes(statistics.classes),
        "declared": statistics.declared,
        **packed,
    }


def pack_schema(schema: Schema) -> dict[str, Any]:
    """Return a schema as JSON."""
    return {
        "names": schema.names,
        "n_columns": schema.n_columns,
        "library": schema.library,
        "categories": [
            [column, [pack(value) for value in known.values], known.declared]
            for column, known in schema.categories.items()
        ],
        "blocks": [{"family": pack(block.family), "columns": block.columns} for block in schema.blocks],
    }


def unpack_schema(packed: Mapping[str, Any]) -> Schema:
    """Return the schema that `pack_schema` packed."""
    blocks = [Block(unpack(entry["family"]), tuple(entry["columns"])) for entry in packed["blocks"]]
    names, n_columns, library = packed["names"], packed["n_columns"], packed["library"]
    read = sorted(column for block in blocks for column in block.columns)
    require(
        is_count(n_columns) and all(map(is_count, read)) and read == list(range(n_columns)),
        f"the blocks read the columns {read} of {n_columns}",
    )
    require(all(isinstance(block.family, Family) for block in blocks), "a block has no family")
    _require_names(names, n_columns)
    require(library is None or isinstance(library, str), f"the library is {library!r}")
    categories: dict[int, Categories] = {}
    for column, listed, declared in packed["categories"]:
        values = tuple(unpack(value) for value in listed)
        require(
            column in read and isinstance(declared, bool) and len(set(values)) == len(values),
            f"the values of column {column!r} are not distinct, or not those of a column",
        )
        categories[column] = Categories(values, declared)
    texts = [block.columns[0] for block in blocks if isinstance(block.family, Text)]
    require(
        all(isinstance(word, str) for column in texts for word in categories.get(column, Categories()).values),
        "a word of a text column is not text",
    )
    return Schema(None if names is None else tuple(names), n_columns, tuple(blocks), categories, library)


def _require_names(names: Any, n_columns: int) -> None:
    words = names is None or (isinstance(names, list) and all(isinstance(name, str) for name in names))
    require(words and (names is None or len(set(names)) == len(names) == n_columns), f"the names are {names!r}")


def unpack_statistics(packed: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ModelStatistics:
    """Return the statistics that `pack_statistics` packed."""
    schema = unpack_schema(packed)
    sums = [
        statistics_from_arrays(entry["statistics"], _of_block("block", number, arrays))
        for number, entry in enumerate(packed["blocks"])
    ]
    classes = unpack_classes(packed)
    class_of = _unpack_class_of(arrays, len(classes))
    _require_whole(schema, sums, arrays["class_count"], len(classes) if class_of is None else len(class_of))
    require(isinstance(packed["declared"], bool), f"declared is {packed['declared']!r}")
    joint = JointStatistics(arrays["class_count"], tuple(sums))
    return ModelStatistics(classes, schema, joint, packed["declared"], class_of)


def pack_classes(classes: NDArray[Any]) -> dict[str, Any]:
    """Return the labels of the classes as JSON."""
    return {"classes": [pack(label) for label in class_list(classes)], "classes_dtype": classes.dtype.str}


def unpack_classes(packed: Mapping[str, Any]) -> NDArray[Any]:
    """Return the labels of the classes; raise ValueError if they are not distinct."""
    labels, dtype = packed["classes"], packed["classes_dtype"]
    kind = np.dtype(dtype)
    require(kind.kind in "biufOUSmM", f"labels are of type {dtype!r}")
    classes = as_class_array([unpack(label) for label in labels], kind)
    require(len(set(class_list(classes))) == len(labels) > 0, f"the classes are {labels!r}")
    return classes


def _unpack_class_of(arrays: Mapping[str, NDArray[Any]], n_classes: int) -> IntArray | None:
    """Return the class of each component; None if every class has one component."""
    if "class_of" not in arrays:
        return None
    class_of = np.array(arrays["class_of"])
    ends = (class_of[0], class_of[-1])
    if class_of.dtype.kind != "i" or ends != (0, n_classes - 1) or not np.isin(np.diff(class_of), (0, 1)).all():
        raise ValueError(f"the classes of the components are {class_of.tolist()}, of {n_classes} classes")
    return class_of.astype(np.intp)


def _require_whole(schema: Schema, sums: Sequence[Statistics], class_count: FloatArray, k: int) -> None:
    """Raise ValueError unless the arrays have the shapes, types and signs of sums for this schema and k classes."""
    require(
        class_count.shape == (k,) and class_count.dtype == np.float64 and bool(_is_weight(class_count).all()),
        f"the weights of {k} classes are {class_count}",
    )
    for block, statistics in zip(schema.blocks, sums, strict=True):
        for name, expected in _empty(schema, block, statistics, k).arrays().items():
            array = getattr(statistics, name)
            require(
                array.shape == expected.shape and array.dtype == expected.dtype and bool(np.isfinite(array).all()),
                f"the {name} of {block.family!r} has shape {array.shape} and type {array.dtype}, or is not finite",
            )
        weights = [getattr(statistics, name, None) for name in ("count", "sizes")]
        if isinstance(statistics, ValueCounts):
            weights += [getattr(statistics, name) for name in statistics.class_fields]
        elif type(statistics) is Sums:  # other sums may be negative
            weights.append(statistics.total)
        require(
            all(_is_weight(array).all() for array in weights if array is not None),
            f"a weight of {block.family!r} is negative",
        )


def _is_weight(array: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isfinite(array) & (array >= 0)


def _empty(schema: Schema, block: Block, statistics: Statistics, k: int) -> Statistics:
    """Return empty statistics whose arrays have the shapes that those of a block must have."""
    d = len(block.columns)
    if isinstance(block.family, Categorical):
        nothing: Statistics = CategoryCounts.empty(k, schema.sizes(block))
    elif isinstance(block.family, Text):
        nothing = WordCounts.empty(k, int(schema.sizes(block)[0]))
    elif isinstance(statistics, Moments) and isinstance(block.family, Gaussian):
        nothing = type(statistics).empty(k, d)  # the moments may have more than the family needs
    else:
        nothing = block.family.empty(k, d)
    require(
        type(statistics) is type(nothing)
        and (not isinstance(nothing, ValueCounts) or np.array_equal(nothing.sizes, statistics.arrays()["sizes"])),
        f"{block.family!r} has statistics of another kind or size",
    )
    return nothing


# -- the parameters, for models fitted by EM ---------------------------------------------------------------------------


def pack_parameters(model: JointModel, arrays: dict[str, NDArray[Any]]) -> None:
    """Put the parameters of a model into `arrays`."""
    arrays["log_prior"] = model.log_prior
    for number, distributions in enumerate(model.distributions):
        for name, array in distributions.parameters().items():
            arrays[f"parameters{number}.{name}"] = array


def unpack_parameters(
    schema: Schema, class_of: IntArray | None, arrays: Mapping[str, NDArray[Any]]
) -> JointModel | None:
    """Return the model whose parameters the arrays hold; None if they hold none."""
    if "log_prior" not in arrays:
        return None
    log_prior = arrays["log_prior"]
    k = len(arrays.get("class_count", log_prior))
    require(
        log_prior.shape == (k,) and log_prior.dtype == np.float64 and bool((log_prior <= 1e-9).all()),
        f"the logarithms of {k} shares are {log_prior}",
    )
    distributions = []
    for number, block in enumerate(schema.blocks):
        own = _of_block("parameters", number, arrays)
        _require_shapes(own, schema, block, k)
        found = block.family.with_parameters(own)
        require_numbers(found)
        _require_scores(found, schema, block, k)
        distributions.append(found)
    return JointModel(schema, log_prior, tuple(distributions), class_of)


def _require_shapes(arrays: Mapping[str, NDArray[Any]], schema: Schema, block: Block, k: int) -> None:
    """Raise ValueError unless the parameters of a block have the shapes that compiled code relies on."""
    d = len(block.columns)
    shapes: dict[str, tuple[int, ...]] = {**dict.fromkeys(arrays, (k, d)), "mean_size": (k,), "constant": (d,)}
    if isinstance(block.family, Categorical):
        sizes = schema.sizes(block)
        shapes |= {"probability": (k, int(sizes.sum())), "sizes": (d,)}
        require(np.array_equal(sizes, arrays["sizes"]), f"columns of {sizes} values have {arrays['sizes']} of them")
    elif isinstance(block.family, Text):
        size = int(schema.sizes(block)[0])
        shapes |= {"probability": (k, size), "word_weight": (size,)}
    elif isinstance(block.family, Gaussian):  # one covariance may be shared by all classes
        common = min(len(arrays["compact"]), k)
        require(common in (1, k), f"there are {common} covariances of {k} classes")
        shapes["compact"] = (common, d) if block.family.structure.diagonal else (common, d, d)
    kinds = {"sizes": np.dtype(np.intp), "constant": np.dtype(np.bool_)}
    for name, array in arrays.items():
        kind = kinds.get(name, np.dtype(np.float64))
        require(array.shape == shapes[name] and array.dtype == kind, f"{name} has shape {array.shape}")


def _require_scores(found: Distributions, schema: Schema, block: Block, k: int) -> None:
    """Raise ValueError unless the distributions can score a row of the block."""
    d = len(block.columns)
    if isinstance(block.family, Categorical):
        scores = found.score(Codes(np.zeros((1, d), dtype=np.intp), schema.sizes(block)))
    elif isinstance(block.family, Text):
        nothing = Bags(csr_array((1, int(schema.sizes(block)[0]))), np.zeros(1), np.zeros(1, dtype=bool))
        scores = found.score(nothing, common=False)
    else:
        row = found.sample(np.zeros(1, dtype=np.intp), np.random.default_rng(0))
        require(row.shape == (1, d), f"a row of {block.family!r} has shape {row.shape}")
        scores = found.score(row)
    require(scores.shape == (1, k) and not np.isnan(scores).any(), f"the parameters of {block.family!r} give {scores}")


def _of_block(kind: str, number: int, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of one block, with the prefix of their names removed."""
    prefix = f"{kind}{number}."
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}


def require_numbers(distributions: Distributions) -> None:
    """Raise ValueError if a parameter is NaN."""
    for name, values in distributions.parameters().items():
        if isinstance(values, np.ndarray):
            require(not np.isnan(values).any(), f"the {name} of {distributions.family!r} is not a number")
