"""Kafka's checkpoint files and ``meta.properties``: text, replaced as a whole.

Source: ``core/server/checkpoints/*.scala``, ``core/server/BrokerMetadataCheckpoint.scala`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from barnabas.broker.core.replication.leader_epochs import EpochEntry
from barnabas.broker.disk.errors import CorruptCheckpointError, InconsistentDirectoryError
from barnabas.broker.disk.files import replace_file
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import BrokerId, Offset, TopicPartition

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
_MOST_DIGITS = 19
"""The digits of the largest number; a longer text is refused before Python parses it."""

CHECKPOINT_VERSION = 0
META_PROPERTIES_VERSION = 0

RECOVERY_POINT = "recovery-point-offset-checkpoint"
"""The file with the first offset of each log that is not known to be flushed."""

LOG_START_OFFSET = "log-start-offset-checkpoint"
"""The file with the log start offset of each log that starts above its first segment."""

HIGH_WATERMARK = "replication-offset-checkpoint"
"""The file with the high watermark of each replica."""

CLEANER_OFFSET = "cleaner-offset-checkpoint"
"""First offset of each compacted log that was not compacted yet."""

META_PROPERTIES = "meta.properties"


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The owner of a log directory.

    Attributes:
        broker_id: The id of the broker.
        cluster_id: The id of its cluster, 22 characters; None in files older than cluster ids.
    """

    broker_id: BrokerId
    cluster_id: str | None


def read_offsets(path: Path) -> dict[TopicPartition, Offset]:
    """Return the offsets of an offset checkpoint; none if the file is missing or empty.

    Raises:
        CorruptCheckpointError: A line is not in the format, or the number of rows differs from line 2.
    """
    offsets: dict[TopicPartition, Offset] = {}
    for number, row in _read_rows(path):
        match row:
            case [topic, partition, offset] if _is_natural(partition, INT32_MAX) and _is_integer(offset):
                offsets[TopicPartition(topic, int(partition))] = Offset(int(offset))
            case _:
                raise _bad_line(path, number, row, "topic partition offset")
    return offsets


def write_offsets(path: Path, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace an offset checkpoint, durably."""
    rows = [f"{tp.topic} {tp.partition} {offset}" for tp, offset in sorted(offsets.items())]
    replace_file(path, _encode_rows(rows))


def read_epochs(path: Path) -> list[EpochEntry]:
    """Return the entries of a ``leader-epoch-checkpoint``; none if the file is missing or empty.

    Raises:
        CorruptCheckpointError: As ``read_offsets``.
    """
    entries = []
    for number, row in _read_rows(path):
        match row:
            case [epoch, start] if _is_integer(epoch, INT32_MAX) and _is_integer(start):
                entries.append(EpochEntry(LeaderEpoch(int(epoch)), Offset(int(start))))
            case _:
                raise _bad_line(path, number, row, "epoch startOffset")
    return entries


def write_epochs(path: Path, entries: Iterable[EpochEntry], *, durable: bool) -> None:
    """Replace a ``leader-epoch-checkpoint``."""
    replace_file(path, _encode_rows([f"{epoch} {start}" for epoch, start in entries]), durable=durable)


def read_meta_properties(path: Path) -> MetaProperties | None:
    """Return the owner of a log directory, or None if it has none yet.

    Raises:
        CorruptCheckpointError: Another version, or a property that is missing or no number.
    """
    try:
        lines = _read_lines(path)
    except FileNotFoundError:
        return None
    pairs = (line.split("=", 1) for line in lines if "=" in line and not line.lstrip().startswith(("#", "!")))
    properties = {key.strip(): value.strip() for key, value in pairs}
    version = properties.get("version")
    if version != str(META_PROPERTIES_VERSION):
        raise CorruptCheckpointError(f"{path}: version {version}, expected {META_PROPERTIES_VERSION}")
    broker_id, cluster_id = properties.get("broker.id", ""), properties.get("cluster.id")
    if not _is_natural(broker_id, INT32_MAX):
        raise CorruptCheckpointError(f"{path}: broker.id={broker_id!r}, expected a number")
    return MetaProperties(BrokerId(int(broker_id)), cluster_id or None)


def is_owned(log_dir: Path, owner: MetaProperties) -> bool:
    """Compare the ``meta.properties`` of a log directory with its owner; return whether the file is complete.

    Raises:
        InconsistentDirectoryError: The directory is another broker's or cluster's, or the file is invalid.
    """
    path = log_dir / META_PROPERTIES
    try:
        meta = read_meta_properties(path)
    except CorruptCheckpointError as error:
        raise InconsistentDirectoryError(str(error)) from error
    if meta is None or meta == MetaProperties(owner.broker_id, None):
        return False
    if meta != owner:
        raise InconsistentDirectoryError(
            f"{path}: broker.id={meta.broker_id} of cluster {meta.cluster_id}, "
            f"but this is broker {owner.broker_id} of cluster {owner.cluster_id}"
        )
    return True


def write_meta_properties(path: Path, meta: MetaProperties) -> None:
    """Write the owner of a log directory."""
    lines = [
        "#",
        f"version={META_PROPERTIES_VERSION}",
        f"broker.id={meta.broker_id}",
        f"cluster.id={meta.cluster_id}",
    ]
    replace_file(path, "".join(f"{line}\n" for line in lines).encode())


def _encode_rows(rows: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in [CHECKPOINT_VERSION, len(rows), *rows]).encode()


def _read_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows after version and count, each with its line number."""
    try:
        lines = _read_lines(path)
    except FileNotFoundError:
        return []
    if not lines:
        return []
    if lines[0].strip() != str(CHECKPOINT_VERSION):
        raise CorruptCheckpointError(f"{path}: version {lines[0]!r} in line 1, expected {CHECKPOINT_VERSION}")
    rows = [(number, line.split()) for number, line in enumerate(lines[2:], start=3)]
    count = lines[1].strip() if len(lines) > 1 else ""
    if count != str(len(rows)):
        raise CorruptCheckpointError(f"{path}: line 2 says {count!r} rows, but {len(rows)} follow")
    return rows


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise CorruptCheckpointError(f"{path}: not UTF-8 text: {error}") from error


def _is_natural(text: str, most: int) -> bool:
    """Return whether the text is a number from 0 to ``most``, the largest of Java's type."""
    digits = text.isascii() and text.isdigit() and len(text.lstrip("0")) <= _MOST_DIGITS
    return digits and int(text) <= most


def _is_integer(text: str, most: int = INT64_MAX) -> bool:
    return _is_natural(text.removeprefix("-"), most)


def _bad_line(path: Path, number: int, row: list[str], expected: str) -> CorruptCheckpointError:
    return CorruptCheckpointError(f"{path}: line {number} is {' '.join(row)!r}, expected {expected!r}")
