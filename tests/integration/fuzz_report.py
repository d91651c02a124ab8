"""What a fuzzing run counts and finds."""

from __future__ import annotations

import time

import psutil

HANG_S = 0.1
GROWTH_BYTES = 50_000_000
REPORT_EVERY = 100_000


class Fuzz:
    """What is found while it goes on.

    Args:
        pid: The process whose memory and time are measured; None for this one.
    """

    def __init__(self, pid):
        self._process = psutil.Process(pid)
        self._began = time.monotonic()
        self._first_cpu_s = sum(self._process.cpu_times()[:2])
        self._first_rss = self._last_rss = 0
        self._faults = []
        self.frames = self.refused = self.sent = 0

    def count(self, frames, refused, sent=0):
        """Count frames, those of them that were refused and those that a broker got; True now and then."""
        before = self.frames // REPORT_EVERY
        self.frames += frames
        self.refused += refused
        self.sent += sent
        return self.frames // REPORT_EVERY > before

    @property
    def rss(self):
        return self._process.memory_info().rss

    def look_at_memory(self):
        """Note how much memory is in use; the first time, everything is compiled and loaded."""
        self._last_rss = self.rss
        self._first_rss = self._first_rss or self._last_rss

    @property
    def growth(self):
        return self._last_rss - self._first_rss

    def report(self, also):
        seconds = time.monotonic() - self._began
        cpu_s = sum(self._process.cpu_times()[:2]) - self._first_cpu_s
        print(
            f"{self.frames} frames in {seconds:.0f} s ({self.frames / seconds:.0f}/s), "
            f"{cpu_s:.0f} s of CPU time, {self.refused} refused, {self.sent} sent, {also}, "
            f"{self._last_rss / 1e6:.1f} MB, growth {self.growth / 1e6:.1f} MB",
            flush=True,
        )

    def fault(self, what):
        self._faults.append(what)

    def faults(self):
        growth = [f"growth of {self.growth} bytes"] if self.growth > GROWTH_BYTES else []
        return [*self._faults, *growth]
