"""The list and the overview of the page, asked over HTTP: searching, rows, several messages at once, and health."""

import json
import re
import time

import pytest
from mailbag import contents, message
from spam_site import Site, picked, post, write_mbox

from suffice.spam import SpamFilter, Thresholds

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from suffice.spam.page.words import folder_name, is_against
from suffice.spam.pulse import BYTES, Pulse, signs

HTML = (
    b"From: shop@example.org\nSubject: Offer\nContent-Type: text/html\n\n<style>unseen</style>"
    b"<p>Gr&ouml;&szlig;e <b>&lt;script&gt;alert(1)&lt;/script&gt;</b>\xe2\x80\xae spamword1</p>"
)
REPLY = b"From: ann@example.org\nSubject: Re: ham\n\n> spamword1 quoted\nThe HARBOUR at noon, hamword1\n"


MAILBOXES = {
    "INBOX": [message(1000), HTML, REPLY, *(message(2000 + i) for i in range(60))],
    "Junk": [*(message(3000 + i, "spam") for i in range(5)), message(4000)],
}


def rows(site, query=""):
    return [int(number) for number in re.findall(r'id="row-(\d+)"', site.get("/?" + query).text)]


def counts(site, query=""):
    found = re.findall(r'class="tab (\w+)"[^>]*>[^<]* <span class="count">([\d,]+)<', site.get("/?" + query).text)
    return {name: int(number) for name, number in found}


def row(site, number):
    return re.search(rf'<li class="row[^>]*id="row-{number}">.*?</li>', site.get(f"/?at={number}").text, re.DOTALL)[0]


def number_of(site, subject):
    return rows(site, f"text={subject}")[0]


def test_texts_are_searched_as_they_are_seen_and_folders_one_by_one(reader):
    offer, reply = number_of(reader, "Offer"), number_of(reader, "harbour")
    assert rows(reader, "text=GR%C3%96SSE") == [offer]  # letters of any size, and entities
    assert rows(reader, "text=noon+harbour") == [reply]  # all of the words, in any order
    assert rows(reader, "text=noon+offer") == []
    assert rows(reader, "text=unseen") == []  # what nobody sees is not found
    assert rows(reader, "text=ann@example.org+harbour") == [reply]  # in the sender and in the text
    assert sorted(rows(reader, "folder=Junk")) == [63, 64, 65, 66, 67, 68]
    assert rows(reader, "folder=Junk&text=harbour") == []
    assert rows(reader, "folder=elsewhere") == []
    page = reader.get("/?folder=Junk&text=harbour").text
    assert "No message holds “harbour” in Junk" in page
    assert '<option value="Junk" selected>' in page
    assert reader.get("/?folder=%3Cscript%3E").text.count("<script>") == 0


def test_the_counts_of_the_tabs_follow_the_search(reader):
    everything = counts(reader)
    assert everything["all"] == 69
    assert everything["all"] == everything["spam"] + everything["unsure"] + everything["ham"]
    junk = counts(reader, "folder=Junk")
    assert (junk["all"], junk["spam"], junk["ham"], junk["odd"]) == (6, 5, 1, 1)
    assert counts(reader, "folder=Junk&show=spam") == junk  # the same in every tab
    assert counts(reader, "text=harbour")["all"] == 1
    for show in ("all", "spam", "unsure", "ham", "odd"):
        assert len(rows(reader, f"folder=Junk&show={show}")) == junk[show]


def test_a_row_shows_the_first_words_and_the_strongest_reason_as_harmless_text(reader):
    offer = row(reader, number_of(reader, "Offer"))
    assert "Größe &lt;script&gt;alert(1)&lt;/script&gt;⟨RLO⟩ spamword1" in offer
    assert "<script" not in offer
    assert "\u202e" not in offer
    reply = row(reader, number_of(reader, "harbour"))
    assert '<span class="snippet"><bdi>The HARBOUR at noon, hamword1</bdi>' in reply  # and not what it quotes
    spam = row(reader, rows(reader, "folder=Junk&order=spam")[0])
    with SpamFilter.open(reader.store) as spam_filter:
        raw = message(3000 + rows(reader, "folder=Junk&order=spam")[0] - 63, "spam")
        token = next(token for token, value in spam_filter.score(raw).evidence if value > 0)
    assert f"“{token.removeprefix('subject:')}”" in spam
    assert ">ham<" not in reader.get("/").text
    assert ">Ham" not in reader.get("/").text


