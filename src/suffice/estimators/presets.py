"""Well-known special cases of the generative classifier: naive Bayes and Gaussian discriminant analysis."""

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
    """Naive Bayes for columns of any type: all columns are independent given the class.

    Numbers are Gaussian, booleans Bernoulli, text Categorical; pass ``families="multinomial"`` for bags of words and
    ``"poisson"`` for counts. Attributes are those of `GenerativeClassifier`.

    Parameters
    ----------
    families : "auto", Family, name of a family, or mapping, default "auto"
        The distribution of each column given the class; "auto" chooses by the types of the columns. See
        `GenerativeClassifier`.
    prior : "auto", None, number, Prior or list of Priors, default "auto"
        "auto" adds a weak prior, so that no probability is zero and no covariance singular; None is maximum
        likelihood, and a number is a pseudo-count. See `GenerativeClassifier`.
    class_prior : "empirical", "uniform", PseudoCount, mapping or array, default "empirical"
        The probabilities of the classes: their shares in the training rows, equal shares, smoothed shares, or given
        probabilities (an array is in the order of the sorted classes).
    n_components : int or mapping of class to int, default 1
        The number of mixture components of each class; more than one are found by EM.
    unseen : "prior" or "missing", default "prior"
        How a category that was not seen in training counts in prediction: with the probability that the prior gives
        it, or not at all, as a missing cell.
    threshold : number, mapping of class to number, or None, default None
        With two classes, the probability that the second must reach; with more, the class with the largest
        probability divided by its threshold is predicted. None, without a cost, predicts the most probable class.
    cost : array of shape (k, k) or None, default None
        ``cost[i, j]`` is the cost of predicting class j when class i is true; the class with the least expected cost
        is predicted.
    estimate : "map", "mle" or "predictive", default "map"
        Whether to use one estimate of the parameters under the prior, maximum likelihood, or an average over the
        posterior of the parameters; see `GenerativeClassifier`.
    classes : list of labels, int or None, default None
        The classes; an integer names them 0, 1, … Needed only if no row has a label.
    missing_label : label, None or "auto", default "auto"
        The label that marks a row without a label, in addition to None and NaN; see `GenerativeClassifier`.
    unlabeled_weight : float, default 1.0
        The weight of a row without a label; a row with a label has weight 1.
    max_iter : int, default 500
        The maximum number of EM iterations, if `fit` needs EM.
    tol : float, default 1e-6
        EM ends when the relative increase of the bound is at most `tol`.
    acceleration : None or "squarem", default None
        Whether EM takes extrapolation steps; see `Mixture`.
    random_state : int, Generator, RandomState or None, default None
        The seed of the starting points of EM.
    verbose : bool, default False
        Whether to show the progress of EM.
    n_jobs : int or None, default None
        The number of threads; None is one per core.

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
    the posterior is linear, and `coef_`, `intercept_` and `boundary_point_` describe it. The attributes that are not
    listed here are those of `GenerativeClassifier`.

    Parameters
    ----------
    covariance : str, default "tied"
        The covariance structure: "tied" (LDA), "full" (QDA), "diagonal", "tied-diagonal", "spherical",
        "tied-spherical", or one of the fourteen codes of mclust, like "VVE".
    prior : "auto", None, number, Prior or list of Priors, default "auto"
        "auto" adds a weak prior, so that no probability is zero and no covariance singular; None is maximum
        likelihood, and a number is a pseudo-count. See `GenerativeClassifier`.
    class_prior : "empirical", "uniform", PseudoCount, mapping or array, default "empirical"
        The probabilities of the classes: their shares in the training rows, equal shares, smoothed shares, or given
        probabilities (an array is in the order of the sorted classes).
    n_components : int or mapping of class to int, default 1
        The number of mixture components of each class; more than one are found by EM.
    threshold : number, mapping of class to number, or None, default None
        With two classes, the probability that the second must reach; with more, the class with the largest
        probability divided by its threshold is predicted. None, without a cost, predicts the most probable class.
    cost : array of shape (k, k) or None, default None
        ``cost[i, j]`` is the cost of predicting class j when class i is true; the class with the least expected cost
        is predicted.
    estimate : "map", "mle" or "predictive", default "map"
        Whether to use one estimate of the parameters under the prior, maximum likelihood, or an average over the
        posterior of the parameters; see `GenerativeClassifier`.
    classes : list of labels, int or None, default None
        The classes; an integer names them 0, 1, … Needed only if no row has a label.
    missing_label : label, None or "auto", default "auto"
        The label that marks a row without a label, in addition to None and NaN; see `GenerativeClassifier`.
    unlabeled_weight : float, default 1.0
        The weight of a row without a label; a row with a label has weight 1.
    max_iter : int, default 500
        The maximum number of EM iterations, if `fit` needs EM.
    tol : float, default 1e-6
        EM ends when the relative increase of the bound is at most `tol`.
    acceleration : None or "squarem", default None
        Whether EM takes extrapolation steps; see `Mixture`.
    random_state : int, Generator, RandomState or None, default None
        The seed of the starting points of EM.
    verbose : bool, default False
        Whether to show the progress of EM.
    n_jobs : int or None, default None
        The number of threads; None is one per core.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1, d) and (1,) for two classes, (k, d) and (k,) for more
        The coefficients of the linear log-odds, if the covariance is tied.
    boundary_point_ : array of shape (d,)
        The point where the line through the means of two classes meets their boundary, if the covariance is tied.
    scalings_ : array of shape (d, r)
        Fisher's discriminant directions.
    explained_variance_ratio_ : array of shape (r,)
        The fraction of the between-class variance along each direction.

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
        """The family of all columns, Gaussian with the given covariance."""
        return Gaussian(self.covariance)

    def transform(self, X: Any) -> FloatArray:
        """Return the rows projected onto Fisher's discriminant directions, n×r; NaN for rows with missing cells."""
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
        """Fisher's discriminant directions, d×r."""
        return self._directions()[1]

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """The fraction of the between-class variance along each discriminant direction, (r,)."""
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
