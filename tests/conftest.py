"""Fixtures for all tests."""

import gc
import os
import signal

if os.environ.get("PYTEST_XDIST_WORKER"):
    # the processes of `pytest -n` share the cores, and threads of BLAS and OpenMP that wait for each other take three
    # times as long; this must be said before NumPy is loaded
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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


def pytest_collection_finish():
    """Keep what collecting the tests has made from the garbage collector, which would look through all of it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=[] if compiled.library is None else compiled.library.levels)
def level(request, monkeypatch):
    """Run a test with the kernels of each instruction set that the processor has."""
    monkeypatch.setattr(compiled.library, "level", request.param)
    return request.param
