"""A bar for who waits: how many of Spark's tasks are done, on a terminal and nowhere else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from pyspark import SparkContext, StatusTracker

_WIDTH = 30
_EVERY_S = 0.2


@contextmanager
def progress(context: SparkContext, what: str, stream: TextIO | None = None) -> Iterator[None]:
    """Show a bar while the block runs, and clear it in the end.

    Args:
        context: Where the tasks run.
        what: What is being done.
        stream: Where the bar is drawn if it is a terminal; None for standard error.
    """
    target = stream or sys.stderr
    if not target.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_draw, args=(context.statusTracker(), what, target, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        target.write("\r\033[K")
        target.flush()


def bar(what: str, done: int, total: int) -> str:
    """``reading logs  [##########....................] 4 of 12``."""
    filled = _WIDTH * done // max(total, 1)
    return f"{what}  [{'#' * filled}{'.' * (_WIDTH - filled)}] {done} of {total}"


def _draw(tracker: StatusTracker, what: str, target: TextIO, done: threading.Event) -> None:
    while not done.wait(_EVERY_S):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        finished = sum(stage.numCompletedTasks for stage in known)
        total = sum(stage.numTasks for stage in known)
        target.write(f"\r\033[K{bar(what, finished, total)}")
        target.flush()
