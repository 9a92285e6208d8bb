"""Engines: where the rows are stored, and how sums over them are computed."""

from suffice.engines.base import Chunk, Engine, Rows
from suffice.engines.memory import MemoryEngine
from suffice.engines.stream import StreamEngine

__all__ = ["Chunk", "Engine", "MemoryEngine", "Rows", "StreamEngine"]
