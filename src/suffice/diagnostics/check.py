"""Checks of a generative model's assumptions on rows and their classes, reported in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from suffice._arrays import FloatArray, IntArray, to_float64
from suffice.diagnostics.dependence import dependence, residuals
from suffice.diagnostics.identifiers import identifiers_sentence, row_numbers, unique_values
from suffice.diagnostics.measures import Measure, box_m, box_m_of_columns, dispersion, mardia, skewed_columns
from suffice.families import Codes, Gaussian, Multinomial, Poisson, Text
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Block, Encoder, Schema
from suffice.tables.labels import class_list
from suffice.tables.results import result_frame
from suffice.tables.words import Bags

#: the largest number of rows to check; more would take longer without changing the result
MOST_ROWS = 20_000
#: effects in nats per row from which an assumption is doubtful or broken
DOUBTFUL, BROKEN = 0.05, 0.3
#: the significance level
_SURE = 0.01
#: the largest number of column pairs named in a sentence
_NAMED = 3
#: the smallest number of rows of a class that is tested
_FEWEST_ROWS = 10
#: the largest number of columns whose pairs are checked
_MOST_COLUMNS = 1000
_SHARED = ("EEE", "EEI", "EII", "III")
_ORDER = ("broken", "doubtful", "holds", "not checked")


@dataclass(frozen=True)
class Finding:
    """The result for one assumption: the verdict, the effect in nats per row, the p-value and a sentence."""

    assumption: str
    verdict: str
    effect: float
    p: float
    sentence: str


@dataclass(frozen=True)
class Check:
    """The findings about all assumptions, the worst first.

    ``print(check)`` shows one sentence per finding. An effect is the average loss of a row's log-density due to the
    assumption: below 0.05 the assumption holds for practical purposes, from 0.3 on it is broken.
    """

    findings: tuple[Finding, ...]
    n_rows: int
    n_classes: int
    #: the data-frame library of the training table
    library: str | None = None

    @property
    def holds(self) -> bool:
        """Whether no assumption is broken or doubtful."""
        return not any(finding.verdict in ("broken", "doubtful") for finding in self.findings)

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame with one row per finding: "assumption", "verdict", "effect", "p" and "sentence".

        Parameters
        ----------
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default that of the training table, or one that is installed.
        """
        names = [field.name for field in fields(Finding)]
        columns = {name: [getattr(finding, name) for finding in self.findings] for name in names}
        return result_frame(columns, library, known=self.library)

    def __str__(self) -> str:
        width = max((len(finding.verdict) for finding in self.findings), default=0)
        lines = [f"Checked {self.n_rows:,} rows of {self.n_classes} classes."]
        lines += [f"  {finding.verdict:<{width}}  {finding.sentence}" for finding in self.findings]
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True)
class _Sample:
    """Rows as one array per block, and the class code of each row."""

    schema: Schema
    blocks: tuple[Any, ...]
    codes: IntArray
    classes: Sequence[Any]

    def groups(self, rows: FloatArray) -> Iterator[tuple[Any, FloatArray]]:
        """Yield each class with its rows."""
        for c, name in enumerate(self.classes):
            yield name, rows[self.codes == c]


def check_assumptions(statistics: ModelStatistics, X: Any, y: Any, random_state: Any = 0) -> Check:
    """Return how well the assumptions of the model with these statistics hold, on the rows with a known label."""
    schema = statistics.schema
    sample = _draw(schema, class_list(statistics.classes), X, y, random_state)
    findings: list[Finding] = _identifiers(statistics, X)
    for block, rows in zip(schema.blocks, sample.blocks, strict=True):
        if isinstance(block.family, Gaussian):
            findings += [_normality(sample, block, rows), *_equal_covariances(sample, block, rows)]
        elif isinstance(block.family, Poisson):
            findings.append(_equidispersion(sample, block, rows))
        elif isinstance(block.family, (Multinomial, Text)):
            findings.append(_unchecked("independence of words", "Counts of words are not checked."))
    findings += _independence(sample)
    ordered = sorted(findings, key=lambda finding: (_ORDER.index(finding.verdict), -finding.effect))
    return Check(tuple(ordered), len(sample.codes), len(sample.classes), schema.library)


def _identifiers(statistics: ModelStatistics, X: Any) -> list[Finding]:
    n_rows = round(float(statistics.class_count.sum()))
    found = [*unique_values(statistics, n_rows), *row_numbers(statistics.schema.as_table(X), statistics.schema, None)]
    if not found:
        return []
    sentence = identifiers_sentence(found)
    return [Finding("no identifiers", "broken", 0.0, 0.0, f"{sentence[0].upper()}{sentence[1:]}.")]


