"""Error messages on one line."""

from __future__ import annotations

import os
import re

_FAMILIES = re.compile(r"(?:families=)?\{'(?P<column>[^'{}]*)': (?:'(?P<family>\w+)'|(?P<other>\w+)\(\))\}")


def describe(error: BaseException, work: str = "table") -> str:
    """Return an error's message on one line.

    Parameters
    ----------
    error : exception
        The error that was raised.
    work : str
        The input being processed, "table" or something else, for an error without a message.

    Examples
    --------
    >>> describe(FileNotFoundError(2, "No such file or directory", "votes.csv"))
    "'votes.csv': no such file or directory"
    """
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fspath(error.filename)!r}: {error.strerror[0].lower()}{error.strerror[1:]}"
    if isinstance(error, MemoryError) and not str(error):
        if work == "table":
            return "there is not enough memory for this table; a Parquet file is read a part at a time"
        return f"there is not enough memory for this {work}; end other programs, or give this one more"
    message = " ".join(str(error).split()) or type(error).__name__
    # an argument in Python is an option on the command line
    return as_options(message)


def as_options(message: str) -> str:
    """Return a message with the families that it advises as options of the command line.

    Examples
    --------
    >>> as_options("pass families={'body': 'text'} if that is intended, or {'body': 'categorical'} to read …")
    "pass --family 'body=text' if that is intended, or --family 'body=categorical' to read …"
    """
    return _FAMILIES.sub(
        lambda found: f"--family '{found['column']}={(found['family'] or found['other']).lower()}'", message
    )
