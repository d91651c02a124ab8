"""The files, folders and globs to read, on any file system that Spark knows."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

LOG_NAMES = ("sta[tg]e-change.log*", "controller.log*", "server.log*")
"""The files that are read in folders, rolled ones too (Kafka 4.0.0 rolls to ``stage-change.log``)."""

# A number with a dot after it is no broker id: kafka_2.13-2.8.0 is a release.
_BROKER = re.compile(r"(?<![a-z])(?:broker|kafka|node|server)s?[-_.]?(\d{1,6})(?![\d.]*\d)", re.IGNORECASE)


class NothingToReadError(Exception):
    """An error for a path that names neither a file nor a folder with logs."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The files and folders to read.

    Attributes:
        files: The local files, each once. Of a folder and all folders below it, these are the files named as
            in ``LOG_NAMES``.
        sizes: The size of each file in bytes, as on the disk; 0 if it cannot be read.
        closed: Folders that cannot be listed, each with the reason.
        remote_files: Files and globs with a scheme (``hdfs://…``, ``s3a://…``).
        remote_folders: Folders with a scheme.
    """

    files: tuple[str, ...]
    sizes: tuple[int, ...]
    closed: tuple[str, ...] = ()
    remote_files: tuple[str, ...] = ()
    remote_folders: tuple[str, ...] = ()

    @property
    def size(self) -> int | None:
        """Return the total size in bytes; None if there are files on other file systems."""
        return None if self.remote_files or self.remote_folders else sum(self.sizes)


def is_uri(path: str | Path) -> bool:
    """Return whether a path has a scheme (``hdfs://…``), so that only Spark can read it."""
    return "://" in str(path)


def find(paths: Sequence[str | Path]) -> Sources:
    """Find what ``paths`` name, without starting Spark.

    Local paths are looked up and their globs resolved. A path with a scheme cannot be looked up here; it
    counts as a file or glob if its last part contains a dot or an asterisk, else as a folder.

    Raises:
        NothingToReadError: There is no path, or a local path names nothing to read.
    """
    if not paths:
        raise NothingToReadError("no path was given: expected files, folders or globs of state-change.log")
    remote = [str(path) for path in paths if is_uri(path)]
    closed: list[str] = []
    local = dict.fromkeys(log for path in paths if not is_uri(path) for log in _look_up(str(path), closed))
    return Sources(
        tuple(map(str, local)),
        tuple(map(_size, local)),
        tuple(closed),
        tuple(path for path in remote if _is_file(path)),
        tuple(path for path in remote if not _is_file(path)),
    )


def logs_in(folder: Path, closed: list[str] | None = None) -> list[Path]:
    """List the logs in a folder and all folders below it, including those that cannot be opened.

    Args:
        folder: The folder to search.
        closed: A list that receives each folder that cannot be listed, with the reason; None to drop them.
    """

    def refused(error: OSError) -> None:
        if closed is not None:
            closed.append(f"{error.filename}: {error.strerror}")

    return sorted(
        Path(place, name)
        for place, _, names in os.walk(folder, onerror=refused)
        for name in names
        if any(fnmatch(name, pattern) for pattern in LOG_NAMES)
    )


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0


def broker_of(text: str) -> int | None:
    """Return the broker id in a path or in a text in front of a line: 2 for ``/logs/broker-2/server.log``.

    If there are several ids, the last one counts. A release such as ``kafka_2.13-2.8.0`` is not an id.
    """
    found = _BROKER.findall(text)
    return int(found[-1]) if found else None


def _is_file(path: str) -> bool:
    return fnmatch(path.rstrip("/").rpartition("/")[2], "*[.*]*")


def named(path: str) -> list[Path]:
    """Return the path itself if it exists, else the paths that match it as a glob."""
    pattern = Path(path)
    if pattern.exists():
        return [pattern]
    return sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))


def _look_up(path: str, closed: list[str]) -> list[Path]:
    found = named(path) if path else []
    if not found:
        raise NothingToReadError(
            f"nothing to read at {path!r}: expected a file, a folder or a glob that matches some"
        )
    logs: list[Path] = []
    for each in found:
        refused = len(closed)
        inside = logs_in(each, closed) if each.is_dir() else [each]
        if not inside and len(closed) == refused:
            raise NothingToReadError(
                f"nothing to read in the folder {str(each)!r}: expected files named state-change.log*, "
                f"controller.log* or server.log*; or name the files themselves: {each}/*.log"
            )
        logs.extend(log.absolute() for log in inside)
    return logs
