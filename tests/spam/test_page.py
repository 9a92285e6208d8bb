"""The page of the filter, asked over HTTP: who may read it, what it shows, and what it does."""

import asyncio
import http.client
import os
import re
import shutil
import socket
import time
from contextlib import closing
from html.parser import HTMLParser

import forked
import pytest
from mailbag import contents, message
from spam_site import TAUGHT, Site, write_mbox

from suffice.spam import SpamFilter, Thresholds

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

NEW_HAM = message(1000)
DOUBTFUL = b"From: new@example.net\nSubject: ham spam 7\n\nspamword1 hamword1 spamword2 hamword2 not known\n"
HOSTILE = (
    b'From: "<img src=x onerror=alert(1)>" <x@example.org>\n'
    b'Subject: <script>alert(\'1\')</script> " onfocus="alert(2)" autofocus=" =?utf-8?b?4oCucm90Y2VyaWQ=?= \x07\n'
    b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n"
    b"<style>p { background: url(http://evil.example/a.png) }</style><script>alert(3)</script>"
    b"<p onclick=alert(4)>Seen</p><a href='javascript:alert(5)'>Link</a><img src=http://evil.example/b.png>\n"
    b"--b\nContent-Type: text/plain; charset=utf-7\n\nhalf a pair: +2AA-\n"
    b'--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename="<b>&.pdf"\n\nabc\n--b--\n'
)


MAILBOXES = {"inbox": [DOUBTFUL, NEW_HAM, HOSTILE]}


def label_of(store, raw):
    with SpamFilter.open(store) as spam_filter:
        return spam_filter.label_of(raw)


def probability(text):
    return float(re.search(r'data-probability="([\d.e-]+)"', text)[1])


def test_the_key_opens_the_page_and_nothing_else_does(reader):
    entrance = reader.ask("GET", reader.url.removeprefix(reader.origin), {})
    assert entrance.status == 200
    cookie = entrance.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert f"Path={reader.path};" in cookie  # cookies do not tell ports apart, but paths
    assert reader.get("/").status == 200
    for path in ("/", "/?key=", "/?key=wrong", f"{reader.path}/", f"{reader.path}/message/0", "/favicon.ico"):
        assert reader.ask("GET", path, {}).status == 403, path
    assert reader.get("/", Cookie="suffice-spam=wrong").status == 403
    assert reader.get("/", Cookie=f"suffice-spam=wrong; {reader.cookie}").status == 200  # others cannot hide ours
    assert reader.ask("GET", f"{reader.path}/static/style.css", {}).status == 403
    assert reader.ask("GET", "/", {"Cookie": reader.cookie}).status == 403


def test_a_name_that_was_made_to_point_here_gets_nothing(reader):
    for host in ("evil.example", f"evil.example:{reader.port}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.2:{reader.port}"):
        assert reader.get("/", Host=host).status == 403, host
        key = reader.url.removeprefix(reader.origin)
        assert reader.ask("GET", key, {"Host": host}).status == 403
    assert reader.get("/", Host=f"localhost:{reader.port}").status == 200


@pytest.mark.parametrize(
    "forged",
    [
        {"token": None},
        {"token": "wrong"},
        {"token": ""},
        {"Cookie": None},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null", "Sec_Fetch_Site": None},
        {"Origin": None, "Sec_Fetch_Site": None},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Host": "evil.example"},
    ],
    ids=str,
)
def test_a_forged_request_changes_nothing(reader, forged):
    with SpamFilter.open(reader.store) as spam_filter:
        before = contents(spam_filter)
        for path, values in (
            ("/message/0/train", {"label": "spam"}),
            ("/tuning/save", {"ham": "0.1", "spam": "0.2"}),
            ("/tuning/tune", {"cost": "5"}),
            ("/read", {}),
            ("/bulk", {"number": "0", "label": "spam"}),
            ("/undo/1", {}),
        ):
            assert reader.post(path, values, **forged).status == 403, path
        assert contents(spam_filter) == before


