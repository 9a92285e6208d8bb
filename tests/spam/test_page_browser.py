"""The page of the filter in a real Chromium: hostile mail, one click, keys, the slider, phones, dark, no script."""

import os
import re
import shutil
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files

import pytest
from mailbag import contents, message
from spam_site import Site, write_mbox, write_store

from suffice.spam import SpamFilter, Thresholds
from suffice.spam.mailboxes import as_mbox

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'suffice[browser]'")
expect = playwright.expect
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the path"),
]

DOUBTFUL = b"From: new@example.net\nSubject: ham spam 7\n\nspamword1 hamword1 spamword2 hamword2 not known\n"
EVIL = "http://evil.example"
ATTACKS = [
    b"<script>alert(1)</script>",
    b"<img src=x onerror=alert(2)><img src=http://evil.example/i.png><svg onload=alert(3)>",
    b"<style>@import url(http://evil.example/s.css); body { background: url(http://evil.example/b.png) }</style>",
    b"<a href='javascript:alert(4)'>here</a><iframe src=http://evil.example/f></iframe><base href=http://evil.example/>",
    b"<form action=http://evil.example/><button autofocus onfocus=alert(5)></button></form><meta http-equiv=refresh"
    b" content='0;url=http://evil.example/r'><link rel=prefetch href=http://evil.example/p>",
    b"</div></div></main>\" ' > <div hx-get='http://evil.example/h' hx-trigger=load hx-on:load='alert(6)'></div>",
    b"{{ 7 * 7 }} {% include 'base.html' %} \xe2\x80\xaeabc \x1b[31m \xff\xfe",
]


def hostile():
    """Mail that carries every attack in its sender, its subject, an attachment's name, as HTML and as plain text."""
    for number, attack in enumerate(ATTACKS):
        line = attack.replace(b"\n", b" ")
        yield (
            b'From: "%b" <a%d@example.org>\nSubject: %b\nTo: %b\nX-Odd: %b\n' % (line, number, line, line, line)
            + b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>%b</p>\n" % attack
            + b"--b\nContent-Type: text/plain\n\n%b\n--b\nContent-Type: image/png\n" % attack
            + b'Content-Disposition: attachment; filename="%b"\n\nabc\n--b--\n' % line.replace(b'"', b"")
        )
    yield b"From: a@example.org\nSubject: large\nContent-Type: text/html\n\n" + b"<p>lorem ipsum</p>" * 280_000


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


MAILBOXES = {
    "inbox": [DOUBTFUL, *(message(500 + i, "ham" if i % 2 else "spam") for i in range(5)), *hostile()],
}


@contextmanager
def opened(chromium, site, **options):
    """A page that the key has opened, which must neither complain nor ask anyone else."""
    context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    context.set_default_timeout(15_000)
    page = context.new_page()
    wrong = []
    page.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("popup", lambda popup: wrong.append(f"popup {popup.url}"))
    page.on("request", lambda ask: None if ask.url.startswith(site.origin + "/") else wrong.append(ask.url))
    page.add_init_script(
        "document.addEventListener('securitypolicyviolation', (event) => console.error('CSP ' + event.blockedURI))"
    )
    try:
        page.goto(site.url)
        page.wait_for_url(f"{site.origin}{site.path}/")
        yield page
        assert wrong == []
    finally:
        context.close()


def label_of(site, raw):
    with SpamFilter.open(site.store) as spam_filter:
        return spam_filter.label_of(raw)


def score(page):
    return float(page.locator("#verdict").get_attribute("data-probability"))


def is_wider_than_the_window(page):
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def test_hostile_mail_runs_nothing_and_asks_nobody(chromium, site):
    with opened(chromium, site) as page:
        assert page.locator(".row").count() == 6 + len(ATTACKS) + 1
        for number in range(6, 6 + len(ATTACKS) + 1):
            page.goto(f"{site.origin}{site.path}/message/{number}")
            page.evaluate("document.querySelectorAll('details').forEach((element) => element.open = true)")
            page.mouse.move(300, 300)
            page.keyboard.press("Tab")
            page.wait_for_timeout(150)
            assert not page.locator("main img, main iframe, main script, main style, main base, main meta").count()
            assert not page.locator(".letter a, .letter button, .letter input").count()
            assert not is_wider_than_the_window(page)
        page.goto(f"{site.origin}{site.path}/message/6")
        assert page.locator("#subject").inner_text() == "<script>alert(1)</script>"
        page.locator("button.to-spam").click()  # and when htmx swaps it in
        page.wait_for_selector("text=trained as spam")
        page.goto(f"{site.origin}{site.path}/message/12")
        assert "{{ 7 * 7 }}" in page.locator("#subject").inner_text()


