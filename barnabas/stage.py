"""The demo's display: its steps line by line, and below them a picture of the cluster.

On a terminal the picture stays in place and is redrawn; elsewhere, as in CI, it is printed every few seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table

REDRAWS_PER_S = 4.0
PRINT_EVERY_S = 5.0
"""The seconds between two pictures without a terminal."""


class Stage:
    """A display, used as a ``with`` block.

    Args:
        console: The console to print to.
        draw: Returns the current picture; called on another thread.
        clock: Returns seconds.
    """

    def __init__(
        self,
        console: Console,
        draw: Callable[[], RenderableType],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._draw = draw
        self._clock = clock
        self._start = clock()
        self._over = threading.Event()
        self._live: Live | None = None
        self._printer: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(
                console=self._console, get_renderable=self._draw, refresh_per_second=REDRAWS_PER_S
            )
            self._live.start()
        else:
            self._printer = threading.Thread(target=self._print, name="stage", daemon=True)
            self._printer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._live is not None:
            self._live.stop()
        if self._printer is not None:
            self._printer.join()
            self._console.print(self._draw())

    def say(self, sentence: str) -> None:
        """Print a sentence with the seconds since the start."""
        line = Table.grid(padding=(0, 2))  # a long sentence goes on below its beginning
        line.add_row(f"[dim]{self._clock() - self._start:5.1f} s[/]", sentence)
        self._console.print(line)

    def _print(self) -> None:
        while not self._over.wait(PRINT_EVERY_S):
            self._console.print(self._draw())
