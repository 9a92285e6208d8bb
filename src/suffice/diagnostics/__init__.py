"""Checks of the assumptions of a generative model, with plain sentences as results."""

from suffice.diagnostics.check import Check, Finding, check_assumptions

__all__ = ["Check", "Finding", "check_assumptions"]