def test_the_policy_stops_what_would_have_got_through(chromium, site):
    """The second wall by itself: markup put into the page by hand neither runs nor loads."""
    context = chromium.new_context()
    page = context.new_page()
    answered, dialogs = [], []
    page.on("requestfinished", lambda ask: answered.append(ask.url))
    page.on("requestfailed", lambda ask: answered.append(ask.url) if "csp" not in ask.failure.lower() else None)
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(site.url)
    page.wait_for_url(f"{site.origin}{site.path}/")
    blocked = page.evaluate(
        """async (html) => {
            const blocked = [];
            document.addEventListener("securitypolicyviolation", (event) => blocked.push(event.effectiveDirective));
            const box = document.createElement("div");
            document.body.append(box);
            box.innerHTML = html;
            const script = document.createElement("script");
            script.textContent = "alert(9)";
            document.body.append(script);
            try { await fetch("http://evil.example/fetch"); } catch {}
            await new Promise((resolve) => setTimeout(resolve, 500));
            // later, since what is asked for from outside of the page may evaluate at first
            try { new Function("alert(10)")(); } catch { blocked.push("eval"); }
            return blocked;
        }""",
        "<img src=x onerror=alert(2)><img src=http://evil.example/i.png><p style='color: red'></p>"
        "<iframe src=http://evil.example/f></iframe><style>p { color: red }</style>",
    )
    context.close()
    assert dialogs == []
    assert not [url for url in answered if url.startswith(EVIL)]
    assert {"script-src-attr", "script-src-elem", "img-src", "style-src-attr", "style-src-elem", "frame-src",
            "connect-src", "eval"} <= set(blocked)  # fmt: skip


def test_one_click_retrains_and_shows_the_new_score_at_once(chromium, site):
    with opened(chromium, site) as page:
        page.locator("#open-0").click()
        page.wait_for_selector("#verdict")
        before, address = score(page), page.url
        page.evaluate("window.same = true")
        page.locator("button.to-spam").click()
        page.wait_for_selector("text=trained as spam")
        after = score(page)
        assert after > before
        assert label_of(site, DOUBTFUL) == "spam"
        page.locator("button.to-ham").click()
        page.wait_for_selector("text=trained as good")
        assert score(page) < before
        page.locator("button.undo").click()
        page.wait_for_selector("#verdict button.undo:disabled")
        assert score(page) == before
        assert label_of(site, DOUBTFUL) is None
        assert (page.url, page.evaluate("window.same")) == (address, True)  # nothing was loaded anew


def test_keys_move_open_train_undo_search_and_help(chromium, site):
    with opened(chromium, site) as page:
        assert page.locator(".row").count() > 5

        def focused():
            return page.evaluate("document.activeElement.id")

        ids = page.locator("a.open").evaluate_all("rows => rows.map((row) => row.id)")
        page.keyboard.press("j")
        assert focused() == ids[0]
        page.keyboard.press("ArrowDown")
        page.keyboard.press("j")
        assert focused() == ids[2]
        page.keyboard.press("k")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("k")
        assert focused() == ids[0]

        page.keyboard.press("/")
        assert focused() == "search"
        page.keyboard.type("ham spam 7")
        expect(page.locator(".row")).to_have_count(1)
        assert "text=ham%20spam%207" in page.url
        page.keyboard.press("ArrowDown")
        assert focused() == "open-0"
        page.keyboard.press("s")
        page.wait_for_selector("#row-0 .to-spam[aria-pressed]")
        expect(page.locator("#open-0")).to_be_focused()  # the row is new, and still the one
        page.keyboard.press("h")
        page.wait_for_selector("#row-0 .to-ham[aria-pressed]")
        assert label_of(site, DOUBTFUL) == "ham"
        expect(page.locator("#open-0")).to_be_focused()
        page.keyboard.press("u")
        page.wait_for_selector("#row-0 .undo:disabled", state="attached")
        assert label_of(site, DOUBTFUL) is None
        expect(page.locator("#open-0")).to_be_focused()

        page.keyboard.press("Enter")
        page.wait_for_selector("html.js #verdict")  # once the script hears keys
        page.keyboard.press("s")
        page.wait_for_selector("text=trained as spam")
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()
        page.keyboard.press("h")  # what is under the help does not hear
        page.keyboard.press("Escape")
        assert not page.locator("#help").is_visible()
        assert label_of(site, DOUBTFUL) == "spam"
        page.keyboard.press("Escape")
        page.wait_for_selector("#list")
        assert page.locator("#search").input_value() == "ham spam 7"
        page.goto(f"{site.origin}{site.path}/message/{ids[1].removeprefix('open-')}")
        page.keyboard.press("j")
        page.wait_for_url(f"**/message/{ids[2].removeprefix('open-')}?")
        page.keyboard.press("k")
        page.wait_for_url(f"**/message/{ids[1].removeprefix('open-')}?")


