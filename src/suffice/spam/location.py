"""The location of a user's store."""

from __future__ import annotations

import os
from pathlib import Path

#: environment variable with the path of the store
STORE_VARIABLE = "SUFFICE_SPAM_STORE"


def default_store() -> Path:
    """Return the path of the user's own store.

    That is `suffice/spam.sqlite` in `$XDG_DATA_HOME`, or in `~/.local/share` if that is not set.
    """
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "suffice" / "spam.sqlite"


def store_path(given: Path | None) -> Path:
    """Return the path of the store to use: the one given, else `$SUFFICE_SPAM_STORE`, else the user's own."""
    if given is not None:
        return given
    named = os.environ.get(STORE_VARIABLE)
    return Path(named) if named else default_store()


def existing_store(given: Path | None) -> Path:
    """Return the path of the store to use, which must exist."""
    path = store_path(given)
    if not path.exists():
        raise FileNotFoundError(
            f"there is no store {str(path)!r} yet; create it with `suffice spam train`, or name another with --store"
        )
    return path


def store_to_make(given: Path | None) -> Path:
    """Return the path of the store to use, which need not exist; create the folder of the user's own store."""
    path = store_path(given)
    if path == default_store():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path
