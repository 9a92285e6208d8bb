"""The web page of the filter: a list of messages with their evidence, and thresholds with their trade-off."""

from suffice.spam.page.server import serve

__all__ = ["serve"]
