"""The files, folders and globs to read, on any file system that Spark knows."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from barnabas.analysis.reading.brokers.described import is_nameless, topic_settings
from barnabas.analysis.reading.endings import has_ending
from barnabas.analysis.reading.files.encodings import DamagedError, decoded
from barnabas.analysis.reading.grammar import layout_of
from barnabas.analysis.reading.metadata.segments import FOLDER, alone_from, chosen, is_segment, segment_kind
from barnabas.analysis.reading.splits import next_head

LOG_NAMES = ("sta[tg]e-change.log*", "controller.log*", "server.log*")
"""Kafka's names of the logs, rolled ones too (Kafka 4.0.0 rolls to ``stage-change.log``)."""

STDIN = "-"
"""The path that stands for the standard input."""

STDIN_COPY = "stdin"
"""The name of the file that holds a copy of the standard input."""

STDIN_NAME = "the standard input"
"""The name by which a report calls the standard input."""

# Logs of Kafka that say nothing about the cluster.
_OTHER_NAMES = (
    "kafka-request.log*", "kafka-authorizer.log*", "log-cleaner.log*", "kafkaServer*-gc.log*", "gc.log*",
)  # fmt: skip
# What a broker writes to its console: all lines of its server.log.
_REPEATING = ("kafkaServer*.out*", "console.log*")
# Files of a log directory: what clients produced, and its indexes.
_DATA = re.compile(r"\d{20}\.\w+|.*\.(?:parquet|crc|html|checkpoint|properties|lock)")
_EARLIER_RUN = ("events", "report.json")
_TEXTS = (".log", ".out", ".txt")
"""The endings of files of which a message shows a line."""

_SHOWN = 120
"""The most characters of a line in a message."""

_NAMED = 3
"""The number of files that a message names."""

LOOKED_AT_BYTES = 64 * 1024
"""The bytes of a file that show whether it is a log."""

_CHUNK_BYTES = 1024 * 1024

_NAMELESS = (
    "it has a znode's settings, and no line says of which topic; expected the line of the command, "
    "'get /config/topics/NAME', above them"
)

_SOCKET = "a socket"
"""The kind of what lies beside the logs of a cluster that a command has started; no log is one."""

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: _SOCKET,
}

# A number with a dot after it is no broker id: kafka_2.13-2.8.0 is a release.
# A pod's name ends with its number, and so does the instance of a systemd unit.
_BROKER = re.compile(
    r"(?:(?<![a-z])(?:broker|kafka|node|server)s?[-_.@]?|\[pod/\S*-(?=\d+/))(\d{1,6})(?![\d.]*\d)",
    re.IGNORECASE,
)


class NothingToReadError(Exception):
    """An error for a path that names neither a file nor a folder with logs."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The files and folders to read.

    Attributes:
        files: The local files, each once. Of a folder and all folders below it, these are the files that
            look like logs (``logs_in``).
        sizes: The size of each file in bytes, as on the disk; 0 if it cannot be read.
        closed: Folders that cannot be listed, files in them that are none, files with settings of a topic
            that they do not name, and metadata logs whose end is not proven, each with the reason.
        remote: Files, folders and globs with a scheme (``hdfs://…``, ``s3a://…``), which
            ``analysis.remote.looked_up`` looks up.
        lines: The files that it found and that Spark's text source cuts into lines.
        whole: The files that it found and that are read from their begin: encoded ones, and metadata logs.
    """

    files: tuple[str, ...]
    sizes: tuple[int, ...]
    closed: tuple[str, ...] = ()
    remote: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()

    @property
    def size(self) -> int | None:
        """Return the total size in bytes; None if there are files on other file systems."""
        return None if self.remote else sum(self.sizes)


def is_uri(path: str | Path) -> bool:
    """Return whether a path has a scheme (``hdfs://…``), so that only Spark can read it."""
    return "://" in str(path)


def find(paths: Sequence[str | Path]) -> Sources:
    """Find what ``paths`` name, without starting Spark.

    Local paths are looked up and their globs resolved. A path with a scheme cannot be looked up here.

    Raises:
        NothingToReadError: There is no path, or a local path names nothing to read.
    """
    if not paths:
        raise NothingToReadError("no path was given: expected files, folders or globs of state-change.log")
    remote = tuple(dict.fromkeys(str(path) for path in paths if is_uri(path)))
    closed: list[str] = []
    local = _once((log for path in paths if not is_uri(path) for log in _look_up(str(path), closed)), closed)
    return Sources(tuple(map(str, local)), tuple(map(_size, local)), tuple(closed), remote)


def _once(logs: Iterable[Path], doubted: list[str]) -> list[Path]:
    """Return each file once, also if it has several names, as Kubernetes gives the logs of containers.

    Of the segments of metadata logs, only those that ``chosen`` names stay. ``doubted`` receives those that
    end with records of which it is not proven that they were committed.
    """
    known: dict[object, Path] = {}
    for log in logs:
        try:
            state = log.stat()
        except OSError:
            known.setdefault(log, log)
        else:
            known.setdefault((state.st_dev, state.st_ino), log)
    files = list(known.values())
    segments = [file for file in files if is_segment(file)]
    dropped = set(segments) - set(chosen(segments))
    doubted.extend(uncommitted(path, offset) for path, offset in alone_from(segments))
    return [file for file in files if file not in dropped]


