"""Intervals of parameters or predictions: an array of bounds that knows whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from suffice._arrays import FloatArray
from suffice.tables.results import result_frame


class Intervals(np.ndarray[Any, np.dtype[np.float64]]):
    """An array of lower and upper bounds, n×2, that `to_frame` returns as a data frame.

    Parts of it, and results of computations with it, are arrays like any other.

    Parameters
    ----------
    bounds : array of shape (n, 2)
        The lower and the upper bounds.
    terms : sequence of str, optional
        The names of the parameters; intervals of predictions have none.
    library : str, optional
        The data-frame library of the training table.

    Examples
    --------
    >>> Intervals([[0.5, 1.5]], ["age"]).to_frame("pandas")
      term  low  high
    0  age  0.5   1.5
    """

    terms: tuple[str, ...] | None
    library: str | None

    def __new__(
        cls, bounds: FloatArray | Sequence[Any], terms: Sequence[str] | None = None, library: str | None = None
    ) -> Self:
        """Return a view of the bounds."""
        made = np.asarray(bounds, dtype=np.float64).view(cls)
        made.terms, made.library = None if terms is None else tuple(terms), library
        return made

    def __array_finalize__(self, other: Any) -> None:
        self.terms, self.library = None, getattr(other, "library", None)

    def __reduce__(self) -> Any:
        return Intervals, (np.asarray(self), self.terms, self.library)

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame with the columns "low" and "high", and "term" for intervals of parameters.

        Parameters
        ----------
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default that of the training table, or one that is installed.
        """
        bounds = np.asarray(self)
        if bounds.ndim != 2 or bounds.shape[1] != 2:
            raise ValueError(f"intervals have two columns, low and high, but this part of them has shape {self.shape}")
        columns: dict[str, Any] = {} if self.terms is None else {"term": list(self.terms)}
        columns |= {"low": bounds[:, 0], "high": bounds[:, 1]}
        return result_frame(columns, library, known=self.library)