def test_a_message_that_was_trained_says_so_beside_its_score(site):
    site.post("/message/2/train", {"label": "ham"})
    score = re.search(r'class="score">(.*?)<span class="snippet">', row(site, 2), re.DOTALL)[1]
    assert "✓ trained as good" in score
    assert "trained as" not in row(site, 0)
    page = site.get("/message/2").text
    assert "✓ trained as good" in re.search(r'class="big">(.*?)</p>', page, re.DOTALL)[1]
    assert "which includes this message" in page


def labels(site, numbers):
    raws = {0: message(1000), 1: HTML, 2: REPLY} | {63 + i: message(3000 + i, "spam") for i in range(5)}
    with SpamFilter.open(site.store) as spam_filter:
        return [spam_filter.label_of(raws[number]) for number in numbers]


def test_several_messages_are_trained_at_once_and_undo_gives_back_what_they_were(site):
    site.post("/message/2/train", {"label": "spam"})
    site.post("/message/63/train", {"label": "spam"})
    with SpamFilter.open(site.store) as spam_filter:
        before = contents(spam_filter)
        answer = post(site, "/bulk", picked(0, 2, 63, label="ham", show="ham", folder="INBOX"))
        assert answer.status == 200
        assert answer.text.startswith("<section")
        assert "?show=ham&amp;folder=INBOX" in answer.text  # the place in the list is kept
        assert "3 messages trained as good." in answer.text
        assert labels(site, [0, 2, 63]) == ["ham", "ham", "ham"]
        undo = re.search(r'hx-post="[^"]*(/undo/\d+)"', answer.text)[1]
        undone = post(site, undo, "")
        assert "Undone for 3 messages." in undone.text
        assert labels(site, [0, 2, 63]) == [None, "spam", "spam"]
        assert contents(spam_filter) == before  # to the last count
        again = post(site, undo, "")
        assert again.status == 409
        assert "undone already" in again.text
        forgotten = post(site, "/bulk", picked(0, 2, 63, label="undo"))
        assert "2 messages no longer trained" in forgotten.text  # one never was
        assert labels(site, [0, 2, 63]) == [None, None, None]


def test_without_script_what_is_ticked_is_trained_too(site):
    page = site.get("/?page=2").text
    assert '<input type="checkbox" name="number" value="0" form="bulk"' in page
    answer = post(site, "/bulk", picked(0, 1, label="spam", folder="INBOX"), part=False)
    assert (answer.status, answer.headers["location"]) == (303, f"{site.path}/?folder=INBOX")
    assert labels(site, [0, 1]) == ["spam", "spam"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (picked(label="spam"), 422),
        (picked(0, label="eggs"), 400),
        (picked(0, 99, label="spam"), 404),
        (picked("-1", label="spam"), 404),
        (picked("9" * 5000, label="spam"), 404),
        (picked(*range(100), label="spam"), 413),
    ],
)
def test_a_selection_that_cannot_be_trained_changes_nothing(reader, body, status):
    assert post(reader, "/bulk", body).status == status
    assert labels(reader, [0, 1, 2]) == [None, None, None]


@pytest.mark.parametrize("number", ["0", "1", "-1", "x", "9" * 5000])
def test_only_what_was_done_can_be_undone(reader, number):
    assert post(reader, f"/undo/{number}", "").status == 409


def test_the_way_back_leads_to_the_row_and_where_it_is_gone_beside_it(reader):
    order = rows(reader) + rows(reader, "page=2")
    assert len(order) == 69
    for place in (0, 49, 50, 68):
        message_page = reader.get(f"/message/{order[place]}").text
        back = re.search(r'href="[^"]*(/\?[^"]*)" id="back"', message_page)[1].replace("&amp;", "&")
        text = reader.get(back).text
        assert re.findall(r'id="open-(\d+)"[^>]*autofocus', text) == [str(order[place])]
    for query, nearest in (("folder=Junk&at=5", 63), ("folder=INBOX&at=68", 62), ("show=odd&order=oldest&at=0", 68)):
        text = reader.get(f"/?{query}").text
        assert re.findall(r'id="open-(\d+)"[^>]*autofocus', text) == [str(nearest)], query
    assert "autofocus" not in reader.get("/?at=100000").text
    assert "autofocus" not in reader.get("/?at=1&text=nowhere").text


def test_the_overview_counts_corrects_and_disagrees(site):
    page = site.get("/overview").text
    everything = counts(site)
    assert f'/?show=odd">{everything["odd"]}</a>' in page
    odd = rows(site, "show=odd")
    assert 68 in odd  # good mail in Junk
    assert f'/message/{odd[0]}?show=odd"' in page
    assert "None since this page was started" in page
    assert "Store" in page
    with SpamFilter.open(site.store) as spam_filter:
        spam_filter.thresholds = Thresholds(0.5, 0.9)
    site.post("/message/63/train", {"label": "spam"})  # as the verdict was: no correction
    site.post("/message/0/train", {"label": "spam"})
    page = site.get("/overview").text
    assert page.count("✓ trained as spam</span>, now") == 1
    assert "was good" in page