def logs_in(folder: Path, closed: list[str] | None = None, *, is_growing: bool = False) -> list[Path]:
    """List the logs in a folder and all folders below it, including those that cannot be opened.

    A log is a file with one of Kafka's names (``LOG_NAMES``), a segment of ``__cluster_metadata``, or a file
    in whose first 64 KiB an entry begins, decompressed if need be, or topics' settings are as a tool of Kafka
    prints them. Left out are the logs of requests and of the garbage collector, what a broker's console shows
    (Kafka's ``kafkaServer.out``, our ``console.log``) beside a server.log, whose lines it repeats, and the
    reports of earlier runs. If a console shows why the process ended, its Java VM wrote that there alone.

    Args:
        folder: The folder to search.
        closed: A list that receives each folder that cannot be listed, each pipe or device that may be a
            log by its name, and each file with settings of a topic that it does not name, with the reason;
            None to drop them.
        is_growing: Whether the logs grow and are listed again and again, so that no console is searched.
    """

    def refused(error: OSError) -> None:
        if closed is not None:
            closed.append(f"{error.filename}: {error.strerror}")

    found: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=refused):
        if _has_report(Path(place)):
            folders.clear()
            continue
        has_server_log = any(fnmatch(name, LOG_NAMES[-1]) for name in names)
        for name in names:
            path = Path(place, name)
            is_named = _is_named(name)
            special = _special(path)
            is_maybe = is_named or (special != _SOCKET and not _is_other(name))
            if special and is_maybe and closed is not None:
                closed.append(f"{path}: it is {special}")
            if special or (has_server_log and _is_repeating(name) and (is_growing or not _is_ended(path))):
                continue
            if is_named or is_segment(path):
                found.append(path)
            elif not _is_other(name):
                text = _head_of(path)
                if _has_what_is_read(text):
                    found.append(path)
                elif closed is not None and is_nameless(text.decode(errors="replace")):
                    closed.append(f"{path}: {_NAMELESS}")
    return sorted(found)