def _draw(schema: Schema, classes: Sequence[Any], X: Any, y: Any, random_state: Any) -> _Sample:
    table = schema.as_table(X)
    schema.check(table, "check", extra=True)
    numbers = {label: number for number, label in enumerate(classes)}
    labels = np.asarray(y, dtype=object).ravel().tolist()
    if len(labels) != len(table):
        raise ValueError(f"check needs one label per row, but X has {len(table)} rows and y {len(labels)} labels")
    codes = np.array([numbers.get(label, -1) for label in labels], dtype=np.intp)
    known = np.flatnonzero(codes >= 0)
    if len(known) == 0:
        raise ValueError(f"none of the labels is a class of the model; its classes are {list(classes)[:8]}")
    if len(known) > MOST_ROWS:
        known = np.sort(np.random.default_rng(random_state).choice(known, MOST_ROWS, replace=False))
    return _Sample(
        schema, tuple(_cells(b, known) for b in Encoder(schema, grow=False).encode(table)), codes[known], classes
    )


def _cells(block: Any, rows: IntArray) -> Any:
    if isinstance(block, Codes):
        return np.asarray(to_float64(block.codes), dtype=np.intp)[rows]
    if isinstance(block, Bags):
        return block[rows]
    whole = block[0 : block.shape[0]]
    if hasattr(whole, "tocsr"):
        return np.asarray(whole.tocsr()[rows].toarray(), dtype=np.float64)
    return to_float64(whole)[rows]


def _verdict(measure: Measure, tests: int = 1) -> str:
    if measure.p * tests > _SURE or measure.effect < DOUBTFUL:
        return "holds"
    return "doubtful" if measure.effect < BROKEN else "broken"


def _unchecked(assumption: str, sentence: str) -> Finding:
    return Finding(assumption, "not checked", 0.0, 1.0, sentence)


def _worst(measures: Sequence[tuple[str, Measure]]) -> tuple[str, Measure, str]:
    """Return the name, the measure and the verdict of the worst of several tests."""
    ranked = sorted(measures, key=lambda entry: (_ORDER.index(_verdict(entry[1], len(measures))), -entry[1].effect))
    name, measure = ranked[0]
    return name, measure, _verdict(measure, len(measures))


def _normality(sample: _Sample, block: Block, rows: FloatArray) -> Finding:
    """Test normality: by Mardia for columns modelled jointly, by d'Agostino and Pearson for independent columns."""
    measures: list[tuple[str, Measure]] = []
    for name, group in sample.groups(rows):
        if block.family.columnwise:
            labels = [sample.schema.column_labels[column] for column in block.columns]
            found = zip(labels, skewed_columns(group), strict=True)
            measures += [(f"column {label!r} in class {name!r}", m) for label, m in found if m is not None]
        else:
            complete = group[~np.isnan(group).any(1)]
            if len(complete) > max(20, 2 * len(block.columns)):
                for kind, measure in zip(("skewed", "heavy- or light-tailed"), mardia(complete), strict=True):
                    measures.append((f"class {name!r} ({kind})", measure))
    if not measures:
        return _unchecked("normality", "Too few distinct rows per class to test whether they are normal.")
    where, measure, verdict = _worst(measures)
    test = "d'Agostino and Pearson" if block.family.columnwise else "Mardia"
    if verdict == "holds":
        return Finding(
            "normality", verdict, measure.effect, measure.p, f"Within the classes, rows look normal ({test})."
        )
    remedy = (
        "transform the column by a logarithm or a root, choose a family that fits (suffice.best_family), or use more "
        "components per class"
    )
    sentence = f"Not normal: above all {where} ({test}, p {_p(measure.p)}; {_nats(measure.effect)}). Remedy: {remedy}."
    return Finding("normality", verdict, measure.effect, measure.p, sentence)


def _equal_covariances(sample: _Sample, block: Block, rows: FloatArray) -> list[Finding]:
    """Test by Box's M whether classes share a covariance, or each variance if columns are independent."""
    assert isinstance(block.family, Gaussian)
    shared, columnwise = block.family.structure.code in _SHARED, block.family.columnwise
    if columnwise and not shared:
        return []
    groups = [group if columnwise else group[~np.isnan(group).any(1)] for _, group in sample.groups(rows)]
    groups = [group for group in groups if len(group) > (1 if columnwise else rows.shape[1]) + 1]
    if len(groups) < 2:
        return [_unchecked("equal covariances", "Too few rows per class for Box's test.")] if shared else []
    if columnwise:
        measures = [
            (f"variance of column {sample.schema.column_labels[column]!r}", measure)
            for column, measure in zip(block.columns, box_m_of_columns(groups), strict=True)
            if measure is not None
        ]
    else:
        varying = np.all([group.std(0) > 0 for group in groups], axis=0)
        measures = [("covariance", box_m([group[:, varying] for group in groups]))] if varying.any() else []
    if not measures or not all(np.isfinite(measure.effect) for _, measure in measures):
        return [
            _unchecked(
                "equal covariances",
                "Within a class, some columns are combinations of others, so Box's test is undefined.",
            )
        ]
    what, measure, verdict = _worst(measures)
    if not shared:
        if verdict != "holds":
            return []
        advice = "The classes could share one covariance (Box's M): covariance='tied' has fewer parameters."
        return [Finding("equal covariances", "holds", measure.effect, measure.p, advice)]
    if verdict == "holds":
        return [
            Finding(
                "equal covariances", verdict, measure.effect, measure.p, "The classes share a covariance (Box's M)."
            )
        ]
    own = "diagonal" if columnwise else "full"
    sentence = (
        f"The classes do not share the {what} (Box's M, p {_p(measure.p)}; {_nats(measure.effect)}). Remedy: "
        f"covariance='{own}', if there are enough rows. (Box's M also reacts to rows that are not normal.)"
    )
    return [Finding("equal covariances", verdict, measure.effect, measure.p, sentence)]


