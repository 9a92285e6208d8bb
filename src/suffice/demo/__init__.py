"""The demo: two tables with holes, learned in one call each, beside scikit-learn, with reasons."""

from suffice.demo.show import run

__all__ = ["run"]
