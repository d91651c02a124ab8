"""The report of Spark's job over the brokers' logs, made on demand by a process of its own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from barnabas.page.model import Json

WITHOUT_SPARK = "A report of the logs needs Spark: pip install 'barnabas[spark]'"
"""The text on the page where Spark is not installed."""

_MOST_WORDS = 2_000
_PAGE = "report.html"


class ReportState(StrEnum):
    """The states of the report."""

    NONE = "none"
    RUNNING = "running"
    READY = "ready"
    FAILED = "failed"


class Report:
    """A report that can be made again at any time.

    Args:
        logs: The folders of the brokers' logs.
        out: The folder for the report. One that is there already can be opened.
        without_spark: What the page says where Spark is not installed.

    Attributes:
        hindrance: Why no report can be made here; empty if one can.
    """

    def __init__(self, logs: Sequence[Path], out: Path, without_spark: str = WITHOUT_SPARK) -> None:
        self.hindrance = "" if importlib.util.find_spec("pyspark") is not None else without_spark
        self._logs = logs
        self._out = out
        self._state = ReportState.READY if (out / _PAGE).is_file() else ReportState.NONE
        self._message = ""
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the job, unless it runs."""
        with self._lock:
            if self._state is ReportState.RUNNING:
                return
            if self.hindrance:
                self._state, self._message = ReportState.FAILED, self.hindrance
                return
            self._state, self._message = ReportState.RUNNING, ""
        threading.Thread(target=self._run, name="page-report", daemon=True).start()

    def _run(self) -> None:
        folders = [str(folder) for folder in self._logs if folder.is_dir()]
        command = [sys.executable, "-m", "barnabas", "analyze", "--out", str(self._out), *folders]
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        with self._lock:
            self._state = ReportState.READY if done.returncode == 0 else ReportState.FAILED
            self._message = "" if done.returncode == 0 else done.stderr.strip()[-_MOST_WORDS:]

    def json(self) -> Json:
        """Return the state, and what went wrong."""
        return {"state": str(self._state), "message": self._message, "path": f"/report/{_PAGE}"}

    def file(self, path: str) -> Path | None:
        """Return a file of the report that is ready; None if there is no such file."""
        if "\0" in path:
            return None  # no system has a file of such a name
        file = (self._out / path).resolve()
        is_inside = file.is_relative_to(self._out.resolve())
        return file if self._state is ReportState.READY and is_inside and file.is_file() else None
