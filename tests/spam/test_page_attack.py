"""The page under attack: hostile mail, folders and buckets, requests by chance, and others who write to the store."""

import random
import threading
from html.parser import HTMLParser
from urllib.parse import quote, urlencode

import pytest
from mailbag import message
from spam_site import Site, post

from suffice.spam import SpamFilter

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

MARKUP = [
    "<xss a=b>", '"><xss>', "'><xss b='", '" onfocus="xss()" autofocus="', "</script><xss>", "</title><xss>",
    "</textarea><xss>", "javascript:xss()", "{{7*7}}", "{% raw %}<xss>", "<!--<xss>-->", "\u202e<xss>", "<xss\n>",
]  # fmt: skip
ODD = [
    "", "0", "-1", "nan", "inf", "-inf", "1e308", "1e-320", "5e-324", "1e400", "0.5", "1", "\u0661", "\u00b2", "1_0",
    "9" * 5000, " 1", "\0", "\ufffd", "a" * 5000, "%", "../../etc/passwd", "word " * 100, "spam", "odd", "newest",
    "'; DROP TABLE tokens--", *MARKUP,
]  # fmt: skip
HEADERS = ["From", "To", "Cc", "Subject", "Date", "Received", "List-Id", "Authentication-Results", "X-Suffice-Status"]


class Markup(HTMLParser):
    """What of a page runs, loads or leads elsewhere."""

    def __init__(self, path):
        super().__init__()
        self.path, self.found = path, []

    def handle_starttag(self, tag, attributes):
        if tag in ("xss", "iframe", "object", "embed", "base", "style") or (
            tag == "script" and "src" not in dict(attributes)
        ):
            self.found.append(tag)
        for name, value in attributes:
            leads = name in ("href", "src", "action", "formaction", "hx-get", "hx-post")
            if name.startswith("on") or name == "style" or (leads and not value.startswith((self.path, "?", "#"))):
                self.found.append((tag, name, value))


def hostile(chance, number):
    """A message with markup in every header, part, file name and link."""

    def odd():
        return chance.choice(MARKUP)

    head = "".join(f'{name}: {odd()} "{odd()}" <{odd()}@{odd()}.example>\n' for name in HEADERS)
    parts = (
        f'--b\nContent-Type: {odd()}/{odd()}\nContent-Disposition: attachment; filename="{odd()}"\n\n{odd()}\n'
        f"--b\nContent-Type: text/html\n\n<a href='http://{odd()}/'>{odd()}</a><p style='display:none'>{odd()}</p>\n"
    )
    text = f"{head}Content-Type: multipart/mixed; boundary=b\n\n{odd() * 50}\n{parts}--b--\n{number}\n"
    return text.replace("\0", "").encode()


@pytest.fixture
def attacked(tmp_path, store):
    chance = random.Random(0)
    box = tmp_path / '<xss> "in"&amp;box'
    for folder in (box, box / ".<xss>.Ju'nk"):
        for name in ("cur", "new", "tmp"):
            (folder / name).mkdir(parents=True)
        for number in range(20):
            (folder / "cur" / f"{number}:2,").write_bytes(hostile(chance, number))
    with SpamFilter.open(store) as spam_filter:
        spam_filter.train_many([message(i) for i in range(200, 230)], "ham", bucket="<xss>", processes=1)
    site = Site(store, box)
    try:
        site.wait()
        yield site
    finally:
        code, _, errors = site.end()
    assert (code, errors) == (0, "")


def ask(site, chance):
    """Make a request with parameters by chance, and return what was asked and the answer."""

    def odd():
        return chance.choice([*ODD, str(chance.randrange(45))])

    def pairs(names):
        return urlencode([(chance.choice(names), odd()) for _ in range(chance.randrange(6))])

    part = chance.random() < 0.5
    if chance.random() < 0.5:
        view = chance.choice(["", f"message/{quote(odd(), '')}", "overview", "tuning", "tuning/live", "progress"])
        path = f"/{view}?{pairs(['show', 'order', 'text', 'folder', 'bucket', 'page', 'at', 'shown', 'ham', 'spam'])}"
        return path, site.get(path, part)
    number = quote(odd(), "")
    path = chance.choice([f"message/{number}/train", "bulk", f"undo/{number}", "tuning/save", "tuning/tune", "read"])
    fields = ["label=" + chance.choice(["spam", "ham", "undo"])] if chance.random() < 0.7 else []
    fields.append(pairs(["label", "file", "view", "cost", "ham", "spam", "number", "show", "text", "page"]))
    form = "&".join([*fields, *(f"number={chance.randrange(40)}" for _ in range(5))])
    return f"{path} {form}", post(site, f"/{path}", form, part)


def test_whatever_is_asked_gets_an_answer_and_shows_only_our_own_markup(attacked, store):
    stop, failed = threading.Event(), []

    def others():
        chance = random.Random(1)
        while not stop.is_set():
            try:
                with SpamFilter.open(store) as spam_filter:
                    spam_filter.train(message(chance.randrange(100)), chance.choice(["spam", "ham"]))
                    spam_filter.tune(chance.choice([1.0, 100.0, 1e6]))
            except Exception as error:
                failed.append(error)
            stop.wait(0.1)

    writer = threading.Thread(target=others)
    writer.start()
    chance = random.Random(2)
    try:
        for _ in range(250):
            asked, answer = ask(attacked, chance)
            assert answer.status < 500, (asked, answer.text)
            if "html" in (answer.headers["content-type"] or ""):
                markup = Markup(attacked.path)
                markup.feed(answer.text)
                assert not markup.found, asked
    finally:
        stop.set()
        writer.join()
    assert not failed
