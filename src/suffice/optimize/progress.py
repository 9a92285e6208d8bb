"""A line on the terminal that shows the progress of EM."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from suffice.optimize.iteration import Iteration


@contextmanager
def progress_line(show: bool, max_iter: int, tol: float) -> Iterator[Callable[[Iteration], None] | None]:
    """Yield a callback that shows each iteration on standard error, or None if `show` is false."""
    if not show:
        yield None
        return
    try:
        from rich.console import Console
        from rich.live import Live
    except ImportError as error:
        raise ImportError("verbose needs rich; install it with: pip install 'suffice[cli]'") from error
    iterations: list[Iteration] = []

    def line(now: Iteration) -> str:
        iterations.append(now)
        left = _iterations_left(iterations, max_iter, tol) * now.seconds / now.number
        return f"iteration {now.number}  bound {now.bound:,.2f}  change {now.change:.2g}  about {left:.1f} s left"

    with Live(console=Console(stderr=True), refresh_per_second=8) as live:
        yield lambda now: live.update(line(now))


def _iterations_left(iterations: list[Iteration], max_iter: int, tol: float) -> float:
    """Return the expected number of iterations left if the change keeps shrinking at the rate of the last ones."""
    most = float(max_iter - iterations[-1].number)
    recent = [r.change for r in iterations[-4:] if 0 < r.change < math.inf]
    if len(recent) < 2 or recent[-1] >= recent[0]:
        return most
    rate = math.log(recent[0] / recent[-1]) / (len(recent) - 1)
    goal = max(tol * (1.0 + abs(iterations[-1].bound)), 1e-300)
    return min(most, max(0.0, math.log(recent[-1] / goal) / rate))
