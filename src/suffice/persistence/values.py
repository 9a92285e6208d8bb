"""Conversion of settings, labels, families and priors to JSON, each tagged with its type."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from suffice.families import Family, family_from_config
from suffice.families.gaussian.covariance import Covariance, Given, as_structure
from suffice.priors import (
    BetaPrior,
    DirichletPrior,
    DiscretePrior,
    GammaPrior,
    KnownVariance,
    NormalInverseWishart,
    Prior,
    PseudoCount,
)

_PRIORS: dict[str, type[Prior]] = {
    prior.__name__: prior
    for prior in (
        PseudoCount,
        NormalInverseWishart,
        BetaPrior,
        DirichletPrior,
        DiscretePrior,
        GammaPrior,
        KnownVariance,
    )
}


def require(condition: bool, what: str) -> None:
    """Raise ValueError with the given text unless the condition holds."""
    if not condition:
        raise ValueError(what)


def is_count(value: Any) -> bool:
    """Return whether a value is a non-negative integer."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def pack(value: Any) -> Any:
    """Return a value as JSON; a value that JSON does not have is tagged with its type."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return {"time": str(value.astype(np.int64)), "dtype": value.dtype.str}
    if isinstance(value, np.generic):
        return pack(value.item())
    if isinstance(value, (datetime.datetime, datetime.date)):
        return {"date": value.isoformat(), "clock": isinstance(value, datetime.datetime)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Covariance):
        return {"covariance": value.name} if isinstance(value, Given) else value.name
    if isinstance(value, type) and issubclass(value, Family):
        value = value()  # a class means the family with its default settings
    if isinstance(value, Family):
        return {"family": value.name, "config": {name: pack(setting) for name, setting in value.config().items()}}
    if isinstance(value, Prior) and type(value).__name__ in _PRIORS:
        return {"prior": type(value).__name__, "config": {name: pack(v) for name, v in vars(value).items()}}
    if isinstance(value, np.ndarray):
        return {"array": pack(value.tolist())}
    if isinstance(value, tuple):
        return {"tuple": [pack(item) for item in value]}
    if isinstance(value, list):
        return [pack(item) for item in value]
    if isinstance(value, Mapping):
        return {"mapping": [[pack(key), pack(item)] for key, item in value.items()]}
    if callable(value) and not isinstance(value, type):
        raise TypeError(
            f"the function {getattr(value, '__name__', value)!r} cannot be saved, since loading a model runs no code; "
            f"call it yourself, and pass its result as the data: lists of words in place of text"
        )
    raise TypeError(
        f"{value!r} of type {type(value).__name__} cannot be saved without pickle; use numbers, words, booleans, "
        f"families and priors"
    )


_UNPACKERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "family": lambda packed: family_from_config(
        packed["family"], {name: unpack(value) for name, value in packed["config"].items()}
    ),
    "prior": lambda packed: _PRIORS[packed["prior"]](
        **{name: unpack(value) for name, value in packed["config"].items()}
    ),
    "covariance": lambda packed: as_structure(packed["covariance"]),
    "time": lambda packed: np.array([int(packed["time"])], dtype=np.int64).view(packed["dtype"])[0],
    "date": lambda packed: (datetime.datetime if packed["clock"] else datetime.date).fromisoformat(packed["date"]),
    "bytes": lambda packed: bytes.fromhex(packed["bytes"]),
    "array": lambda packed: np.array(packed["array"]),
    "tuple": lambda packed: tuple(unpack(item) for item in packed["tuple"]),
    "mapping": lambda packed: {unpack(key): unpack(item) for key, item in packed["mapping"]},
}


def unpack(packed: Any) -> Any:
    """Return the value that `pack` packed."""
    if isinstance(packed, list):
        return [unpack(item) for item in packed]
    if isinstance(packed, dict):
        for name, unpacker in _UNPACKERS.items():
            if name in packed:
                return unpacker(packed)
        raise ValueError(f"a value of an unknown kind: {sorted(packed)}")
    return packed
