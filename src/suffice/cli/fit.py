"""`suffice fit`: learns a model from a table on disk and writes it to a file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suffice.cli.decisions import parse_decisions
from suffice.cli.inputs import TableFile, open_table
from suffice.cli.outputs import check_output
from suffice.cli.progress import Watched, meter
from suffice.cli.settings import words_in
from suffice.estimators import GenerativeClassifier
from suffice.families import Family, Text
from suffice.persistence.estimators import save


@dataclass(frozen=True)
class Fitted:
    """A fitted model, with the facts for its summary."""

    model: GenerativeClassifier
    path: Path
    rows: int
    missing_cells: int
    weighted: bool
    seconds: float


def fit_file(
    path: str,
    target: str,
    output: Path,
    *,
    weight: str | None = None,
    covariance: str = "diagonal",
    families: dict[tuple[str, ...], Family] | None = None,
    prior: Any = "auto",
    drop: Sequence[str] = (),
    threshold: Sequence[str] = (),
    cost: Sequence[str] = (),
) -> Fitted:
    """Learn from a table on disk, write the model, and return it with the facts for its summary."""
    import pyarrow as pa

    families = dict(families or {})
    check_output(output)
    began = time.perf_counter()
    with meter() as bar:
        table = open_table(path, {column: pa.string() for column in words_in(families)})
        columns = _features(table, target, weight, families, drop)
        named = {column for together in families for column in together}
        families |= {(column,): Text() for column in table.text if column in columns and column not in named}
        bar.start("learning", table.n_rows)
        source = Watched(table.source(columns, target, weight), bar)
        model = GenerativeClassifier(families or "auto", covariance, prior).fit(source)
    model.set_params(**dict(zip(("threshold", "cost"), parse_decisions(threshold, cost, model.classes_), strict=True)))
    save(model, output)
    seconds = time.perf_counter() - began
    return Fitted(model, output, bar.rows, source.missing_cells, weight is not None, seconds)


def _features(
    table: TableFile,
    target: str,
    weight: str | None,
    families: dict[tuple[str, ...], Family],
    drop: Sequence[str],
) -> list[str]:
    """Return the columns to learn from; raise ValueError if a name is unknown or used for two purposes."""
    named = [column for together in families for column in together]
    special = [target] if weight is None else [target, weight]
    table.require([*special, *named, *drop])
    if target == weight:
        raise ValueError(f"the column {target!r} cannot be both the target and the weight")
    for column in (*special, *named):
        if column in drop:
            raise ValueError(f"the column {column!r} is needed, and cannot be dropped")
    for column in named:
        if column in special:
            raise ValueError(f"the column {column!r} is the target or the weight, so it has no family")
    keys = [name for name in table.keys if name not in named]
    columns = [name for name in table.names if name not in {*special, *drop, *keys}]
    if not columns:
        raise ValueError(f"{table.path!r} has no columns left to learn from")
    return columns
