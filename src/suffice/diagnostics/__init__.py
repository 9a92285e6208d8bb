"""Whether the assumptions of a generative model hold, in plain words."""

from suffice.diagnostics.check import Check, Finding, check_assumptions

__all__ = ["Check", "Finding", "check_assumptions"]
