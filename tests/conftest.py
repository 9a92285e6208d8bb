"""Fixtures for all tests."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from suffice import compiled

# how long an example takes depends on the machine, and on what else it does
settings.register_profile("suffice", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suffice")
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as shells start what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

if os.environ.get("SUFFICE_EMULATED"):  # kernels of another processor, as in emulated.py
    import emulated

    emulated.install(os.environ["SUFFICE_EMULATED"])


@pytest.fixture(params=[] if compiled.library is None else compiled.library.levels)
def level(request, monkeypatch):
    """Run a test with the kernels of each instruction set that the processor has."""
    monkeypatch.setattr(compiled.library, "level", request.param)
    return request.param
