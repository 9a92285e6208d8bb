"""Fixtures for all tests."""

import os

import pytest

from suffice import compiled

if os.environ.get("SUFFICE_EMULATED"):  # kernels of another processor, as in emulated.py
    import emulated

    emulated.install(os.environ["SUFFICE_EMULATED"])


@pytest.fixture(params=[] if compiled.library is None else compiled.library.levels)
def level(request, monkeypatch):
    """Run a test with the kernels of each instruction set that the processor has."""
    monkeypatch.setattr(compiled.library, "level", request.param)
    return request.param
