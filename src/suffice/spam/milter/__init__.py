"""A mail filter (milter) for Postfix and Sendmail: stamps messages as they arrive, and can reject them."""

from suffice.spam.milter.server import MilterServer
from suffice.spam.milter.session import Policy, Session
from suffice.spam.serving.address import Address

__all__ = ["Address", "MilterServer", "Policy", "Session"]
