"""Logistic regression for two or more classes: scikit-learn's interface to Newton's method over the engines."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray
from suffice.estimators._logistic_derivatives import LogisticDerivatives
from suffice.estimators._logistic_inference import LogisticInference
from suffice.glm.baseline import totals
from suffice.glm.classes import Classes
from suffice.glm.design import Design, Survey
from suffice.glm.objective import Found
from suffice.glm.pairs import Pair, pair
from suffice.glm.predicting import answer
from suffice.glm.regression import Settings, fit_pair
from suffice.glm.responses import BernoulliResponse
from suffice.glm.rows import Data, open_rows
from suffice.glm.softmax import SoftmaxPoint, class_weights, fit_softmax, softmax_predictor, symmetric
from suffice.glm.sums import Point, predictor
from suffice.glm.warn import INTERCEPT, warn_of_fit
from suffice.optimize.interrupts import end_early
from suffice.optimize.progress import progress_line


class LogisticRegression(LogisticDerivatives, LogisticInference, ClassifierMixin, BaseEstimator):
    """Logistic regression, log p(c | x) = intercept_c + x·coef_c + constant, fitted by Newton's method.

    Data-frame columns of text and categories become one 0/1 column per level except the first. Missing cells are not
    allowed; the generative classifiers accept them. With more than 1,500 parameters, L-BFGS replaces Newton's method,
    on columns that it scales itself and with up to fifty times `max_iter` iterations.

    Parameters
    ----------
    alpha : float, default 0.0
        The precision of a normal prior on each coefficient except the intercepts: the fit maximises
        log-likelihood − ½ α Σ coef². It is 1/C of scikit-learn. 0 is maximum likelihood, which for separated classes
        is kept finite by a tiny ridge, with a warning that names the columns.
    fit_intercept : bool, default True
        Whether to fit intercepts.
    firth : bool, default False
        Whether to use Firth's correction (see `GLM`), for two classes only.
    max_iter : int, default 100
        The maximum number of iterations; fifty times as many for L-BFGS.
    tol : float, default 1e-12
        How far the log-likelihood may be below its maximum before the last step, in units of log-likelihood.
    verbose : bool, default False
        Whether to show each iteration on standard error.
    n_jobs : int or None, default None
        The number of threads; None is one per core.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The classes, sorted.
    coef_ : array of shape (1, p) for two classes, (k, p) for more
        The coefficients. For more than two classes they sum to 0 over the classes.
    intercept_ : array of shape (1,) or (k,)
        The intercepts.
    terms_ : list of str
        The names of the columns of the design, such as "age" and "smoke[yes]".
    parameter_names_ : list of str
        The names of the parameters: "(intercept)" if there is one, then the terms; for more than two classes those of
        each class except the first, such as "virginica: age".
    parameters_, std_errors_ : arrays, in the order of `parameter_names_`
        The intercepts and coefficients relative to the first class, that is those of log p(c | x) − log p(first | x),
        and their standard errors by the inverse information.
    covariance_ : array, in the order of `parameter_names_`
        The covariance matrix of the parameters.
    log_likelihood_, deviance_, null_deviance_, aic_, bic_ : float
        The measures of fit on the training rows; the deviance is −2 log-likelihood.
    aliased_ : list of str
        Parameters of columns that are linear combinations of earlier ones; they are 0.
    n_iter_ : int
        The number of iterations over all rows.
    converged_ : bool
        Whether the fit converged.
    n_features_in_, feature_names_in_ : int, array of str
        The number of columns of X, and their names if it had names, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import LogisticRegression
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> model = LogisticRegression().fit(X, ["no", "no", "yes", "no", "yes", "yes"])
    >>> model.predict([[0.5], [4.5]]).tolist()
    ['no', 'yes']
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([[1.214]]), array([-3.035]))
    """

    def __init__(
        self,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        *,
        firth: bool = False,
        max_iter: int = 100,
        tol: float = 1e-12,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.firth = firth
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.n_jobs = n_jobs

    # -- learning -----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, start: Any = None) -> Self:
        """Estimate the coefficients.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, without missing cells.
        y : labels of any type, one per row
            The classes of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        start : array of shape (1 + p,), (k, 1 + p) for more than two classes, or a model, optional
            The starting point: intercepts, if there are any, and coefficients, or a model that has them as `coef_`. A
            generative classifier with linear log-odds gives the coefficients of its `to_logistic`.

        Returns
        -------
        self : estimator
            The fitted estimator itself.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C, with the best coefficients so far kept; see `suffice.keep_on_interrupt`.
        """
        settings = Settings(self.fit_intercept, self.alpha, self.firth, self.max_iter, self.tol)
        labels = Classes()
        data = open_rows(
            X, y, sample_weight, survey=Survey(intercept=self.fit_intercept), meet=labels.meet, target=labels.target,
            estimator=type(self).__name__, n_jobs=self.n_jobs,
        )  # fmt: skip
        classes = labels.classes()
        k = len(classes)
        if k < 2:
            raise ValueError(f"a classifier needs at least two classes, but y has {k} class: {list(classes)}")
        if start is not None:
            start = self._begin(start, data.design, k)
        if k > 2 and self.firth:
            raise ValueError(f"Firth's correction is for two classes, but y has {k}; pass alpha > 0 instead")
        with progress_line(self.verbose, self.max_iter, self.tol) as watch:
            if k == 2:
                met = data.targets.reduce(totals, None)
                _require_weight(met.weight)
                weight, n_rows = np.array([met.weight - met.y, met.y]), met.n_rows
                found, _ = fit_pair(_LOGIT, data, met, settings, start, watch)
            else:
                known = data.targets.reduce(class_weights, k)
                weight, n_rows = known.weight, known.n_rows
                _require_weight(float(weight.sum()))
                found = fit_softmax(data, weight, settings, start, watch)
        self._adopt(data, classes, found)
        self._set_inference(found, n_rows, weight)
        names = np.array(([INTERCEPT] if self.fit_intercept else []) + self.terms_, dtype=object)
        absent = classes[weight == 0.0].tolist()
        nothing = f"y has no row with a positive weight of class {', '.join(map(repr, absent))}" if absent else None
        warn_of_fit(np.tile(names, k - 1), found, stacklevel=3, firth=k == 2, constant=nothing)
        if found.interrupted:
            end_early(f"the coefficients are the best of {found.n_iter} iterations", stacklevel=2)
        return self

    def _begin(self, start: Any, design: Design, k: int) -> Any:
        """Return the starting point as an array, or as an object with `coef_`."""
        values = _as_start(start, design, k)
        return values if values is start or self.fit_intercept else values[:, 1:]

    @classmethod
    def from_coefficients(
        cls, classes: NDArray[Any], design: Design, coefficients: FloatArray, intercepts: FloatArray, center: FloatArray
    ) -> Self:
        """Return a model with given coefficients, k×p, of a design with centred columns, and intercepts, (k,).

        Parameters
        ----------
        classes : array of shape (k,)
            The classes, in the order of the coefficients.
        design : Design
            The columns of the design.
        coefficients : array of shape (k, p)
            The coefficients of each class.
        intercepts : array of shape (k,)
            The intercepts at the centre.
        center : array of shape (p,)
            The centre, which is subtracted from the columns.
        """
        every = np.column_stack([intercepts, coefficients])
        model = cls()
        model._set_parameters(classes, design, every[1:] - every[:1], center)
        model._set_unknown()
        return model

    def _set_parameters(self, classes: NDArray[Any], design: Design, theta: FloatArray, center: FloatArray) -> None:
        """Store the parameters of all classes except the first, (k − 1)×(1 + p), for columns centred at `center`."""
        self.classes_ = classes
        self.design_ = design
        self.terms_ = design.names
        self.n_features_in_ = design.schema.n_columns
        if design.schema.names is not None:
            self.feature_names_in_ = np.array(design.schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._theta, self._center = theta, center
        self._set_parameter_vector()
        shown = self._theta if len(classes) == 2 else symmetric(self._theta)
        self.coef_ = shown[:, 1:].copy()
        self.intercept_ = shown[:, 0] - self.coef_ @ self._center if self.fit_intercept else np.zeros(len(shown))

    def _adopt(self, data: Data, classes: NDArray[Any], found: Found) -> None:
        """Store the estimates."""
        theta, center = found.theta.reshape(len(classes) - 1, -1), data.center
        if not self.fit_intercept:
            theta, center = np.pad(theta, ((0, 0), (1, 0))), np.zeros(len(center))
        self._set_parameters(classes, data.design, theta, center)
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged

    # -- prediction ---------------------------------------------------------------------------------------------

    def _answer(self, X: Any) -> FloatArray:
        """Return the log-odds of the second of two classes, (n,), or log p(c | x) of several, n×k."""
        check_is_fitted(self, "coef_")
        two = len(self.classes_) == 2
        at: Any = Point(_LOGIT, self._center, self._theta[0]) if two else SoftmaxPoint(self._center, self._theta)
        kernel = predictor if two else softmax_predictor
        name = type(self).__name__
        return answer(X, self.design_, kernel, at, offset_of=lambda *_: None, estimator=name, n_jobs=self.n_jobs)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of the second class, (n,); for more than two classes log p(c | x), n×k.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._answer(X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log p(c | x), n×k.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        found = self._answer(X)
        if found.ndim == 2:
            return found
        return np.column_stack([-np.logaddexp(0.0, found), -np.logaddexp(0.0, -found)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return p(c | x), n×k.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        found = self._answer(X)
        return np.exp(found) if found.ndim == 2 else np.column_stack([expit(-found), expit(found)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, (n,).

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        found = self._answer(X)
        return self.classes_[found.argmax(axis=1) if found.ndim == 2 else (found > 0.0).astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


_LOGIT: Pair = pair(BernoulliResponse())


def _require_weight(weight: float) -> None:
    if weight == 0:
        raise ValueError("at least one row must have a positive weight, but all weights are zero")


def _as_start(start: Any, design: Design, n_classes: int) -> Any:
    """Return the starting coefficients of a design; those of a generative model are matched by the names of terms."""
    if not hasattr(start, "to_logistic"):
        return start
    found = start.to_logistic()
    place = {name: j for j, name in enumerate(found.terms_)}
    if len(found.classes_) != n_classes:
        raise ValueError(
            f"the model to begin with has {len(found.classes_)} classes, but y has {n_classes}; fit it to the "
            "same classes"
        )
    coefficients = np.zeros((len(found.coef_), len(design.names)))
    for j, name in enumerate(design.names):
        if name in place:
            coefficients[:, j] = found.coef_[:, place[name]]
    return np.column_stack([found.intercept_, coefficients])
