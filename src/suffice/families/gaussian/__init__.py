"""The Gaussian: its moments, quadratic forms, missing values and covariance structures."""

from suffice.families.gaussian.family import Gaussian, GaussianDistributions

__all__ = ["Gaussian", "GaussianDistributions"]
