"""The joint model whose parameters are given: class probabilities, and a distribution per column and class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice.families import Bernoulli, Categorical, Distribution, Distributions, Gaussian
from suffice.families.categorical_distributions import CategoricalDistributions
from suffice.families.gaussian import GaussianDistributions
from suffice.families.text import WordDistributions
from suffice.families.usual import SHARE, as_mapping, require_sum_of_1
from suffice.models.joint import JointModel
from suffice.models.schema import Block, Categories, Schema
from suffice.posteriors.predictive import Predictive
from suffice.tables.factorize import is_missing
from suffice.tables.labels import as_class_array, class_list, sorted_order


def given_classes(class_prior: Any) -> tuple[NDArray[Any], FloatArray]:
    """Return the classes, sorted, and the logarithms of their probabilities, from a mapping of class to probability."""
    prior = as_mapping(class_prior)
    if prior is None or len(prior) < 2:
        raise ValueError(
            f"class_prior must map each of two classes or more to its probability, such as "
            f"{{'spam': 0.3, 'ham': 0.7}}, but is {class_prior!r}"
        )
    labels = list(prior)
    if any(is_missing(label) for label in labels):
        raise ValueError(f"None and NaN are missing labels, not classes, but class_prior is {class_prior!r}")
    labels = [labels[c] for c in sorted_order(labels)]
    try:
        share = np.array([prior[label] for label in labels], dtype=np.float64)
    except (TypeError, ValueError):
        share = np.full(len(labels), np.nan)
    if not SHARE.holds(share):
        raise ValueError(f"class_prior must hold {SHARE.said}, but is {class_prior!r}")
    require_sum_of_1(share, "the probabilities in class_prior")
    with np.errstate(divide="ignore"):
        return as_class_array(labels, None), np.log(share)


def given_model(class_prior: Any, columns: Any) -> tuple[NDArray[Any], JointModel]:
    """Return the classes and the model with these probabilities of the classes and distributions of the columns.

    Parameters
    ----------
    class_prior : mapping of class to probability
    columns : mapping of column, or of a tuple of columns, to a mapping of class to distribution
        See `GenerativeClassifier.from_parameters`.
    """
    classes, log_prior = given_classes(class_prior)
    if not isinstance(columns, Mapping) or not columns:
        raise ValueError(
            f"columns must map each column to its distribution in every class, such as {{'cough': {{'flu': 0.8, "
            f"'no flu': 0.2}}}}, but is {columns!r}"
        )
    names = [name for key in columns for name in (key if isinstance(key, tuple) else (key,))]
    places, order = {name: place for place, name in enumerate(names)}, _order(names)
    if len(places) < len(names):
        raise ValueError(f"a column has one distribution per class, but some are named twice in {names}")
    blocks, distributions, categories = [], [], {}
    for key, of_classes in columns.items():
        own = key if isinstance(key, tuple) else (key,)
        found = together(_of_classes(key, of_classes, class_list(classes)), f"column {key!r}")
        if found.n_columns != len(own):
            raise ValueError(
                f"column {key!r} has a distribution of {found.n_columns} columns; a tuple of names stands for several"
            )
        positions = tuple(order[places[name]] for name in own)
        if isinstance(found, CategoricalDistributions):
            values = found.family.values or [list(range(size)) for size in found.sizes.tolist()]
            categories.update({c: Categories(tuple(v), True) for c, v in zip(positions, values, strict=True)})
        blocks.append(Block(_plain(found), positions))
        distributions.append(found)
    named = tuple(names) if isinstance(names[0], str) else None
    schema = Schema(named, len(names), tuple(blocks), categories)
    return classes, JointModel(schema, log_prior, tuple(distributions))


def gaussian_model(
    class_prior: Any, means: Any, covariance: Any, columns: Sequence[str] | None
) -> tuple[NDArray[Any], JointModel]:
    """Return the classes and the model of one Gaussian block; see `GaussianDiscriminant.from_parameters`."""
    classes, log_prior = given_classes(class_prior)
    labels = class_list(classes)
    own_means = [list(one.values()) if isinstance(one, dict) else one for one in _per_class(means, labels, "means")]
    if hasattr(covariance, "columns") and list(covariance.columns) == list(
        covariance.index
    ):  # as `frame.cov()` returns
        covariance = covariance.to_numpy()
    each = as_mapping(covariance) is not None or _n_dimensions(covariance) == 3
    spreads = _per_class(covariance, labels, "covariance") if each else [covariance] * len(labels)
    parts = [Gaussian.from_parameters(mean=m, covariance=s) for m, s in zip(own_means, spreads, strict=True)]
    found = together(parts, "the Gaussian")
    names = None if columns is None else tuple(columns)
    if names is not None and len(set(names)) != found.n_columns:
        raise ValueError(f"columns must name {found.n_columns} columns, each once, but names {list(names)}")
    block = Block(found.family, tuple(range(found.n_columns)))
    return classes, JointModel(Schema(names, found.n_columns, (block,)), log_prior, (found,))


def _order(names: Sequence[Any]) -> list[int]:
    """Return the position of each column: as listed if they are words, by their numbers otherwise."""
    if all(isinstance(name, str) for name in names):
        return list(range(len(names)))
    whole = [int(name) for name in names if isinstance(name, (int, np.integer)) and not isinstance(name, bool)]
    if sorted(whole) != list(range(len(names))):
        raise ValueError(
            f"the columns must be names, or the positions 0, …, {len(names) - 1} of all columns, but are {list(names)}"
        )
    return [int(name) for name in names]


def _per_class(given: Any, labels: list[Any], what: str) -> list[Any]:
    """Return what belongs to each class, in the order of the classes."""
    found = as_mapping(given)
    if found is None:
        listed = list(given) if _n_dimensions(given) > 0 else []
        if len(listed) != len(labels):
            raise ValueError(
                f"{what} must be a mapping of each class to its own, or an array of one per class in the order of "
                f"{labels}, but is {given!r}"
            )
        return listed
    if set(found) != set(labels):
        raise ValueError(f"{what} must name every class, {labels}, but names {list(found)}")
    return [found[label] for label in labels]


def _n_dimensions(given: Any) -> int:
    try:
        return np.ndim(given)
    except ValueError:  # lists of several lengths
        return 1


def _of_classes(key: Any, given: Any, labels: list[Any]) -> list[Distribution]:
    found = as_mapping(given)
    if found is None:
        raise ValueError(f"column {key!r} must map each class to its distribution, but is {given!r}")
    return [_distribution(key, own) for own in _per_class(found, labels, f"column {key!r}")]


def _distribution(key: Any, given: Any) -> Distribution:
    """Return a distribution; a number is the probability of 1, and a mapping that of each value."""
    if isinstance(given, Distribution):
        return given
    try:
        if isinstance(given, (Real, np.number)):
            return Bernoulli.from_parameters(probability=given)
        table = as_mapping(given)
        if table is not None:
            return Categorical.from_parameters(probability=table)
    except ValueError as error:
        raise ValueError(f"column {key!r}: {error}") from None
    raise ValueError(
        f"column {key!r} has {given!r} for a class; give a distribution, such as Gaussian.from_parameters(mean=0, "
        f"variance=1), a mapping of values to probabilities, or the probability of 1"
    )


def together(parts: Sequence[Distribution], what: str) -> Any:
    """Return the distributions of several classes, one each, as one object; ValueError if they do not fit together."""
    made: list[Any] = [_alone(part) for part in parts]
    kinds = {type(one) for one in made}
    families = {repr(one.family) for one in made}
    if len(kinds) > 1 or (len(families) > 1 and not kinds <= {GaussianDistributions, CategoricalDistributions}):
        raise ValueError(f"{what} must have one family in all classes, but has {', '.join(map(repr, parts))}")
    if len({one.n_columns for one in made}) > 1:
        raise ValueError(f"{what} must have as many columns in all classes, but has {', '.join(map(repr, parts))}")
    if isinstance(made[0], GaussianDistributions):
        return _gaussians(made)
    if isinstance(made[0], CategoricalDistributions):
        return _categoricals(made)
    arrays = [one.parameters() for one in made]
    return made[0].family.with_parameters({name: np.concatenate([own[name] for own in arrays]) for name in arrays[0]})


def _alone(part: Distribution) -> Distributions:
    """Return a distribution as that of one class."""
    everything, c = part._together, part._c
    if isinstance(everything, Predictive):
        raise ValueError(f"{part!r} is an average over parameters; give a distribution with parameters of its own")
    if isinstance(everything, WordDistributions):
        raise ValueError(
            f"{part!r} has a dictionary of its own, so that those of several classes do not fit together; fit "
            f"NaiveBayes('text') to documents, or give a Multinomial with one column per word"
        )
    k = everything.n_classes
    arrays = everything.parameters()
    arrays.pop("constant", None)
    shared = {"sizes"}  # the same for all classes
    own = {
        name: values if name in shared else values[c : c + 1] if len(values) == k else values[:1]
        for name, values in arrays.items()
    }
    found = everything.family.with_parameters(own)
    if isinstance(found, CategoricalDistributions):  # `with_parameters` of the family keeps the user's values
        return CategoricalDistributions(found.probability, found.sizes, found.unseen_mass, everything.family)  # type: ignore[arg-type]
    return found


def _gaussians(made: Sequence[Any]) -> GaussianDistributions:
    """Return Gaussians with one covariance if it is the same in all classes, which makes the log-odds linear."""
    diagonal = all(one.family.structure.diagonal for one in made)
    spreads = [one.variance()[0] if diagonal else one.covariance()[0] for one in made]
    same = all(np.array_equal(spread, spreads[0]) for spread in spreads)
    structure = ("tied-" if same else "") + "diagonal" if diagonal else "tied" if same else "full"
    means = np.concatenate([one.means for one in made])
    return GaussianDistributions(Gaussian(structure), means, np.stack(spreads[:1] if same else spreads))


def _categoricals(made: Sequence[CategoricalDistributions]) -> CategoricalDistributions:
    """Return the tables of all classes over the values that any of them has."""
    listed = [one.family.values or [list(range(size)) for size in one.sizes.tolist()] for one in made]
    columns = [list(dict.fromkeys(value for own in listed for value in own[j])) for j in range(len(made[0].sizes))]
    if len({one.family.unseen for one in made}) > 1:
        raise ValueError("the setting unseen of a Categorical column must be the same in all classes")
    sizes = np.array([len(values) for values in columns], dtype=np.intp)
    probability = np.zeros((len(made), int(sizes.sum())))
    for c, (one, own) in enumerate(zip(made, listed, strict=True)):
        start, read = 0, 0
        for values, known in zip(columns, own, strict=True):
            place = {value: start + v for v, value in enumerate(values)}
            probability[c, [place[value] for value in known]] = one.probability[0, read : read + len(known)]
            start, read = start + len(values), read + len(known)
    unseen = np.concatenate([one.unseen_mass for one in made])
    family = Categorical.of_values(columns, made[0].family.unseen).of_sizes(sizes)
    return CategoricalDistributions(probability, sizes, unseen, family)


def _plain(found: Any) -> Any:
    """Return the family of a block: categories belong to the schema, not to the family."""
    return Categorical(found.family.unseen) if isinstance(found, CategoricalDistributions) else found.family
