"""Where the store of a user is."""

from __future__ import annotations

import os
from pathlib import Path

#: the environment variable that names the store
STORE_VARIABLE = "SUFFICE_SPAM_STORE"


def default_store() -> Path:
    """Return the user's own store.

    That is `suffice/spam.sqlite` in `$XDG_DATA_HOME`, which is `~/.local/share` where it is not set.
    """
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "suffice" / "spam.sqlite"


def store_path(given: Path | None) -> Path:
    """Return the store to use: the one that is given, the one that `$SUFFICE_SPAM_STORE` names, or the user's own."""
    if given is not None:
        return given
    named = os.environ.get(STORE_VARIABLE)
    return Path(named) if named else default_store()


def existing_store(given: Path | None) -> Path:
    """Return the store to use, which must be there."""
    path = store_path(given)
    if not path.exists():
        raise FileNotFoundError(
            f"there is no store {str(path)!r} yet; make it with `suffice spam train`, or name another with --store"
        )
    return path


def store_to_make(given: Path | None) -> Path:
    """Return the store to use, which may be made; so is the folder of the user's own."""
    path = store_path(given)
    if path == default_store():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path
