"""The bar is drawn on terminals only, and leaves nothing behind."""

from __future__ import annotations

import io
import threading
from types import SimpleNamespace

from barnabas.analysis.runtime.progress import bar, progress


class Screen(io.StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal
        self.drawn = threading.Event()

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        if "of 12" in text:
            self.drawn.set()
        return super().write(text)


class Context:
    def statusTracker(self) -> SimpleNamespace:  # noqa: N802
        stages = {1: SimpleNamespace(numCompletedTasks=4, numTasks=12), 2: None}
        return SimpleNamespace(getActiveStageIds=lambda: list(stages), getStageInfo=stages.get)


def test_a_terminal_sees_what_is_done_and_in_the_end_nothing() -> None:
    screen = Screen(is_terminal=True)
    with progress(Context(), "reading", screen):
        assert screen.drawn.wait(10)
    assert bar("reading", 4, 12) in screen.getvalue()
    assert screen.getvalue().endswith("\r\033[K")


def test_a_file_gets_a_line() -> None:
    screen = Screen(is_terminal=False)
    with progress(Context(), "reading", screen):
        pass
    assert screen.getvalue() == "barnabas analyze: reading ...\n"


def test_the_bar_is_full_when_all_is_done() -> None:
    assert bar("x", 0, 3) == "x  [" + "." * 30 + "] 0 of 3"
    assert bar("x", 3, 3) == "x  [" + "#" * 30 + "] 3 of 3"


def test_without_tasks_nothing_is_counted() -> None:
    assert bar("reading logs", 0, 0) == "reading logs ..."


def test_below_spark_submit_nothing_joins_the_report_on_standard_output(monkeypatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "25333")
    screen = Screen(is_terminal=False)
    with progress(Context(), "reading", screen):
        pass
    assert screen.getvalue() == ""
