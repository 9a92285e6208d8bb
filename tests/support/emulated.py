"""Kernels that run outside of Python in place of the library at hand: in an emulator of another processor, for example.

Set ``SUFFICE_EMULATED`` to a command that runs `emulated_driver.c` on a library, for example
``qemu-aarch64 -L /usr/aarch64-linux-gnu build/aarch64/driver build/aarch64/suffice/compiled/kernels.so``. Then every
call of a kernel, checked by the same boundary as ever, is sent to that program, and its results are copied back.
"""

import atexit
import ctypes
import shlex
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.lib.array_utils import byte_bounds

from suffice.compiled import boundary


class Emulator:
    """The process that runs the kernels; looks like a `ctypes.CDLL` to `Library`."""

    def __init__(self, command):
        self._process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._caller = ThreadPoolExecutor(1)  # a thread of its own, in which no KeyboardInterrupt ends a call halfway
        atexit.register(self._end)

    def _end(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def __getitem__(self, name):
        return EmulatedFunction(self, name)

    def call(self, name, text, values):
        """Call a function with integers and arrays, which are changed in place, and return its result.

        After Ctrl-C the call comes to its end before KeyboardInterrupt is raised, as by ctypes.
        """
        call = self._caller.submit(self._call, name, text, values)
        try:
            return call.result()
        except KeyboardInterrupt:
            call.exception()
            raise

    def _call(self, name, text, values):
        request = [_numbers(len(name)), name.encode(), _numbers(text, len(values))]
        arrays = []
        for value in values:
            if isinstance(value, np.ndarray):
                low, high = byte_bounds(value) if value.size else (value.ctypes.data, value.ctypes.data)
                request += [_numbers(1, high - low, value.ctypes.data - low), ctypes.string_at(low, high - low)]
                arrays.append((value, low, high - low))
            else:
                request.append(_numbers(0, value))
        self._process.stdin.write(b"".join(request))
        self._process.stdin.flush()
        (result,) = struct.unpack("<q", self._read(8))
        if text:
            return self._read(result) if result >= 0 else None
        for value, low, size in arrays:
            after = self._read(size)
            if value.flags.writeable:
                ctypes.memmove(low, after, size)
        return result

    def _read(self, size):
        found = self._process.stdout.read(size)
        if len(found) < size:
            raise OSError("the emulator of the kernels ended")
        return found


class EmulatedFunction:
    """A function of the library in the emulator; looks like one of a `ctypes.CDLL`."""

    argtypes, restype = (), ctypes.c_int64

    def __init__(self, emulator, name):
        self._emulator, self._name = emulator, name

    def __call__(self, *values):
        plain = [getattr(value, "value", value) if not isinstance(value, np.ndarray) else value for value in values]
        numbers = [value if isinstance(value, np.ndarray) else int(value or 0) for value in plain]
        return self._emulator.call(self._name, self.restype is ctypes.c_char_p, numbers)


class EmulatedLibrary(boundary.Library):
    """A library of kernels in an emulator."""

    def _open(self, command):
        return Emulator(command)


def install(command):
    """Let every kernel be run by a command."""
    from suffice import compiled

    boundary._address = lambda value: value
    compiled.library = EmulatedLibrary(command)


def _numbers(*values):
    return struct.pack(f"<{len(values)}q", *values)
