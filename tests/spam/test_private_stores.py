"""Stores in folders that users own: no link and no file of another leads a milter to what is not the user's."""

import os
import shutil

import pytest
from mailbag import message

from suffice.spam import SpamFilter, StoreError
from suffice.spam.serving.private import check_opened, held, open_files
from suffice.spam.serving.scoring import Request, _drop, judge
from suffice.spam.serving.stores import Stores

ANN, BOB = 12_001, 12_002


@pytest.fixture
def homes(tmp_path):
    """Homes of two users, each with a store, and a shared store beside them."""
    for name in ("ann", "bob"):
        folder = tmp_path / "home" / name / "mail" / "spam"
        folder.mkdir(parents=True)
        with SpamFilter.open(folder / "store") as spam_filter:
            spam_filter.train(message(1, "spam"), "spam")
            spam_filter.train(message(1), "ham")
    shutil.copy(tmp_path / "home/ann/mail/spam/store", tmp_path / "shared")
    return tmp_path / "home"


def stores(homes):
    return Stores(homes.parent / "shared", f"{homes}/{{user}}/mail/spam/store")


def used(homes, user="ann"):
    found = stores(homes).of(f"<{user}@example.org>".encode())
    return "shared" if found == homes.parent / "shared" else found.relative_to(homes).parts[0]


def test_a_store_without_links_is_used(homes):
    assert (used(homes), used(homes, "bob"), used(homes, "eve")) == ("ann", "bob", "shared")
    (homes.parent / "other").symlink_to(homes)  # which the site has made, and not a user
    assert Stores(homes.parent / "shared", f"{homes.parent}/other/{{user}}/mail/spam/store").of(b"<ann@x.example>") == (
        homes / "ann/mail/spam/store"
    )


@pytest.mark.parametrize("part", ["ann", "ann/mail", "ann/mail/spam", "ann/mail/spam/store"])
@pytest.mark.parametrize("relative", [False, True])
def test_a_link_in_any_part_leads_nowhere(homes, part, relative):
    place, target = homes / part, homes / part.replace("ann", "bob", 1)
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    place.symlink_to(os.path.relpath(target, place.parent) if relative else target)
    assert (homes / "ann/mail/spam/store").exists()
    assert used(homes) == "shared"


def test_a_link_in_the_place_of_the_folder_of_the_site_leads_nowhere_later(homes):
    found = stores(homes)
    homes.rename(homes.parent / "moved")
    homes.symlink_to(homes.parent / "moved")
    assert found.of(b"<ann@example.org>") == found.shared


def test_a_second_name_of_a_file_is_not_used(homes):
    (homes / "ann/mail/spam/store").unlink()
    os.link(homes / "bob/mail/spam/store", homes / "ann/mail/spam/store")
    assert used(homes) == "shared"


@pytest.mark.parametrize("kind", ["folder", "pipe", "open to all"])
def test_what_is_no_file_or_open_to_all_is_not_used(homes, kind):
    store = homes / "ann/mail/spam/store"
    if kind == "open to all":
        store.parent.chmod(0o777)
    else:
        store.unlink()
        store.mkdir() if kind == "folder" else os.mkfifo(store)
    assert used(homes) == "shared"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files to others")
@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        ({"ann": ANN, "ann/mail": ANN, "ann/mail/spam": ANN, "ann/mail/spam/store": ANN}, "ann"),
        ({"ann/mail/spam/store": ANN}, "ann"),  # in folders that the site owns
        ({"ann": ANN, "ann/mail": ANN, "ann/mail/spam": ANN, "ann/mail/spam/store": BOB}, "shared"),
        ({"ann": ANN, "ann/mail": BOB, "ann/mail/spam": BOB, "ann/mail/spam/store": BOB}, "shared"),
        ({"ann": ANN, "ann/mail": ANN, "ann/mail/spam": ANN}, "shared"),  # a file of the site
        ({"ann": ANN}, "shared"),
    ],
)
def test_owners_must_agree(homes, owners, expected):
    for place, owner in owners.items():
        os.chown(homes / place, owner, owner)
    assert used(homes) == expected


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
@pytest.mark.parametrize("how", ["name", "link", "file"])
def test_what_was_exchanged_while_it_was_opened_is_noticed(homes, suffix, how):
    """SQLite opens what the names lead to now, not what was looked at."""
    ann, bob = homes / "ann/mail/spam/store", homes / "bob/mail/spam/store"
    trusted = stores(homes).trusted
    with SpamFilter.open(bob) as keeps_wal_and_shm:
        keeps_wal_and_shm.train(message(2), "ham")
        with held(ann, trusted) as looked_at:
            before = open_files()
            with SpamFilter.open(ann) as spam_filter:
                spam_filter.stats()
                check_opened(before, looked_at)
            with open(f"{bob}{suffix}", "rb"), SpamFilter.open(ann) as spam_filter:
                spam_filter.stats()
                place = f"{ann}{suffix}"
                if how != "file":
                    os.replace(place, f"{place}.moved")
                    (os.symlink if how == "link" else os.link)(f"{bob}{suffix}", place)
                with pytest.raises(StoreError, match="was replaced while it was opened"):
                    check_opened(before, looked_at)
                if how != "file":
                    os.replace(f"{place}.moved", place)


def test_a_store_that_became_a_link_while_it_was_open_is_not_used(homes):
    ann, trusted = homes / "ann/mail/spam/store", stores(homes).trusted
    request = Request(message(1, "spam"), str(homes / "no shared one"), str(ann), str(trusted), 1.0)
    try:
        assert judge(request).verdict.label in ("spam", "ham", "unsure")
        (homes / "ann/mail").rename(homes / "ann/kept")
        (homes / "ann/mail").symlink_to(homes / "bob/mail")
        with pytest.raises(FileNotFoundError, match="no shared one"):
            judge(request)
    finally:
        _drop(str(ann))
