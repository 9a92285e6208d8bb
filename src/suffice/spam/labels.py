"""Pairs of messages and their labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from functools import partial
from itertools import chain

from suffice.spam.isolation import Unread, isolated
from suffice.spam.reading import Reading, Servers, reading
from suffice.spam.shares import Label
from suffice.spam.workers import Chunk, spread


def checked_label(label: str) -> Label:
    """Return the label; raise ValueError if it is not a valid class."""
    if label == "spam":
        return "spam"
    if label == "ham":
        return "ham"
    raise ValueError(f"the class of a message must be 'spam' or 'ham', but it is {label!r}")


def labelled(raws: Iterable[bytes], labels: Label | Iterable[Label]) -> Iterator[tuple[bytes, Label]]:
    """Yield (message, class) pairs; one class may be given for all messages.

    Raises
    ------
    ValueError
        If the numbers of labels and messages differ: immediately if both have a length, else when one of them ends.
    """
    if isinstance(labels, str):
        label = checked_label(labels)
        yield from ((raw, label) for raw in raws)
        return
    if isinstance(raws, Sized) and isinstance(labels, Sized) and len(raws) != len(labels):
        raise _unequal(len(raws), len(labels))
    names = iter(labels)
    number = 0
    for raw in raws:
        name = next(names, None)
        if name is None:
            raise _unequal(f"more than {number}", number)
        number += 1
        yield raw, checked_label(name)
    if next(names, None) is not None:
        raise _unequal(number, len(labels) if isinstance(labels, Sized) else f"more than {number}")


def labelled_readings(
    raws: Iterable[bytes], labels: Label | Iterable[Label], processes: int | None, servers: Servers = ()
) -> Iterator[tuple[Reading, Label] | Unread]:
    """Read messages, and yield each with its class; parameters as in `labelled` and `readings`."""
    return chain.from_iterable(spread(partial(_read_chunk, servers), labelled(raws, labels), processes))


def _read_chunk(servers: Servers, chunk: Chunk) -> list[tuple[Reading, Label] | Unread]:
    found = [(isolated(partial(reading, servers=servers), raw), label) for raw, label in chunk]
    return [item if isinstance(item, Unread) else (item, label) for item, label in found]


def _unequal(messages: object, labels: object) -> ValueError:
    return ValueError(
        f"there must be a label for each message, but there are {messages} messages and {labels} labels; pair them, or "
        "give one for all"
    )
