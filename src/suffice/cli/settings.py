"""Conversion of the options of `suffice fit` from text to model parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suffice.families import Categorical, Family, Gaussian, Text, as_family
from suffice.priors import check_prior


def parse_prior(text: str) -> Any:
    """Return the prior for the text of the option.

    Examples
    --------
    >>> parse_prior("auto"), parse_prior("none"), parse_prior("0.5")
    ('auto', None, 0.5)
    """
    if text.lower() == "auto":
        return "auto"
    if text.lower() == "none":
        return None
    try:
        prior = float(text)
    except ValueError:
        raise ValueError(f"--prior must be auto, none or a number, not {text!r}") from None
    check_prior(prior)
    return prior


def parse_families(pairs: Sequence[str], covariance: str) -> dict[tuple[str, ...], Family]:
    """Return the families of the --family options, each with its columns.

    Columns of one family form one block, because a multinomial or a Gaussian with covariances is over several columns.

    Examples
    --------
    >>> parse_families(["zip=categorical", "visits=poisson", "city=categorical"], "diagonal")
    {('zip', 'city'): Categorical(unseen='prior'), ('visits',): Poisson()}
    """
    columns: dict[str, list[str]] = {}
    for pair in pairs:
        column, equals, name = pair.rpartition("=")
        if not equals or not column:
            raise ValueError(f"--family must be COLUMN=FAMILY, such as zip=categorical, not {pair!r}")
        if any(column in known for known in columns.values()):
            raise ValueError(f"--family names the column {column!r} twice")
        columns.setdefault(as_family(name).name, []).append(column)
    return {
        tuple(together): Gaussian(covariance) if name == Gaussian.name else as_family(name)
        for name, together in columns.items()
    }


def words_in(families: dict[tuple[str, ...], Family]) -> list[str]:
    """Return the columns declared categories or text, which the CSV reader must not convert to numbers."""
    return [
        column
        for together, family in families.items()
        if isinstance(family, (Categorical, Text))
        for column in together
    ]
