"""The uncertainty of a `GLM`, whose dispersion or shape may be estimated."""

from __future__ import annotations

from abc import abstractmethod

from suffice.estimators.inference import Inference
from suffice.glm.design import Design
from suffice.glm.pairs import Pair
from suffice.glm.responses import NegativeBinomialResponse
from suffice.glm.successes import Levels


class GLMInference(Inference):
    """Mixin of `GLM`."""

    terms_: list[str]
    levels_: Levels | None
    cov_type_: str
    design_: Design
    _given: list[str]
    n_groups_: int | None
    dispersion_: float
    shape_std_error_: float

    @abstractmethod
    def _pair(self) -> Pair:
        """Return the response and its link."""

    @property
    def _names(self) -> list[str]:
        return self.terms_

    def _degrees(self) -> float | None:
        known = self._pair().response.dispersion_known or self.cov_type_ != "nonrobust"
        return None if known else self.df_residual_

    def _title(self) -> str:
        model = self._pair()
        return f"{model.response} regression, {model.link} link, {self.n_rows_:,} rows"

    def _notes(self) -> list[tuple[str, str]]:
        """Return the dispersion, and which value of y is a success, or the shape and whether it was estimated."""
        response = self._pair().response
        notes = [("dispersion", f"{self.dispersion_:.5g}" + ("" if response.dispersion_known else " (estimated)"))]
        if self.levels_ is not None:
            failure, success = self.levels_
            notes.append(("success", repr(success) if failure is None else f"{success!r} (not {failure!r})"))
        if isinstance(response, NegativeBinomialResponse):
            how = f" ± {self.shape_std_error_:.4g} (estimated)" if response.estimated else " (given)"
            notes.append(("shape", f"{response.shape:.5g}{how}"))
        for name in ("offset", "exposure"):
            column = getattr(self.design_, name)
            if column is not None:
                notes.append((name, repr(self.design_.schema.column_labels[column])))
            elif name in self._given:
                notes.append((name, "given"))
        if self.cov_type_ != "nonrobust":
            groups = "" if self.n_groups_ is None else f" of {self.n_groups_:,} groups"
            notes.append(("standard errors", self.cov_type_ + groups))
        return notes
