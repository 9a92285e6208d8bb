"""Make Python 3.11 and 3.12 warn of SQLite connections that nobody closed, as Python 3.13 does."""

import functools
import sqlite3
import sys
import warnings

import pytest


class Watched(sqlite3.Connection):
    """A connection that warns when it is dropped open."""

    def __del__(self):
        try:
            self.in_transaction  # noqa: B018 - raises once the connection is closed
        except sqlite3.ProgrammingError:
            return
        warnings.warn(f"unclosed database in {self!r}", ResourceWarning, source=self, stacklevel=1)


@pytest.fixture(scope="session", autouse=sys.version_info < (3, 13))
def _unclosed_connections():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Watched))
        yield
