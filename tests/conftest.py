"""Fixtures for all tests."""

import functools
import os
import signal

if os.environ.get("PYTEST_XDIST_WORKER"):
    # the processes of `pytest -n` share the cores, and threads of BLAS and OpenMP that wait for each other take three
    # times as long; this must be said before NumPy is loaded
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis.core
import pytest
from hypothesis import HealthCheck, settings

from suffice import compiled

# how long an example takes depends on the machine, and on what else it does
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# the same examples in every run, so that a change that fails is at fault itself
settings.register_profile("suffice", **_PATIENT, derandomize=True)
# other examples in every run, and more of them for the laws: SUFFICE_EXAMPLES=explore, every night
settings.register_profile("explore", **_PATIENT, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("SUFFICE_EXAMPLES") or "suffice")
# the seed of a test is a digest of its source, which hypothesis computes anew, twice, for each of its parameters
hypothesis.core.function_digest = functools.cache(hypothesis.core.function_digest)
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
