"""Tables: frames and arrays of any library, their sources, labels and weights."""

from suffice.tables.arrays import ArrayTable
from suffice.tables.conversion import as_table
from suffice.tables.parquet import ParquetScan, scan
from suffice.tables.sources import MemorySource, Source, stream
from suffice.tables.table import Table

__all__ = ["ArrayTable", "MemorySource", "ParquetScan", "Source", "Table", "as_table", "scan", "stream"]
