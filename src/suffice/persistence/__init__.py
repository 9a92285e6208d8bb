"""Models on disk: plain arrays and JSON in one zip file. Nothing in it is ever executed."""

from suffice.persistence.estimators import load, save

__all__ = ["load", "save"]
