"""Model selection: the size and structure of a mixture, the family of a column, generative or discriminative models."""

from suffice.selection.comparison import Comparison, compare
from suffice.selection.mixture_search import MixtureSearch
from suffice.selection.ranking import FamilyRanking, best_family, distribution
from suffice.selection.thresholds import ThresholdCurve, threshold_curve

__all__ = [
    "Comparison",
    "FamilyRanking",
    "MixtureSearch",
    "ThresholdCurve",
    "best_family",
    "compare",
    "distribution",
    "threshold_curve",
]