def test_r_reads_the_mailboxes_again_and_keeps_the_place(chromium, site, tmp_path):
    with opened(chromium, site) as page:
        page.keyboard.press("/")
        page.keyboard.type("ham")
        page.wait_for_url("**text=ham*")
        page.locator("#open-0").focus()
        inbox = tmp_path / "inbox"
        inbox.write_bytes(inbox.read_bytes() + as_mbox(message(3000)))
        number = 6 + len(ATTACKS) + 1
        assert not page.locator(f"#row-{number}").count()
        page.keyboard.press("r")
        page.wait_for_selector(f"#row-{number}")
        page.wait_for_selector("#progress", state="detached")
        assert page.evaluate("document.activeElement.id") == "open-0"
        assert page.locator("#search").input_value() == "ham"
        assert not page.locator("text=large").count()
        inbox.write_bytes(inbox.read_bytes() + as_mbox(message(3001)))
        page.get_by_role("button", name="Read again").click()
        page.wait_for_selector(f"#row-{number + 1}")
        expect(page.locator("#read-again")).to_be_enabled()


def test_a_store_that_is_gone_or_replaced_is_told_where_the_click_was(chromium, site, tmp_path):
    context = chromium.new_context(viewport={"width": 1280, "height": 300})
    page = context.new_page()
    page.goto(site.url)
    page.wait_for_url(f"{site.origin}{site.path}/")
    away = site.store.rename(tmp_path / "away.sqlite")
    page.locator(".row .to-ham").last.click()
    page.wait_for_selector("#notice .problem")
    assert page.evaluate("scrollY") > 100
    expect(page.locator("#notice")).to_contain_text("no longer exists")
    expect(page.locator("#notice")).to_be_in_viewport()
    shutil.copy(away, site.store)
    page.locator(".row .to-ham").last.click()
    expect(page.locator("#store")).to_contain_text("was replaced by another file")
    expect(page.locator("#notice .problem")).to_have_count(0)
    context.close()


def test_focus_is_seen_and_the_content_can_be_skipped_to(chromium, site):
    with opened(chromium, site) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.locator(".skip").bounding_box()["y"] >= 0
        page.keyboard.press("Enter")
        assert page.url.endswith("#main")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "search"
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        nameless = page.locator("button, a, input:not([type=hidden]), select").evaluate_all(
            "all => all.filter((e) => !(e.ariaLabel || e.textContent.trim() || e.labels?.length)).map((e) => e.id)"
        )
        assert nameless == []


