"""Files and segments that are removed or closed after a delay, because a reader may still use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from barnabas.broker.disk.files import remove_whatever
from barnabas.broker.disk.segment.segment import LogSegment


class DelayedRemovals:
    """The delayed removals of one log directory; times are wall time in milliseconds."""

    def __init__(self) -> None:
        self._paths: list[tuple[int, Path]] = []
        self._segments: list[tuple[int, LogSegment]] = []

    def remove(self, paths: Sequence[Path], due_ms: int) -> None:
        """Unlink files or directories from ``due_ms`` on; one that is missing by then is no error."""
        self._paths.extend((due_ms, path) for path in paths)

    def retire(self, segments: Sequence[LogSegment], due_ms: int) -> None:
        """Close segments and unlink their files, which are renamed until then, from ``due_ms`` on."""
        self.close(segments, due_ms)
        self.remove([path for each in segments for path in each.retired_paths], due_ms)

    def close(self, segments: Sequence[LogSegment], due_ms: int) -> None:
        """Close segments from ``due_ms`` on."""
        self._segments.extend((due_ms, segment) for segment in segments)

    def close_all(self) -> None:
        """Close all segments now, with the log directory."""
        for _, segment in self._segments:
            segment.close()
        self._segments = []

    def moved(self, former: Path, directory: Path) -> None:
        """Follow a renamed directory: the files to remove are in it."""
        self._paths = [
            (due_ms, directory / path.name if path.parent == former else path) for due_ms, path in self._paths
        ]

    def due(self, now_ms: int) -> list[Callable[[], None]]:
        """Return the work that is due, each piece once; it runs on the thread that flushes, in order."""
        work: list[Callable[[], None]] = [
            partial(remove_whatever, path) for due_ms, path in self._paths if due_ms <= now_ms
        ]
        self._paths = [entry for entry in self._paths if entry[0] > now_ms]
        work += [segment.close for due_ms, segment in self._segments if due_ms <= now_ms]
        self._segments = [entry for entry in self._segments if entry[0] > now_ms]
        return work
