"""Mail as programs keep it: trees of mbox files, Maildir++, Apple Mail, compressed files, and what is no mail there."""

import bz2
import gzip
import io
import json
import lzma
import shutil
import subprocess
import sys
import zlib

import pytest
from mailbag import message
from typer.testing import CliRunner

from suffice.cli.app import app
from suffice.spam import MailboxError, SpamFilter, digest, messages, read, stream
from suffice.spam.mail_files import as_mbox, from_emlx, is_deleted
from suffice.spam.mailboxes import located

PLIST = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>date-received</key>
	<integer>1400000000</integer>
	<key>flags</key>
	<integer>%d</integer>
</dict>
</plist>
"""


def mail(name):
    return b"Subject: %s\n\nFrom all of us\n" % name.encode()


def subjects(path):
    return sorted(read(raw).header("subject") for raw in messages(path))


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def thunderbird(raw, status="0001", more="00000000", keys=b""):
    """A message as Thunderbird writes it into an mbox."""
    marks = f"X-Account-Key: account1\nX-UIDL: 1\nX-Mozilla-Status: {status}\nX-Mozilla-Status2: {more}\n"
    return b"From - Mon Sep  2 10:00:00 2002\n" + marks.encode() + keys + as_mbox(raw).partition(b"\n")[2]


def emlx(raw, flags=1):
    return b"%-10d\n" % len(raw) + raw + PLIST % flags


def test_a_thunderbird_profile_is_read_folder_by_folder(tmp_path):
    root = tmp_path / "Mail" / "pop.example.org"
    for folder, names in {
        "Inbox": ["in 1", "in 2", "in 3"],
        "Inbox.sbd/Work": ["work 1", "work 2"],
        "Inbox.sbd/Work.sbd/Old": ["old 1"],
        "Sent": ["sent 1"],
    }.items():
        write(root / folder, b"".join(thunderbird(mail(name)) for name in names))
        write(root / f"{folder}.msf", b'// <!-- <mdb:mork:z v="1.4"/> -->')
    write(root / "Drafts", b"")
    write(root / "msgFilterRules.dat", b'version="9"\n')
    write(root / "filterlog.html", b"<html>")
    write(root / "Inbox.mozmsgs" / "1.wdseml", mail("a copy"))
    assert subjects(tmp_path / "Mail") == ["in 1", "in 2", "in 3", "old 1", "sent 1", "work 1", "work 2"]
    assert (str(root / "Inbox") + ":2") in [place for place, _ in located(root)]


@pytest.mark.parametrize(
    ("status", "more", "gone"),
    [("0001", "00000000", False), ("0009", "00000000", True), ("0008", "00000000", True), ("0001", "00200000", True),
     ("0018", "10000000", True), ("0010", "00000008", False), ("ffff", "0", True), ("zz", "0", False)],
)  # fmt: skip
def test_messages_that_thunderbird_has_deleted_are_left_out_and_still_numbered(tmp_path, status, more, gone):
    box = write(
        tmp_path / "Inbox", thunderbird(mail("a")) + thunderbird(mail("b"), status, more) + thunderbird(mail("c"))
    )
    places = [place.rpartition(":")[2] for place, _ in located(box)]
    assert places == (["1", "3"] if gone else ["1", "2", "3"])
    alone = write(tmp_path / "Alone", thunderbird(mail("b"), status, more))
    assert len(list(messages(alone))) == (0 if gone else 1)


def test_a_sender_cannot_mark_a_message_as_deleted():
    forged = b"Received: from a by b\nX-Mozilla-Status: 0009\nSubject: x\n\n"
    assert not is_deleted(forged)
    assert not is_deleted(b"X-Mozilla-Status: 0001\nX-Mozilla-Status: 0009\nSubject: x\n\n")
    assert not is_deleted(b"Subject: x\n\nX-Mozilla-Status: 0009\n")
    assert is_deleted(b"X-UIDL: 1\r\nX-Mozilla-Status: 0009\r\nReceived: x\r\n\r\n")


def test_the_flag_t_of_a_maildir_leaves_a_message_out(tmp_path):
    write(tmp_path / "cur" / ".nfs0001", mail("hidden"))
    for name in ("1:2,S", "2:2,ST", "3:2,T", "4:2,", "5", "6;2,RT", "7.Thost:2,S", "8:2,STab"):
        write(tmp_path / "cur" / name, mail(name))
    assert subjects(tmp_path) == ["1:2,S", "4:2,", "5", "7.Thost:2,S"]


def test_maildir_plus_plus_and_trees_of_maildirs_are_read_without_what_servers_keep_there(tmp_path):
    write(tmp_path / "cur" / "1:2,S", mail("inbox"))
    write(tmp_path / "new" / "2", mail("new"))
    write(tmp_path / "tmp" / "3", mail("half"))
    write(tmp_path / ".Work.Old" / "cur" / "4:2,", mail("work"))
    write(tmp_path / ".Work.Old" / "tmp" / "5", mail("half"))
    write(tmp_path / ".Work.Old" / "dovecot-uidlist", b"3 V1 N2\n")
    write(tmp_path / "Lists" / "new" / "6", mail("list"))
    write(tmp_path / "dovecot.index.log", b"\1\2")
    write(tmp_path / ".imap" / "INBOX" / "dovecot.index", b"\1\2")
    assert subjects(tmp_path) == ["inbox", "list", "new", "work"]
    tree = tmp_path / "tree"
    shutil.copytree(tmp_path / ".Work.Old", tree / "A")
    shutil.copytree(tmp_path / "Lists", tree / "B" / "C")
    write(tree / ".notmuch" / "xapian" / "iamglass", b"\1")
    assert subjects(tree) == ["list", "work"]


def test_a_mutt_folder_of_mboxes_maildirs_and_mh_is_read_each_as_what_it_is(tmp_path):
    write(tmp_path / "inbox", as_mbox(mail("a")) + as_mbox(mail("b")))
    write(tmp_path / "archive" / "2001", as_mbox(mail("c")) + as_mbox(mail("d")))
    write(tmp_path / "mh" / "1", mail("e"))
    write(tmp_path / "mh" / "sub" / "1", mail("f"))
    write(tmp_path / "one.eml", mail("g"))
    # a folder of mboxes whose names are years looks like MH, and its files are mboxes nevertheless
    assert subjects(tmp_path) == ["a", "b", "c", "d", "e", "f", "g"]


def test_apple_mail_is_read_without_its_attachments_and_lists(tmp_path):
    data = tmp_path / "V10" / "1234-ABCD" / "INBOX.mbox" / "5678" / "Data"
    write(data / "Messages" / "1.emlx", emlx(mail("whole")))
    write(data / "Messages" / "2.partial.emlx", emlx(mail("partial")))
    write(data / "Messages" / "3.emlx", emlx(mail("deleted"), flags=3))
    write(data / "3" / "2" / "Messages" / "4.emlx", emlx(mail("deep"), flags=8590195713))
    write(data / "Attachments" / "2" / "2" / "bill.pdf", b"%PDF")
    write(tmp_path / "V10" / "1234-ABCD" / "INBOX.mbox" / "Info.plist", PLIST % 0)
    assert subjects(tmp_path) == ["deep", "partial", "whole"]
    [raw] = messages(data / "Messages" / "1.emlx")
    assert raw == mail("whole")


@pytest.mark.parametrize("size", [b"5", b"99999999", b"0", b"9" * 5000, b"-3", b"x", b""])
def test_an_emlx_with_a_wrong_size_still_gives_its_message(size):
    found = from_emlx(size + b"\n" + mail("a") + PLIST % 1)
    assert mail("a") in found
    assert (b"plist" not in found) == size.isdigit()


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_mail_is_read_of_every_kind(tmp_path, compress):
    box = as_mbox(mail("a")) + as_mbox(mail("b"))
    write(tmp_path / "old.mbox.gz", compress(box))
    write(tmp_path / "two.gz", compress(as_mbox(mail("c"))) + b"\0" * 700 + compress(as_mbox(mail("d"))) + b"\0" * 100)
    write(tmp_path / "one.eml.gz", compress(mail("e")))
    write(tmp_path / "6.emlx.gz", compress(emlx(mail("f"))))
    write(tmp_path / "dovecot" / "cur" / "1:2,SZ", compress(mail("g")))
    assert subjects(tmp_path) == list("abcdefg")
    assert list(stream(io.BytesIO(compress(box)))) == [mail("a"), mail("b")]
    assert [place[-2:] for place, _ in located(tmp_path / "old.mbox.gz")] == [":1", ":2"]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("kind", ["cut", "changed"])
def test_damaged_compressed_mail_is_one_clear_error(tmp_path, compress, kind):
    data = bytearray(compress(b"".join(as_mbox(message(i)) for i in range(300))))
    if kind == "cut":
        del data[-20:]
    else:
        data[len(data) // 2] ^= 0xFF
    path = write(tmp_path / "box.gz", bytes(data))
    with pytest.raises(MailboxError, match=r"box\.gz.* cannot be read: it is damaged"):
        list(messages(path))


BOMB = """
import sys, resource
from suffice.spam import messages, MailboxError
from suffice.spam.mailboxes import located
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    for raw in messages(sys.argv[1]): pass
    print("read")
