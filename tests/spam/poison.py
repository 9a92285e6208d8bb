"""A fault that one chosen message sets off inside the reader, in this process and in those that it starts."""

import ctypes
import importlib
import os
import sys
from pathlib import Path

#: what the chosen message holds, and no other
MARK = b"set off the fault"
#: functions inside the reader, by the argument that holds the message, and what they raise
FAULTS = {
    "reading": ("suffice.spam.message", "leaves", 0, ValueError),
    "identity": ("suffice.spam.message", "with_line_feeds", 0, RecursionError),
    "tokens": ("suffice.spam.tokenizing", "_text_tokens", 0, KeyError),
    "memory": ("suffice.spam.message", "_part", 1, MemoryError),
}
#: one that never ends, in compiled code that keeps the lock of the interpreter and looks at no signal
HANG = ("suffice.spam.tokenizing", "_text_tokens", 0, None)
#: one that ends the process
KILL = ("suffice.spam.tokenizing", "_text_tokens", 0, SystemExit)


def faulty(fault):
    """Return a module, the name of a function in it, and one that raises for the chosen message in its place."""
    module, name, argument, error = {**FAULTS, "hang": HANG, "kill": KILL}[fault]
    module = importlib.import_module(module)
    function = getattr(module, name)

    def raising(*args):
        given = args[argument]
        text = given if isinstance(given, bytes) else b" ".join(part.text.encode() for part in given)
        if MARK in text:
            if error is None:
                ctypes.PyDLL(None).sleep(1000)
            if error is SystemExit:
                os.kill(os.getpid(), 9)
            raise error("a fault inside")
        return function(*args)

    return module, name, raising


def install(fault):
    """Install a fault for good."""
    setattr(*faulty(fault))


def poison(fault, folder, monkeypatch):
    """Install a fault here and in every Python that is started from here; one that ends it or never ends only there."""
    start = f"import sys; sys.path.append({str(Path(__file__).parent)!r})\nimport poison; poison.install({fault!r})\n"
    if fault == "hang":
        start += "import suffice.spam.bounded; suffice.spam.bounded.BUDGET = 1.0\n"
    elif fault != "kill":
        monkeypatch.setattr(*faulty(fault))
    (folder / "sitecustomize.py").write_text(start)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *sys.path]))
