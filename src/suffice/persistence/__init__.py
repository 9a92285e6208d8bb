"""Models on disk: plain arrays and JSON in one zip file, from which no code is ever executed."""

from suffice.persistence.estimators import load, save

__all__ = ["load", "save"]
