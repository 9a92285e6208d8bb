"""The page of the filter: a list of messages, each with its evidence, and the thresholds over their trade-off."""

from suffice.spam.page.server import serve

__all__ = ["serve"]
