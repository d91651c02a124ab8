"""What to read: files, folders and globs, on any file system that Spark knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

LOG_NAMES = "sta[tg]e-change.log*"
"""The files of a folder that are read, rolled ones too (Kafka 4.0.0 rolls to ``stage-change.log``)."""


class NothingToReadError(Exception):
    """A path that names no file, and no folder with logs of state changes in it."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What is to be read.

    Attributes:
        files: Files and globs, read whatever their names are.
        folders: Searched, with all folders below, for ``LOG_NAMES``.
        size: Their bytes, as they lie on the disk; None where some are on another file system.
    """

    files: tuple[str, ...]
    folders: tuple[str, ...]
    size: int | None


def find(paths: Sequence[str | Path]) -> Sources:
    """What ``paths`` name, before Spark is started.

    Local paths are looked up, their globs resolved. Of a path with a scheme (``hdfs://…``, ``s3a://…``) only
    Spark can tell; it is taken for a file or a glob where its last part has a dot or an asterisk, else for a
    folder.

    Raises:
        NothingToReadError: Where no path is given, or a local one names nothing to read.
    """
    if not paths:
        raise NothingToReadError("no path was given: expected files, folders or globs of state-change.log")
    files: list[str] = []
    folders: list[str] = []
    size = 0
    for path in map(str, paths):
        if "://" in path:
            is_file = fnmatch(path.rstrip("/").rpartition("/")[2], "*[.*]*")
            (files if is_file else folders).append(path)
            continue
        for found in _look_up(path):
            (folders if found.is_dir() else files).append(str(found.absolute()))
            size += sum(log.stat().st_size for log in (found.rglob(LOG_NAMES) if found.is_dir() else [found]))
    is_local = not any("://" in path for path in files + folders)
    return Sources(tuple(files), tuple(folders), size if is_local else None)


def _look_up(path: str) -> list[Path]:
    pattern = Path(path)
    found = (
        [pattern]
        if pattern.exists()
        else sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
    )
    if not found:
        raise NothingToReadError(
            f"nothing to read at {path!r}: expected a file, a folder or a glob that fits some"
        )
    for each in found:
        if each.is_dir() and next(each.rglob(LOG_NAMES), None) is None:
            raise NothingToReadError(
                f"nothing to read in the folder {str(each)!r}: expected files named {LOG_NAMES}"
            )
    return found
