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


def _takes_temporary_files(folder, free=2**30):
    """Return whether a folder has room, and programs in it can be started."""
    try:
        system = os.statvfs(folder)
    except (AttributeError, OSError):  # Windows has no such function
        return False
    is_executable = not system.f_flag & getattr(os, "ST_NOEXEC", 0)
    return is_executable and os.access(folder, os.W_OK) and system.f_bavail * system.f_frsize > free


# in memory: the stores of the spam filter wait for a disk many times in each test
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and _takes_temporary_files("/dev/shm"):
    os.environ["PYTEST_DEBUG_TEMPROOT"] = "/dev/shm"


@pytest.fixture(params=[] if compiled.library is None else compiled.library.levels)
def level(request, monkeypatch):
    """Run a test with the kernels of each instruction set that the processor has."""
    monkeypatch.setattr(compiled.library, "level", request.param)
    return request.param
