"""The history on disk, so that a page that starts again shows what was before.

The file has a line of JSON with the snapshot before the oldest change, and a line for each change since. It
is written again, without what the history has dropped, once it has twice the changes that are kept.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from barnabas.page.history import MOST_CHANGES, Entry, History, entry_of
from barnabas.page.model import state_of

_log = logging.getLogger(__name__)


class HistoryFile:
    """A file that keeps a history; errors of the disk fail no request.

    Args:
        path: The file; its folder must exist.
        most: The most changes that the history keeps.
    """

    def __init__(self, path: Path, most: int = MOST_CHANGES) -> None:
        self._path = path
        self._most = most
        self._lines = 0
        self._file: IO[str] | None = None

    def load(self) -> History:
        """Return the history in the file, and begin to keep it; an empty one if there is none.

        A damaged file counts as none. A last line that is not complete, as a crash leaves it, is dropped.
        """
        try:
            *lines, _incomplete = self._path.read_text(encoding="utf-8").split("\n")
            head, *changes = map(json.loads, lines)
            history = History.of(head["base"], head["base_at"], map(entry_of, changes), self._most)
            state_of(history.latest())
        except FileNotFoundError:
            history = History(self._most)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            _log.warning("the page's history in %s cannot be read, and begins again: %r", self._path, error)
            history = History(self._most)
        self._rewrite(history)
        return history

    def append(self, history: History, added: Iterable[Entry]) -> None:
        """Add entries of the history to the file."""
        if self._file is None:
            return
        lines = [json.dumps(entry.json()) + "\n" for entry in added]
        self._lines += len(lines)
        if self._lines > 2 * self._most:
            self._rewrite(history)
            return
        try:
            self._file.write("".join(lines))
            self._file.flush()
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _rewrite(self, history: History) -> None:
        self.close()
        new = self._path.with_suffix(".tmp")
        record = history.json()
        entries = history.entries()
        head = {"base": record["base"], "base_at": record["base_at"]}
        try:
            with new.open("w", encoding="utf-8") as file:
                for line in (head, *(entry.json() for entry in entries)):
                    file.write(json.dumps(line) + "\n")
            new.replace(self._path)
            self._file = self._path.open("a", encoding="utf-8")
            self._lines = len(entries)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        _log.warning("the page's history is not kept: %s", error)
        self.close()
