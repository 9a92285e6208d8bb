"""Sufficient statistics: weighted sums that add, subtract and save, and the responsibilities they are weighted by."""

from suffice.statistics.base import Statistics

__all__ = ["Statistics"]
