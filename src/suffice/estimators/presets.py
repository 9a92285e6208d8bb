"""Well-known special cases of the generative classifier: naive Bayes and Gaussian discriminant analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray, to_float64
from suffice.engines.base import Chunk
from suffice.estimators.classifier import GenerativeClassifier
from suffice.estimators.settings import DiscriminantSettings, NaiveBayesSettings, documented
from suffice.families import Gaussian
from suffice.families.cells import observed_cells
from suffice.families.gaussian import GaussianDistributions
from suffice.models import passes
from suffice.models.given import gaussian_model
from suffice.models.linear import discriminant_directions, within_classes


@documented
class NaiveBayes(NaiveBayesSettings, GenerativeClassifier):
    """Naive Bayes for columns of any type: all columns are independent given the class.

    Numbers are Gaussian, booleans Bernoulli, text Categorical; pass ``families="multinomial"`` for bags of words and
    ``"poisson"`` for counts. Attributes are those of `GenerativeClassifier`.

    Parameters
    ----------
    families : "auto", Family, name of a family, or mapping, default "auto"
        The distribution of each column given the class; "auto" chooses by the types of the columns. See
        `GenerativeClassifier`.
    {LabelSettings}
    {CategorySettings}
    {SearchSettings}
    {EMSettings}

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


@documented
class GaussianDiscriminant(
    DiscriminantSettings, ClassNamePrefixFeaturesOutMixin, TransformerMixin, GenerativeClassifier
):
    """Gaussian discriminant analysis: linear with a tied covariance, quadratic with a full one.

    All columns are Gaussian. `transform` projects onto Fisher's discriminant directions. With a tied covariance
    the posterior is linear, and `coef_`, `intercept_` and `boundary_point_` describe it. The attributes that are not
    listed here are those of `GenerativeClassifier`.

    Parameters
    ----------
    covariance : str, default "tied"
        The covariance structure: "tied" (LDA), "full" (QDA), "diagonal", "tied-diagonal", "spherical",
        "tied-spherical", or one of the fourteen codes of mclust, like "VVE".
    {LabelSettings}
    {SearchSettings}
    {EMSettings}

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1, d) and (1,) for two classes, (k, d) and (k,) for more
        The coefficients of the linear log-odds, if the covariance is tied: Σ⁻¹(μ_1 − μ_0) for two classes; for more,
        Σ⁻¹μ_c and γ_c = log π_c − ½ μ_cᵀΣ⁻¹μ_c.
    boundary_point_ : array of shape (d,)
        The point where the line through the means of two classes meets their boundary, if the covariance is tied;
        `boundary` has more, for any two classes.
    means_, covariances_ : arrays of shape (k, d) and (k, d, d)
        The means and covariances of the classes.
    covariance_ : array of shape (d, d)
        The covariance that all classes share, if it is tied.
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

    @property
    def families(self) -> Gaussian:
        """The family of all columns, Gaussian with the given covariance."""
        return Gaussian(self.covariance)

    def transform(self, X: Any) -> FloatArray:
        """Return the rows projected onto Fisher's discriminant directions, n×r; NaN for rows with missing cells.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        check_is_fitted(self, "classes_")
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
    def covariance_(self) -> FloatArray:
        """The covariance that all classes share, d×d; raises AttributeError if each class has its own."""
        (block,) = self._joint.schema.blocks
        if not (isinstance(block.family, Gaussian) and block.family.structure.tied):
            raise AttributeError("each class has its own covariance, so there is no covariance_; see covariances_")
        return self.covariances_[0]

    @property
    def scalings_(self) -> FloatArray:
        """Fisher's discriminant directions, d×r."""
        return self._directions()[1]

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """The fraction of the between-class variance along each discriminant direction, (r,)."""
        return self._directions()[2]

    def _directions(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        if not hasattr(self, "classes_"):
            raise AttributeError("the model is not fitted yet, so it has no discriminant directions")
        return discriminant_directions(self._within_classes(), self._joint.log_prior)

    def _within_classes(self) -> GaussianDistributions:
        """Return the Gaussians with one covariance for all classes."""
        if "statistics_" in self.__dict__:
            return within_classes(self.statistics_, self._prior)
        (given,) = self.distributions_
        assert isinstance(given, GaussianDistributions)
        if not given.family.structure.tied:
            raise AttributeError("discriminant directions need one covariance, but each class was given its own")
        return given

    @classmethod
    def from_parameters(  # type: ignore[override]
        cls, class_prior: Any, means: Any, covariance: Any, *, columns: Sequence[str] | None = None, **params: Any
    ) -> Self:
        """Return the discriminant with given class probabilities, means and covariances.

        It predicts, explains, samples and is saved as a fitted one, but has no `statistics_`, so that it cannot be
        updated or merged; `fit` learns a new one with the same structure and class probabilities.

        Parameters
        ----------
        class_prior : mapping of class to probability
            The probabilities of the classes, which sum to 1.
        means : mapping of class to array of shape (d,), or array of shape (k, d)
            The means of the classes; an array is in the order of the sorted classes.
        covariance : array of shape (d, d) or (d,), mapping of class to such arrays, or array of shape (k, d, d)
            The covariance that all classes share (linear), or that of each class (quadratic); (d,) holds variances of
            independent columns.
        columns : list of str, optional
            The names of the columns.
        **params
            Settings of the classifier, such as `cost`.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> lda = GaussianDiscriminant.from_parameters(
        ...     {"a": 0.5, "b": 0.5}, {"a": [0.0, 0.0], "b": [2.0, 0.0]}, [[1.0, 0.0], [0.0, 1.0]])
        >>> lda.coef_, lda.boundary_point_
        (array([[2., 0.]]), array([1., 0.]))
        >>> lda.predict([[0.4, 3.0], [1.2, -3.0]]).tolist()
        ['a', 'b']
        """
        classes, model = gaussian_model(class_prior, means, covariance, columns)
        family = model.schema.blocks[0].family
        assert isinstance(family, Gaussian)
        return cls._of_model(classes, model, {"covariance": family.structure.name, **params})

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
