"""Warnings about the rows that a model was learned from."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from suffice.errors import MissingLabelsWarning, TextColumnWarning, warn_user
from suffice.families import Text
from suffice.families.gaussian.covariance.constant import constant
from suffice.families.text.weights import frequent_words
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Schema
from suffice.statistics.moments import DiagonalMoments, Moments
from suffice.statistics.word_counts import WordCounts
from suffice.tables.labels import LabelCoder

_PRIOR_OUTWEIGHS = (
    "the prior has about as much influence as the data. Scale the weights to a mean of 1, or pass prior=None."
)


def warn_of_incomplete_rows(statistics: ModelStatistics) -> None:
    """Warn of the rows that were left out of covariances, which need every cell."""
    weight = statistics.class_count.sum()
    for block, sums in zip(statistics.schema.blocks, statistics.joint.blocks, strict=True):
        if isinstance(sums, Moments) and not isinstance(sums, DiagonalMoments):
            left_out = weight - sums.count.sum()
            if left_out > 1e-9 * weight:
                warnings.warn(
                    f"rows with missing cells were left out of the covariances of {len(block.columns)} columns: "
                    f"{left_out:g} of {weight:g} by weight. fit uses all of their cells, by EM; partial_fit cannot, "
                    f"unless covariance='diagonal'. Prediction uses the cells that a row has.",
                    UserWarning,
                    stacklevel=3,
                )


def warn_of_missing_labels(coder: LabelCoder, missing_label: Any) -> None:
    """Warn once that EM learns from rows without a label, unless the user has set `missing_label`."""
    if coder.n_missing == 0 or not (isinstance(missing_label, str) and missing_label == "auto"):
        return
    by_mark = coder.n_marked
    if by_mark:
        others = f", and {coder.n_missing - by_mark} have none (None or NaN)" if coder.n_missing > by_mark else ""
        message = (
            f"{by_mark} of {coder.n_rows} rows have the label -1, which was read as a missing label{others}; fit "
            "learns from them by EM. Pass missing_label=-1 if that is intended, or missing_label=None if -1 is a "
            "class."
        )
    else:
        message = (
            f"{coder.n_missing} of {coder.n_rows} rows have no label (None or NaN); fit learns from them too, by EM. "
            f"Pass missing_label=None if that is intended, or drop these rows."
        )
    warn_user(message, MissingLabelsWarning)


def warn_of_text(schema: Schema) -> None:
    """Warn once of the columns that became text by the rule for kinds, and say how to choose."""
    names = [repr(schema.column_labels[column]) for column in schema.read_as_text]
    if names:
        shown, several = ", ".join(names[:5]) + (", …" if len(names) > 5 else ""), len(names) > 1
        warn_user(
            f"the cells of column{'s' * several} {shown} are sentences, so {'they were' if several else 'it was'} read "
            f"as text, as {'bags' if several else 'a bag'} of words; pass families={{{names[0]}: 'text'}} if that is "
            f"intended, or {{{names[0]}: 'categorical'}} to read each cell as one value",
            TextColumnWarning,
        )


def warn_of_no_words(statistics: ModelStatistics) -> None:
    """Warn of columns of text of which no word is read, so that they say nothing."""
    for block, sums in zip(statistics.schema.blocks, statistics.joint.blocks, strict=True):
        if not isinstance(sums, WordCounts) or not isinstance(block.family, Text) or not sums.observed.any():
            continue
        kept = frequent_words(sums, block.family.min_count, block.family.max_words) > 0
        if sums.weight[kept].any():
            continue
        what = (
            f"all words were left out, since none is in {block.family.min_count} documents (min_count); lower it"
            if sums.weight.any()
            else "no words were found, which are runs of two or more letters or digits; Text(tokens=...) finds others"
        )
        name = statistics.schema.column_labels[block.columns[0]]
        warn_user(f"the documents of column {name!r} say nothing: {what}", TextColumnWarning)


def warn_of_tiny_columns(statistics: ModelStatistics) -> None:
    """Warn of columns that vary by so little that their squares underflow, which makes them look constant."""
    names = []
    for block, sums in zip(statistics.schema.blocks, statistics.joint.blocks, strict=True):
        if not isinstance(sums, Moments):
            continue
        with np.errstate(over="ignore", invalid="ignore"):  # too large numbers raise an error elsewhere
            still = constant(sums)
        if still.any():
            rounding = np.finfo(np.float64).eps * np.abs(sums.mean).max(axis=0)
            apart = np.where(sums.count > 0, np.abs(sums.mean - sums.total_mean()), 0.0).max(axis=0)
            varies = still & ((apart > 16.0 * rounding) | (sums.total_variance() > (2.0 * rounding) ** 2))
            names += [statistics.schema.column_labels[block.columns[j]] for j in np.flatnonzero(varies).tolist()]
    if names:
        shown = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
        warn_user(
            f"the numbers of column {shown} differ by less than 1e-145, so that their squares are too small for "
            f"float64; they were treated as constant. Rescale them."
        )


def warn_of_light_rows(weight: float, n_rows: int, size: int, so: str = _PRIOR_OUTWEIGHS) -> None:
    """Warn if the weights, perhaps normalised, make many rows count as few for the number of classes or components."""
    if weight < 0.1 * n_rows and weight < 20 * size:
        warn_user(f"the weights of {n_rows} rows sum to {weight:g}: a weight counts rows, so {so}")
