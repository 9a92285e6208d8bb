"""Methods of fitted generalised linear models: predictions, intervals, residuals and the deviance explained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray
from suffice.glm.design import Design
from suffice.glm.formulas import parse, response_of
from suffice.glm.intervals import Intervals
from suffice.glm.links import as_link
from suffice.glm.pairs import LogisticPair, Pair, pair
from suffice.glm.predicting import answer, explained, is_column, offsets, warn_outside
from suffice.glm.response_names import as_response
from suffice.glm.responses import GaussianResponse, NegativeBinomialResponse
from suffice.glm.successes import Levels
from suffice.glm.sums import Point, predictor, predictor_variance
from suffice.glm.targets import as_target
from suffice.tables.conversion import as_table
from suffice.tables.sources import Source
from suffice.tables.table import Table


class RegressionAnswers:
    """Mixin for generalised linear models."""

    family: Any
    link: Any
    formula: str | None
    shape: float | None
    n_jobs: int | None
    design_: Design
    dispersion_: float
    levels_: Levels | None
    #: which of offset and exposure were arrays in `fit`
    _given: list[str]
    _center: FloatArray
    _theta: FloatArray
    _factor: FloatArray | None
    _quantile: Any

    def _given_pair(self) -> Pair:
        """Return the response, with the shape as the user gave it, and the link."""
        return pair(as_response(self.family, self.shape), None if self.link is None else as_link(self.link))

    def _pair(self) -> Pair:
        """Return the response, with the estimated shape of a fitted model, and the link."""
        given = self._given_pair()
        response = given.response
        if isinstance(response, NegativeBinomialResponse) and response.estimated:
            return pair(replace(response, shape=vars(self).get("shape_", response.shape)), given.link)
        return given

    def _response(self, X: Any, y: Any) -> Any:
        """Return y, or the left side of the formula if y is None."""
        if self.formula is None or isinstance(X, Source):
            return y
        parsed = parse(self.formula, tuple(as_table(X).names or ()))
        if y is None:
            return response_of(parsed, X)
        if parsed.response is not None:
            raise ValueError(
                f"the formula {self.formula!r} names the response; pass X alone, or a formula without a left side"
            )
        return y

    def _design_beside(self, offset: Any, exposure: Any) -> Design:
        """Return the design of tables that may lack the columns which a given offset or exposure replaces."""
        if self.design_.schema.names is None:
            return self.design_
        given = {"offset": offset, "exposure": exposure}
        return self.design_.without(*(name for name, value in given.items() if value is not None))

    def _require_offsets(self, offset: Any, exposure: Any) -> None:
        """Raise ValueError if y belongs to an offset or exposure that is not given, as an array in `fit` was."""
        if self._given and offset is None and exposure is None:
            name = " and ".join(self._given)
            raise ValueError(
                f"this model was fitted with an array as {name}, to which y belongs; pass {self._given[0]}= of these "
                f"rows too, or name a column of X in fit"
            )

    def _answer(
        self,
        X: Any,
        kernel: Any,
        offset: Any,
        exposure: Any,
        factor: FloatArray | None = None,
        offset_of: Callable[[Table, int], FloatArray | None] | None = None,
    ) -> FloatArray:
        check_is_fitted(self, "coef_")
        model, design = self._pair(), self._design_beside(offset, exposure)
        if isinstance(X, Source) and any(v is not None and not is_column(v) for v in (offset, exposure)):
            raise ValueError("for a stream or a scan, name the column that holds the offset or exposure")

        def read(table: Table, start: int) -> FloatArray | None:
            return offsets(table, design, model.link, offset, exposure, start)

        at = Point(model, self._center, self._theta, factor=factor)
        name = type(self).__name__
        return answer(X, design, kernel, at, offset_of=offset_of or read, estimator=name, n_jobs=self.n_jobs)

    def linear_predictor(self, X: Any, *, offset: Any = None, exposure: Any = None) -> FloatArray:
        """Return η = intercept + x·coef + offset of each row, (n,).

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        offset, exposure : array of shape (n,), or a column of X by its name or position, optional
            By default, the column that was named in `fit` is read, if there was one; a given offset or exposure
            replaces that column, which X then need not have. An array that was given in `fit` is not stored.
        """
        return self._answer(X, predictor, offset, exposure)

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> FloatArray:
        """Return the predicted mean of y for each row, (n,): a probability of success for the binomial.

        With an exposure it is a count, the rate times the exposure. The exposure is read from the column that was named
        in `fit`, or given here. If `fit` had an array as exposure and none is given here, it is the rate, for an
        exposure of 1; in the same way, an array as offset counts as 0 here unless one is given.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        offset, exposure : as in `linear_predictor`
            The offset and the exposure of the rows.
        """
        eta, link = self.linear_predictor(X, offset=offset, exposure=exposure), self._pair().link
        warn_outside(link, eta, stacklevel=3)
        return link.mean(eta)

    def predict_interval(
        self, X: Any, level: float = 0.95, *, of: str = "mean", offset: Any = None, exposure: Any = None
    ) -> Intervals:
        """Return a confidence or prediction interval for each row, n×2; `to_frame()` of it is a data frame.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        level : float, default 0.95
            The level of the interval, between 0 and 1.
        of : "mean" or "observation", default "mean"
            "mean" gives a confidence interval for the mean of y, from the standard error of η. "observation" gives a
            prediction interval for a new y (of weight 1), from the quantiles of its distribution with the predicted
            mean; it includes the error of the mean only for the Gaussian with the identity link.
        offset, exposure : as in `linear_predictor`
            The offset and the exposure of the rows.
        """
        check_is_fitted(self, "coef_")
        if of not in ("mean", "observation"):
            raise ValueError(f"`of` must be 'mean' or 'observation', not {of!r}")
        model, quantile = self._pair(), self._quantile(level)
        if self._factor is None:
            raise ValueError("there are too many columns for standard errors, so there are no intervals")
        eta = self.linear_predictor(X, offset=offset, exposure=exposure)
        if of == "observation" and not isinstance(model.response, GaussianResponse):
            warn_outside(model.link, eta, stacklevel=3)
            mean, tail = model.link.mean(eta), 0.5 - 0.5 * level
            edge = (mean == 0.0) | np.isinf(mean)  # such a distribution is concentrated at its mean
            within = np.where(edge, 0.5, mean)
            found = [model.response.quantile(share, within, self.dispersion_) for share in (tail, 1.0 - tail)]
            bounds = np.column_stack([np.where(edge, mean, bound) for bound in found])
            return Intervals(bounds, library=self.design_.schema.library)
        variance = self._answer(X, predictor_variance, offset, exposure, self._factor)
        margin = quantile * np.sqrt(variance + (self.dispersion_ if of == "observation" else 0.0))
        bounds = np.column_stack([model.link.mean(eta - margin), model.link.mean(eta + margin)])
        return Intervals(np.sort(bounds, axis=1), library=self.design_.schema.library)

    def residuals(
        self,
        X: Any,
        y: Any = None,
        kind: str = "deviance",
        *,
        sample_weight: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> FloatArray:
        """Return the residual of each row, (n,).

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        y : array of shape (n,)
            The response, as in `fit`; None if the formula names it.
        kind : "deviance", "pearson", "response" or "working", default "deviance"
            sign(y − μ) √(weight d(y, μ)), (y − μ) √(weight / V(μ)), y − μ, or (y − μ) dη/dμ.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        offset, exposure : as in `linear_predictor`
            The offset and the exposure of the rows; required if they were arrays in `fit`.
        """
        check_is_fitted(self, "coef_")
        self._require_offsets(offset, exposure)
        y = self._response(X, y)
        model = self._pair()
        eta = self.linear_predictor(X, offset=offset, exposure=exposure)
        target = as_target(model, y, sample_weight, len(eta), 0, None, self.levels_)
        mu = model.link.mean(eta)
        raw = target.y - mu
        if kind == "response":
            return raw
        if kind == "working":
            return raw / model.link.derivative(eta)
        if kind == "pearson":
            if isinstance(model, LogisticPair):  # μ(1 − μ), where μ may round to 1
                return raw * np.sqrt(target.weights / np.maximum(model.link.derivative(eta), np.finfo(np.float64).tiny))
            return raw * np.sqrt(target.weights / model.response.variance(mu))
        if kind == "deviance":
            return np.sign(raw) * np.sqrt(target.weights * model.deviance(eta, target.y))
        raise ValueError(f"residuals are 'deviance', 'pearson', 'response' or 'working', not {kind!r}")

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> float:
        """Return the fraction of the deviance that is explained, 1 − deviance / null deviance; R² for the Gaussian.

        The null deviance is that of the best model with only an intercept and the same offset, on these rows. If it is
        0, because y is constant, the score is 1 if the deviance is 0 as well, else 0.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        y : array of shape (n,)
            The response, as in `fit`; None if the formula names it.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        offset, exposure : as in `linear_predictor`
            The offset and the exposure of the rows; required if they were arrays in `fit`.
        """
        check_is_fitted(self, "coef_")
        self._require_offsets(offset, exposure)
        y = self._response(X, y)
        model, design = self._pair(), self._design_beside(offset, exposure)
        shifts: dict[int, FloatArray] = {}

        def offset_of(table: Table, start: int) -> FloatArray | None:
            shift = offsets(table, design, model.link, offset, exposure, start)
            if shift is not None:
                shifts[start] = shift
            return shift

        eta = self._answer(X, predictor, offset, exposure, offset_of=offset_of)
        shift = np.concatenate([shifts[start] for start in sorted(shifts)]) if shifts else None
        target = as_target(model, y, sample_weight, len(eta), 0, shift, self.levels_)
        return explained(model, eta, target, self.n_jobs)
