"""The only way from Python into compiled code: every call is checked against the declarations in `signatures`.

A wrong type, shape, layout or a read-only array where the kernel writes raises a `KernelError` that names the kernel
and the argument; nothing is read or written through an address that was not checked.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.compiled.signatures import CONSTANTS, FINGERPRINT, KERNELS, SIZES

_TYPES = {name: np.dtype(kind) for name, kind in
          {"double": np.float64, "float": np.float32, "int64": np.int64, "int32": np.int32,
           "uint8": np.uint8}.items()}  # fmt: skip
_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400  # bits of `flags.num`
_NOTHING = ctypes.c_char * 0  # a view of zero bytes at any address
_ARGUMENT = re.compile(r"(?P<name>\w+)(: *(?P<type>\w+)\[(?P<shape>.*)\](?P<words>( \w+)*?)( if (?P<condition>.+))?)?")
_INTEGER, _ADDRESS = ctypes.c_int64, ctypes.c_void_p


class KernelError(RuntimeError):
    """A call of a compiled kernel does not fit the kernel's declaration: an error of the library, not of its user."""


class OutOfRangeError(KernelError):
    """An index that a kernel read from an array leads outside of another array."""


@dataclass(frozen=True)
class Argument:
    """An argument of a kernel as declared in `signatures`."""

    kernel: str
    name: str
    type: str
    shape: str
    words: frozenset[str]
    condition: str

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer rather than an array."""
        return not self.type

    def c_names(self) -> list[str]:
        """Return the names of the C arguments that this argument expands to."""
        steps = {"rows": ["stride"], "strided": ["row_stride", "column_stride"]}
        found = [step for word in sorted(self.words) for step in steps.get(word, ())]
        return [self.name, *(["narrow"] if self.type == "real" else []), *found]


def arguments(kernel: str) -> list[Argument]:
    """Return the arguments of a kernel in the order of the C function."""
    found = []
    for text in KERNELS[kernel][1].split(";"):
        parts = _ARGUMENT.fullmatch(" ".join(text.split()))
        if parts is None:
            raise KernelError(f"the declaration of {kernel} has an argument that cannot be read: {text.strip()!r}")
        name, kind, shape, words, condition = parts.group("name", "type", "shape", "words", "condition")
        found.append(Argument(kernel, name, kind or "", shape or "", frozenset((words or "").split()), condition or ""))
    return found


def _address(value: NDArray[Any]) -> Any:
    """Return the address of an array's first cell for ctypes; through a buffer, which is the fastest way."""
    try:
        return _NOTHING.from_buffer(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):  # read-only, or not contiguous
        return value.__array_interface__["data"][0]


class _Check:
    """The check of the arrays passed for one argument, which returns their addresses, and strides if declared."""

    def __init__(self, argument: Argument, kind: str) -> None:
        self._argument = argument
        name = kind if argument.type == "cell" else argument.type
        self._types = (_TYPES["double"], _TYPES["float"]) if name == "real" else (_TYPES[name],)
        loose = argument.words & {"rows", "strided"}
        self._flags = _ALIGNED | (0 if loose else _CONTIGUOUS) | (_WRITEABLE if "out" in argument.words else 0)

    def array(self, value: Any, shape: tuple[int, ...]) -> Any:
        """Return the address of a contiguous array."""
        if (
            isinstance(value, np.ndarray)
            and value.dtype in self._types
            and value.shape == shape
            and value.flags.num & self._flags == self._flags
        ):
            return _address(value)
        raise self._error(value, shape)

    def optional(self, value: Any, shape: tuple[int, ...]) -> Any:
        """Return the address of an array, or None for None."""
        return None if value is None else self.array(value, shape)

    def nothing(self, value: Any) -> None:
        """Raise unless the value is None."""
        if value is not None:
            raise self._error(value, None)

    def rows(self, value: Any, shape: tuple[int, int]) -> tuple[Any, int]:
        """Return the address and the row stride of an array whose cells are contiguous in each row."""
        address = self.array(value, shape)
        step, rest = divmod(value.strides[0], value.itemsize)
        if rest or (value.strides[1] != value.itemsize and shape[0] > 0 and shape[1] > 1):
            raise self._error(value, shape)
        return address, step

    def real_rows(self, value: Any, shape: tuple[int, int]) -> tuple[Any, bool, int]:
        """Return the result of `rows`, and whether the cells are floats rather than doubles."""
        address, step = self.rows(value, shape)
        return address, value.itemsize == 4, step

    def strided(self, value: Any, shape: tuple[int, int]) -> tuple[Any, int, int]:
        """Return the address of an array, and the strides along its two dimensions."""
        address = self.array(value, shape)
        (row, rest), (column, more) = (divmod(step, value.itemsize) for step in value.strides)
        if rest or more:
            raise self._error(value, shape)
        return address, row, column

    def _error(self, value: Any, shape: tuple[int, ...] | None) -> KernelError:
        argument = self._argument
        if shape is None:
            wanted = "None"
        else:
            layout = next(iter(argument.words & {"rows", "strided"}), "contiguous")
            wanted = f"{' or '.join(map(str, self._types))} of shape {shape}, aligned, {layout}"
            wanted += ", writeable" if "out" in argument.words else ""
        if isinstance(value, np.ndarray):
            flags = [name for name, on in (("aligned", value.flags.aligned), ("contiguous", value.flags.c_contiguous),
                                           ("writeable", value.flags.writeable)) if on]  # fmt: skip
            found = f"{value.dtype.newbyteorder('=') if value.dtype.isnative else value.dtype.str}"
            found += f" of shape {value.shape}, strides {value.strides}, {', '.join(flags) or 'no flags'}"
        else:
            found = f"{type(value).__name__}"
        return KernelError(
            f"the compiled kernel {argument.kernel} needs for its argument {argument.name!r}: {wanted}; it was passed: "
            f"{found}. This is an error in suffice; please report it (SUFFICE_COMPILED=0 avoids the kernels)"
        )


