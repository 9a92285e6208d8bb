"""Figures of fitted models; matplotlib (`pip install suffice[plot]`) is imported when a figure is drawn."""

from suffice.plot.bound import bound
from suffice.plot.boundary import boundary
from suffice.plot.densities import densities
from suffice.plot.regions import regions

__all__ = ["bound", "boundary", "densities", "regions"]
