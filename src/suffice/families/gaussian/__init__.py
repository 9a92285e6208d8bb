"""The Gaussian: its moments, quadratic forms, missing values and covariance structures."""

from suffice.families.gaussian.covariance import GivenCovariance, GivenDiagonal, GivenSphere
from suffice.families.gaussian.distributions import GaussianDistributions
from suffice.families.gaussian.family import Gaussian

__all__ = ["Gaussian", "GaussianDistributions", "GivenCovariance", "GivenDiagonal", "GivenSphere"]