def aligned(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an empty array that starts at a cache line."""
    line = CONSTANTS["LINE_BYTES"]
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + line, dtype=np.uint8)
    begin = -ctypes.addressof(_NOTHING.from_buffer(memory)) % line  # type: ignore[arg-type]
    return memory[begin : begin + size].view(dtype).reshape(shape)


def _size(name: str) -> Callable[..., int]:
    names, formula = SIZES[name]
    return eval(f"lambda {names}: {formula}")


def bind(function: Any, kernel: str, kind: str) -> Callable[..., int]:
    """Return a kernel of a library as a Python function that checks its arguments.

    The function is a lambda made from the declaration, for example
    ``lambda x, n, d, complete: function(*x_.rows(x, (n, d,)), n, d, complete_.array(complete, (n + 1,)))``.
    """
    scope: dict[str, Any] = {**CONSTANTS, "function": function, "empty": np.empty, "aligned": aligned}
    scope |= {name: _size(name) for name in SIZES}
    passed, given = [], []
    types: list[Any] = []
    for argument in arguments(kernel):
        if argument.is_integer:
            passed.append(argument.name)
            given.append(argument.name)
            types.append(_INTEGER)
            continue
        name, shape = argument.name, f"({argument.shape},)"
        cell = _TYPES[kind if argument.type == "cell" else "double" if argument.type == "real" else argument.type]
        scope |= {f"{name}_": _Check(argument, kind), f"{name}_type": cell}
        scope["CELL"] = _TYPES[kind].itemsize if kind in _TYPES else 0
        types += [_ADDRESS, *[_INTEGER] * (len(argument.c_names()) - 1)]
        if "scratch" in argument.words:
            maker = "aligned" if "lines" in argument.words else "empty"
            text = f"{name}_.array({maker}({shape}, {name}_type), {shape})"
            text += f" if {argument.condition} else None" if argument.condition else ""
        else:
            passed.append(name)
            way = "rows" if "rows" in argument.words else "strided" if "strided" in argument.words else "array"
            way = "optional" if "optional" in argument.words else "real_rows" if argument.type == "real" else way
            text = f"{'*' if way in ('rows', 'real_rows', 'strided') else ''}{name}_.{way}({name}, {shape})"
            text += f" if {argument.condition} else {name}_.nothing({name})" if argument.condition else ""
        given.append(text)
    function.argtypes, function.restype = types, _INTEGER
    return eval(f"lambda {', '.join(passed)}: function({', '.join(given)})", scope)


class Library:
    """The shared library, with the kernels of one instruction set (`level`).

    Parameters
    ----------
    path : Path
    level : str, optional
        The instruction set; by default the best that the library and the processor have.
    """

    def __init__(self, path: Path, level: str | None = None) -> None:
        self._library = self._open(path)
        if self._number("fingerprint") != FINGERPRINT:
            raise KernelError("it was built from other sources than these; build it again")
        differing = {name for name, value in CONSTANTS.items() if self._constants().get(name) != value}
        differing |= {*self._constants()} ^ {*CONSTANTS}
        differing |= {name for name in SIZES if not self._same_size(name)}
        if differing:
            raise KernelError(f"it does not agree with Python about {', '.join(sorted(differing))}; build it again")
        #: the instruction sets it was built for, those that the processor has, slowest first, and the compiler
        self.built = self._text("built_levels").split()
        self.levels = self._text("levels").split()
        self.compiler = self._text("compiler")
        self.level = self.levels[-1] if level is None else level
        if self.level not in self.levels:
            lacks = "this processor does not have" if self.level in self.built else "it was not built for"
            raise KernelError(f"{lacks} the level {self.level!r}, of {', '.join(self.built)}")
        self._kernels: dict[tuple[str, str, str], Callable[..., int]] = {}

    def __call__(self, name: str, kind: str, *values: Any) -> int:
        """Call the kernel of this name for this type of cell, with the arguments that its declaration lists."""
        kernel = self._kernels.get((name, kind, self.level))
        if kernel is None:
            function = self._library[f"{name}_{kind}_{self.level}"]
            kernel = self._kernels[name, kind, self.level] = bind(function, name, kind)
        result = kernel(*values)
        if result == CONSTANTS["OUT_OF_RANGE"]:
            raise OutOfRangeError(f"an index given to the compiled kernel {name} is out of range")
        return result

    def _open(self, path: Path) -> Any:
        return ctypes.CDLL(str(path))

    def _text(self, name: str) -> str:
        function = self._library[name]
        function.restype = ctypes.c_char_p
        return str(function().decode())

    def _number(self, name: str, *values: int) -> int:
        function = self._library[name]
        function.restype = _INTEGER
        return int(function(*map(_INTEGER, values)))

    def _constants(self) -> dict[str, int]:
        name = self._library["constant_name"]
        name.argtypes, name.restype = [_INTEGER], ctypes.c_char_p
        found: dict[str, int] = {}
        while (text := name(len(found))) is not None:
            found[text.decode()] = self._number("constant_value", len(found))
        return found

    def _same_size(self, name: str) -> bool:
        count = SIZES[name][0].count(",") + 1
        grid = [tuple((3, 5, 2, 7)[(i + j) % 4] for j in range(count)) for i in range(4)]
        return all(self._number(f"size_{name}", *point) == _size(name)(*point) for point in grid)
