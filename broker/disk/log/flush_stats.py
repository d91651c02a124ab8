"""The flushes of this process's logs: how many, and how long they took (Kafka's ``LogFlushStats``)."""

from __future__ import annotations

from collections.abc import Callable

OnFlushed = Callable[[float], None]
"""A function that gets the milliseconds of a flush, on the thread that flushed."""


class LogFlushStats:
    """The observer of flushes, one for the process, as in Kafka.

    Attributes:
        on_flushed: Called after each flush.
    """

    def __init__(self) -> None:
        self.on_flushed: OnFlushed = lambda _milliseconds: None


FLUSH_STATS = LogFlushStats()
"""The observer of all flushes."""
