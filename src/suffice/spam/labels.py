"""Messages with the classes they are said to be of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized

from suffice.spam.reading import Reading, readings
from suffice.spam.shares import Label


def checked_label(label: str) -> Label:
    """Return a class, if it is one."""
    if label == "spam":
        return "spam"
    if label == "ham":
        return "ham"
    raise ValueError(f"the class of a message must be 'spam' or 'ham', but it is {label!r}")


def labelled(
    raws: Iterable[bytes], labels: Label | Iterable[Label], processes: int | None
) -> Iterator[tuple[Reading, Label]]:
    """Read messages, and yield each with its class; one class may be given for all.

    Raises
    ------
    ValueError
        If there are not as many labels as messages: at once where both have a length, else when one of them ends.
    """
    items = readings(raws, processes)
    if isinstance(labels, str):
        label = checked_label(labels)
        yield from ((item, label) for item in items)
        return
    if isinstance(raws, Sized) and isinstance(labels, Sized) and len(raws) != len(labels):
        raise _unequal(len(raws), len(labels))
    names = iter(labels)
    number = 0
    for item in items:
        name = next(names, None)
        if name is None:
            raise _unequal(f"more than {number}", number)
        number += 1
        yield item, checked_label(name)
    if next(names, None) is not None:
        raise _unequal(number, len(labels) if isinstance(labels, Sized) else f"more than {number}")


def _unequal(messages: object, labels: object) -> ValueError:
    return ValueError(
        f"there must be a label for each message, but there are {messages} messages and {labels} labels; pair them, or "
        "give one for all"
    )
