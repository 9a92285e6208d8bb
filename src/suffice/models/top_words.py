"""The words that speak most for each class or component of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.families import Text
from suffice.families.products import log_of
from suffice.models.joint import JointModel, log_sums
from suffice.models.one_line import in_one_line
from suffice.models.schema import find_column


class TopWords(Mapping[Any, list[tuple[str, float]]]):
    """The words that speak most for each class, with how much: ``p log(p / q)``.

    p is the probability of the word in the class, and q its average over the other classes. The value is what the word
    adds to the log-odds of the class against the others, on average per word of its documents, or per document under
    the Bernoulli model. It is a mapping from classes to lists of (word, value), largest values first.
    """

    def __init__(self, found: Mapping[Any, list[tuple[str, float]]]) -> None:
        self._found = dict(found)

    def __getitem__(self, label: Any) -> list[tuple[str, float]]:
        return self._found[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"<TopWords of {len(self)} classes>"

    def __str__(self) -> str:
        width = max((len(str(label)) for label in self), default=0)
        lines = []
        for label, words in self._found.items():
            shown = ", ".join(f"{in_one_line(word, 30) or repr(word)} {value:.2g}" for word, value in words)
            lines.append(f"{label!s:<{width}}  {shown}".rstrip())
        return "\n".join(lines)


def top_words(
    model: JointModel, statistics: Sequence[Any] | None, labels: Sequence[Any], n: int, column: Any
) -> TopWords:
    """Return the top words of one text column of a model, of which there must be one if `column` is None.

    Parameters
    ----------
    statistics : sequence of Statistics, or None
        The statistics of the blocks, from which complement models need the probabilities of the words.
    labels : sequence
        The names of the classes.
    """
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"n must be a whole number of at least 1, but is {n!r}")
    schema = model.schema
    texts = [number for number, block in enumerate(schema.blocks) if isinstance(block.family, Text)]
    if not texts:
        raise ValueError("top words are those of a column of text, but the model has none; see families={...: 'text'}")
    if column is None and len(texts) > 1:
        names = ", ".join(repr(schema.column_labels[schema.blocks[number].columns[0]]) for number in texts)
        raise ValueError(f"the model has {len(texts)} columns of text; choose one of {names} by top_words(column=...)")
    place = schema.blocks[texts[0]].columns[0] if column is None else find_column(schema, column, "`column`")
    number = next(number for number, block in enumerate(schema.blocks) if place in block.columns)
    family = schema.blocks[number].family
    if not isinstance(family, Text):
        raise ValueError(f"top words are those of a column of text, but {column!r} is read by {family!r}")
    found = model.distributions[number]
    if family.complement:
        if statistics is None:
            raise ValueError("the words of a complement model need its statistics, which this model does not have")
        found = Text(**{**family.config(), "complement": False}).estimate(statistics[number])
    p: FloatArray = found.probability  # type: ignore[attr-defined]
    prior = np.exp(model.log_prior)
    if model.class_of is not None:
        p, prior = _of_classes(model, p), np.exp(log_sums(model.log_prior[None], model.class_of)[0])
    words = schema.categories[place].values if place in schema.categories else None
    everything = prior @ p
    top = {}
    for c, label in enumerate(labels):
        others = (everything - prior[c] * p[c]) / max(prior.sum() - prior[c], np.finfo(float).tiny)
        with np.errstate(invalid="ignore"):
            value = np.where(p[c] > 0, p[c] * (log_of(p[c]) - log_of(np.maximum(others, 0.0))), 0.0)
        if len(labels) == 1:
            value = p[c]
        places = np.argsort(-value, kind="stable")[:n]
        top[label] = [
            (f"bucket {j}" if words is None else str(words[j]), float(value[j]))
            for j in places.tolist()
            if value[j] > 0
        ]
    return TopWords(top)


def _of_classes(model: JointModel, p: FloatArray) -> FloatArray:
    """Return the probabilities of words in each class, averaged over its components."""
    assert model.class_of is not None
    share = np.zeros((model.n_classes, len(p)))
    share[model.class_of, np.arange(len(p))] = np.exp(model.log_shares)
    return share @ p
