"""The hour that occurs twice when clocks are set back: which lines of a file are of its second pass."""

from __future__ import annotations

import numpy as np

from barnabas.analysis.reading.heads import NO_TIME, Heads
from barnabas.analysis.reading.times import MINUTE, Clock

_BACK = MINUTE
"""The least by which times go back where a second pass begins; threads write their lines in less disorder."""


class Passes:
    """The pass in which the last entry of a split was, for entries in the order of their file.

    Args:
        clock: The clock that read the times.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._split: tuple[str, int] | None = None
        self._latest: int | None = None
        self._is_second = False

    def correct(self, heads: Heads, split: tuple[str, int]) -> None:
        """Move times to the second pass that follow a later time of the same hour in their file.

        A file that is silent around the change may not go back; its times remain those of the first pass.

        Args:
            heads: The headers of the next block, with times of the first pass.
            split: The file and the first byte of the split that holds the block.
        """
        if split != self._split:
            self._split = split
            self._forget()
        repeated = self._clock.repeated
        if not repeated:
            return
        rows = np.flatnonzero(heads.found & (heads.time != NO_TIME))
        times = heads.time[rows]
        minutes = times - times % MINUTE
        is_twice = np.isin(minutes, list(repeated))
        for index in np.flatnonzero(is_twice).tolist():
            if index and not is_twice[index - 1]:
                self._forget()
            time = int(times[index])
            self._is_second |= self._latest is not None and time < self._latest - _BACK
            self._latest = time if self._latest is None else max(time, self._latest)
            if self._is_second:
                heads.time[rows[index]] = time + repeated[int(minutes[index])]
        if len(rows) and not is_twice[-1]:
            self._forget()

    def _forget(self) -> None:
        self._latest, self._is_second = None, False