def test_the_overview_draws_mail_by_day(store):
    dated = [
        b"Date: %d Mar 2026 10:00:00 +0000\n" % day + message(i, "spam" if i % 2 else "ham")
        for i, day in enumerate((3, 3, 3, 20, 20, 21))
    ]
    late = b"Date: 1 Jan 2999 10:00:00 +0000\n" + message(50)  # nobody has got mail of tomorrow
    early = b"Date: 1 Jan 0001 10:00:00 +0000\n" + message(51)
    site = Site(store, write_mbox(store.with_name("INBOX"), [*dated, late, early]))
    try:
        site.wait()
        text = site.get("/overview").text
        table = re.findall(r'<th scope="row">(\d+ Mar 2026)</th><td>(\d)</td><td>(\d)</td><td>(\d)</td>', text)
        assert [(day, sum(map(int, numbers))) for day, *numbers in table] == [
            ("3 Mar 2026", 3),
            ("20 Mar 2026", 2),
            ("21 Mar 2026", 1),
        ]
        assert "2999" not in text
    finally:
        assert site.end()[0] == 0


def test_an_overview_without_mail_or_learning_says_what_is_missing(tmp_path):
    site = Site(tmp_path / "spam.sqlite")
    try:
        text = site.wait() and site.get("/overview").text
        assert "No message with a date" in text
        assert "verdicts are unreliable with fewer than 20" in text
        assert "none was opened" in text
        assert text.count("none has used this store yet") == 3
    finally:
        site.end()


def test_the_overview_tells_which_services_run_and_what_ails_them(site):
    watch = Pulse(site.store, "watch", "ann on <b>example.org")
    watch.beat({"judged": 3, "learned_ham": 2}, within=30)
    milter = Pulse(site.store, "milter", "inet:8891")
    milter.beat({"ham": 5}, "the store is \u202elocked", within=30)
    page = site.get("/overview").text
    assert "ann on &lt;b&gt;example.org" in page
    assert "3 judged, 2 learned as good since" in page
    assert "the store is ⟨RLO⟩locked" in page
    assert page.count("none has used this store yet") == 1  # the daemon
    watch.beat({}, within=-120)
    milter.end()
    page = site.get("/overview").text
    assert "silent since" in page
    assert "ended at" in page


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "{}", "1", "[" * 5000, '{"kind": "watch"}', "\x00", '{"next": NaN}', "x" * (2 * BYTES),
        json.dumps({"kind": 1, "name": [], "ended": False, "next": 1e400, "since": 1e300, "seen": -1e300,
                    "counts": {"a": "b"}, "problem": None}),
    ],
)  # fmt: skip
def test_what_is_no_sign_of_life_is_left_out(tmp_path, text):
    store = tmp_path / "spam.sqlite"
    Pulse(store, "milter", "here").beat({"spam": 1})
    (tmp_path / "spam.sqlite.watch-12345678.pulse").write_text(text)
    (tmp_path / "spam.sqlite.daemon-12345678.pulse").symlink_to("/dev/zero")
    (tmp_path / "spam.sqlite.other-1.pulse").mkdir()
    assert [sign.kind for sign in signs(store)] == ["milter"]


def test_a_folder_that_cannot_be_written_disturbs_no_service(tmp_path):
    Pulse(tmp_path / "nowhere" / "spam.sqlite", "milter", "here").beat({})
    assert signs(tmp_path / "nowhere" / "spam.sqlite") == []


def test_extreme_times_of_a_sign_are_shown(tmp_path):
    from suffice.spam.page.overview import _service_health

    store = tmp_path / "spam.sqlite"
    facts = {
        "kind": "watch",
        "name": "x",
        "ended": False,
        "next": 0,
        "since": -1e300,
        "seen": 1e300,
        "counts": {},
        "problem": "",
    }
    (tmp_path / "spam.sqlite.watch-1.pulse").write_text(json.dumps(facts))
    [sign] = signs(store)
    assert sign.state == "silent"
    assert _service_health([sign])[0].mark == "bad"


