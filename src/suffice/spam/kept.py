"""The settings kept in a store, each as JSON, and their valid values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from suffice.spam.forgetting import Forgetting
from suffice.spam.verdict import Thresholds

#: limit of the days of a store, in days before and after 1970
DAYS = 10_000_000


class SettingError(ValueError):
    """A setting has a value that a store cannot have."""


def checked_setting(key: str, value: Any) -> Any:
    """Return a setting read from JSON; raise SettingError if the value is not valid for this key.

    Examples
    --------
    >>> from suffice.spam.kept import checked_setting
    >>> checked_setting("thresholds", [0.2, 0.9])
    [0.2, 0.9]
    >>> checked_setting("spam", "many")
    Traceback (most recent call last):
        ...
    suffice.spam.kept.SettingError: the setting 'spam' cannot be 'many'
    """
    check = _CHECKS.get(key)
    try:
        if check is None or check(value):
            return value
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    raise SettingError(f"the setting {key!r} cannot be {repr(value)[:100]}")


def _is_whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _are_numbers(value: Any, count: int) -> bool:
    return len(value) == count and all(type(each) in (int, float) and math.isfinite(each) for each in value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_imports(value: Any) -> bool:
    return isinstance(value, dict) and all(
        _are_texts(about["digests"])
        and all(len(bytes.fromhex(digest)) == 32 for digest in about["digests"])
        and all(_is_whole(about[name], 0, 2**32) for name in ("spam", "ham", "tokens"))
        for about in value.values()
    )


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "spam": lambda value: _is_whole(value, 0, 2**63),
    "ham": lambda value: _is_whole(value, 0, 2**63),
    "thresholds": lambda value: _are_numbers(value, 2) and bool(Thresholds(*value)),
    "link": lambda value: _are_numbers(value, 2),
    "half_life": lambda value: value is None or (_are_numbers([value], 1) and bool(Forgetting(value))),
    "origin": lambda value: _is_whole(value, -DAYS, DAYS),
    "lists": lambda value: len(value) == 2 and all(map(_are_texts, value)),
    "servers": _are_texts,
    "imports": _are_imports,
}
