"""An event loop on a thread of its own, for a cluster that outlives the loops of async tests."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

from barnabas.local.errors import ClusterError

__tracebackhide__ = True
"""pytest shows no frames of this module."""

T = TypeVar("T")


class LoopThread:
    """A thread that runs an event loop until ``stop``."""

    def __init__(self, name: str) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine on the loop, and return its future; cancelling that cancels the coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop, and wait for its result; an interrupted wait cancels it."""
        future = self.submit(work)
        try:
            return future.result()
        except ClusterError as error:
            raise error.with_traceback(None) from None  # its message says all that a caller can use
        except BaseException:
            future.cancel()
            raise

    async def on(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop, and await its result on the caller's loop."""
        try:
            return await asyncio.wrap_future(self.submit(work))
        except ClusterError as error:
            raise error.with_traceback(None) from None

    def stop(self) -> None:
        """Stop the loop and wait for the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
