"""Tables: frames and arrays of any library, their sources, labels and weights."""

from suffice.tables.sources import MemorySource, ParquetScan, Source, scan, stream
from suffice.tables.table import ArrayTable, Table, as_table

__all__ = ["ArrayTable", "MemorySource", "ParquetScan", "Source", "Table", "as_table", "scan", "stream"]
