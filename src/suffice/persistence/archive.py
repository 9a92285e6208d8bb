"""The file format of a model: JSON and plain arrays in one zip archive, each entry checked before use."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from suffice._version import __version__
from suffice.errors import ModelFileError

FORMAT = "suffice model"
FORMAT_VERSION = 2
#: the versions that are read
_READ = (1, 2)
_HEADER = "suffice.json"
_SUFFIX = ".npy"
#: the .npy headers that a model may have; NumPy's own reader is not used, as it evaluates the text and allocates the
#: size that it states
_MAGIC = b"\x93NUMPY\x01\x00"
_DESCRIPTION = re.compile(
    rb"\{'descr': '([<>](?:f8|i8|i4)|\|b1)', "
    rb"'fortran_order': False, 'shape': \(((?:\d{1,15}(?:,|, |(?=\))))*)\), \} *\n"
)


def write(path: Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the file atomically: a failure leaves no partial file."""
    whole = {"format": FORMAT, "version": FORMAT_VERSION, "written_by": f"suffice {__version__}", **header}
    # may raise, so before any file is touched; names and words may hold lone surrogates
    text = json.dumps(whole, ensure_ascii=False, allow_nan=True).encode("utf-8", "surrogatepass")
    if path.exists() and not path.is_file() and not path.is_dir():  # as root, os.replace would replace /dev/null
        raise OSError(errno.ENOTSUP, "a device, a pipe or a socket cannot be replaced by a model", str(path))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(_HEADER, text)
                for name, array in arrays.items():
                    buffer = io.BytesIO()
                    np.lib.format.write_array(buffer, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
                    archive.writestr(name + _SUFFIX, buffer.getvalue())
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a file; raise ModelFileError if anything in it is wrong."""
    with path.open("rb") as file:  # if the file cannot be opened, the OSError says why
        try:
            return _read_archive(path, file)
        except ModelFileError:
            raise
        except Exception as error:  # a damaged archive can raise almost any exception
            raise ModelFileError(
                f"{path} is not a Suffice model file, or is damaged or cut short ({error}); give a whole file that "
                f"suffice.save wrote"
            ) from error


def _read_archive(path: Path, file: IO[bytes]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        if _HEADER not in names:
            raise ModelFileError(f"{path} is a zip file, but not a Suffice model; give a file that suffice.save wrote")
        header = json.loads(archive.read(_HEADER), object_pairs_hook=_unique)
        _require_known_format(path, header)
        odd = [name for name in names if names.count(name) > 1 or not (name == _HEADER or name.endswith(_SUFFIX))]
        if odd:
            raise ValueError(f"the entry {odd[0]!r} is repeated or unexpected")
        arrays = {
            name.removesuffix(_SUFFIX): _array(name, archive.read(name)) for name in names if name.endswith(_SUFFIX)
        }
    return header, arrays


def _require_known_format(path: Path, header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a Suffice model file; give a file that suffice.save wrote")
    if header.get("version") not in _READ:
        raise ModelFileError(
            f"{path} has format version {header.get('version')!r}, written by {header.get('written_by')!r}, but "
            f"suffice {__version__} reads version {FORMAT_VERSION}; update suffice"
        )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; raise ValueError if a key occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("the header has a key twice")
    return found


def _array(name: str, data: bytes) -> NDArray[Any]:
    """Return the array of an entry; raise ValueError unless its size matches its header."""
    begin = 10 + int.from_bytes(data[8:10], "little")
    described = _DESCRIPTION.fullmatch(data[10:begin])
    if not data.startswith(_MAGIC) or described is None:
        raise ValueError(f"{name} is not an array of numbers")
    dtype = np.dtype(described[1].decode())
    shape = tuple(int(size) for size in described[2].replace(b",", b" ").split())
    if math.prod(shape) * dtype.itemsize != len(data) - begin:
        raise ValueError(f"{name} has {len(data) - begin} bytes of numbers, but its shape is {shape}")
    return np.frombuffer(data, dtype, offset=begin).reshape(shape).astype(dtype.newbyteorder("="))
