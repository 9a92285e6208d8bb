"""Commands of the program, in processes forked from one that has imported what they need: quicker than from nothing.

A forked process is like one that a shell starts in its arguments, environment, folder, streams, signals and end. It
is not where imports, options of the interpreter or a terminal matter; such tests use `subprocess`.
"""

import atexit
import gc
import importlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout, suppress

#: what is imported before the first fork
IMPORTED = ("suffice.cli.app", "suffice.spam.filter", "suffice.spam.page.app", "suffice.spam.page.connections")
_MAIN = "from suffice.cli import main; main()"
_lock, _nursery = threading.Lock(), []


def start(*arguments, env=None, changed=()):
    """Start a command with its output and errors in pipes, as text, and return what is used like a `Popen`.

    `changed` are constants to set before: pairs of a name such as "suffice.spam.page.connections.PATIENCE" and a value.
    """
    arguments = [*map(str, arguments)]
    if hasattr(os, "fork"):
        return Forked(arguments, env, changed)
    code = f"import sys; sys.path[:] = {sys.path!r}; import forked; forked._change({changed!r}); {_MAIN}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], **pipes, text=True, env=env)


def run(*arguments, env=None, timeout=60):
    """Run a command to its end."""
    with start(*arguments, env=env) as process:
        output, errors = process.communicate(timeout=timeout)
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


class Forked:
    """A process that was forked; another one waits for it, and sends its number and then its end."""

    def __init__(self, arguments, env, changed):
        self.args, self.returncode = arguments, None
        self._line, theirs = socket.socketpair()
        self._line.settimeout(60)
        output, errors = os.pipe(), os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            _ask([theirs.fileno(), nothing, output[1], errors[1]])
            with self._line.makefile("wb") as request:
                pickle.dump((arguments, dict(os.environ) if env is None else env, os.getcwd(), changed), request)
            self.stdout, self.stderr = (os.fdopen(end[0], encoding="utf-8") for end in (output, errors))
            self._answers = self._line.makefile("r")
            self.pid = int(self._answers.readline())
        finally:
            theirs.close()
            for descriptor in (nothing, output[1], errors[1]):
                os.close(descriptor)

    def wait(self, timeout=None):
        if self.returncode is None:
            self._line.settimeout(timeout)
            try:
                self.returncode = os.waitstatus_to_exitcode(int(self._answers.readline()))
            except TimeoutError:
                self._answers = self._line.makefile("r")  # one that ran out of time cannot be read again
                raise subprocess.TimeoutExpired(self.args, timeout) from None
        return self.returncode

    def poll(self):
        try:
            return self.wait(0.001)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout=None):
        errors = []
        reader = threading.Thread(target=lambda: errors.append(self.stderr.read()))
        reader.start()
        killer = threading.Timer(timeout or 60, self.kill)
        killer.start()
        try:
            output = self.stdout.read()
            reader.join()
            self.wait()
        finally:
            killer.cancel()
        self._close()
        return output, errors[0]

    def _close(self):
        for stream in (self.stdout, self.stderr, self._answers, self._line):
            stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wait(60)
        self._close()


def _ask(descriptors):
    """Send the process that forks, which is started first, the ends of a new one."""
    with _lock:
        if not _nursery:
            ours, theirs = socket.socketpair()
            code = f"import sys; sys.path[:] = {sys.path!r}; import forked; forked._grow({theirs.fileno()}); {_MAIN}"
            call = [sys.executable, "-c", code]
            _nursery[:] = ours, subprocess.Popen(call, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
            theirs.close()
            atexit.register(_end)
        socket.send_fds(_nursery[0], [b"x"], descriptors)


def _end():
    requests, process = _nursery
    requests.close()
    process.wait(20)


def _grow(descriptor):
    """Fork whenever asked to; return in the new process alone, and end where nobody can ask any more."""
    for name in IMPORTED:
        with suppress(ImportError):  # the page needs packages that commands do without
            importlib.import_module(name)
    _warm_up()
    gc.collect()
    gc.freeze()
    requests = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how those below have ended
    while True:
        _, descriptors, _, _ = socket.recv_fds(requests, 1, 4)
        if not descriptors:
            os._exit(0)
        if os.fork() == 0:
            requests.close()
            return _child(*descriptors)
        for one in descriptors:
            os.close(one)


def _warm_up():
    """Run a command that ends at once, for what is only imported then."""
    from suffice.cli import main

    sys.argv[:] = ["suffice", "spam", "stats", "--store", os.devnull + "/none"]
    with suppress(SystemExit), open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        main()


def _change(changed):
    for name, value in changed:
        module, _, constant = name.rpartition(".")
        setattr(importlib.import_module(module), constant, value)


def _child(line, *streams):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    line = socket.socket(fileno=line)
    with line.makefile("rb") as request:
        arguments, env, folder, changed = pickle.load(request)
    if pid := os.fork():
        for one in streams:
            os.close(one)
        line.sendall(b"%d\n" % pid)
        line.sendall(b"%d\n" % os.waitpid(pid, 0)[1])
        os._exit(0)
    line.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, one in enumerate(streams):
        os.dup2(one, number)
        os.close(one)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1, errors="backslashreplace")  # noqa: SIM115
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.argv[:] = ["suffice", *arguments]
    _change(changed)
