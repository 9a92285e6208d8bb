"""Soft k-means: a mixture of spherical Gaussians of one size, which becomes k-means as their variance shrinks."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.estimators.mixture import Mixture
from suffice.estimators.settings import SoftKMeansSettings, documented
from suffice.families import Bernoulli, Gaussian
from suffice.families.gaussian import GaussianDistributions
from suffice.families.gaussian.covariance import GivenSphere
from suffice.mixtures.components import Components, equal_shares, shares
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Schema

#: the shares of the clusters, from the sums of their responsibilities
_SHARES = {"learned": shares, "equal": equal_shares}


@documented
class SoftKMeans(SoftKMeansSettings, Mixture):
    """Soft k-means: spheres of one size, with responsibilities proportional to c_k exp(−stiffness · distance²).

    It is EM for a mixture of Gaussians with one common variance, 1 / (2 · stiffness); a stiffness of ½ makes unit
    spheres. The shares c_k of the clusters are learned, unless they are to be equal. As the stiffness grows, every row
    belongs entirely to the nearest centre, and the iterations become those of k-means. The attributes that are not
    listed here are those of `Mixture`.

    Parameters
    ----------
    n_clusters : int, default 8
        The number of clusters k.
    stiffness : float or None, default None
        The stiffness, 1 / (2σ²), more than 0; None learns it with the centres.
    shares : "learned" or "equal", default "learned"
        The shares of the clusters: learned with the centres, c_k = Σ_i q_ik / n, or 1/k each.
    {StartSettings}
    {SearchSettings}
    {EMSettings}

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
        The centres of the clusters.
    shares_ : array of shape (k,)
        The shares c_k of the clusters, which sum to 1; the same as `weights_`.
    stiffness_ : float
        The stiffness, given or learned: 1 / (2σ²).

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import SoftKMeans
    >>> X = np.array([[0.0], [0.2], [0.4], [5.0], [5.2], [5.4]])
    >>> np.sort(SoftKMeans(2, stiffness=100.0, random_state=0).fit(X).cluster_centers_.ravel()).round(3).tolist()
    [0.2, 5.2]
    >>> np.sort(SoftKMeans(2, stiffness=0.5, random_state=0).fit(X[:5]).shares_).round(3).tolist()  # unit spheres
    [0.4, 0.6]
    """

    families = "auto"
    covariance = "tied-spherical"
    prior = "auto"
    unseen = "prior"
    _size_name = "n_clusters"

    @property
    def _size(self) -> int:
        return int(self.n_clusters)

    def _survey(self, X: Any, sample_weight: Any) -> tuple[ModelStatistics, int, bool]:
        overall, n_rows, missing = super()._survey(X, sample_weight)
        schema = overall.schema
        for block in schema.blocks:
            if not isinstance(block.family, Gaussian):
                what = "booleans" if isinstance(block.family, Bernoulli) else "words"
                raise ValueError(
                    f"soft k-means takes numbers, but column {schema.column_labels[block.columns[0]]!r} holds {what}; "
                    f"convert it to numbers or leave it out, or use Mixture, which takes all kinds of columns"
                )
        return overall, n_rows, missing

    def _components(self, schema: Schema, priors: Any, missing: bool) -> Components:
        if self.stiffness is not None:
            spheres = Gaussian(GivenSphere(0.5 / float(self.stiffness)))
            schema = schema.with_blocks([type(block)(spheres, block.columns) for block in schema.blocks])
        return Components(schema, priors, _SHARES[self.shares], missing=missing)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.shares, str) or self.shares not in _SHARES:
            raise ValueError(f"shares must be 'learned' or 'equal', not {self.shares!r}")
        given: Any = self.stiffness
        if given is not None and not (isinstance(given, (int, float, np.number)) and 0 < given < np.inf):
            raise ValueError(f"stiffness must be a positive number or None, not {given!r}")

    @property
    def cluster_centers_(self) -> FloatArray:
        """The centres of the clusters, k×d."""
        return self.means_

    @property
    def shares_(self) -> FloatArray:
        """The shares of the clusters, (k,)."""
        return self.weights_

    @property
    def stiffness_(self) -> float:
        """The stiffness 1 / (2σ²), the factor of the squared distance in the log-density."""
        (spheres,) = self.distributions_
        assert isinstance(spheres, GaussianDistributions)
        varying = 0 if spheres.constant is None else int(np.argmin(spheres.constant))
        return 0.5 / float(spheres.variance()[0, varying])
