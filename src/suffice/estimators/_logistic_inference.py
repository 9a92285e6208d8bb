"""The uncertainty of a `LogisticRegression`: its parameters are log-odds relative to the first class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice.estimators.inference import Inference
from suffice.glm.objective import Found
from suffice.glm.warn import INTERCEPT


class LogisticInference(Inference):
    """Mixin of `LogisticRegression`."""

    terms_: list[str]
    classes_: NDArray[Any]
    _theta: FloatArray
    #: what is known of the rows, to tell whether two models were fitted to the same: their number, and class weights
    _totals: FloatArray

    @property
    def parameter_names_(self) -> list[str]:
        """The names of the parameters: "age", or for more than two classes "virginica: age"."""
        each = ([INTERCEPT] if self.fit_intercept else []) + self.terms_
        if len(self.classes_) == 2:
            return each
        return [f"{label}: {name}" for label in self.classes_[1:].tolist() for name in each]

    @property
    def _names(self) -> list[str]:
        return self.parameter_names_

    def _degrees(self) -> None:
        return None

    def _title(self) -> str:
        first, *others = map(repr, self.classes_.tolist())
        shown = ", ".join(others[:6]) + (", …" if len(others) > 6 else "")
        return f"logistic regression, log-odds of {shown} against {first}, {self.n_rows_:,} rows"

    def _notes(self) -> list[tuple[str, str]]:
        return []

    def _set_parameter_vector(self) -> None:
        """Store the log-odds relative to the first class, in the order of their names."""
        theta = np.atleast_2d(self._theta)
        values = theta.copy()
        values[:, 0] -= theta[:, 1:] @ self._center
        self.parameters_ = (values if self.fit_intercept else values[:, 1:]).ravel()

    def _set_inference(self, found: Found, n_rows: int, weight: FloatArray) -> None:
        """Store what is computed from the fit, the number of rows and the weight of each class."""
        others, total = len(weight) - 1, float(weight.sum())
        self._factor = None
        if found.solver is not None and found.hessian is not None:
            size = len(self._center) + 1
            spread = found.solver.root_of_inverse(found.hessian)
            if not self.fit_intercept:  # zeros for the intercepts
                kept = np.tile(np.arange(size) > 0, others)
                spread, small = np.zeros((others * size, others * size)), spread
                spread[np.ix_(kept, kept)] = small
            self._factor = spread
        self.aliased_ = np.array(self._names, dtype=object)[~found.kept].tolist()
        rank = int(found.kept.sum())
        self.n_rows_ = n_rows
        self._totals = np.append(float(n_rows), weight)
        self.df_null_ = others * (n_rows - int(self.fit_intercept))
        self.df_residual_ = others * n_rows - rank
        self.log_likelihood_ = -found.half_deviance
        self.deviance_ = max(2.0 * found.half_deviance, 0.0)
        there = weight[weight > 0.0]
        shares = there / total if self.fit_intercept else np.full(len(there), 1.0 / len(weight))
        self.null_deviance_ = -2.0 * float(there @ np.log(shares))
        self.aic_ = 2.0 * rank - 2.0 * self.log_likelihood_
        self.bic_ = float(np.log(n_rows)) * rank - 2.0 * self.log_likelihood_

    def _set_unknown(self) -> None:
        """Store that the parameters were not estimated from rows."""
        self.n_iter_, self.converged_, self.aliased_, self._factor = 0, True, [], None
        self.n_rows_ = self.df_null_ = self.df_residual_ = 0
        self._totals = np.zeros(1)
        self.log_likelihood_ = self.deviance_ = self.null_deviance_ = self.aic_ = self.bic_ = float("nan")