@pytest.mark.parametrize(
    ("root", "place", "name"),
    [
        ("/m/inbox", "/m/inbox", "inbox"),
        ("/m/inbox", "/m/inbox:7", "inbox"),
        ("/m/Mail", "/m/Mail/Work/Archive:3", "Mail/Work/Archive"),
        ("/m/Mail", "/m/Mail/Work/7.eml", "Mail/Work"),
        ("/m/Maildir", "/m/Maildir/new/1.host", "Maildir"),
        ("/m/Maildir", "/m/Maildir/cur/1.host:2", "Maildir"),
        ("/m/Maildir", "/m/Maildir/.Work.Old/cur/1.host:2,S", "Maildir/Work.Old"),
        ("/m/..", "/m/../x:1", "../x"),
        ("imaps:/ann@example.org/Junk", "imaps:/ann@example.org/Junk:3", "Junk"),
        ("/m/a\u202eb", "/m/a\u202eb:1", "a⟨RLO⟩b"),
    ],
)
def test_a_message_is_in_the_folder_that_its_place_names(root, place, name):
    from pathlib import Path

    assert folder_name(Path(root), place) == name


def test_folders_for_junk_are_known_in_many_languages_and_bins_say_nothing():
    for junk in ("Junk", "[Gmail]/Spam", "Junk-E-Mail", "Courrier indésirable", "Unerwünschte Werbung", "垃圾邮件"):
        assert is_against(junk, "ham"), junk
        assert not is_against(junk, "spam"), junk
    for bin_ in ("Trash", "Deleted Items", "Papierkorb", "Bin"):
        assert not is_against(bin_, "spam"), bin_
    assert is_against("Robin", "spam")
    assert not is_against("INBOX", "unsure")
    assert not is_against("INBOX", "error")


def test_labels_of_a_chart_do_not_collide():
    from types import SimpleNamespace

    from suffice.spam.page.charts import Area, calibration_of

    class Evaluation:
        def reliability(self):
            shares = [0.0, 0.02, 0.05, 0.09, 0.15, 0.5, 0.84, 0.86, 0.97, 1.0]
            return [SimpleNamespace(probability=p, spam=round(p), count=n) for n, p in enumerate(shares, 1)]

    dots = calibration_of(Evaluation())
    halves = [3.5 * len(str(dot.count)) for dot in dots]
    boxes = [
        Area(dot.label_x - half, dot.label_y - 7, dot.label_x + half, dot.label_y + 7)
        for dot, half in zip(dots, halves, strict=True)
    ]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert not any(
            box.overlaps(Area(dot.x - dot.radius, dot.y - dot.radius, dot.x + dot.radius, dot.y + dot.radius))
            for dot in dots
        )


def test_ten_thousand_texts_are_searched_at_once():
    from suffice.spam.page.texts import Texts

    texts = Texts()
    words = " ".join(f"word{i}" for i in range(500))
    for number in range(10_000):
        texts.add(f"{words} number{number}.")
    start = time.process_time()
    assert texts.holding(["number77.", "word499"]) == {77}
    assert texts.holding(["nowhere"]) == set()
    assert time.process_time() - start < 2.0  # it takes some hundredths of a second
    texts.close()


def test_messages_are_filed_into_buckets_found_by_them_and_filed_back(store):
    receipts = [
        b"From: shop@example.com\nSubject: Order %d\n\nYour receipt for parcel %d of today\n" % (i, i)
        for i in range(12)
    ]
    with SpamFilter.open(store) as spam_filter:
        for raw in receipts[:10]:
            spam_filter.train(raw, "ham", bucket="receipts")
        spam_filter.buckets.add("<b>work & more</b>")
    site = Site(store, write_mbox(store.with_name("inbox"), [message(500), *receipts[9:]]))
    try:
        site.wait()
        page = site.get("/").text
        assert page.count('<span class="bucket">') == page.count("<bdi>receipts</bdi>") > 0
        only = site.get("/?bucket=receipts").text
        assert "ham 500" not in only
        assert "Order 9" in only
        seen = site.get("/message/0").text
        assert "&lt;b&gt;work &amp; more&lt;/b&gt;" in seen
        assert site.post("/message/0/train", {"label": "ham", "file": "no such", "view": "message"}).status == 422
        assert site.post("/message/0/train", {"label": "ham", "file": "receipts", "view": "message"}).status in (
            200,
            303,
        )
        with SpamFilter.open(store) as spam_filter:
            assert spam_filter.buckets.of(message(500)) == "receipts"
        assert site.post("/message/0/train", {"label": "ham", "file": "", "view": "message"}).status in (200, 303)
        with SpamFilter.open(store) as spam_filter:
            assert spam_filter.buckets.of(message(500)) == ""
        site.post("/message/1/train", {"label": "spam", "view": "message"})
        with SpamFilter.open(store) as spam_filter:
            assert spam_filter.buckets.of(receipts[9]) == ""
        site.post("/undo/3", {})
        with SpamFilter.open(store) as spam_filter:
            assert (spam_filter.label_of(receipts[9]), spam_filter.buckets.of(receipts[9])) == ("ham", "receipts")
    finally:
        site.end()
