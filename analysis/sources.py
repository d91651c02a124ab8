"""What to read: files, folders and globs, on any file system that Spark knows."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

LOG_NAMES = ("sta[tg]e-change.log*", "controller.log*", "server.log*")
"""The files of a folder that are read, rolled ones too (Kafka 4.0.0 rolls to ``stage-change.log``)."""

# No number with a dot behind it: kafka_2.13-2.8.0 is a release.
_BROKER = re.compile(r"(?<![a-z])(?:broker|kafka|node|server)s?[-_.]?(\d{1,6})(?![\d.]*\d)", re.IGNORECASE)


class NothingToReadError(Exception):
    """A path that names no file, and no folder with logs of state changes in it."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What is to be read.

    Attributes:
        files: The files on this machine, each once; those of folders, and of all folders below, are named
            as ``LOG_NAMES``.
        sizes: Their bytes, as they lie on the disk; 0 where nobody may know.
        closed: Folders that cannot be looked into, each with the reason.
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
        """All bytes; None where some are on another file system."""
        return None if self.remote_files or self.remote_folders else sum(self.sizes)


def is_uri(path: str | Path) -> bool:
    """Whether a path has a scheme (``hdfs://…``): it is Spark's then, and none of this machine."""
    return "://" in str(path)


def find(paths: Sequence[str | Path]) -> Sources:
    """What ``paths`` name, before Spark is started.

    Local paths are looked up, their globs resolved. Of a path with a scheme only Spark can tell; it is taken
    for a file or a glob where its last part has a dot or an asterisk, else for a folder.

    Raises:
        NothingToReadError: Where no path is given, or a local one names nothing to read.
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
    """The logs in a folder and all below, also those that cannot be opened.

    Args:
        folder: Where to look.
        closed: Gets the folders that cannot be looked into, with the reason; None where nobody asks.
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
    """The broker that a path, or a text in front of a line, names: 2 for ``/logs/broker-2/state-change.log``.

    Of several the last counts; a release such as ``kafka_2.13-2.8.0`` is none.
    """
    found = _BROKER.findall(text)
    return int(found[-1]) if found else None


def _is_file(path: str) -> bool:
    return fnmatch(path.rstrip("/").rpartition("/")[2], "*[.*]*")


def named(path: str) -> list[Path]:
    """What a local path names now: itself, or what fits it as a glob; nothing where there is neither."""
    pattern = Path(path)
    if pattern.exists():
        return [pattern]
    return sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))


def _look_up(path: str, closed: list[str]) -> list[Path]:
    found = named(path) if path else []
    if not found:
        raise NothingToReadError(
            f"nothing to read at {path!r}: expected a file, a folder or a glob that fits some"
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