def test_the_slider_changes_counts_and_saves(chromium, site):
    with opened(chromium, site) as page:
        page.goto(f"{site.origin}{site.path}/tuning")
        page.wait_for_selector("#live svg")
        with SpamFilter.open(site.store) as spam_filter:
            evaluation = spam_filter.evaluate()

        def counts():
            return [int(page.locator(name).inner_text()) for name in ("#false-positives", "#not-caught")]

        def expected(thresholds):
            errors = evaluation.errors(thresholds)
            return [errors.false_positives, errors.not_caught]

        def field(name):
            return float(page.locator(f"#{name}-threshold").input_value())

        assert counts() == expected(Thresholds())
        # both handles stand where the curve has its lines
        for name in ("ham", "spam"):
            line = page.locator(f"#live .handle.{name}").bounding_box()
            share = page.locator(f"#{name}-range").evaluate("(r) => (r.value - r.min) / (r.max - r.min)")
            box = page.locator(f"#{name}-range").bounding_box()
            assert line["x"] == pytest.approx(box["x"] + 10 + share * (box["width"] - 20), abs=3)
        page.locator("#spam-range").focus()
        page.keyboard.press("End")
        expect(page.locator("#spam-threshold")).to_have_value(re.compile(r"^0\.9998"))
        high = Thresholds(field("ham"), field("spam"))
        expect(page.locator("#not-caught")).to_have_text(str(expected(high)[1]))
        assert counts() == expected(high)
        page.keyboard.press("Home")  # pushes the other handle before it
        expect(page.locator("#spam-threshold")).to_have_value(re.compile(r"^0\.0001[01]"))
        low = Thresholds(field("ham"), field("spam"))
        expect(page.locator("#false-positives")).to_have_text(str(expected(low)[0]))
        assert counts() == expected(low)
        assert expected(low) != expected(high)
        # with the mouse
        box = page.locator("#spam-range").bounding_box()
        page.mouse.move(box["x"] + 10, box["y"] + 13)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 13, steps=8)
        page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 13, steps=8)
        page.mouse.up()
        assert 0.9 < field("spam") < 1
        page.locator("#save").click()
        page.wait_for_selector("text=Saved")
        with SpamFilter.open(site.store) as spam_filter:
            assert spam_filter.thresholds == Thresholds(field("ham"), field("spam"))
            page.locator("#cost").fill("3")
            page.locator("#tune").click()
            page.wait_for_selector("text=costs 3 spams")
            assert field("spam") == pytest.approx(spam_filter.thresholds.spam, rel=1e-5)
        assert page.locator(".dot-mark").count() >= 2


def test_thresholds_that_cannot_be_are_told(chromium, site):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(site.url)
    page.wait_for_url(f"{site.origin}{site.path}/")
    page.goto(f"{site.origin}{site.path}/tuning")
    page.locator("#ham-threshold").fill("0.95")
    page.wait_for_selector("#notice .problem")
    assert "0 ≤ good < spam ≤ 1, but good is 0.95" in page.locator("#notice").inner_text()
    page.locator("#ham-threshold").fill("0.85")
    page.wait_for_selector("#notice .problem", state="detached")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_every_page_fits_and_follows_the_colour_scheme(chromium, site, scheme, width):
    size = {"width": width, "height": 760}
    with opened(chromium, site, color_scheme=scheme, viewport=size) as page:
        pages = {"list": "/", "message": "/message/0", "large": f"/message/{6 + len(ATTACKS)}", "tuning": "/tuning"}
        pages["overview"] = "/overview"
        for name, path in pages.items():
            page.goto(f"{site.origin}{site.path}{path}")
            page.wait_for_load_state("networkidle")
            assert not is_wider_than_the_window(page), name
            if folder := os.environ.get("SUFFICE_SCREENSHOTS"):
                page.screenshot(path=f"{folder}/{name}-{scheme}-{width}.png")
            channels = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
            assert (sum(channels) < 200) == (scheme == "dark")


def test_it_works_without_script(chromium, site):
    with opened(chromium, site, java_script_enabled=False) as page:
        page.locator("#search").fill("ham spam 7")
        page.get_by_role("button", name="Show").click()
        assert page.locator(".row").count() == 1
        page.locator("#row-0 .to-spam").click()
        page.locator("#row-0 .to-spam[aria-pressed]").wait_for()  # the list is loaded again
        assert label_of(site, DOUBTFUL) == "spam"
        page.locator("#row-0 .pick input").check()
        page.locator("#bulk-ham").click()
        assert label_of(site, DOUBTFUL) == "ham"
        page.locator("#undo-last").click()
        assert label_of(site, DOUBTFUL) == "spam"
        page.get_by_role("button", name="Read again").click()
        assert page.locator("#search").input_value() == "ham spam 7"
        site.wait()
        page.locator("#open-0").click()
        page.locator("#verdict .undo").click()
        assert page.locator("#verdict .undo").is_disabled()
        assert label_of(site, DOUBTFUL) is None
        page.get_by_role("link", name="Tuning").click()
        page.locator("#spam-threshold").fill("0.97")
        page.get_by_role("button", name="Show").click()
        assert page.locator("#spam-threshold").input_value() == "0.97"
        page.locator("#save").click()
        with SpamFilter.open(site.store) as spam_filter:
            assert spam_filter.thresholds == Thresholds(0.5, 0.97)


