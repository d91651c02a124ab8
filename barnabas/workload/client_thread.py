"""The thread of a client in the workload, which works until it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class ClientThread:
    """A thread that runs one function until it is stopped.

    The function must end soon after ``is_stopping`` has become true. An exception that ends it early is kept
    for ``check``.

    Args:
        name: The name of the thread.
        work: The function.
    """

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self._work = work
        self._stopping = threading.Event()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._running: Future[None] = Future()

    @property
    def is_stopping(self) -> bool:
        """Return whether the function should end."""
        return self._stopping.is_set()

    @property
    def has_ended(self) -> bool:
        """Return whether the function has ended, with or without an exception."""
        return self._running.done()

    def start(self, on_end: Callable[[], None] = lambda: None) -> None:
        """Start the thread; ``on_end`` is called when the function has ended."""
        self._running = self._executor.submit(self._work)
        self._running.add_done_callback(lambda _: on_end())

    def pause(self, seconds: float) -> None:
        """Wait in the function, at most until it should end."""
        self._stopping.wait(seconds)

    def halt(self) -> None:
        """Make ``is_stopping`` true, without waiting for the end."""
        self._stopping.set()

    def join(self) -> None:
        """Make ``is_stopping`` true, and wait for the end."""
        self._stopping.set()
        self._executor.shutdown()

    def check(self) -> None:
        """Raise the exception that ended the function.

        Raises:
            Exception: The exception that ended the function.
            TimeoutError: The function has not ended.
        """
        self._running.result(0)