def test_what_other_sites_ask_for_is_refused_even_with_the_cookie(reader):
    for where in ("cross-reader", "same-reader"):
        assert reader.get("/message/0", Sec_Fetch_Site=where).status == 200  # no such header: underscores are none
        assert reader.get("/message/0", **{"Sec-Fetch-Site": where}).status == 403
    assert reader.get("/message/0", **{"Sec-Fetch-Site": "none"}).status == 200


def test_large_forms_and_other_methods_are_refused(reader):
    assert reader.post("/message/0/train", {"label": "spam", "more": "x" * 20_000}).status == 413
    assert reader.post("/message/0/train", {"label": "spam", **{f"a{i}": "1" for i in range(80)}}).status == 413
    assert reader.ask("DELETE", f"{reader.path}/message/0", {"Cookie": reader.cookie}).status == 405


def test_a_form_that_breaks_off_is_not_acted_upon():
    from suffice.spam.page.guard import COOKIE, TOKEN_HEADER, Guard, Keys

    keys, asked, answers = Keys(), [], []
    headers = {"host": "127.0.0.1:1", "origin": "http://127.0.0.1:1", "cookie": f"{COOKIE}={keys.session}"}
    headers[TOKEN_HEADER] = keys.token
    scope = {"type": "http", "method": "POST", "path": f"{keys.path}/bulk", "query_string": b""}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def app(scope, receive, send):
        asked.append(scope["picked"])

    async def send(message):
        answers.append(message)

    def arrive(*messages):
        rest = iter(messages)

        async def receive():
            return next(rest)

        asyncio.run(Guard(app, keys, 1)(dict(scope), receive, send))

    half = {"type": "http.request", "body": b"label=spam&number=1", "more_body": True}
    arrive(half, {"type": "http.request", "body": b"2", "more_body": False})
    assert asked.pop() == ["12"]
    arrive(half, {"type": "http.disconnect"})
    assert not asked
    assert answers[0]["status"] == 400


def test_every_answer_has_the_strict_policy_and_is_not_kept(reader):
    answers = [reader.get(path) for path in ("/", "/message/0", "/tuning", "/overview", "/static/page.js", "/nothing")]
    answers += [reader.ask("GET", "/", {}), reader.post("/message/0/train", {"label": "spam"}, token="no")]
    for answer in answers:
        policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert {policy[name] for name in policy if name.endswith("-src") and name != "default-src"} == {"'self'"}
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in answer.headers