class Stranger(BaseHTTPRequestHandler):
    """The server of someone else on the same machine, whose page forges requests."""

    def do_GET(self):
        self.server.cookies.append(self.headers.get("Cookie"))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.page.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def stranger():
    server = HTTPServer(("127.0.0.1", 0), Stranger)
    server.cookies, server.page = [], ""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_server_on_another_port_can_neither_forge_requests_nor_see_the_cookie_or_the_mail(chromium, site, stranger):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(site.url)
    page.wait_for_url(f"{site.origin}{site.path}/")
    with SpamFilter.open(site.store) as spam_filter:
        before = contents(spam_filter)
        target = f"{site.origin}{site.path}/message/0"  # as if the path had leaked
        stranger.page = (
            f"<form method=post action={target}/train><input name=label value=spam><input name=token value=x></form>"
            f"<iframe src={target}></iframe>"
            f"<script>fetch('{target}', {{credentials: 'include'}}).then((r) => r.text()).then("
            "(t) => document.title = t, () => document.title = 'refused')</script>"
        )
        page.goto(f"http://127.0.0.1:{stranger.server_port}/")
        expect(page).to_have_title("refused")
        assert "new@example.net" not in page.frames[1].content()
        with page.expect_response("**/train") as answer:
            page.evaluate("document.forms[0].submit()")
        assert answer.value.status == 403
        assert contents(spam_filter) == before
    assert not any(cookie and "suffice" in cookie for cookie in stranger.cookies)
    context.close()


def test_the_address_works_from_a_link_of_another_site(chromium, site, stranger):
    # strict cookies are not sent along with what another site asks for; the entrance page asks by itself
    stranger.page = f'<a href="{site.url}">open</a>'
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"http://localhost:{stranger.server_port}/")  # another site than 127.0.0.1
    page.get_by_role("link", name="open").click()
    page.wait_for_selector(".row")
    assert re.fullmatch(rf"{site.origin}{site.path}/", page.url)
    context.close()


def test_a_large_mailbox_shows_its_first_page_while_it_is_read(chromium, tmp_path):
    raws = [message(i, "ham" if i % 2 else "spam") + b"more words here\n" * 200 for i in range(3000)]
    site = Site(write_store(tmp_path / "spam.sqlite"), write_mbox(tmp_path / "inbox", raws))
    try:
        with opened(chromium, site) as page:
            page.wait_for_selector(".row")
            page.wait_for_selector("#progress")  # rows are there while it is still being read
            page.goto(f"{site.origin}{site.path}/overview")
            page.wait_for_selector(".progress")
            page.wait_for_selector(".progress", state="detached", timeout=60_000)
            expect(page.locator(".sizes dd").first).to_have_text("3,000")  # which has followed
            page.goto(f"{site.origin}{site.path}/")
            page.wait_for_selector("#progress", state="detached", timeout=60_000)
            expect(page.locator(".tab.all .count")).to_have_text("3,000")
    finally:
        site.end()


