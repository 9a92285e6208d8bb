"""Suffice and its peers side by side, in one process, on the same data, to the same answer."""
