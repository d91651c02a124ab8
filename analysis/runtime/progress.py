"""The progress of Spark's tasks: a bar on a terminal, elsewhere a line."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from pyspark import SparkContext, StatusTracker

_WIDTH = 30
_EVERY_S = 0.2
BELOW_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""The environment variable that spark-submit sets for the Python process that it starts."""


@contextmanager
def progress(context: SparkContext, what: str, stream: TextIO | None = None) -> Iterator[None]:
    """Show a progress bar while the block runs, and clear it at the end; off a terminal, write a line.

    Args:
        context: The Spark context that runs the tasks.
        what: The label of the bar.
        stream: The stream to draw on; None for standard error.
    """
    target = stream or sys.stderr
    if not target.isatty():
        tell(what, target)
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


def tell(what: str, stream: TextIO | None = None) -> None:
    """Write a line that announces a step, to ``stream`` or to standard error.

    Below ``spark-submit`` nothing is written: it merges a Python job's standard error into its own standard
    output (``PythonRunner`` redirects the error stream), where the report may be.
    """
    if BELOW_SPARK_SUBMIT in os.environ:
        return
    target = stream or sys.stderr
    target.write(f"barnabas analyze: {what} ...\n")
    target.flush()


def bar(what: str, done: int, total: int) -> str:
    """Format a bar such as ``reading logs  [##########....................] 4 of 12``.

    Without tasks, as between two jobs, only the label is left.
    """
    if not total:
        return f"{what} ..."
    filled = _WIDTH * done // total
    return f"{what}  [{'#' * filled}{'.' * (_WIDTH - filled)}] {done} of {total}"


def _draw(tracker: StatusTracker, what: str, target: TextIO, done: threading.Event) -> None:
    while not done.wait(_EVERY_S):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        finished = sum(stage.numCompletedTasks for stage in known)
        total = sum(stage.numTasks for stage in known)
        target.write(f"\r\033[K{bar(what, finished, total)}")
        target.flush()
