"""scikit-learn's `LinearDiscriminantAnalysis`.

Everything is computed from the class moments, gathered in one pass. An eigendecomposition of the correlations within
the classes replaces scikit-learn's singular value decomposition of the rows: the squared singular values of the rows
are the eigenvalues of their moments, which are centred at the class means, so an offset loses no precision.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import discriminant_analysis as peers
from sklearn.utils import assert_all_finite

from suffice._arrays import FloatArray
from suffice.dropin._analysis import (
    Discriminant,
    LinearScores,
    Whitened,
    linear_scores,
    require_one_per_class,
)
from suffice.dropin._common import documented, log_shares
from suffice.dropin._within import (
    Labelled,
    between,
    class_covariances,
    deviations,
    same_sign,
    shrunk,
    validated,
    whitening_of,
)
from suffice.errors import NotKeptError
from suffice.families import Gaussian
from suffice.families.gaussian import GaussianDistributions
from suffice.families.gaussian.shared_form import SharedForm
from suffice.models.joint import JointModel, log_posterior, posterior
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Block, Schema
from suffice.statistics.moments import Moments, TiedMoments
from suffice.tables.labels import LabelCoder, class_list, sorted_order

_EPSILON = float(np.finfo(np.float64).eps)
#: with more columns than this, and more columns than rows, the rows are decomposed instead of their moments
_WIDE = 256


@documented
class LinearDiscriminantAnalysis(Discriminant, peers.LinearDiscriminantAnalysis):  # type: ignore[misc]
    """scikit-learn's `LinearDiscriminantAnalysis`: Gaussian classes that share a covariance.

    Beyond it: `sample_weight`, exact `partial_fit`, `score_samples` and `explain`; posteriors that stay accurate with
    an offset of the columns and with collinear columns.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice.dropin import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = LinearDiscriminantAnalysis().fit(X, y)
    >>> float(lda.score(X, y)), lda.transform(X).shape
    (0.98, (150, 2))
    """

    _linear: LinearScores
    _estimator_needs = "covariance estimator is not supported with svd solver. Try another solver"
    _narrow = (linear_scores, posterior, log_posterior)

    def _family(self) -> Gaussian:
        own = self.priors is not None and (self.solver != "svd" or self.store_covariance)
        return Gaussian("full" if own or isinstance(self.shrinkage, str) else "tied")

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
        X, y = validated(self, X, y, least_rows=2)
        self._require_no_weight(sample_weight)
        if self.solver == "svd" and X.shape[0] < X.shape[1] and X.shape[1] > _WIDE:
            return self._fit_wide(X, y, sample_weight)
        return self._fit(X, y, sample_weight)

    def _fit_wide(self, X: NDArray[Any], y: Any, sample_weight: Any) -> Self:
        """Fit fewer rows than columns by decomposing the rows themselves: no d×d array is made."""
        assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")
        self._dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
        coder = LabelCoder()
        found = self._labelled(X, y, sample_weight, coder)
        totals = found.labels.totals()
        seen = np.flatnonzero(totals > 0)
        order = seen[sorted_order(class_list(found.classes[seen]))]
        rows = self._in_order(found, found.classes[order])
        X, labels, count = rows.X.astype(np.float64), rows.labels, totals[order]
        # relative to a row of the table, so that an offset of the columns loses no precision in the sums
        base = X[0]
        means = base + labels.sums(X - base) / count[:, None]
        z = X - means[labels.codes]
        weight = np.ones(len(z)) if labels.weight is None else labels.weight
        deviation = deviations((weight @ z**2) / weight.sum(), np.abs(means).max(0))
        z *= np.sqrt(weight / weight.sum())[:, None]
        _, singular, axes = np.linalg.svd(z / deviation, full_matrices=False)
        kept = singular > max(self.tol, max(z.shape) * _EPSILON * singular[0])
        whitening = (axes[kept] / deviation).T / singular[kept]
        self.classes_ = rows.classes.copy()
        priors = self._find_priors(count, len(X), weighted=sample_weight is not None)
        if self.store_covariance:
            z *= np.sqrt(priors * weight.sum() / count)[labels.codes][:, None]
            self.covariance_ = z.T @ z
        d = X.shape[1]
        names = getattr(self, "feature_names_in_", None)
        family = Gaussian("tied")
        schema = Schema(None if names is None else tuple(names), d, (Block(family, tuple(range(d))),))
        self._model = self._project(schema, priors, means, float(weight.sum()), whitening, None)
        return self

    def _find_priors(self, count: FloatArray, n_rows: float, *, weighted: bool) -> FloatArray:
        """Return the class probabilities, given or counted, with scikit-learn's checks."""
        if not weighted and n_rows == len(count):
            raise ValueError("The number of samples must be more than the number of classes.")
        priors = count / count.sum() if self.priors is None else np.asarray(self.priors, dtype=np.float64)
        if (priors < 0).any():
            raise ValueError("priors must be non-negative")
        require_one_per_class(priors, count)
        if abs(priors.sum() - 1.0) > 1e-5:
            warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=4)
            priors = priors / priors.sum()
        return np.asarray(priors)

    def _model_of(self, statistics: ModelStatistics, rows: Labelled | None) -> JointModel:
        moments = statistics.joint.blocks[0]
        assert isinstance(moments, Moments)
        total = float(moments.count.sum())
        priors = self._find_priors(statistics.class_count, total, weighted=self._weighted)
        means, constant = moments.mean, np.abs(moments.mean).max(0)
        within = moments.pooled() / total
        deviation = deviations(np.diagonal(within), constant)
        if self.solver == "svd":
            if self.store_covariance:
                self.covariance_ = self._covariance(moments, priors, None)[0]
            whitening, log_determinant = whitening_of(within, deviation, self.tol**2)
            return self._project(statistics.schema, priors, means, total, whitening, (within, log_determinant))
        covariance, all_rows = self._covariance(moments, priors, rows)
        self.covariance_ = covariance
        deviation = deviations(np.diagonal(covariance), constant)
        whitening, log_determinant = whitening_of(covariance, deviation)
        origin = moments.total_mean()
        if self.solver == "eigen":
            if all_rows is None:
                all_rows = within + between(moments)
                all_rows = all_rows if self.shrinkage is None else shrunk(all_rows, float(self.shrinkage))
            values, vectors = np.linalg.eigh(whitening.T @ (all_rows - covariance) @ whitening)
            self._limit_components(len(means), len(covariance))
            with np.errstate(invalid="ignore"):  # 0/0 if there is no variance between the classes
                self.explained_variance_ratio_ = np.sort(values / values.sum())[::-1][: self._max_components]
            whitening = same_sign(whitening @ vectors[:, ::-1])
            self.scalings_ = whitening.astype(self._dtype)
        else:
            self._limit_components(len(means), len(covariance))
            if whitening.shape[1] < len(covariance):  # the minimum-norm solution, as by least squares
                whitening, log_determinant = whitening_of(covariance, np.ones(len(covariance)))
        return self._finish(
            statistics.schema, priors, means, origin, whitening, (covariance, log_determinant), centred=False
        )

    def _covariance(
        self, moments: Moments, priors: FloatArray, rows: Labelled | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return Σ prior_c Σ_c, and the covariance of all rows if it is estimated separately, else None."""
        if isinstance(moments, TiedMoments) and self.covariance_estimator is None:
            if self.priors is not None:
                raise NotKeptError(
                    "given priors weigh the covariances of the classes, but only their sum was kept; set priors before "
                    "the first call of partial_fit"
                )
            within = moments.pooled() / moments.count.sum()
            return within if self.shrinkage is None else shrunk(within, float(self.shrinkage)), None
        own, all_rows = class_covariances(moments, self.shrinkage, self.covariance_estimator, rows)  # type: ignore[arg-type]
        return np.tensordot(priors, own, axes=1), all_rows

    def _limit_components(self, n_classes: int, n_columns: int) -> None:
        most = min(n_classes - 1, n_columns)
        if self.n_components is not None and self.n_components > most:
            raise ValueError("n_components cannot be larger than min(n_features, n_classes - 1).")
        self._max_components = most if self.n_components is None else self.n_components
        self._n_features_out = self._max_components

    def _project(
        self,
        schema: Schema,
        priors: FloatArray,
        means: FloatArray,
        total: float,
        whitening: FloatArray,
        density: tuple[FloatArray, float] | None,
    ) -> JointModel:
        """Return the model on the directions that the class means span, for the 'svd' solver."""
        k = len(means)
        self._limit_components(k, schema.n_columns)
        heaviest = means[np.argmax(priors)]
        origin = heaviest + priors @ (means - heaviest)
        spread = np.sqrt(total * priors / max(k - 1, 1))[:, None] * ((means - origin) @ whitening)
        if spread.shape[1] == 0:
            axes, singular = np.zeros((0, 0)), np.zeros(0)
        else:
            _, singular, axes = np.linalg.svd(spread, full_matrices=False)
        squares = singular**2
        with np.errstate(invalid="ignore"):
            self.explained_variance_ratio_ = (squares / squares.sum())[: self._max_components].astype(self._dtype)
        kept = singular > self.tol * singular.max(initial=0.0)
        directions = same_sign(whitening @ axes[kept].T)
        self.xbar_ = origin.astype(self._dtype)
        self.scalings_ = directions.astype(self._dtype)
        return self._finish(schema, priors, means, origin, directions, density, centred=True, whitening=whitening)

    def _finish(
        self,
        schema: Schema,
        priors: FloatArray,
        means: FloatArray,
        origin: FloatArray,
        directions: FloatArray,
        density: tuple[FloatArray, float] | None,
        *,
        centred: bool,
        whitening: FloatArray | None = None,
    ) -> JointModel:
        """Set the linear discriminant, and return the model that has it as log-odds.

        With z = x − o about the origin o, the scores are z·P(μ − o) − ½ (μ − o)ᵀP(μ − o) + log prior, with P = AAᵀ of
        the directions A. Solvers that do not centre add (z + ½o)·Po, which is common to all classes.
        """
        projected = (means - origin) @ directions
        weights = projected @ directions.T
        log_prior = log_shares(priors)
        constants = log_prior - 0.5 * (projected**2).sum(1)
        shared = np.zeros_like(origin) if centred else directions @ (origin @ directions)
        coef, intercept = weights + shared, constants - weights @ origin - 0.5 * (origin @ shared)
        constants = constants + 0.5 * (origin @ shared)
        if len(means) == 2:
            # the difference itself, since common terms would only lose precision
            coef, intercept = weights[1:] - weights[:1], intercept[1:] - intercept[:1]
            self._linear = LinearScores(origin, coef, constants[1:] - constants[:1])
        else:
            self._linear = LinearScores(origin, weights + shared, constants)
        self.priors_, self.means_ = priors.astype(self._dtype), means.astype(self._dtype)
        self.coef_, self.intercept_ = coef.astype(self._dtype), intercept.astype(self._dtype)
        self._whitening = directions if whitening is None else whitening
        self._density = density
        covariance = np.zeros((1, 0, 0)) if density is None else density[0][None]
        form = SharedForm(means, covariance[0], origin, directions.T, 0.0)
        return JointModel(schema, log_prior, (Whitened(Gaussian("tied"), means, covariance, given=form),))

    def _densities(self) -> JointModel:
        """Return the model with the full covariance within the classes, not only the discriminant directions."""
        model = self._joint()
        distributions = model.distributions[0]
        assert isinstance(distributions, GaussianDistributions)
        if self._density is None or self._whitening.shape[1] < model.schema.n_columns:
            raise ValueError(
                f"the covariance within the classes has rank {self._whitening.shape[1]} of {model.schema.n_columns}, "
                f"so the rows have no density; leave out columns that depend on others, or use shrinkage"
            )
        covariance, log_determinant = self._density
        origin = distributions.form.origin  # type: ignore[attr-defined]
        form = SharedForm(distributions.means, covariance, origin, self._whitening.T, log_determinant)
        whole = Whitened(distributions.family, distributions.means, covariance[None], given=form)
        return JointModel(model.schema, model.log_prior, (whole,))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of the second of two classes, (n,), else log p(c | x) up to a common term, n×k.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The rows, with the columns of training.
        """
        self._joint()
        scores = self._score(linear_scores, X, self._linear)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def transform(self, X: Any) -> FloatArray:
        """Return the rows projected on the discriminant directions, n×n_components.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The rows, with the columns of training.
        """
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        self._joint()
        directions = np.asarray(self.scalings_[:, : self._max_components], dtype=np.float64)
        origin = self._linear.origin if self.solver == "svd" else np.zeros(len(directions))
        return self._score(linear_scores, X, LinearScores(origin, directions.T, np.zeros(directions.shape[1])))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags
