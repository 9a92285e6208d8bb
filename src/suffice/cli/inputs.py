"""Tables on disk: CSV, read into memory, and Parquet, read in batches."""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from suffice.tables.parquet import READ_ROWS, scan
from suffice.tables.sources import Source, stream

_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".tsv", ".txt")
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")


class TableFile(ABC):
    """A table on disk: its column names, its number of rows, and its rows."""

    path: str
    names: list[str]
    n_rows: int
    #: the columns that are documents, and those that name a row instead of describing it
    text: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    @abstractmethod
    def source(
        self,
        columns: Sequence[str],
        target: str | None = None,
        weight: str | None = None,
        batch_rows: int = READ_ROWS,
    ) -> Source:
        """Return a source of these columns in batches of Arrow tables, with the labels and weights of the rows."""

    def require(self, names: Sequence[str]) -> None:
        """Raise ValueError unless the table has these columns."""
        absent = [name for name in names if name not in self.names]
        if absent:
            there_are = "there is no column" if len(absent) == 1 else "there are no columns"
            raise ValueError(f"{there_are} {_listed(absent)} in {self.path!r}; its columns are {_listed(self.names)}")

    def _require_unique(self) -> None:
        repeated = [name for i, name in enumerate(self.names) if name in self.names[:i]]
        if repeated:
            raise ValueError(
                f"column names must be unique, but {_listed(repeated)} occurs twice in {self.path!r}; rename it"
            )


def open_table(path: str, types: Mapping[str, Any] | None = None) -> TableFile:
    """Return a CSV or Parquet table, depending on its file extension, or a folder that another application reads.

    Parameters
    ----------
    path : str
        A CSV file, or a Parquet file, a folder of them, or a pattern such as ``"data/*.parquet"``. Folders without
        Parquet files are given to the entry points of the group `suffice.folders`, such as that of mail.
    types : mapping of column to Arrow type, optional
        The types of columns of a CSV file that should not be inferred.
    """
    ending = _ending(path)
    if os.path.isdir(path) and next(Path(path).rglob("*.parquet"), None) is None:
        return Folder(path)
    if os.path.isdir(path) or ending in _PARQUET:
        return ParquetFiles(path)
    if ending not in _CSV:
        raise ValueError(f"a table must be a .csv or a .parquet file, or a folder of .parquet files, not {path!r}")
    if not os.path.exists(path):
        several = "; only Parquet files can be given by a pattern" if glob.has_magic(path) else ""
        raise FileNotFoundError(f"there is no file {path!r}{several}")
    return CsvFile(path, types or {})


def _ending(path: str) -> str:
    stem, ending = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if ending in _COMPRESSED else ending


def _delimiter(path: str) -> str:
    """Return the column separator: comma, semicolon, tab or vertical bar, whichever is most frequent in the header."""
    if _ending(path) == ".tsv":
        return "\t"
    if os.path.splitext(path.lower())[1] in _COMPRESSED:
        return ","
    with open(path, encoding="utf-8", errors="replace") as file:
        header = file.readline()
    return max(",;\t|", key=header.count)


class _ArrowTable(TableFile):
    """A table in memory."""

    _table: Any

    def source(
        self,
        columns: Sequence[str],
        target: str | None = None,
        weight: str | None = None,
        batch_rows: int = READ_ROWS,
    ) -> Source:
        """Return the table in batches."""

        def chunks() -> Iterator[Any]:
            for start in range(0, self.n_rows, batch_rows):
                rows = self._table.slice(start, batch_rows)
                X = rows.select(list(columns))
                yield (
                    X,
                    None if target is None else rows.column(target),
                    None if weight is None else rows.column(weight),
                )

        return stream(chunks)


class CsvFile(_ArrowTable):
    """A CSV file with a header; empty cells are missing, and so are NA, NaN and null."""

    def __init__(self, path: str, types: Mapping[str, Any]) -> None:
        import pyarrow as pa
        import pyarrow.csv

        self.path = path
        try:
            self._table = pyarrow.csv.read_csv(
                path,
                parse_options=pyarrow.csv.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True),
                convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True, column_types=dict(types)),
            )
        except pa.ArrowInvalid as error:
            raise ValueError(f"{path!r} cannot be read as CSV: {error}") from error
        self.names = self._table.column_names
        self.n_rows = self._table.num_rows
        self._require_unique()
        for field in self._table.schema:
            if pa.types.is_binary(field.type):
                raise ValueError(f"column {field.name!r} of {path!r} is not UTF-8 text; convert the file to UTF-8")


class ParquetFiles(TableFile):
    """Parquet files, read by `suffice.scan`."""

    def __init__(self, path: str) -> None:
        import pyarrow.parquet

        self.path = path
        self.files = scan(path).files  # raises if there are no files, or the first is damaged
        self.names = pyarrow.parquet.read_schema(self.files[0]).names
        self.n_rows = sum(_rows_in(file) for file in self.files)
        self._require_unique()

    def source(
        self,
        columns: Sequence[str],
        target: str | None = None,
        weight: str | None = None,
        batch_rows: int = READ_ROWS,
    ) -> Source:
        """Return the files as a scan."""
        return scan(self.files, columns=list(columns), target=target, weight=weight, batch_rows=batch_rows)


class Folder(_ArrowTable):
    """A folder of files that another application reads as a table."""

    def __init__(self, path: str) -> None:
        import pyarrow as pa

        self.path = path
        for reader in entry_points(group="suffice.folders"):
            found = reader.load()(path)
            if found is not None:
                break
        else:
            raise FileNotFoundError(
                f"there is nothing to learn from in the folder {path!r}; give one that holds .parquet files or mail"
            )
        arrays = {name: pa.array(cells) for name, cells in found.columns.items()}
        empty = {name: array.cast(pa.string()) for name, array in arrays.items() if pa.types.is_null(array.type)}
        self._table = pa.table(arrays | empty)
        self.names, self.n_rows = self._table.column_names, self._table.num_rows
        self.text, self.keys = found.text, found.keys


def _rows_in(file: os.PathLike[str]) -> int:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        return int(pyarrow.parquet.read_metadata(file).num_rows)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{os.fspath(file)!r} is not a Parquet file, or is damaged: {error}") from error


def _listed(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(map(repr, names[:most])) + (", …" if len(names) > most else "")
