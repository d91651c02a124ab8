"""``--follow``: append what is added to the logs, batch after batch, to the table ``events``.

A batch is a small Spark job over the bytes that were added since the last one. After each batch the
functions of the batch run compute all other tables again, so that the same lines give the same tables.

The driver keeps the progress itself. Spark's Structured Streaming offers the same as a Python data source,
but asks such a source for its offsets in a separate Python process, which has ten seconds to start
(``PythonWorkerFactory.createSimpleWorker``; no setting changes that). On a busy machine the start took longer
and the stream failed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from barnabas.analysis.growing import find_logs, whole_until
from barnabas.analysis.reading.splits import Split
from barnabas.analysis.scan import Reading, append_events

PROGRESS = "_progress.json"
"""The file beside the tables that records how far each log was read."""

REST_S = 3.0
"""Seconds without a write after which a log is read to its end. Writing a stack trace takes less."""

PAUSE_S = 2.0
"""Seconds between two scans of the logs for new lines."""


@dataclass(slots=True)
class _Progress:
    """The progress of following: how far each log was read.

    Attributes:
        batch: The number of the current batch; between two batches, of the next one.
        read: The byte up to which each log was read, by its key.
        reading: The value of ``read`` after the current batch; None between two batches.
        damaged: Logs that could not be read completely, each with its ``source``, the ``error`` (None for
            none) and the number of bytes ``replaced`` because they were not UTF-8.
    """

    batch: int = 0
    read: dict[str, int] = field(default_factory=dict)
    reading: dict[str, int] | None = None
    damaged: list[dict[str, Any]] = field(default_factory=list)


class Follower:
    """A follower of logs: each call reads what was added since the last one.

    Args:
        spark: The session that runs the batches.
        roots: Files, globs and folders; new logs in a folder are found as they appear.
        folder: The folder of ``events`` and of the progress. A follower continues where an earlier one with
            the same folder stopped.
        reading: The settings for reading the logs.
        rest_s: Seconds without a write after which a log is read to its end; None for ``REST_S``.

    Attributes:
        unreadable: Logs and folders that could not be opened in the last two scans, each with the reason.
    """

    def __init__(
        self,
        spark: SparkSession,
        roots: Sequence[str | Path],
        folder: Path,
        *,
        reading: Reading,
        rest_s: float | None = None,
    ) -> None:
        self._spark = spark
        self._roots = [str(root) for root in roots]
        self._folder = folder.absolute()
        self._reading = reading
        self._rest_s = REST_S if rest_s is None else rest_s
        self._seen = frozenset[str]()
        self.unreadable: list[str] = []
        self._progress = self._stored()

    @property
    def damaged(self) -> Sequence[Mapping[str, Any]]:
        """Logs that could not be read completely, each with ``source``, ``error`` and ``replaced`` bytes."""
        return self._progress.damaged

    @property
    def has_read(self) -> bool:
        """Return whether any batch was read, by this follower or an earlier one with the same folder."""
        return self._progress.batch > 0

    def read_added(self) -> bool:
        """Read what was added since the last batch; return False if nothing was.

        If the process ended during a batch, the next process reads that batch again first and replaces its
        files.
        """
        found: list[str] = []
        logs = find_logs(self._roots, self._rest_s, found)
        # A log counts as unreadable if two scans in a row fail: after one failure it may just have been
        # rolled.
        self.unreadable, self._seen = sorted(self._seen.intersection(found)), frozenset(found)
        progress = self._progress
        if progress.reading is None:
            until = {key: whole_until(log, progress.read.get(key, 0)) for key, log in logs.items()}
            if all(end == progress.read.get(key, 0) for key, end in until.items()):
                return False
            progress.reading = progress.read | until
            self._store()
        added = [
            Split(str(logs[key].path.absolute()), progress.read.get(key, 0), end)
            for key, end in progress.reading.items()
            if key in logs and end > progress.read.get(key, 0)
        ]
        tallies = append_events(self._spark, added, self._folder / "events", self._reading, progress.batch)
        self._progress = _Progress(
            progress.batch + 1, progress.reading, damaged=_merged([*progress.damaged, *tallies])
        )
        self._store()
        return True

    def _stored(self) -> _Progress:
        try:
            return _Progress(**json.loads((self._folder / PROGRESS).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return _Progress()

    def _store(self) -> None:
        # Replace the file atomically, so that a crash leaves the old progress or the new one.
        aside = self._folder / f"{PROGRESS}.new"
        aside.write_text(json.dumps(asdict(self._progress)), encoding="utf-8")
        aside.replace(self._folder / PROGRESS)


def _merged(tallies: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    replaced: Counter[tuple[str, str | None]] = Counter()
    for tally in tallies:
        if tally["error"] is not None or tally["replaced"]:
            replaced[tally["source"], tally["error"]] += tally["replaced"]
    return [
        {"source": source, "error": error, "replaced": count} for (source, error), count in replaced.items()
    ]