def axe_violations(page):
    """What axe, which most checks of accessibility rest on, finds wrong in a page as it stands."""
    package = pytest.importorskip("axe_playwright_python", reason="needs axe: pip install 'suffice[browser]'")
    page.evaluate((files(package) / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in found]


def focused(page):
    return page.evaluate("document.activeElement.id")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_axe_finds_nothing_wrong(chromium, site, scheme, width):
    size = {"width": width, "height": 760}
    with opened(chromium, site, color_scheme=scheme, viewport=size, has_touch=width < 500) as page:
        for path in ("/", "/?text=nowhere", "/?show=odd", "/message/0", "/tuning", "/overview"):
            page.goto(f"{site.origin}{site.path}{path}")
            page.wait_for_load_state("networkidle")
            assert axe_violations(page) == [], path
        page.goto(f"{site.origin}{site.path}/")
        page.locator(".pick input").first.check()
        assert axe_violations(page) == []  # the buttons for what is ticked are there
        page.locator("#bulk-spam").click()
        page.wait_for_selector(".toast")
        assert axe_violations(page) == []  # and the way back
        page.keyboard.press("?")
        assert axe_violations(page) == []


def test_several_are_ticked_trained_and_undone(chromium, site):
    with opened(chromium, site) as page:
        boxes = page.locator(".pick input")
        expect(page.locator("#bulk-spam")).not_to_be_visible()
        boxes.nth(2).click()
        boxes.nth(5).click(modifiers=["Shift"])
        expect(page.locator("#picked")).to_have_text("4 selected")
        page.locator("#pick-all").check()
        expect(page.locator("#picked")).to_have_text(f"{boxes.count()} selected")
        page.locator("#pick-all").uncheck()
        expect(page.locator("#picked")).to_have_text("Select all on this page")
        page.locator("#open-0").focus()
        page.keyboard.press("x")
        page.keyboard.press("k")
        page.keyboard.press("x")
        expect(page.locator("#picked")).to_have_text("2 selected")
        page.keyboard.press("r")  # what is ticked stays so while the list is made anew
        page.wait_for_selector("#read-again:enabled")
        expect(page.locator("#picked")).to_have_text("2 selected")
        page.locator("#bulk-spam").click()
        expect(page.locator(".toast")).to_contain_text("2 messages trained as spam.")
        expect(page.locator("#row-0 .score")).to_contain_text("✓ trained as spam")
        expect(page.locator("#picked")).to_have_text("Select all on this page")
        assert label_of(site, DOUBTFUL) == "spam"
        page.locator("#undo-action").click()
        expect(page.locator(".toast")).to_contain_text("Undone for 2 messages.")
        expect(page.locator("#row-0 .mark")).to_have_count(0)
        assert label_of(site, DOUBTFUL) is None
        page.locator("#open-0").focus()
        page.keyboard.press("g")
        expect(page.locator(".toast")).to_contain_text("1 message trained as good.")
        page.keyboard.press("z")
        expect(page.locator(".toast")).to_contain_text("Undone")
        assert label_of(site, DOUBTFUL) is None


def test_actions_are_seen_on_hover_and_on_focus(chromium, site):
    with opened(chromium, site) as page:

        def opacity():
            return page.locator("#row-0 .buttons").evaluate("(form) => getComputedStyle(form).opacity")

        page.mouse.move(5, 5)
        assert opacity() == "0"
        page.locator("#open-0").hover()
        assert opacity() == "1"
        page.mouse.move(5, 5)
        assert opacity() == "0"
        page.locator("#open-0").focus()
        assert opacity() == "1"
        page.keyboard.press("Tab")
        assert focused(page) == "spam-0"


def test_a_swipe_trains_and_a_short_one_does_not(chromium, site):
    phone = {"viewport": {"width": 375, "height": 760}, "has_touch": True, "is_mobile": True}
    with opened(chromium, site, **phone) as page:
        touch = page.context.new_cdp_session(page)

        def swipe(distance, down=0):
            box = page.locator("#row-0").bounding_box()
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
            for step in range(1, 11):
                point = {"x": x + distance * step / 10, "y": y + down * step / 10}
                touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
            touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

        page.locator("#row-0").scroll_into_view_if_needed()
        swipe(-60)
        expect(page.locator("#row-0")).not_to_have_class(re.compile("swiped"))
        assert page.locator("#row-0 .open").evaluate("(link) => link.style.transform") == ""
        swipe(-150)
        expect(page.locator("#row-0 .score")).to_contain_text("✓ trained as spam")
        assert label_of(site, DOUBTFUL) == "spam"
        page.wait_for_timeout(150)
        swipe(150)
        expect(page.locator("#row-0 .score")).to_contain_text("✓ trained as good")
        page.locator("#undo-action").click()
        expect(page.locator("#row-0 .score")).to_contain_text("✓ trained as spam")
        assert label_of(site, DOUBTFUL) == "spam"
        swipe(-30, down=-200)  # that is how one scrolls
        page.wait_for_timeout(200)
        assert label_of(site, DOUBTFUL) == "spam"
        assert page.url == f"{site.origin}{site.path}/"  # no swipe has opened a message
        page.locator("#open-0").tap()
        page.wait_for_selector("#verdict")


def test_esc_leads_back_to_the_row(chromium, site):
    with opened(chromium, site) as page:
        ids = page.locator("a.open").evaluate_all("rows => rows.map((row) => row.id)")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector("html.js #verdict")
        page.keyboard.press("Escape")
        page.wait_for_selector("#list")
        expect(page.locator(f"#{ids[2]}")).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_selector("html.js #verdict")
        page.keyboard.press("j")
        page.wait_for_url(f"**/message/{ids[3].removeprefix('open-')}?")
        page.wait_for_selector("html.js #verdict")
        page.keyboard.press("Escape")
        page.wait_for_selector("#list")
        expect(page.locator(f"#{ids[3]}")).to_be_focused()  # the last one that was looked at
        page.keyboard.press("j")
        assert focused(page) == ids[4]
