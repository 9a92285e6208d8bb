"""Parquet files as a source of rows."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from suffice.tables.conversion import as_table
from suffice.tables.sources import BATCH_ROWS, Read, Source

#: the number of rows that are read from a file at a time
READ_ROWS = BATCH_ROWS


class ParquetScan(Source):
    """Parquet files, read a batch at a time: see `suffice.scan`."""

    def __init__(
        self,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        target: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        batch_rows: int = READ_ROWS,
    ) -> None:
        self.files = _find(path)
        self.target = target
        self.weight = weight
        self.batch_rows = batch_rows
        self._columns = self._features(columns)

    def _features(self, columns: Sequence[str] | None) -> list[str]:
        names = _parquet(self.files[0]).schema_arrow.names
        for name in (self.target, self.weight, *(columns or ())):
            if name is not None and name not in names:
                raise ValueError(
                    f"there is no column {name!r} in {self.files[0]}; its columns are "
                    f"{', '.join(map(repr, names[:12]))}{', …' if len(names) > 12 else ''}"
                )
        special = {self.target, self.weight}
        self._types = self._types_of_empty_columns()
        return [name for name in (names if columns is None else columns) if name not in special]

    def _types_of_empty_columns(self) -> dict[str, Any]:
        """Return the types that columns have in other files, if the first file has only nulls in them."""
        import pyarrow as pa

        empty = {field.name for field in _parquet(self.files[0]).schema_arrow if pa.types.is_null(field.type)}
        types: dict[str, Any] = {}
        for file in self.files[1:] if empty else ():
            for field in _parquet(file).schema_arrow:
                if field.name in empty and not pa.types.is_null(field.type):
                    types.setdefault(field.name, field.type)
        return types

    def without_target(self) -> ParquetScan:
        """Return the same rows for prediction, for which the files need not have the target or the weight."""
        same = object.__new__(ParquetScan)
        same.__dict__.update(self.__dict__, target=None, weight=None)
        return same

    def read(self) -> Iterator[Read]:
        """Yield record batches as tables, with their target and weight columns."""
        wanted = [*self._columns, *(name for name in (self.target, self.weight) if name is not None)]
        for file in self.files:
            parquet = _parquet(file)
            absent = [name for name in wanted if name not in parquet.schema_arrow.names]
            if absent:
                raise ValueError(
                    f"all files must have the same columns, but {file} lacks {', '.join(map(repr, absent))}, which "
                    f"{self.files[0]} has"
                )
            for batch in parquet.iter_batches(self.batch_rows, columns=wanted):
                table = _as_arrow_table(batch, self._types)
                yield (
                    as_table(table.select(self._columns)),
                    None if self.target is None else table.column(self.target),
                    None if self.weight is None else table.column(self.weight),
                )


def scan(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    target: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    batch_rows: int = READ_ROWS,
) -> ParquetScan:
    """Return Parquet files as a source to fit or predict on, without reading them into memory.

    Parameters
    ----------
    path : path, pattern or list of paths
        A file, a folder of ``.parquet`` files, a pattern such as ``"data/*.parquet"``, or a list of them.
    target, weight : str, optional
        The columns that hold the label and the weight of a row.
    columns : list of str, optional
        The columns to learn from; all others by default.
    batch_rows : int
        Number of rows to read at a time.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile, suffice
    >>> folder = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"x": [0.0, 0.3, 5.0, 5.1], "y": ["a", "a", "b", "b"]}), folder + "/part.parquet")
    >>> model = suffice.NaiveBayes().fit(suffice.scan(folder + "/*.parquet", target="y"))
    >>> model.predict(pa.table({"x": [4.8]})).tolist()
    ['b']
    """
    return ParquetScan(path, target, weight, columns, batch_rows)


def _find(path: Any) -> list[Path]:
    if isinstance(path, (list, tuple)):
        return [file for part in path for file in _find(part)]
    text = os.fspath(path)
    if os.path.isdir(text):
        files = sorted(Path(text).rglob("*.parquet"))
    elif os.path.exists(text):
        files = [Path(text)]
    else:
        files = sorted(Path(found) for found in glob.glob(text, recursive=True))
    if not files:
        raise FileNotFoundError(f"there is no Parquet file at {text!r}; give a file, a folder or a pattern")
    return files


def _parquet(file: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("reading Parquet needs pyarrow; install it with: pip install 'suffice[parquet]'") from error
    try:
        return pyarrow.parquet.ParquetFile(file)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{file} is not a Parquet file, or is damaged: {error}") from error


def _as_arrow_table(batch: Any, types: dict[str, Any]) -> Any:
    """Return a batch as a table, with the types of other files for its empty columns."""
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    for place, field in enumerate(table.schema):
        if pa.types.is_null(field.type) and field.name in types:
            table = table.set_column(place, field.name, table.column(place).cast(types[field.name]))
    return table
