"""The check for logs of message formats 0 and 1, which are not served.

Recovery would discard them as damaged. Layout: ``clients/.../record/LegacyRecord.java`` of Kafka 2.8: offset,
size, CRC-32 of all that follows it, magic. A cluster that was upgraded has its old messages before its new
ones, so the first message of each segment suffices.
"""

from __future__ import annotations

from pathlib import Path
from struct import Struct
from zlib import crc32

from barnabas.broker.core.records.record_batch import FRAME_SIZE, MAGIC, MIN_BATCH_LENGTH
from barnabas.broker.disk.errors import InconsistentDirectoryError
from barnabas.broker.disk.names import LOG_SUFFIX, files_with

_HEAD = Struct(">qiIb")
_CRC_END = 16


def refuse_old_formats(directory: Path) -> None:
    """Raise an error if a segment of a partition's directory begins with a message of an old format.

    Raises:
        InconsistentDirectoryError: A segment does; names the file.
        OSError: The disk refused.
    """
    for path in files_with(directory, LOG_SUFFIX):
        magic = _old_format(path)
        if magic is not None:
            raise InconsistentDirectoryError(
                f"{path} begins with a message of format {magic}, expected {MAGIC}: logs of releases before "
                f"0.11 are not served; the file is unchanged"
            )


def _old_format(path: Path) -> int | None:
    """Return the format of the first message if it is an old one with a valid checksum; else None."""
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        _, size, crc, magic = _HEAD.unpack(head)
        is_whole = MIN_BATCH_LENGTH <= size <= path.stat().st_size - FRAME_SIZE
        if not 0 <= magic < MAGIC or not is_whole:
            return None
        file.seek(_CRC_END)
        content = file.read(FRAME_SIZE + size - _CRC_END)
    return magic if crc32(content) == crc else None
