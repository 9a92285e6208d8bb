"""The demo: two tables with missing values, fitted in one call each, compared with scikit-learn and explained."""

from suffice.demo.show import run

__all__ = ["run"]
