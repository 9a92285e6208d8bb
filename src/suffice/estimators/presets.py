"""The models that have names: naive Bayes, and Gaussian discriminant analysis."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray, to_float64
from suffice.engines.base import Chunk
from suffice.estimators.classifier import GenerativeClassifier
from suffice.families import Gaussian
from suffice.families.cells import observed_cells
from suffice.models import passes
from suffice.models.linear import discriminant_directions
from suffice.priors import PriorSpec


class NaiveBayes(GenerativeClassifier):
    """Naive Bayes of every kind: all columns independent given the class.

    Numbers are Gaussian, booleans Bernoulli, words Categorical; say ``families="multinomial"`` for bags of words and
    ``"poisson"`` for counts. Parameters and attributes are those of `GenerativeClassifier`.

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import NaiveBayes
    >>> table = pd.DataFrame({"outlook": ["sun", "rain", None, "sun"], "wind": [3.0, 20.0, 25.0, 5.0]})
    >>> model = NaiveBayes().fit(table, ["play", "stay", "stay", "play"])
    >>> model.predict(pd.DataFrame({"outlook": ["hail"], "wind": [4.0]})).tolist()
    ['play']
    """

    covariance = "diagonal"
    _fixed = ("covariance",)

    def __init__(
        self,
        families: Any = "auto",
        prior: PriorSpec = "auto",
        class_prior: Any = "empirical",
        *,
        n_components: Any = 1,
        unseen: str = "prior",
        threshold: Any = None,
        cost: Any = None,
        estimate: str = "map",
        classes: Any = None,
        missing_label: Any = "auto",
        unlabeled_weight: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-6,
        acceleration: str | None = None,
        random_state: Any = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.families = families
        self.prior = prior
        self.class_prior = class_prior
        self.n_components = n_components
        self.unseen = unseen
        self.threshold = threshold
        self.cost = cost
        self.estimate = estimate
        self.classes = classes
        self.missing_label = missing_label
        self.unlabeled_weight = unlabeled_weight
        self.max_iter = max_iter
        self.tol = tol
        self.acceleration = acceleration
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs


class GaussianDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GenerativeClassifier):
    """Gaussian discriminant analysis: linear with a tied covariance, quadratic with a full one.

    All columns are Gaussian. `transform` projects onto Fisher's discriminant directions. With a tied covariance
    `coef_`, `intercept_` and `boundary_point_` are the linear form of the posterior.

    Parameters
    ----------
    covariance : str
        "tied" (LDA), "full" (QDA), "diagonal", "tied-diagonal", "spherical", "tied-spherical", or one of the
        fourteen codes of mclust, like "VVE".

    The others are those of `GenerativeClassifier`.

    Attributes
    ----------
    scalings_ : array of shape (d, r)
        Fisher's directions.
    explained_variance_ratio_ : array of shape (r,)
        The share of the variance between the classes along each of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = GaussianDiscriminant(covariance="tied").fit(X, y)
    >>> round(lda.score(X, y), 2), lda.transform(X).shape
    (0.98, (150, 2))
    """

    unseen = "prior"
    _advice = "use GenerativeClassifier, which takes words,"

    def __init__(
        self,
        covariance: Any = "tied",
        prior: PriorSpec = "auto",
        class_prior: Any = "empirical",
        *,
        n_components: Any = 1,
        threshold: Any = None,
        cost: Any = None,
        estimate: str = "map",
        classes: Any = None,
        missing_label: Any = "auto",
        unlabeled_weight: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-6,
        acceleration: str | None = None,
        random_state: Any = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.covariance = covariance
        self.prior = prior
        self.class_prior = class_prior
        self.n_components = n_components
        self.threshold = threshold
        self.cost = cost
        self.estimate = estimate
        self.classes = classes
        self.missing_label = missing_label
        self.unlabeled_weight = unlabeled_weight
        self.max_iter = max_iter
        self.tol = tol
        self.acceleration = acceleration
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @property
    def families(self) -> Gaussian:
        """All columns are Gaussian."""
        return Gaussian(self.covariance)

    def transform(self, X: Any) -> FloatArray:
        """Return the rows along Fisher's discriminant directions, n×r, NaN for rows with missing cells."""
        check_is_fitted(self, "statistics_")
        center, directions, _ = self._directions()
        return passes.score(
            X,
            self.schema_,
            _project,
            (center, directions),
            estimator=type(self).__name__,
            n_jobs=self.n_jobs,
        )

    @property
    def scalings_(self) -> FloatArray:
        """Fisher's directions, d×r."""
        return self._directions()[1]

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """The share of the variance between the classes along each direction."""
        return self._directions()[2]

    def _directions(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        if not hasattr(self, "statistics_"):
            raise AttributeError("the model is not fitted yet, so it has no discriminant directions")
        return discriminant_directions(self.statistics_, self._joint.log_prior, self._prior)

    @property
    def _n_features_out(self) -> int:
        return int(self.scalings_.shape[1])


def _project(chunk: Chunk, params: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Kernel: (x − mean) · directions."""
    center, directions = params
    rows = chunk.blocks[0]
    dense = to_float64(rows.toarray() if hasattr(rows, "toarray") else rows)
    observed_cells(dense)
    return (dense - center) @ directions