def _equidispersion(sample: _Sample, block: Block, rows: FloatArray) -> Finding:
    measures = [
        (f"column {sample.schema.column_labels[column]!r} in class {name!r}", measure)
        for name, group in sample.groups(rows)
        if len(group) >= _FEWEST_ROWS
        for column, measure in zip(block.columns, dispersion(group), strict=True)
    ]
    if not measures:
        return _unchecked(
            "variance of counts", "Too few rows per class to test whether the variance of counts equals their mean."
        )
    where, measure, verdict = _worst(measures)
    if verdict == "holds":
        sentence = "The variance of counts is about their mean."
    else:
        wider = "NegativeBinomial, whose variance is larger than its mean"
        remedy = (
            wider
            if measure.statistic > 1.0
            else "Gaussian or Categorical, as few families of counts have so small a variance"
        )
        sentence = (
            f"The variance of {where} is {measure.statistic:.2g} times its mean (p {_p(measure.p)}; "
            f"{_nats(measure.effect)}). Remedy: another family, such as {remedy}."
        )
    return Finding("variance of counts", verdict, measure.effect, measure.p, sentence)


def _independence(sample: _Sample) -> list[Finding]:
    """Check the pairs of columns that the model assumes to be independent given the class."""
    columns, block_of, together = [], [], []
    for number, (block, rows) in enumerate(zip(sample.schema.blocks, sample.blocks, strict=True)):
        if isinstance(block.family, (Multinomial, Text)):
            continue
        for j, column in enumerate(block.columns):
            columns.append((column, rows[:, j]))
            block_of.append(number)
            together.append(not block.family.columnwise)
    if len(columns) < 2 or (all(together) and len(set(block_of)) == 1):
        return []
    if len(columns) > _MOST_COLUMNS:
        return [_unchecked("independence", f"More than {_MOST_COLUMNS:,} columns: their pairs are not checked.")]
    classes = [
        residuals([cells[sample.codes == c] for _, cells in columns])
        for c in range(len(sample.classes))
        if (sample.codes == c).sum() >= _FEWEST_ROWS
    ]
    if not classes:
        return [_unchecked("independence", "Too few rows per class to test whether columns depend on each other.")]
    found = dependence(classes, [cells.dtype.kind == "f" for _, cells in columns])
    same = np.equal.outer(block_of, block_of) & np.logical_and.outer(together, together)
    a, b = np.nonzero(np.triu(~same, 1))
    order = np.argsort(-found.nats[a, b], kind="stable")
    a, b = a[order], b[order]
    certain = (found.p[a, b] * len(a) <= _SURE) & (found.nats[a, b] >= DOUBTFUL)
    bad = list(zip(a[certain].tolist(), b[certain].tolist(), strict=True))
    if not bad:
        worst = float(found.nats[a[0], b[0]])
        return [
            Finding("independence", "holds", worst, 1.0, "Given the class, no two columns depend much on each other.")
        ]
    named = "; ".join(_pair(sample, columns, found.correlation, found.strength, pair) for pair in bad[:_NAMED])
    more = f" and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
    worst = float(found.nats[bad[0]])
    gaussian = [isinstance(sample.schema.blocks[number].family, Gaussian) for number in block_of]
    join = "model the numeric columns jointly (covariance='full' or 'tied'), or "
    joinable = any(gaussian[one] and gaussian[other] for one, other in bad)
    sentence = (
        f"Given the class, {len(bad)} of {len(a)} pairs of columns still depend on each other: {named}{more} "
        f"({_nats(worst)} at most). What they share is counted twice, so the probabilities are overconfident. Remedy: "
        f"{join if joinable else ''}leave one of each pair out."
    )
    return [
        Finding("independence", "broken" if worst >= BROKEN else "doubtful", worst, float(found.p[bad[0]]), sentence)
    ]


def _pair(sample: _Sample, columns: Sequence[Any], correlation: FloatArray, strength: FloatArray, pair: Any) -> str:
    names = " and ".join(repr(sample.schema.column_labels[columns[i][0]]) for i in pair)
    if np.isfinite(correlation[pair]):
        return f"{names} (correlation {correlation[pair]:.2f})"
    return f"{names} (Cramér's V {np.sqrt(strength[pair]):.2f})"


def _p(p: float) -> str:
    return "< 1e-16" if p < 1e-16 else f"{p:.2g}"


def _nats(effect: float) -> str:
    return f"costs {effect:.2f} nats per row" if effect < 1.0 else "costs more than 1 nat per row"
