"""Output of the commands: facts, bars and progress."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from suffice.spam.commands.skipping import Skipped

if TYPE_CHECKING:  # slow to import
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

_T = TypeVar("_T")
#: width of tables if there is no terminal
WIDTH = 100
#: half blocks, for the ends of a bar to the right and to the left
_LEFT_HALF = {"▌": "▐"}
COLOURS = {"spam": "red", "ham": "green", "unsure": "yellow", "error": "magenta"}


def count(messages: int) -> str:
    """Return a number of messages in words."""
    return f"{messages:,} message" + ("" if messages == 1 else "s")


def by_class(spam: int, ham: int, unlabeled: int) -> str:
    """Return numbers of messages in words; unlabelled ones only if there are any.

    Examples
    --------
    >>> from suffice.spam.commands.screen import by_class
    >>> by_class(1200, 30, 0), by_class(0, 0, 2)
    ('1,200 spam, 30 ham', '0 spam, 0 ham, 2 unlabelled')
    """
    return f"{spam:,} spam, {ham:,} ham" + (f", {unlabeled:,} unlabelled" if unlabeled else "")


def console() -> Console:
    """Return the console for answers, on standard output."""
    from rich.console import Console

    answer = Console(highlight=False)
    return answer if answer.is_terminal else Console(highlight=False, width=WIDTH)


def show_facts(facts: Mapping[str, Any]) -> None:
    """Print facts, one per line: a name, and a text or rich text."""
    from rich.text import Text

    width = max(map(len, facts)) + 2
    answer = console()
    for name, fact in facts.items():
        line = Text.assemble((f"{name:<{width}}", "bold cyan"), fact)
        answer.print(line, soft_wrap=True)


def grid(*columns: str) -> Table:
    """Return a table without lines; columns whose names begin with `>` are numbers."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name.lstrip(">"), justify="right" if name.startswith(">") else "left", no_wrap=True)
    return table


def bar(share: float, width: int, style: str = "", mark: float | None = None) -> Text:
    """Return a bar that fills a fraction of a width, with a mark at another fraction."""
    from rich.text import Text

    full, half, upright = _blocks()
    halves = round(2 * width * min(max(share, 0.0), 1.0))
    letters = list((full * (halves // 2) + half * (halves % 2)).ljust(width))
    text = Text("".join(letters), style)
    if mark is not None:
        place = min(round(mark * width), width - 1)
        letters[place] = upright
        text = Text("".join(letters), style)
        text.stylize("bold default", place, place + 1)
    return text


def two_sided_bar(share: float, width: int) -> Text:
    """Return a bar from the middle to the right for a positive share (spam), to the left for a negative one (ham)."""
    from rich.text import Text

    full, half, upright = _blocks()
    cells, rest = divmod(round(2 * width * min(abs(share), 1.0)), 2)
    left = ((_LEFT_HALF.get(half, "") * rest + full * cells) if share < 0 else "").rjust(width)
    right = (full * cells + half * rest if share > 0 else "").ljust(width)
    return Text.assemble((left, COLOURS["ham"]), (upright, "dim"), (right, COLOURS["spam"]))


def _blocks() -> tuple[str, str, str]:
    """Return a full block, a half block and a vertical line, or replacements that standard output can encode."""
    try:
        "█▌▐│".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#", "", "|"
    return "█", "▌", "│"


class Meter:
    """A counter of messages read and done, which updates the progress bar if there is one."""

    def __init__(self, bar: Progress | None, what: str, skipped: Skipped) -> None:
        self.read = self.done = 0
        self._skipped = skipped
        self._places: deque[str] = deque()
        self._forgotten = 0
        self._bar = bar
        self._task = None if bar is None else bar.add_task(what, total=None, read=0)
        self._shown = 0.0

    def reading(self, items: Iterable[_T], place: Callable[[_T], str]) -> Iterator[_T]:
        """Yield items, count them as read, and keep the place of each until it is done."""
        for item in items:
            self.read += 1
            self._places.append(place(item))
            self._show()
            yield item

    def reach(self, done: int) -> None:
        """Set the number of messages done."""
        self.done = done
        while self._forgotten < done and self._places:
            self._places.popleft()
            self._forgotten += 1
        self._show()

    def skip(self, number: int, reason: str) -> None:
        """Record a message that could not be read, given its number among those of `reading`."""
        self._skipped.add(self._places[number - self._forgotten], reason)

    def _show(self) -> None:
        if self._bar is not None and self._task is not None and time.monotonic() > self._shown + 0.1:
            self._bar.update(self._task, completed=self.done, read=self.read, refresh=True)
            self._shown = time.monotonic()


@contextmanager
def meter(what: str, skipped: Skipped | None = None, *, show: bool = True) -> Iterator[Meter]:
    """Yield a meter, shown on standard error during the work if that is a terminal."""
    from rich.console import Console

    skipped = Skipped() if skipped is None else skipped
    screen = Console(stderr=True)
    if not (show and screen.is_terminal):
        yield Meter(None, what, skipped)
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}: {task.fields[read]:,} messages read, {task.completed:,.0f} done"),
        TimeElapsedColumn(),
    )
    # the meter itself redraws, at most ten times a second, so that no thread is needed
    with Progress(*columns, console=screen, transient=True, auto_refresh=False) as shown:
        bar = Meter(shown, what, skipped)
        shown.refresh()
        yield bar
