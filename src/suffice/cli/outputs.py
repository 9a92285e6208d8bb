"""The output of predictions: standard output, or a file that is written atomically."""

from __future__ import annotations

import csv
import io
import os
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

FORMATS = (".csv", ".parquet")


def check_output(path: Path) -> None:
    """Raise unless a file can be written there, to be called before the work starts."""
    if path.is_dir():
        raise IsADirectoryError(f"the output {str(path)!r} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to write {path.name!r} in; make it first")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"the folder {str(path.parent)!r} cannot be written to; check its permissions")


def check_format(path: Path) -> None:
    """Raise ValueError unless the file extension is one that predictions can be written in."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"predictions are written to a {' or a '.join(FORMATS)} file, not to {path.name!r}")


class Sink(ABC):
    """A destination for Arrow tables, written one after the other."""

    @abstractmethod
    def write(self, table: Any) -> None:
        """Write some rows."""


class CsvSink(Sink):
    """Writes comma-separated text with a header; numbers keep full precision."""

    def __init__(self, file: IO[bytes], names: list[str]) -> None:
        self._file = file
        self._put([names])

    def write(self, table: Any) -> None:
        """Write some rows."""
        self._put(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def _put(self, rows: Any) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._file.write(text.getvalue().encode())
        self._file.flush()


class ParquetSink(Sink):
    """Writes one Parquet file."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def write(self, table: Any) -> None:
        """Write some rows."""
        self._writer.write_table(table)


@contextmanager
def open_sink(path: Path | None, schema: Any) -> Iterator[Sink]:
    """Yield a sink for tables of an Arrow schema: a file, or standard output if the path is None."""
    if path is None:
        yield CsvSink(sys.stdout.buffer, schema.names)
        return
    with _whole_file(path) as file:
        if path.suffix.lower() == ".csv":
            yield CsvSink(file, schema.names)
        else:
            import pyarrow.parquet

            with pyarrow.parquet.ParquetWriter(file, schema) as writer:
                yield ParquetSink(writer)


@contextmanager
def _whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a temporary file that replaces `path` when everything is written, and is removed if anything fails."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # a temporary file is private; give the result the usual permissions
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
