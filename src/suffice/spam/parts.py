"""The parts of a message: the leaves of its MIME tree, found in one pass over the lines that may be boundaries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from suffice.spam.headers import HEADER_COUNT_LIMIT, HEADER_LIMIT, Fields, content, read_headers

PART_LIMIT = 200
DEPTH_LIMIT = 20
#: limit of lines that begin with "--" in a multipart; a message built to waste time has many that are not boundaries
DELIMITER_LIMIT = 20_000

_DELIMITER = re.compile(rb"^--[^\n]+", re.MULTILINE)


class Place(NamedTuple):
    """Whether a leaf is in a nested message, whether it is outside of all parts, and its group of alternatives."""

    is_inner: bool
    is_apart: bool
    alternative: int


def leaves(raw: bytes, headers: Fields, body: int, nested: Fields) -> Iterator[tuple[Fields, int, int, Place]]:
    """Yield the fields, start, end and place of every leaf.

    It makes one pass over the lines that may be boundaries. The headers of nested messages are added to `nested`.
    """
    fields, start = headers, body
    boundaries: list[bytes] = []
    digests: list[bool] = []  # per boundary, whether its parts are messages if they declare no type
    groups: list[int] = []  # per boundary, the group of alternatives of its parts
    outside = DEPTH_LIMIT + 1  # number of boundaries around the outermost open nested message
    is_apart = False  # before the first or after the last part of a multipart
    messages, alternatives, room = 0, 0, HEADER_LIMIT

    def place() -> Place:
        return Place(outside <= len(boundaries), is_apart, groups[-1] if groups else 0)

    def enter() -> None:
        """Descend while the part that begins here contains other parts."""
        nonlocal fields, start, outside, is_apart, messages, alternatives, room
        is_apart = False
        while True:
            kind, parameters = content(fields, "content-type")
            deep = len(boundaries) >= DEPTH_LIMIT or messages >= PART_LIMIT
            if kind.startswith("message/") or (not kind and digests and digests[-1]):
                outside = min(outside, len(boundaries))
                if deep or start >= len(raw):
                    return
                inner, inner_start = read_headers(raw, start, len(raw))
                if inner_start == start:
                    return
                messages += 1
                for name, value in inner[: HEADER_COUNT_LIMIT - len(nested)]:
                    room -= len(name) + len(value)
                    if room >= 0:  # the limit is for all nested messages together
                        nested.append((name, value))
                fields, start = inner, inner_start
                continue
            boundary = parameters.get("boundary", "").rstrip().encode("latin-1", "replace")
            if kind.startswith("multipart/") and boundary and len(boundaries) < DEPTH_LIMIT:
                boundaries.append(boundary)
                digests.append(kind == "multipart/digest")
                alternatives += kind == "multipart/alternative"
                around = groups[-1] if groups else 0
                groups.append(around or (alternatives if kind == "multipart/alternative" else 0))
                is_apart = True
            return

    enter()
    if not boundaries:
        yield fields, start, len(raw), place()
        return
    count = 0
    for number, delimiter in enumerate(_DELIMITER.finditer(raw, start)):
        if number == DELIMITER_LIMIT:
            break
        line = delimiter[0][2:].rstrip()
        if line in boundaries:
            level, closing = boundaries.index(line), False
        elif line.endswith(b"--") and line[:-2] in boundaries:
            level, closing = boundaries.index(line[:-2]), True
        else:
            continue
        if delimiter.start() < start:
            continue
        yield fields, start, delimiter.start(), place()
        count += 1
        if count == PART_LIMIT:
            return
        start = min(len(raw), delimiter.end() + 1)
        if level < outside:
            outside = DEPTH_LIMIT + 1
        if closing:
            del boundaries[level:], digests[level:], groups[level:]
            fields, is_apart = [], True
        else:
            del boundaries[level + 1 :], digests[level + 1 :], groups[level + 1 :]
            fields, start = read_headers(raw, start, len(raw))
            enter()
        if not boundaries:
            break
    yield fields, start, len(raw), place()
