"""scikit-learn's `QuadraticDiscriminantAnalysis`, computed from the class moments, gathered in one pass."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import LinAlgError
from sklearn import discriminant_analysis as peers

from suffice._arrays import FloatArray
from suffice.dropin._analysis import (
    Discriminant,
    Whitened,
    quadratic_scores,
    require_one_per_class,
)
from suffice.dropin._common import documented, log_shares
from suffice.dropin._within import (
    Labelled,
    class_covariances,
    validated,
)
from suffice.families import Gaussian
from suffice.families.gaussian.dense_form import DenseForm
from suffice.models.joint import JointModel
from suffice.models.named_statistics import ModelStatistics
from suffice.statistics.moments import FullMoments
from suffice.tables.labels import class_list


@documented
class QuadraticDiscriminantAnalysis(Discriminant, peers.QuadraticDiscriminantAnalysis):  # type: ignore[misc]
    """scikit-learn's `QuadraticDiscriminantAnalysis`: Gaussian classes, each with its own covariance.

    Beyond it: `sample_weight`, exact `partial_fit`, `score_samples` and `explain`.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice.dropin import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> float(QuadraticDiscriminantAnalysis().fit(X, y).score(X, y))
    0.98
    """

    _estimator_needs = "covariance_estimator is not supported with solver='svd'. Try solver='eigen' instead."
    # scikit-learn before 1.8 has none of these options, and behaves as with their defaults
    solver: Any = "svd"
    shrinkage: Any = None
    covariance_estimator: Any = None

    def _family(self) -> Gaussian:
        return Gaussian("full")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labelled rows, in one pass.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The rows.
        y : array-like of shape (n,)
            The labels.
        sample_weight : array-like of shape (n,), optional
            A row of weight 2 counts as two rows, one of weight 0 is left out. Not possible with `covariance_estimator`.

        Returns
        -------
        self : estimator
            The fitted estimator itself.
        """
        self._begin()
        X, y = validated(self, X, y)
        self._require_no_weight(sample_weight)
        return self._fit(X, y, sample_weight)

    def _model_of(self, statistics: ModelStatistics, rows: Labelled | None) -> JointModel:
        moments = statistics.joint.blocks[0]
        assert isinstance(moments, FullMoments)
        classes, count = class_list(statistics.classes), moments.count[:, 0]
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one. Got {len(classes)} class.")
        for label, weight in zip(classes, count.tolist(), strict=True):
            if weight == 0.0:
                raise ValueError(f"class {label} has no samples so far, so it has no covariance; pass rows of it")
            if weight == 1.0 and not self._weighted:
                raise ValueError(f"y has only 1 sample in class {label}, covariance is ill defined.")
        priors = count / count.sum() if self.priors is None else np.array(self.priors)
        require_one_per_class(priors, count)
        covariance, _ = class_covariances(moments, self.shrinkage, self.covariance_estimator, rows)
        # eigenvalues of one symmetric matrix per class, all at once
        scalings, rotations = np.linalg.eigh(covariance)
        scalings, rotations = scalings[:, ::-1], rotations[:, :, ::-1]
        if self.solver == "svd":
            scalings = (1.0 - self.reg_param) * np.maximum(scalings, 0.0) + self.reg_param
        self._require_full_rank(classes, count, scalings)
        if self.solver == "svd" and self.reg_param:
            covariance = (rotations * scalings[:, None, :]) @ rotations.transpose(0, 2, 1)
        means = moments.mean
        if self.store_covariance:
            self.covariance_ = list(covariance)
        self.means_, self.priors_ = means, priors
        self.scalings_, self.rotations_ = list(scalings), list(rotations)
        whiteners = (rotations / np.sqrt(scalings)[:, None, :]).transpose(0, 2, 1)
        form = DenseForm(means, covariance, means.mean(0), whiteners, np.log(scalings).sum(1))
        distributions = Whitened(Gaussian("full"), means, covariance, given=form)
        return JointModel(statistics.schema, log_shares(priors), (distributions,))

    def _require_full_rank(self, classes: list[Any], count: FloatArray, scalings: FloatArray) -> None:
        d = scalings.shape[1]
        for label, n, scaling in zip(classes, count.tolist(), scalings, strict=True):
            few = self.solver == "svd" and not self._weighted and n <= d
            # with fewer rows than columns the rank is at most the number of rows, despite regularisation
            rank = int((scaling > self.tol).sum()) if not few else int((scaling[: int(n)] > self.tol).sum())
            if rank == d:
                continue
            missing = f"The covariance matrix of class {label} is not full rank. "
            if few:
                raise LinAlgError(
                    f"{missing}When using `solver='svd'` the number of samples in each class should be more than the "
                    f"number of features, but class {label} has {n:g} samples and {d} features. Try using "
                    f"`solver='eigen'` and setting the parameter `shrinkage` for regularization."
                )
            remedy = "shrinkage" if self.solver == "eigen" else "reg_param"
            raise LinAlgError(f"{missing}Increase the value of `{remedy}` to reduce the collinearity.")

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of the second of two classes, (n,), else log p(x, c) up to a constant, n×k.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The rows, with the columns of training.
        """
        return self._score(quadratic_scores, X)
