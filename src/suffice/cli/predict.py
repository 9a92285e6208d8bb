"""`suffice predict`: predicts the rows of a table on disk with a saved model, batch by batch."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.cli.decisions import parse_decisions
from suffice.cli.inputs import open_table
from suffice.cli.outputs import check_format, check_output, open_sink
from suffice.cli.progress import meter, native
from suffice.estimators import GenerativeClassifier
from suffice.families import Bernoulli, Categorical, Text
from suffice.models.decisions import decide
from suffice.persistence.estimators import load
from suffice.tables.parquet import READ_ROWS

#: rows per batch: enough for several threads
ROWS = 4 * READ_ROWS
#: the number of columns named as reasons of a prediction
REASONS = 3


def predict_file(
    model_path: str,
    path: str,
    output: Path | None = None,
    *,
    proba: bool = False,
    explain: bool = False,
    threshold: Sequence[str] = (),
    cost: Sequence[str] = (),
) -> int:
    """Write a prediction for each row of a table, and return the number of rows."""
    model = load_model(model_path)
    if threshold or cost:
        known, costs = parse_decisions(threshold, cost, model.classes_)
        model.set_params(threshold=known, cost=costs)
    columns = list(model.schema_.names or ())
    if output is not None:
        check_format(output)
        check_output(output)
    with meter(show=output is not None or not sys.stdout.isatty()) as bar:
        table = open_table(path, _csv_types(model))
        table.require(columns)
        bar.start("predicting", table.n_rows)
        keys = [name for name in table.keys if name not in columns]
        schema = _schema(model, proba, explain, keys)
        with open_sink(output, schema) as sink:
            for batch in table.source([*keys, *columns], batch_rows=ROWS).batches():
                rows = native(batch.table)
                sink.write(predictions(model, rows, schema, proba=proba, explain=explain, keys=keys))
                bar.advance(len(batch.table))
    return bar.rows


def load_model(path: str) -> GenerativeClassifier:
    """Return a saved model; raise unless it is a classifier with named columns."""
    if os.path.isdir(path):
        raise IsADirectoryError(f"the model {path!r} is a folder; give a file that `suffice fit` wrote")
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no model {path!r}; make one with `suffice fit`")
    model = load(path)
    if not isinstance(model, GenerativeClassifier):
        raise ValueError(f"{path!r} holds statistics, not a model; estimate one with from_statistics and save it")
    if model.schema_.names is None:
        raise ValueError(f"{path!r} was trained on a table without column names, so it cannot find its columns")
    return model


def _csv_types(model: GenerativeClassifier) -> dict[str, Any]:
    """Return the Arrow types of a model's columns, as in training, whatever the cells of the new file look like."""
    import pyarrow as pa

    arrow = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    schema, types = model.schema_, {}
    for block in schema.blocks:
        for column in block.columns:
            name = str(schema.column_labels[column])
            if isinstance(block.family, Categorical):
                kinds = {type(value) for value in schema.categories[column].values}
                if len(kinds) == 1 and (kind := kinds.pop()) in arrow:
                    types[name] = arrow[kind]
            elif isinstance(block.family, Text):
                types[name] = pa.string()
            elif not isinstance(block.family, Bernoulli):  # Bernoulli cells may be strings or 0 and 1
                types[name] = pa.float64()
    return types


def _schema(model: GenerativeClassifier, proba: bool, explain: bool, keys: Sequence[str]) -> Any:
    import pyarrow as pa

    fields = [*((name, pa.string()) for name in keys), ("prediction", pa.array(model.classes_.tolist()).type)]
    if proba:
        fields += [(f"p_{label}", pa.float64()) for label in model.classes_.tolist()]
    if explain:
        fields.append(("because", pa.string()))
    return pa.schema(fields)


def predictions(
    model: GenerativeClassifier, rows: Any, schema: Any, *, proba: bool, explain: bool, keys: Sequence[str] = ()
) -> Any:
    """Return the predictions for an Arrow table as an Arrow table, after the columns that name its rows."""
    import pyarrow as pa

    probabilities = model.predict_proba(rows)
    predicted = model.classes_[decide(probabilities, model.classes_, model.threshold, model.cost)]
    columns: list[Any] = [*(_names(rows[name]) for name in keys), predicted.tolist()]
    if proba:
        columns += list(probabilities.T)
    if explain:
        columns.append(reasons(model, rows, predicted))
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


def _names(column: Any) -> list[str | None]:
    return [None if cell is None else str(cell) for cell in column.to_pylist()]


def reasons(model: GenerativeClassifier, rows: Any, predicted: NDArray[Any]) -> list[str]:
    """Return for each row the columns with the largest contributions to the log-odds of its prediction, as text."""
    texts = [""] * len(predicted)
    for label in model.classes_.tolist():
        places = np.flatnonzero(predicted == label)
        if not len(places):
            continue
        part = rows.take(places).combine_chunks()
        explanation = model.explain(part, target=label)
        for i, place in enumerate(places):
            named = [(name, value) for name, value in explanation.top(i, REASONS) if abs(value) >= 0.005]
            cells = (f"{_named(part, name, i)} {value:+.2f}" for name, value in named)
            texts[place] = f"not {explanation.against[i]}: {', '.join(cells) or 'no column matters'}"
    return texts


def _named(part: Any, name: Any, row: int) -> str:
    """Return a column with its cell, or a word of a text column, which is named by itself."""
    return f"{name}={_cell(part[name][row].as_py())}" if name in part.column_names else str(name)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