class Tags(HTMLParser):
    """The elements of a page, as a browser reads them."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, name, attributes):
        self.found.append((name, dict(attributes)))


def test_no_page_holds_inline_styles_or_scripts_or_addresses_outside(reader):
    for path in ("/", "/message/0", "/message/2", "/tuning", "/overview"):
        tags = Tags(reader.get(path).text).found
        assert not [tag for tag in tags if any(name == "style" or name.startswith("on") for name in tag[1])]
        assert {name for name, _ in tags} & {"style", "img", "iframe", "object", "embed", "base"} == set()
        assert all("src" in attributes for name, attributes in tags if name == "script")
        keys = ("href", "src", "action", "formaction", "hx-get", "hx-post")
        links = [attributes[key] for _, attributes in tags for key in keys if key in attributes]
        assert len(links) > 5
        assert all(link.startswith((reader.path + "/", "#")) for link in links)


def test_only_this_machine_is_served(reader):
    with socket.socket() as other:
        other.settimeout(5)
        assert other.connect_ex(("127.0.0.2", reader.port)) != 0


def test_hostile_mail_is_text(reader):
    page, rows = reader.get("/message/2").text, reader.get("/").text
    for text in (page, rows):
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "\u202e" not in text
        assert "⟨RLO⟩rotcerid" in text
        assert "␇" in text
        assert "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &#34; onfocus=&#34;alert(2)&#34;" in text
    assert "Seen\nLink" in page
    assert 'href="javascript' not in page
    assert "<li><bdi>javascript:alert(5)</bdi></li>" in page  # links are text
    assert "half a pair: \ufffd" in page
    assert "&lt;b&gt;&amp;.pdf</bdi>" in page
    assert "http://evil.example/b.png" in page
    assert "evil.example" not in rows


def test_a_huge_message_makes_a_page_of_bounded_size(tmp_path, store):
    huge = b"From: a@example.org\nSubject: " + b"s" * 30_000 + b"\n\n" + b"word " * 1_000_000
    many = b"\n".join(b"X-A%d: b" % i for i in range(5000)) + b"\n\ntext"
    deep = b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\n" * 10_000
    site = Site(store, write_mbox(tmp_path / "inbox", [huge, many, deep]))
    try:
        assert len(site.wait().text) < 40_000
        page = site.get("/message/0").text
        assert len(page) < 100_000
        assert "What follows is left out" in page
        assert len(site.get("/message/1").text) < 100_000
        assert len(site.get("/message/2").text) < 100_000
    finally:
        site.end()


def test_one_post_retrains_and_answers_with_the_new_score(site, store):
    before = probability(site.get("/message/0").text)
    answer = site.post("/message/0/train", {"label": "ham", "view": "message"}, part=True)
    assert answer.status == 200
    assert answer.text.startswith("<aside")
    assert "trained as good" in answer.text
    assert probability(answer.text) < before
    assert label_of(store, DOUBTFUL) == "ham"
    moved = site.post("/message/0/train", {"label": "spam", "view": "message"}, part=True)
    assert probability(moved.text) > before
    assert label_of(store, DOUBTFUL) == "spam"
    undone = site.post("/message/0/train", {"label": "undo", "view": "message"}, part=True)
    assert probability(undone.text) == before
    assert label_of(store, DOUBTFUL) is None
    again = site.post("/message/0/train", {"label": "undo", "view": "message"}, part=True)
    assert again.status == 409
    assert "never trained" in again.text


def test_without_script_a_form_trains_and_leads_back(site, store):
    # without a referrer browsers call the origin of a form null
    back = site.post("/message/1/train", {"label": "ham", "view": "list", "show": "ham", "text": "a b"}, Origin="null")
    assert (back.status, back.headers["location"]) == (303, f"{site.path}/?show=ham&text=a+b")
    assert label_of(store, NEW_HAM) == "ham"
    assert 'aria-pressed="true"' in site.get("/").text
    back = site.post("/message/1/train", {"label": "undo", "view": "message"}, Origin="null")
    assert (back.status, back.headers["location"]) == (303, f"{site.path}/message/1?")
    assert site.post("/message/1/train", {"label": "eggs"}).status == 400
    assert site.post("/message/9/train", {"label": "ham"}).status == 404


def test_only_messages_of_the_mailboxes_can_be_reached(reader):
    for path in ("/message/3", "/message/-1", "/message/../../etc/passwd", "/message/99999999999999999999"):
        assert reader.get(path).status == 404, path
    for number in ("9" * 5000, "0" * 5000, "%C2%B2", "x"):
        assert reader.get(f"/message/{number}").status == 404, number
        assert reader.post(f"/message/{number}/train", {"label": "spam"}).status == 404, number
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/"):
        assert reader.get(path).status == 404, path


def test_the_list_filters_searches_sorts_and_turns_pages(tmp_path, store):
    dated = [
        b"Date: %d Mar 2026 10:00:00 +0000\n" % (1 + i % 28) + message(i, "spam" if i % 3 == 0 else "ham")
        for i in range(120)
    ]
    site = Site(store, write_mbox(tmp_path / "one", dated[:70]), write_mbox(tmp_path / "two", dated[70:]))
    try:
        site.until(lambda: site.get("/"), lambda answer: 'All <span class="count">120<' in answer.text)
        site.wait()

        def numbers(query):
            return [int(number) for number in re.findall(r'id="row-(\d+)"', site.get("/?" + query).text)]

        assert len(numbers("")) == 50
        assert numbers("page=3") == numbers("page=99")
        assert len(numbers("page=3")) == 20
        assert sorted(numbers("") + numbers("page=2") + numbers("page=3")) == list(range(120))
        assert numbers("show=spam") == [n for n in numbers("") + numbers("page=2") + numbers("page=3") if n % 3 == 0]
        assert sorted(numbers("text=subject+nothing")) == []
        assert numbers("text=HAM+100") == [100]
        assert numbers("text=a3@example.org&order=oldest")[0] in (28, 56, 84, 112, 3)
        first, last = numbers("order=spam")[0], numbers("order=ham")[0]
        assert first % 3 == 0
        assert last % 3 != 0
        # the way from message to message is that of the list
        order = numbers("show=spam&order=oldest")
        page = site.get(f"/message/{order[1]}?show=spam&order=oldest").text
        assert f'rel="prev" href="{site.path}/message/{order[0]}?show=spam&amp;order=oldest"' in page
        assert f'rel="next" href="{site.path}/message/{order[2]}?show=spam&amp;order=oldest"' in page
        assert "No message holds" in site.get("/?text=nowhere").text
        assert site.get("/?page=abc&order=x&show=y").status == 200
        part = site.get("/", part=True).text
        assert part.startswith("<section")
    finally:
        site.end()


def test_the_evidence_adds_up(reader):
    page = reader.get("/message/0").text
    total = float(re.search(r"Sum of all evidence</span> <b>(\S+)</b>", page)[1].replace("−", "-"))
    fields, tokens = page.split("By token")
    values = re.findall(r'class="value">([^<]+)<', fields)
    assert sum(float(value.replace("−", "-")) for value in values) == pytest.approx(total, abs=0.005 * len(values))
    shown = [float(value.replace("−", "-")) for value in re.findall(r'class="value">([^<]+)<', tokens)]
    assert shown == sorted(shown, key=abs, reverse=True)
    with SpamFilter() as fresh:
        fresh.train_many([message(i, k) for k in ("spam", "ham") for i in range(TAUGHT)], ["spam"] * 30 + ["ham"] * 30)
        assert total == pytest.approx(fresh.score(DOUBTFUL).log_odds, abs=0.005)


def test_what_another_process_trains_is_seen(site, store):
    before = probability(site.get("/message/0").text)
    with SpamFilter.open(store) as spam_filter:
        spam_filter.train(DOUBTFUL, "spam")
    assert 'aria-pressed="true"' in site.get("/").text
    page = site.get("/message/0").text
    assert probability(page) > before
    assert "trained as spam" in page


def test_tuning_says_which_store_it_is(site, store):
    assert f"kept in {store}" in site.get("/tuning").text


def test_tuning_shows_counts_and_saves_thresholds(site, store):
    page = site.until(lambda: site.get("/tuning"), lambda answer: "As a table" in answer.text).text
    assert f"<dd>{TAUGHT}</dd>" in page
    assert "unlabelled" not in page
    with SpamFilter.open(store) as spam_filter:
        evaluation = spam_filter.evaluate()
        for thresholds in (Thresholds(0.5, 0.9), Thresholds(0.001, 0.01), Thresholds(0.99, 0.999)):
            errors = evaluation.errors(thresholds)
            live = site.get(f"/tuning/live?ham={thresholds.ham}&spam={thresholds.spam}", part=True).text
            assert f'id="false-positives">{errors.false_positives}<' in live
            assert f'id="missed">{errors.missed}<' in live
            assert f'id="not-caught">{errors.not_caught}<' in live
        assert spam_filter.thresholds == Thresholds()
        saved = site.post("/tuning/save", {"ham": "0.25", "spam": "0.995"}, part=True)
        assert "Saved" in saved.text
        assert spam_filter.thresholds == Thresholds(0.25, 0.995)
    assert "spam from 99.5 %" in site.get("/message/0").text


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"ham": "0.9", "spam": "0.1"}, "0 ≤ good &lt; spam ≤ 1"),
        ({"ham": "nan", "spam": "0.1"}, "0 ≤ good &lt; spam ≤ 1"),
        ({"ham": "0.1", "spam": "<b>"}, "must be a number, but it is &#39;&lt;b&gt;&#39;"),
        ({"ham": "0.1"}, "must be a number"),
    ],
)
def test_thresholds_that_cannot_be_are_refused_in_one_sentence(reader, values, words):
    answer = reader.post("/tuning/save", values, part=True)
    assert answer.status == 422
    assert words in answer.text
    assert answer.headers["hx-retarget"] == "#notice"
    with SpamFilter.open(reader.store) as spam_filter:
        assert spam_filter.thresholds == Thresholds()


def test_tuning_for_a_cost_writes_what_the_filter_finds(site, store, taught_once, tmp_path):
    for bad in ("0", "-1", "inf", "x"):
        assert site.post("/tuning/tune", {"cost": bad}, part=True).status == 422
    answer = site.post("/tuning/tune", {"cost": "7"}, part=True)
    assert "costs 7 spams" in answer.text
    with (
        SpamFilter.open(shutil.copy(taught_once, tmp_path / "other.sqlite")) as other,
        SpamFilter.open(store) as spam_filter,
    ):
        assert spam_filter.thresholds == other.tune(7.0).thresholds
    assert 'name="cost" min="0.01" step="any" value="7"' in site.get("/tuning").text


def test_an_empty_store_and_no_mailbox_say_what_to_do(tmp_path):
    site = Site(tmp_path / "spam.sqlite")
    try:
        assert "No mailbox was given" in site.wait().text
        tuning = site.until(lambda: site.get("/tuning"), lambda answer: "Scoring each" not in answer.text)
        assert "spam and good mail" in tuning.text
    finally:
        assert site.end()[0] == 0


def test_a_mailbox_that_cannot_be_read_is_told_and_the_others_are_shown(tmp_path, store):
    folder = tmp_path / "Maildir"
    (folder / "cur").mkdir(parents=True)
    locked = folder / "cur" / "1"
    locked.write_bytes(DOUBTFUL)
    locked.chmod(0)
    site = Site(store, folder, write_mbox(tmp_path / "inbox", [NEW_HAM]))
    try:
        text = site.wait().text
        assert "ham 1000" in text
        assert os.access(locked, os.R_OK) or "cannot be read: Permission denied; check its permissions" in text
    finally:
        site.end()


def test_a_mailbox_with_an_odd_name_is_shown_by_a_harmless_one(tmp_path, store):
    odd = tmp_path / os.fsdecode("in\xff\u202ebox".encode("latin-1", "ignore") + "\u202e".encode())
    write_mbox(odd, [DOUBTFUL])
    site = Site(store, odd)
    try:
        site.wait()
        page = site.get("/message/0")
        assert page.status == 200
        assert "in\ufffdbox⟨RLO⟩" in page.text
    finally:
        site.end()


def test_idle_connections_of_strangers_do_not_keep_the_owner_out(site):
    idle = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(200)]
    try:
        for connection in idle[150:]:
            connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")  # and some are in the middle of a request
        for _ in range(5):
            assert site.get("/").status == 200
        assert site.post("/message/0/train", {"label": "ham"}).status == 303
        for connection in idle[:50]:  # those that have waited longest have made room
            connection.settimeout(5)
            assert connection.recv(1) == b""
        idle[-1].settimeout(0.1)
        with pytest.raises(TimeoutError):
            idle[-1].recv(1)
    finally:
        for connection in idle:
            connection.close()


def test_a_connection_without_a_whole_request_is_closed_and_one_with_requests_is_not(store):
    from suffice.spam.page.connections import PATIENCE

    assert PATIENCE == 10.0
    patience = 3.0
    site = Site(store, changed=[("suffice.spam.page.connections.PATIENCE", patience)])
    quick = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)

    def ask():
        quick.request("GET", "/")
        with quick.getresponse() as answer:
            answer.read()
            return answer.status

    try:
        with socket.create_connection(("127.0.0.1", site.port)) as slow, closing(quick):
            start, is_open = time.monotonic(), True
            assert ask() == 403
            socket_of_quick = quick.sock
            slow.settimeout(0.2)
            while is_open:
                assert time.monotonic() < start + patience + 20
                assert ask() == 403
                try:
                    slow.sendall(b"G")  # a byte now and then does not help
                    is_open = slow.recv(1) != b""
                except TimeoutError:
                    pass
                except ConnectionError:
                    is_open = False
            assert time.monotonic() - start > patience - 0.5
            assert ask() == 403
            assert quick.sock is socket_of_quick
    finally:
        site.end()


def test_a_store_that_is_gone_is_told_and_none_is_made(site, store):
    moved = store.with_name("moved.sqlite")
    with SpamFilter.open(store) as spam_filter:
        before = contents(spam_filter)
    store.rename(moved)
    answers = [site.get(path) for path in ("/", "/message/1", "/tuning", "/overview")]
    answers.append(site.post("/message/1/train", {"label": "ham"}))
    answers.append(site.post("/message/1/train", {"label": "ham"}, part=True))
    answers.append(site.post("/tuning/save", {"ham": "0.1", "spam": "0.2"}))
    answers.append(site.post("/tuning/tune", {"cost": "5"}))
    for answer in answers:
        assert answer.status == 503
        assert "no longer exists; put it back" in answer.text
    assert not store.exists()
    moved.rename(store)
    assert site.get("/").status == 200
    with SpamFilter.open(store) as spam_filter:
        assert contents(spam_filter) == before
    assert site.post("/message/1/train", {"label": "ham"}).status == 303
    assert label_of(store, NEW_HAM) == "ham"


def test_a_store_that_was_replaced_is_opened_and_told(site, store, tmp_path):
    assert "was replaced" not in site.get("/").text
    before = probability(site.get("/message/0").text)
    other = tmp_path / "other.sqlite"
    with SpamFilter.open(other) as spam_filter:
        spam_filter.train(DOUBTFUL, "spam")
        spam_filter.train(NEW_HAM, "ham")
        expected = spam_filter.score(DOUBTFUL).probability
    old = store.rename(tmp_path / "old.sqlite")
    os.replace(other, store)
    trained = site.post("/message/2/train", {"label": "spam", "view": "message"}, part=True)
    assert trained.status == 200
    assert "was replaced by another file" in trained.text
    assert (label_of(store, HOSTILE), label_of(old, HOSTILE)) == ("spam", None)
    site.post("/message/2/train", {"label": "undo", "view": "message"}, part=True)
    page = site.get("/message/0").text
    assert probability(page) == pytest.approx(expected)
    assert probability(page) != before
    for path in ("/", "/message/0", "/tuning"):
        assert "was replaced by another file" in site.get(path).text
    store.unlink()
    store.write_bytes(b"no store at all, but some other kind of file" * 30)
    answer = site.get("/")
    assert answer.status == 503
    assert "not a store" in answer.text


def test_reading_again_finds_new_mail_and_keeps_numbers(site, tmp_path):
    inbox = tmp_path / "inbox"

    def rows():
        return {int(number) for number in re.findall(r'id="row-(\d+)"', site.get("/").text)}

    assert rows() == {0, 1, 2}
    write_mbox(inbox, [HOSTILE, message(2000), message(2000), DOUBTFUL])  # one is gone, two of a kind are new
    assert rows() == {0, 1, 2}
    answer = site.post("/read", {"order": "oldest", "show": "ham"}, part=True)
    assert answer.status == 200
    assert answer.text.startswith("<section")
    assert "?show=ham&amp;order=oldest" in answer.text
    site.wait()
    assert rows() == {0, 2, 3, 4}
    text = site.get("/").text
    assert 'All <span class="count">4<' in text
    assert site.get("/message/1").status == 200  # who is looking at it may go on
    write_mbox(inbox, [NEW_HAM, DOUBTFUL, message(2000), HOSTILE])
    back = site.post("/read", {"show": "spam", "page": "2"}, Origin="null")
    assert (back.status, back.headers["location"]) == (303, f"{site.path}/?show=spam&page=2")
    site.wait()
    assert len(rows()) == 4
    assert rows() >= {0, 1, 2}


def test_a_mailbox_that_vanished_is_told_when_it_is_read_again_and_its_messages_stay(site, tmp_path):
    (tmp_path / "inbox").rename(tmp_path / "elsewhere")
    site.post("/read", {})
    text = site.wait().text
    assert "there is no file or folder" in text
    assert text.count('<li class="row') == 3
    (tmp_path / "elsewhere").rename(tmp_path / "inbox")
    site.post("/read", {})
    assert "there is no file or folder" not in site.wait().text


def run(*args):
    return forked.run("spam", "serve", *args)


def test_mistakes_are_one_line(reader, tmp_path, store):
    missing = run(tmp_path / "nowhere", "--store", store, "--port", "0")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert re.fullmatch(r"error: there is no file or folder '.*nowhere'; give an mbox.*\n", missing.stderr)
    busy = run("--store", store, "--port", reader.port)
    assert busy.returncode == 1
    assert re.fullmatch(rf"error: the page cannot be served on port {reader.port}: .*; give another.*\n", busy.stderr)
    other = run("--store", __file__, "--port", "0", "--no-open")
    assert other.returncode == 1
    assert "is not a store of suffice.spam" in other.stderr
    assert "Traceback" not in other.stderr
    mistyped = tmp_path / "mistyped" / "spam.sqlite"
    nowhere = run("--store", mistyped, "--port", "0", "--no-open")
    assert nowhere.returncode == 1
    assert re.fullmatch(
        r"error: the store '.*' cannot be created: .*; check that its folder exists.*\n", nowhere.stderr
    )
    assert not mistyped.parent.exists()


def test_the_folder_of_the_users_own_store_is_made_for_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("SUFFICE_SPAM_STORE", raising=False)
    own = tmp_path / "suffice"
    site = Site(own / "spam.sqlite", command=["serve"])
    try:
        assert (own / "spam.sqlite").exists()
        assert own.stat().st_mode & 0o777 == 0o700
    finally:
        site.end()


def test_the_browser_is_led_to_the_key_by_a_private_file(tmp_path, monkeypatch):
    from suffice.spam.page import server

    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)  # its argument is seen by everybody on the machine
    server._open("http://127.0.0.1:1/?key=secret", tmp_path)
    [address] = opened
    assert "secret" not in address
    file = tmp_path / "open.html"
    assert address == file.as_uri()
    assert file.stat().st_mode & 0o077 == 0
    assert 'url=http://127.0.0.1:1/?key=secret"' in file.read_text()


def test_the_help_names_the_options():
    text = re.sub(r"\x1b\[[\d;]*m", "", run("--help").stdout)
    for word in ("MAILBOX", "--port", "--store", "--no-open", "--json"):
        assert word in text


def test_a_server_that_is_not_there_is_a_problem_of_its_mailbox_alone(store, monkeypatch):
    monkeypatch.setenv("SUFFICE_IMAP_PASSWORD", "secret")
    site = Site(store, "imap://ann@127.0.0.1:1/INBOX")
    try:
        text = site.wait().text
    finally:
        site.end()
    assert 'class="problem"' in text
    assert "127.0.0.1" in text
