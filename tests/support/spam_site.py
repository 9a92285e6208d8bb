"""The page of the spam filter, started as a person starts it, and a client that is no browser."""

import http.client
import json
import re
import signal
import subprocess
import sys
import time
from urllib.parse import urlencode, urlsplit

import forked
from mailbag import message

from suffice.spam import SpamFilter
from suffice.spam.mailboxes import as_mbox

TAUGHT = 30


def write_store(path, taught=TAUGHT):
    with SpamFilter.open(path) as spam_filter:
        for label in ("spam", "ham"):
            spam_filter.train_many([message(i, label) for i in range(taught)], label, processes=1)
    return path


def write_mbox(path, raws):
    path.write_bytes(b"".join(map(as_mbox, raws)))
    return path


class Answer:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.text = response.read().decode()


class Site:
    """A server in a process of its own, and what is needed to talk to it."""

    def __init__(self, store, *mailboxes, command=None, fork=True, changed=()):
        """Start it: forked, after constants were changed, or from nothing, as a person does."""
        self.store = store
        command = command or ["serve", *map(str, mailboxes), "--store", str(store)]
        command = ["spam", *command, "--port", "0", "--no-open", "--json"]
        if fork:
            self.process = forked.start(*command, changed=changed)
        else:
            # `python -c` and not `-m`: what the console script does
            self.process = subprocess.Popen(
                [sys.executable, "-c", "from suffice.cli import main; main()", *command],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        try:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            self.said = json.loads(line)
            self.url = self.said["url"]
            self.port = urlsplit(self.url).port
            self.origin = f"http://127.0.0.1:{self.port}"
            entrance = self.ask("GET", self.url.removeprefix(self.origin), {})
            self.cookie = entrance.headers["set-cookie"].partition(";")[0]
            self.path = re.search(r"url=(/[\w-]+)/", entrance.text)[1]
            self.token = re.search(r'"X-Suffice-Token": "([\w-]+)"', self.get("/").text)[1]
        except BaseException:
            self.end()
            raise

    def ask(self, method, path, headers, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, part=False, **headers):
        headers = {"Cookie": self.cookie, **headers} | ({"HX-Request": "true"} if part else {})
        return self.ask("GET", self.path + path, headers)

    def post(self, path, values, part=False, **changes):
        """Post a form as our own page does; headers and the token may be changed, and left out with None."""
        values = {"token": changes.pop("token", self.token), **values}
        headers = {"Cookie": self.cookie, "Origin": self.origin, "Sec-Fetch-Site": "same-origin"}
        headers |= {name.replace("_", "-"): value for name, value in changes.items()}
        headers |= {"HX-Request": "true"} if part else {}
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        body = urlencode({name: value for name, value in values.items() if value is not None})
        return self.ask("POST", self.path + path, {k: v for k, v in headers.items() if v is not None}, body)

    def wait(self):
        """Wait until the mailboxes are read."""
        return self.until(lambda: self.get("/"), lambda answer: "Reading the mailboxes" not in answer.text)

    def until(self, ask, is_done, seconds=30):
        end = time.monotonic() + seconds
        while not is_done(answer := ask()):
            assert time.monotonic() < end, "it never came"
            time.sleep(0.05)
        return answer

    def end(self, how=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(20), *self.process.communicate()
        finally:
            self.process.kill()


def picked(*numbers, **values):
    """What a form sends: the same field for each message."""
    return "&".join([*(f"number={number}" for number in numbers), *(f"{k}={v}" for k, v in values.items())])


def post(site, path, body, part=True):
    headers = {"Cookie": site.cookie, "Origin": site.origin, "Content-Type": "application/x-www-form-urlencoded"}
    headers |= {"HX-Request": "true"} if part else {}
    return site.ask("POST", site.path + path, headers, f"{body}&token={site.token}")