except MailboxError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, "MB")
"""


@pytest.mark.parametrize("piece", [b"\0", b"\n", b"From - Mon Sep  2 10:00:00 2002\n\n" + b"x" * 2000 + b"\n\n"])
def test_a_bomb_fills_neither_memory_nor_time(tmp_path, piece):
    path = write(tmp_path / "bomb.bz2", bz2.compress(piece * (1_000_000 // len(piece))) * 90)
    assert path.stat().st_size < 90_000
    run = subprocess.run([sys.executable, "-c", BOMB, path], capture_output=True, text=True, check=True, timeout=60)
    assert "expands to more than 200 times its size" in run.stdout
    assert int(run.stdout.split()[-2]) < 300


def test_an_xz_file_whose_dictionary_needs_too_much_memory_is_refused(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    data = bytearray(lzma.compress(as_mbox(mail("a")), filters=filters))
    place = data.index(b"\x21\x01") + 2  # the size of the dictionary, and the check of the header behind it
    data[place] = 40
    end = 12 + (data[12] + 1) * 4 - 4
    data[end : end + 4] = zlib.crc32(data[12:end]).to_bytes(4, "little")
    with pytest.raises(MailboxError, match="Memory usage limit"):
        list(messages(write(tmp_path / "a.xz", bytes(data))))


@pytest.mark.parametrize(
    ("first", "words"),
    [(b"!BDN\1\2\3\4SM", "readpst"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "msgconvert"), (b"\xcf\xad\x12\xfe", "DBX"),
     (b"PK\3\4", "ZIP"), (b"\x28\xb5\x2f\xfd\0", "zstd"), (b"*mbx*\r\n", "mailutil"),
     (b"a" * 257 + b"ustar  ", "tar"), (b"\1\1\1\1\nSubject: a\n\nb\n\1\1\1\1\n", "MMDF"),
     (b"BABYL OPTIONS:\n", "Rmail"),
     (b"From ann Mon Jan  1 10:00:00 2024\rSubject: a\r\rb\r", "Macs"),
     (gzip.compress(gzip.compress(b"a", mtime=0), mtime=0), "twice"),
     (b"\xff\xfeS\0u\0", "UTF-16"), (b"\xfe\xff\0S\0u", "UTF-16"), (b"PK\5\6", "archive"), (b"Rar!\x1a\7\0", "archive"),
     (b"7z\xbc\xaf'\x1c", "archive"), (b"\x1f\x9d\x90", "uncompress"), (b"%PDF-1.4\n", "not mail"),
     (b"\x89PNG\r\n\x1a\n", "not mail"), (b"\xff\xd8\xff\xe0", "not mail"), (b"SQLite format 3\0", "not mail")],
)  # fmt: skip
def test_formats_that_are_not_read_say_what_to_do(tmp_path, first, words):
    path = write(tmp_path / "mail.pst", first + b"\0" * 600)
    with pytest.raises(MailboxError, match=rf"mail\.pst.*{words}"):
        list(messages(path))
    write(tmp_path / "z.eml", mail("z"))
    found = messages(tmp_path)
    assert next(found) == mail("z")  # all else comes first
    with pytest.raises(MailboxError, match=rf"mail\.pst.*{words}"):
        next(found)


FRAMES = {
    "as it is": lambda box: box,
    "byte order mark": lambda box: b"\xef\xbb\xbf" + box,
    "empty lines before": lambda box: b"\n\r\n\n" + box,
    "both": lambda box: b"\xef\xbb\xbf\n\n" + box,
    "empty lines behind": lambda box: box + b"\n\n\n",
    "no line end behind": lambda box: box.rstrip(b"\n"),
    "no empty lines between": lambda box: box.replace(b"\n\nFrom ", b"\nFrom "),
    "two From lines": lambda box: box.replace(b"\nFrom ", b"\nFrom ann Mon Jan  1 00:00:00 2024\nFrom "),
    "lines of Windows": lambda box: box.replace(b"\n", b"\r\n"),
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "streams behind each other": lambda box: gzip.compress(box[:50]) + gzip.compress(box[50:]),
    "xz behind bzip2": lambda box: bz2.compress(box[:50]) + lzma.compress(box[50:]),
}


@pytest.mark.parametrize("frame", FRAMES)
def test_an_mbox_holds_the_same_messages_whatever_is_around_them(tmp_path, frame):
    box = b"".join(as_mbox(mail(f"{number}")) for number in range(5))
    path = write(tmp_path / "box", FRAMES[frame](box))
    assert [digest(raw) for raw in messages(path)] == [digest(mail(f"{number}")) for number in range(5)]
    write(tmp_path / "folder" / "box", FRAMES[frame](box))
    assert len(list(messages(tmp_path / "folder"))) == 5


def test_a_byte_order_mark_hides_no_header(tmp_path):
    path = write(tmp_path / "a.eml", b"\xef\xbb\xbf" + mail("a"))
    assert list(messages(path)) == [mail("a")]
    for text in (b"\n\n\nno header", b"\xef\xbb\xbf\n\nFrom here on", b"\xef\xbb\xbf", b"\n"):
        assert list(messages(write(tmp_path / "b.eml", text))) == [text]


def test_a_sentence_after_an_empty_line_cuts_no_letter_in_two():
    raw = b"Subject: a\n\nHello\n\nFrom now on: meet at 10:00.\nYours\n\nFrom 10:00 to 11:00\n\nFrom here\n"
    box = b"From - Mon Sep  2 10:00:00 2002\n" + raw + b"\nFrom \nSubject: b\n\nx\n"
    assert [read(raw).header("subject") for raw in stream(io.BytesIO(box))] == ["a", "b"]
    dated = b"From a@b.example Mon Sep  2 10:00 2002\n\nno headers\n\nFrom - Tue Sep  3 10:00:00 2002\n\nnone\n"
    assert list(stream(io.BytesIO(dated))) == [b"\nno headers\n", b"\nnone\n"]


# training


def run(*args):
    result = CliRunner().invoke(app, ["spam", *map(str, args)], prog_name="suffice", catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("layout", ["maildir", "thunderbird"])
def test_junk_within_the_box_of_ham_is_not_learned_as_ham(tmp_path, layout):
    root = tmp_path / "Mail"
    if layout == "maildir":
        for number in range(8):
            write(root / "cur" / f"{number}:2,S", message(number))
            write(root / ".Archive" / "cur" / f"{number}:2,S", message(100 + number))
            write(root / ".Junk" / "cur" / f"{number}:2,S", message(number, "spam"))
            write(root / ".Trash" / "cur" / f"{number}:2,S", message(200 + number))
        junk = root / ".Junk"
    else:
        write(root / "Inbox", b"".join(thunderbird(message(number)) for number in range(8)))
        write(root / "Archives.sbd" / "2001", b"".join(thunderbird(message(100 + number)) for number in range(8)))
        write(root / "Junk", b"".join(thunderbird(message(number, "spam")) for number in range(8)))
        write(root / "Trash", b"".join(thunderbird(message(200 + number)) for number in range(8)))
        junk = root / "Junk"
    store = tmp_path / "store.sqlite"
    result = run("train", "--store", store, "--spam", junk, "--ham", root, "--json")
    total = json.loads(result.stdout)["total"]
    assert (total["spam"], total["ham"]) == (8, 16)
    assert "Trash" in result.stderr
    assert "is not read as ham" in result.stderr
    assert "Junk" not in result.stderr  # it was given itself
    run("train", "--store", store, "--ham", root / ("Trash" if layout == "thunderbird" else ".Trash"))
    with SpamFilter.open(store) as spam_filter:
        assert spam_filter.stats().ham == 24
    assert len(run("classify", "--store", store, root).stdout.splitlines()) == 32


def test_what_cannot_be_read_in_a_folder_is_named_and_the_rest_is_done(tmp_path):
    write(tmp_path / "box" / "a.pst", b"!BDN" + bytes(600))
    write(tmp_path / "box" / "b.mbox.gz", gzip.compress(as_mbox(mail("b")) + as_mbox(b"x" * 100_000))[:-30])
    write(tmp_path / "box" / "cur" / "1:2,S", gzip.compress(mail("c"))[:-9])
    write(tmp_path / "box" / "cur" / "2:2,S", mail("d"))
    write(tmp_path / "box" / "e" / "bomb.bz2", bz2.compress(bytes(10_000_000)) * 20)
    shutil.move(tmp_path / "box" / "a.pst", tmp_path / "box" / "e" / "a.pst")
    write(tmp_path / "box" / "e" / "f.eml", mail("f"))
    write(tmp_path / "box" / "e" / "g\udcff\n.eml", mail("g"))
    store = tmp_path / "store.sqlite"
    result = CliRunner().invoke(
        app, ["spam", "train", "--json", "--store", str(store), "--ham", str(tmp_path / "box")], catch_exceptions=False
    )
    assert result.exit_code == 3
    told = json.loads(result.stdout)
    assert told["learned"] == 3
    assert {skipped["place"].rpartition("/")[2] for skipped in told["skipped"]} == {"1:2,S", "a.pst", "bomb.bz2"}
    assert "readpst" in result.stderr


@pytest.mark.servers
@pytest.mark.skipif(shutil.which("readpst") is None, reason="needs readpst (Debian package pst-utils)")
def test_the_word_about_outlook_names_options_that_readpst_has():
    told = subprocess.run(["readpst", "-h"], capture_output=True, text=True, check=False)
    assert {"-r", "-o"} <= {word.strip() for word in (told.stdout + told.stderr).replace("\t", "\n").split()}
