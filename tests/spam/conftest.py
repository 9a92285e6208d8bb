"""Fixtures for the tests of the spam filter: stores that were taught, and the page on a store and mailboxes."""

import functools
import shutil
import sqlite3
import sys
import warnings

import pytest
from spam_site import Site, write_mbox, write_store


class Watched(sqlite3.Connection):
    """A connection that warns when it is dropped open."""

    def __del__(self):
        try:
            self.in_transaction  # noqa: B018 - raises once the connection is closed
        except sqlite3.ProgrammingError:
            return
        warnings.warn(f"unclosed database in {self!r}", ResourceWarning, source=self, stacklevel=1)


# Python 3.11 and 3.12 warn of connections that nobody closed too, as Python 3.13 does
@pytest.fixture(scope="session", autouse=sys.version_info < (3, 13))
def _unclosed_connections():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Watched))
        yield


@pytest.fixture(scope="session")
def taught_once(tmp_path_factory):
    """A store that was taught thirty messages of each kind, to be copied."""
    return write_store(tmp_path_factory.mktemp("taught") / "spam.sqlite")


@pytest.fixture
def store(taught_once, tmp_path):
    """Such a store, which a test may change."""
    return shutil.copy(taught_once, tmp_path / "spam.sqlite")


def _page(store, mailboxes, **how):
    boxes = [write_mbox(store.with_name(name), raws) for name, raws in mailboxes.items()]
    site = Site(store, *boxes, **how)
    site.wait()
    yield site
    code, _, errors = site.end()
    assert (code, errors) == (0, "")


@pytest.fixture
def site(store, request):
    """The page on a store and the mailboxes of the module (MAILBOXES), which a test may change."""
    yield from _page(store, request.module.MAILBOXES)


@pytest.fixture(scope="module")
def reader(taught_once, tmp_path_factory, request):
    """Such a page that is only read, or refuses what would change it."""
    store = shutil.copy(taught_once, tmp_path_factory.mktemp("reader") / "spam.sqlite")
    yield from _page(store, request.module.MAILBOXES, fork=False)
