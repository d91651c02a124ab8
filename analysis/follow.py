"""``--follow``: read what is added to the logs, batch after batch, into the table ``events``.

A batch is a small Spark job over the bytes that were added since the last one. After each batch the
functions of the batch run compute all other tables again, so that the same lines give the same tables.

The driver keeps the progress itself. Spark's Structured Streaming offers the same as a Python data source,
but asks such a source for its offsets in a Python process of its own, and gives that process ten seconds to
start (``PythonWorkerFactory.createSimpleWorker``; no setting changes it). On a busy machine the stream died
of that.
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
"""The file beside the tables that says how far each log was read."""

REST_S = 3.0
"""A log that nobody wrote to for so long is read to its end. Writing a stack trace takes less."""

PAUSE_S = 2.0
"""The pause between two looks at the logs."""


@dataclass(slots=True)
class _Progress:
    """How far the logs were read.

    Attributes:
        batch: The number of the batch that is being read, or that comes next.
        read: Up to which byte each log was read, by its key.
        reading: The same after the batch that is being read; None between two batches.
        damaged: Logs that could not be read whole, each with its ``source``, the ``error`` (None for none)
            and how many bytes were ``replaced`` because they were not UTF-8.
    """

    batch: int = 0
    read: dict[str, int] = field(default_factory=dict)
    reading: dict[str, int] | None = None
    damaged: list[dict[str, Any]] = field(default_factory=list)


class Follower:
    """Reads what is added to logs; what another one with the same folder has read is not read again.

    Args:
        spark: The session.
        roots: Folders, whose logs are found as they come, files and globs.
        folder: Where ``events`` and the progress are.
        reading: How the logs are read.
        rest_s: A log that nobody wrote to for so long is read to its end; None for ``REST_S``.

    Attributes:
        unreadable: Logs and folders that could not be opened at the last two looks, each with the reason.
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
        """Logs that could not be read whole, each with ``source``, ``error`` and ``replaced`` bytes."""
        return self._progress.damaged

    def read_added(self) -> bool:
        """Read what was added since the last batch; False if that is nothing.

        A batch that did not end, because its process did, is read again first and replaces its own files.
        """
        found: list[str] = []
        logs = find_logs(self._roots, self._rest_s, found)
        # Whether a log is unreadable is known at the second look: at the first one it may just be rolled.
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
        # Replaced as a whole, so that a crash leaves the old progress or the new one.
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
