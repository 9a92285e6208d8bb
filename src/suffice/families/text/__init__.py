"""Text: documents as bags of words, with the two event models of naive Bayes."""

from suffice.families.text.distributions import WordDistributions
from suffice.families.text.family import Text

__all__ = ["Text", "WordDistributions"]
