"""Evaluation and tuning in a separate thread with its own filter, since both may take a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from suffice.spam.filter import SpamFilter
from suffice.spam.page.desk import PATIENCE, file_of, stamp_of
from suffice.spam.page.index import Stamp

if TYPE_CHECKING:
    from suffice.spam.evaluation import Evaluation

T = TypeVar("T")


class Laboratory:
    """The last evaluation of a store, repeated when the store has changed."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.evaluation: Evaluation | None = None
        self.done = 0
        self.error = ""
        self._closing = False
        self._stamp: Stamp = ()
        self._task: asyncio.Task[None] | None = None
        self._worker = ThreadPoolExecutor(1, "suffice-laboratory")

    @property
    def is_running(self) -> bool:
        """Whether an evaluation is running."""
        return self._task is not None and not self._task.done()

    async def begin(self) -> None:
        """Start an evaluation if there is none of the current store, and wait for it briefly."""
        if not self.is_running and self._stamp != stamp_of(self.store):
            self._task = asyncio.create_task(self._evaluate())
        if self._task is not None:
            await asyncio.wait([self._task], timeout=0.3)  # enough for most stores, for which no progress is then shown

    async def tune(self, cost: float) -> bool:
        """Find thresholds for the cost of a false positive, and return whether they were written."""
        tuning = await self._do(lambda spam_filter: spam_filter.tune(cost, progress=self._note))
        self.evaluation = tuning.after
        self.keep()
        return not tuning.is_kept

    def keep(self) -> None:
        """Keep the evaluation as valid for the current store, after thresholds were written."""
        self._stamp = stamp_of(self.store)

    async def close(self) -> None:
        """Cancel the running work."""
        self._closing = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._worker.shutdown(wait=False, cancel_futures=True)

    async def _evaluate(self) -> None:
        stamp = stamp_of(self.store)
        self.done, self.error = 0, ""
        try:
            self.evaluation = await self._do(lambda spam_filter: spam_filter.evaluate(progress=self._note))
        except (ValueError, OSError) as error:  # such as a store without spam
            self.evaluation, self.error = None, str(error)
        self._stamp = stamp

    def _note(self, done: int) -> None:
        if self._closing:
            raise InterruptedError("the page is being closed")
        self.done = done

    async def _do(self, work: Callable[[SpamFilter], T]) -> T:
        def work_on_a_filter() -> T:
            file_of(self.store)  # opening would create a store that is gone
            with SpamFilter.open(self.store, PATIENCE) as spam_filter:
                return work(spam_filter)

        return await asyncio.get_running_loop().run_in_executor(self._worker, work_on_a_filter)
