"""The usual parameters of a family, as textbooks name them: where they lie, and how given ones are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice._arrays import FloatArray

#: by how much probabilities may miss a sum of 1
_ROUNDING = 1e-8


@dataclass(frozen=True)
class Domain:
    """Where a parameter may lie: between `low` and `high`, which belong to it if `closed`."""

    said: str
    low: float = -np.inf
    high: float = np.inf
    closed: bool = False

    def holds(self, values: FloatArray) -> bool:
        """Return whether all values are finite and lie there."""
        inside = (values >= self.low) & (values <= self.high)
        if not self.closed:
            inside &= (values > self.low) & (values < self.high)
        return bool((np.isfinite(values) & inside).all())


NUMBER = Domain("finite numbers")
POSITIVE = Domain("positive numbers", low=0.0)
NOT_NEGATIVE = Domain("numbers of at least 0", low=0.0, closed=True)
SHARE = Domain("probabilities between 0 and 1", low=0.0, high=1.0, closed=True)
POSITIVE_SHARE = Domain("probabilities above 0, and up to 1", low=5e-324, high=1.0, closed=True)


def require_names(whose: str, given: Mapping[str, Any], needed: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Raise TypeError unless exactly the needed parameters, and possibly optional ones, are given."""
    unknown = [name for name in given if name not in (*needed, *optional)]
    absent = [name for name in needed if name not in given]
    if unknown or absent:
        also = f" (and may take {', '.join(optional)})" if optional else ""
        raise TypeError(
            f"{whose}.from_parameters takes {', '.join(needed)}{also}, but "
            + " and ".join(
                part
                for part in (
                    f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} missing" if absent else "",
                    f"{', '.join(unknown)} {'is' if len(unknown) == 1 else 'are'} not known" if unknown else "",
                )
                if part
            )
        )


def as_row(whose: str, name: str, value: Any, domain: Domain = NUMBER) -> FloatArray:
    """Return a number, or an array of one number per column, as an array of shape (d,)."""
    try:
        values = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.ndim != 1 or not len(values):
        raise ValueError(f"the {name} of a {whose} must be a number, or one number per column, but is {value!r}")
    if not domain.holds(values):
        raise ValueError(f"the {name} of a {whose} must hold {domain.said}, but is {value!r}")
    return values


def as_rows(whose: str, usual: Mapping[str, Domain], given: Mapping[str, Any]) -> dict[str, FloatArray]:
    """Return parameters of the same number of columns, each 1×d; a number stands for every column."""
    require_names(whose, given, list(usual))
    rows = {name: as_row(whose, name, given[name], domain) for name, domain in usual.items()}
    d = max(len(row) for row in rows.values())
    for name, row in rows.items():
        if len(row) not in (1, d):
            raise ValueError(f"the parameters of a {whose} must have one number per column, but {name} has {len(row)} "
                             f"numbers and another one {d}")  # fmt: skip
    return {name: np.broadcast_to(row, (1, d)).copy() for name, row in rows.items()}


def require_sum_of_1(values: FloatArray, what: str) -> None:
    """Raise ValueError unless probabilities sum to 1."""
    if abs(float(values.sum()) - 1.0) > _ROUNDING:
        raise ValueError(f"{what} must sum to 1, but sum to {values.sum():.10g}; divide them by their sum")


def as_mapping(given: Any) -> Mapping[Any, Any] | None:
    """Return a mapping, or a pandas Series or data frame with its index as keys, as a mapping; None for others."""
    if isinstance(given, Mapping):
        return given
    if not hasattr(given, "to_dict") or not hasattr(given, "index"):
        return None
    found = given.to_dict("index") if hasattr(given, "columns") else given.to_dict()
    return found if isinstance(found, Mapping) else None
