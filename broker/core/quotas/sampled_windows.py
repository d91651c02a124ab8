"""The samples of the last windows of time (``SampledStat`` of Kafka 2.8's ``common.metrics.stats``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar


@dataclass(slots=True)
class Sample:
    """A sample; what is recorded in its window is up to subclasses.

    Attributes:
        start_ms: When the window began.
    """

    start_ms: int


S = TypeVar("S", bound=Sample)


class SampledWindows(Generic[S]):
    """The samples of the last windows; times in milliseconds of any clock that never goes back.

    A window begins with the first record after the end of the one before, not at fixed times.

    Args:
        windows: How many windows count.
        window_ms: The length of a window.
        new_sample: Makes an empty sample of a window that begins at the given time.
    """

    __slots__ = ("_new_sample", "_samples", "_window_ms", "_windows")

    def __init__(self, windows: int, window_ms: int, new_sample: Callable[[int], S]) -> None:
        self._windows = windows
        self._window_ms = window_ms
        self._new_sample = new_sample
        self._samples: deque[S] = deque(maxlen=windows)

    def current(self, now_ms: int) -> S:
        """Return the sample to record in, a new one if the window of the last is over."""
        if not self._samples or now_ms - self._samples[-1].start_ms >= self._window_ms:
            self._samples.append(self._new_sample(now_ms))
        return self._samples[-1]

    def live(self, now_ms: int) -> list[S]:
        """Return the samples that count; changes nothing, so any thread may call it."""
        length_ms = self._windows * self._window_ms
        return [sample for sample in tuple(self._samples) if now_ms - sample.start_ms < length_ms]