def perhaps_logs(paths: Sequence[str]) -> list[str]:
    """Return the files in a folder with a scheme, and all folders below it, that may be logs by their names.

    Left out is what ``logs_in`` leaves out of logs that grow, and segments of ``__cluster_metadata``.
    """
    by_folder: dict[str, set[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        by_folder.setdefault(folder, set()).add(name)
    earlier = [
        folder
        for folder, names in by_folder.items()
        if _EARLIER_RUN[1] in names
        and any(each.startswith(f"{folder}/{_EARLIER_RUN[0]}") for each in by_folder)
    ]
    found = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        has_server_log = any(fnmatch(each, LOG_NAMES[-1]) for each in by_folder[folder])
        if any(f"{folder}/".startswith(f"{each}/") for each in earlier) or (
            has_server_log and _is_repeating(name)
        ):
            continue
        if _is_named(name) or not _is_other(name):
            found.append(path)
    return sorted(found)


def is_log(path: str, head: bytes) -> bool:
    """Return whether a file is a log, by its name and its first ``LOOKED_AT_BYTES``."""
    return _is_named(path.rpartition("/")[2]) or _has_what_is_read(_decoded_head(BytesIO(head)))


def _has_report(folder: Path) -> bool:
    """Return whether a folder holds the report of an earlier run."""
    return all((folder / name).exists() for name in _EARLIER_RUN)


def _is_named(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in LOG_NAMES)


def _is_repeating(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in _REPEATING)


def _is_other(name: str) -> bool:
    return bool(_DATA.fullmatch(name)) or any(fnmatch(name, pattern) for pattern in _OTHER_NAMES)


def _is_ended(console: Path) -> bool:
    """Return whether a console shows that its process ended at once."""
    try:
        with console.open("rb") as file:
            return has_ending(decoded(file, _CHUNK_BYTES))
    except (OSError, DamagedError):
        return False


def _head_of(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            return _decoded_head(file)
    except OSError:
        return b""


def _decoded_head(file: BinaryIO) -> bytes:
    try:
        return next(decoded(file, LOOKED_AT_BYTES), b"")[:LOOKED_AT_BYTES]
    except (OSError, DamagedError):
        return b""


def _has_what_is_read(text: bytes) -> bool:
    # The output of Kafka's tools has no times, and so no line that begins an entry.
    return next_head(text + b"\n", 0) is not None or bool(topic_settings(text.decode(errors="replace")))


def _special(path: Path) -> str | None:
    """Return the kind of a path that cannot be read twice or in parts; None for a file or an unknown kind."""
    try:
        return _KINDS.get(stat.S_IFMT(path.stat().st_mode))
    except OSError:
        return None


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


def uncommitted(path: str | Path, offset: int) -> str:
    """Return the sentence about a copy of a metadata log that ends later than all others."""
    return f"{path}: no other copy has the records from offset {offset} on, so they may not be committed"


def covered_by(out: str | Path, paths: Sequence[str | Path], sources: Sources) -> str | None:
    """Return a log that no run would find any more if ``out`` held a report; None if there is none.

    The folder of a report, with all folders below it, is left out of the logs of a folder around it, and has
    no logs itself.

    Args:
        out: The folder for the report, or its URI.
        paths: The given paths.
        sources: What ``find`` found of them.
    """
    if is_uri(out):
        return next((path for path in sources.remote if path.rstrip("/") == str(out).rstrip("/")), None)
    folder = Path(out).resolve()
    roots = (
        each.resolve() for path in paths if not is_uri(path) for each in named(str(path)) if each.is_dir()
    )
    if not any(folder.is_relative_to(root) or root.is_relative_to(folder) for root in roots):
        return None
    return next((log for log in sources.files if Path(log).parent.resolve().is_relative_to(folder)), None)


def met(files: Iterable[str | Path]) -> str:
    """Return what stands in the first line of some files, of which nothing was understood."""
    for file in files:
        text = _head_of(Path(file)).decode(errors="replace")
        line = next((each.strip() for each in text.split("\n") if each.strip()), None)
        if line is not None:
            return f"; the first line has {layout_of(line)}: {line[:_SHOWN]!r}"
    return ""


def nothing_in(folder: str) -> str:
    """Return the message about a folder without logs."""
    return (
        f"nothing to read in the folder {folder!r}: expected state-change.log*, controller.log*, server.log* "
        "or other files in which an entry begins with a time and a level"
    )


def nothing_of(closed: Sequence[str]) -> str:
    """Return the message if none of the logs that were found can be read, from the reasons."""
    return f"nothing to read: {'; '.join(closed[:_NAMED])}"


def nothing_at(path: str) -> str:
    """Return the message about a path that names nothing."""
    return f"nothing to read at {path!r}: expected a file, a folder or a glob that matches some"


def named(path: str) -> list[Path]:
    """Return the path itself if it exists, else the paths that match it as a glob."""
    pattern = Path(path)
    if pattern.exists():
        return [pattern]
    return sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))


def _look_up(path: str, closed: list[str]) -> list[Path]:
    found = named(path) if path else []
    if not found:
        raise NothingToReadError(nothing_at(path))
    logs: list[Path] = []
    for each in found:
        special = _special(each)
        if special is not None:
            raise NothingToReadError(
                f"cannot read {str(each)!r}: it is {special}, which cannot be read in parts; "
                f"expected a file, or {STDIN} for {STDIN_NAME}"
            )
        refused = len(closed)
        inside = logs_in(each, closed) if each.is_dir() else [each]
        if each.is_file() and is_nameless(_head_of(each).decode(errors="replace")):
            closed.append(f"{each}: {_NAMELESS}")
        if not inside and len(closed) == refused:
            if _has_report(each):
                raise NothingToReadError(
                    f"nothing to read in the folder {str(each)!r}: it holds the report of an earlier run, "
                    "which is left out with all folders below it; expected a folder of logs alone"
                )
            texts = sorted(file for ending in _TEXTS for file in each.glob(f"*{ending}") if file.is_file())
            raise NothingToReadError(f"{nothing_in(str(each))}{met(texts)}")
        logs.extend(log.absolute() for log in inside)
    return logs


def spooled(paths: Sequence[str | Path], stdin: BinaryIO | None, folder: Path) -> list[str | Path]:
    """Copy the standard input to a file, if a path stands for it, because tasks read files.

    Args:
        paths: The given paths; ``-`` stands for the standard input.
        stdin: The standard input; None if it is closed.
        folder: The folder for the file, which is named ``STDIN_COPY``.

    Returns:
        The paths, with the file's for each ``-``.

    Raises:
        NothingToReadError: A path stands for the standard input, which is closed, empty, or a segment: the
            other files of its folder belong to it.
    """
    if STDIN not in map(str, paths):
        return list(paths)
    if stdin is None:
        raise NothingToReadError(f"cannot read {STDIN_NAME}: it is closed; expected the lines of a log")
    copy = folder / STDIN_COPY
    with copy.open("wb") as file:
        shutil.copyfileobj(stdin, file)
        if not file.tell():
            raise NothingToReadError(f"{STDIN_NAME} is empty: expected the lines of a log")
    kind = segment_kind(copy)
    if kind is not None:
        raise NothingToReadError(
            f"cannot read {STDIN_NAME}: it is a segment of {kind}, not the lines of a log; expected the path "
            f"of a metadata log's file ({FOLDER}/{'0' * 20}.log) or of a folder around it"
        )
    return [copy if str(path) == STDIN else path for path in paths]
