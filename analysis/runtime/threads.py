"""Threads whose work is over when their block ends, whatever ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from barnabas.analysis.runtime.ending import deferred

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Pool(ThreadPoolExecutor):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._submitted: list[Future[Any]] = []

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        # The work may begin before the thread that starts it knows.
        with deferred():
            future = super().submit(fn, *args, **kwargs)
            self._submitted.append(future)
        return future

    def settle(self) -> None:
        # Thread.join would not do: in Python 3.11 a thread counts as ended after an exception has
        # interrupted that (Thread._wait_for_tstate_lock).
        wait([future for future in self._submitted if not future.cancelled()])


@contextmanager
def threads(number: int) -> Iterator[ThreadPoolExecutor]:
    """Provide a pool of up to ``number`` threads and wait for their work at the end of the block.

    An exception cancels what has not begun. A signal's exception may interrupt the wait, so the wait begins
    again: work that outlived the block could write into a folder that was removed.
    """
    pool = _Pool(number)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    finally:
        try:
            pool.settle()
        finally:
            pool.settle()
            pool.shutdown()
