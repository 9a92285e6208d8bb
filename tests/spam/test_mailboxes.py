"""Every kind of mailbox gives back the messages that were put in."""

import io
import mailbox
import os

import pytest

from suffice.spam import MailboxError, digest, lines, messages, read, stream
from suffice.spam.mailboxes import as_mbox

MAILS = [
    b"Subject: one\n\nFrom here to there\n>From there\n\nend\n",
    b"Subject: two\n\n",
    b"Subject: three\nContent-Type: text/plain\n\nNUL \0 and \xff bytes\n",
    b"Subject: four\n\nFrom the beginning\n",
]


def test_an_mbox_gives_back_its_messages(tmp_path):
    path = tmp_path / "mbox"
    path.write_bytes(b"".join(map(as_mbox, MAILS)))
    assert list(messages(path)) == MAILS


def test_an_mbox_of_the_standard_library_is_read(tmp_path):
    box = mailbox.mbox(tmp_path / "mbox")
    for mail in MAILS:
        box.add(mail)
    box.close()
    found = list(messages(tmp_path / "mbox"))
    assert [read(mail).header("subject") for mail in found] == ["one", "two", "three", "four"]


def test_a_from_line_within_a_paragraph_begins_no_message():
    assert len(list(stream(io.BytesIO(b"From a\nSubject: x\n\ntext\nFrom now on\n")))) == 1


def test_a_maildir_gives_new_and_read_messages(tmp_path):
    box = mailbox.Maildir(tmp_path / "box")
    for mail in MAILS:
        box.add(mail)
    os.rename(next((tmp_path / "box" / "new").iterdir()), tmp_path / "box" / "cur" / "moved:2,S")
    assert sorted(map(digest, messages(tmp_path / "box"))) == sorted(map(digest, MAILS))


def test_an_mh_folder_gives_its_numbered_messages_in_order(tmp_path):
    for number, mail in zip((1, 2, 10, 9), MAILS, strict=True):
        (tmp_path / str(number)).write_bytes(mail)
    (tmp_path / ".mh_sequences").write_text("unseen: 1")
    (tmp_path / ",3").write_text("deleted")
    assert list(messages(tmp_path)) == [MAILS[0], MAILS[1], MAILS[3], MAILS[2]]


def test_a_folder_gives_every_file_below_it(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "a.eml").write_bytes(MAILS[0])
    (tmp_path / "in" / "b.eml").write_bytes(MAILS[1])
    (tmp_path / ".hidden").write_bytes(b"x")
    assert list(messages(tmp_path)) == MAILS[:2]


def test_one_file_is_one_message(tmp_path):
    (tmp_path / "a.eml").write_bytes(MAILS[2])
    assert list(messages(str(tmp_path / "a.eml"))) == [MAILS[2]]


def test_a_stream_is_one_message_or_an_mbox():
    assert list(stream(io.BytesIO(MAILS[0]))) == [MAILS[0]]
    assert list(stream(io.BytesIO(b""))) == []
    assert list(stream(io.BytesIO(as_mbox(MAILS[0]) + as_mbox(MAILS[3])))) == [MAILS[0], MAILS[3]]


def test_lines_are_messages_without_headers():
    found = [read(raw) for raw in lines(io.BytesIO(b"Hi: see you\r\n\n  \nwin \xc2\xa3100\n"))]
    assert [message.headers for message in found] == [(), ()]
    assert [message.parts[0].text for message in found] == ["Hi: see you", "win £100"]


def test_a_path_without_messages_says_so(tmp_path):
    with pytest.raises(MailboxError, match=r"there is no file or folder .*nowhere.*give an mbox"):
        list(messages(tmp_path / "nowhere"))
    assert list(messages(tmp_path)) == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read_says_so(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(b"x")
    path.chmod(0)
    with pytest.raises(MailboxError, match=r"secret.*cannot be read.*permissions"):
        list(messages(path))


@pytest.mark.parametrize("kind", ["maildir", "mh", "files"])
def test_links_within_folders_are_not_followed(tmp_path, kind):
    box, secret = tmp_path / "box", tmp_path / "secret"
    inside = box / "cur" if kind == "maildir" else box
    for folder in (inside, secret / "cur"):
        folder.mkdir(parents=True)
    (secret / "cur" / "5").write_bytes(b"Subject: secret\n\nx")
    (secret / "6").write_bytes(b"Subject: secret\n\nx")
    own = inside / ("own.eml" if kind == "files" else "1")
    own.write_bytes(b"Subject: own\n\nx")
    (inside / ("link.eml" if kind == "files" else "2")).symlink_to(secret / "6")
    (inside / "3").symlink_to(secret / "none")
    (box / "folder").symlink_to(secret)
    if kind == "maildir":
        (box / "new").symlink_to(secret / "cur")
    assert list(messages(box)) == [b"Subject: own\n\nx"]
    named = tmp_path / "named"
    named.symlink_to(box)  # a folder that the user names may be reached by a link
    assert list(messages(named)) == [b"Subject: own\n\nx"]


def test_a_message_that_is_moved_or_becomes_a_link_while_a_folder_is_read(tmp_path):
    for number in range(1, 4):
        (tmp_path / f"{number}").write_bytes(b"Subject: %d\n\n" % number)
    found = messages(tmp_path)
    assert next(found).startswith(b"Subject: 1")
    (tmp_path / "2").unlink()
    assert next(found).startswith(b"Subject: 3")
    found = messages(tmp_path)
    next(found)
    (tmp_path / "3").unlink()
    (tmp_path / "3").symlink_to("/etc/hostname")
    assert list(found) == []
