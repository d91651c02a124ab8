"""The lines about the index files and the producer snapshots of a log.

Source: ``dumpIndex``, ``dumpTimeIndex``, ``dumpTxnIndex`` and ``dumpProducerIdSnapshot`` in
``kafka.tools.DumpLogSegments`` of Kafka 2.8; ``sanityCheck`` of ``OffsetIndex`` and ``TimeIndex``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import NamedTuple

from barnabas.broker.core.records.producer_state import NO_TRANSACTION, CachedBatch, ProducerEntry
from barnabas.broker.core.records.transactions import AbortedTransaction
from barnabas.broker.disk.segment.index import OFFSET_ENTRY, TIME_ENTRY, OffsetPosition, TimestampOffset
from barnabas.cluster.model.ids import Offset
from barnabas.tools.command_line.parser import ToolError

_TRANSACTION_INDEX_VERSION = 0
_NO_BATCH_OFFSET = -1


class TimedBatch(NamedTuple):
    """The last offset of a batch, and the largest timestamp of its records."""

    last_offset: int
    max_timestamp: int


@dataclass(slots=True)
class TimeIndexErrors:
    """The errors in the entries of a time index.

    Attributes:
        mismatches: The timestamp of each such entry, and that of the batch in the log.
        out_of_order: The timestamp of each such entry, and that of the entry before it.
        not_found: The offset of each such entry, and the one found in the log, -1 for none.
    """

    mismatches: list[tuple[int, int]] = field(default_factory=list)
    out_of_order: list[tuple[int, int]] = field(default_factory=list)
    not_found: list[tuple[int, int]] = field(default_factory=list)


def offset_entries(data: bytes, base_offset: int) -> list[OffsetPosition]:
    """Return the entries of an offset index, up to the unused ones at its end."""
    rows = _used(data, OFFSET_ENTRY, lambda row: row[0])
    return [OffsetPosition(Offset(base_offset + relative), position) for relative, position in rows]


def time_entries(data: bytes, base_offset: int) -> list[TimestampOffset]:
    """Return the entries of a time index, up to the unused ones at its end."""
    rows = _used(data, TIME_ENTRY, lambda row: row[1])
    return [TimestampOffset(timestamp, Offset(base_offset + relative)) for timestamp, relative in rows]


def _used(
    data: bytes, layout: Struct, relative: Callable[[tuple[int, int]], int]
) -> Iterator[tuple[int, int]]:
    """Yield entries up to the first one, after the first of all, that names the base offset again."""
    for slot in range(len(data) // layout.size):
        row: tuple[int, int] = layout.unpack_from(data, slot * layout.size)
        if slot > 0 and relative(row) == 0:
            return
        yield row


def check_offset_index(path: str, data: bytes, base_offset: int) -> None:
    """Check an offset index as a broker does when it starts.

    Raises:
        ToolError: It would be rebuilt.
    """
    if len(data) >= OFFSET_ENTRY.size:
        last = base_offset + _last(data, OFFSET_ENTRY)[0]
        if last < base_offset:
            raise ToolError(
                f"Corrupt index found, index file ({path}) has non-zero size but the last offset is {last} "
                f"which is less than the base offset {base_offset}."
            )
    if len(data) % OFFSET_ENTRY.size:
        raise ToolError(
            f"Index file {path} is corrupt, found {len(data)} bytes which is neither positive nor a multiple "
            f"of {OFFSET_ENTRY.size}."
        )


def check_time_index(path: str, data: bytes, base_offset: int) -> None:
    """Check a time index as a broker does when it starts.

    Raises:
        ToolError: It would be rebuilt.
    """
    found = f"Corrupt time index found, time index file ({path}) has non-zero size but the last"
    if len(data) >= TIME_ENTRY.size:
        first, _ = TIME_ENTRY.unpack_from(data)
        timestamp, relative = _last(data, TIME_ENTRY)
        if timestamp < first:
            raise ToolError(
                f"{found} timestamp is {timestamp} which is less than the first timestamp {first}"
            )
        if relative < 0:
            raise ToolError(
                f"{found} offset is {base_offset + relative} which is less than the first offset "
                f"{base_offset}"
            )
    if len(data) % TIME_ENTRY.size:
        raise ToolError(
            f"Time index file {path} is corrupt, found {len(data)} bytes which is neither positive nor a "
            f"multiple of {TIME_ENTRY.size}."
        )


def _last(data: bytes, layout: Struct) -> tuple[int, int]:
    first, second = layout.unpack_from(data, (len(data) // layout.size - 1) * layout.size)
    return first, second


def offset_mismatches(
    entries: Iterable[OffsetPosition], last_offset_at: Callable[[int], int | None]
) -> list[tuple[int, int]]:
    """Return the entries that do not name the last offset of the batch at their position, and that offset.

    Args:
        entries: Entries of an offset index.
        last_offset_at: Returns the last offset of the batch at a position; None if there is none.
    """
    found = ((entry.offset, last_offset_at(entry.position)) for entry in entries)
    return [(offset, -1 if last is None else last) for offset, last in found if last != offset]


def check_times(
    entries: Iterable[TimestampOffset], batch_of: Callable[[int], TimedBatch | None]
) -> TimeIndexErrors:
    """Compare the entries of a time index with the log.

    Args:
        entries: The entries.
        batch_of: Returns the first batch whose last offset is at or above an offset; None if there is none.
    """
    errors = TimeIndexErrors()
    previous = -1
    for timestamp, offset in entries:
        batch = batch_of(offset)
        if batch is None or batch.last_offset != offset:
            errors.not_found.append((offset, -1 if batch is None else batch.last_offset))
        else:
            if batch.max_timestamp != timestamp:
                errors.mismatches.append((timestamp, batch.max_timestamp))
            if previous >= timestamp:
                errors.out_of_order.append((timestamp, previous))
        previous = timestamp
    return errors


def offset_lines(entries: Iterable[OffsetPosition]) -> list[str]:
    """Return a line for each entry of an offset index."""
    return [f"offset: {offset} position: {position}" for offset, position in entries]


def time_lines(entries: Iterable[TimestampOffset]) -> list[str]:
    """Return a line for each entry of a time index."""
    return [f"timestamp: {timestamp} offset: {offset}" for timestamp, offset in entries]


def transaction_lines(entries: Iterable[AbortedTransaction]) -> list[str]:
    """Return a line for each aborted transaction of a segment."""
    return [
        f"version: {_TRANSACTION_INDEX_VERSION} producerId: {each.producer_id} "
        f"firstOffset: {each.first_offset} lastOffset: {each.last_offset} "
        f"lastStableOffset: {each.last_stable_offset}"
        for each in entries
    ]


def producer_lines(producers: Iterable[ProducerEntry]) -> list[str]:
    """Return the lines about the producers of a snapshot: one for each batch that it has of them."""
    return [line for producer in producers for line in _producer(producer)]


def _producer(producer: ProducerEntry) -> Iterator[str]:
    first = producer.transaction_first_offset
    transaction = "None" if first == NO_TRANSACTION else f"Some({first})"
    head = (
        f"producerId: {producer.producer_id} producerEpoch: {producer.epoch} "
        f"coordinatorEpoch: {producer.coordinator_epoch} currentTxnFirstOffset: {transaction} "
    )
    batches = [batch for batch in producer.batches if batch.last_offset > _NO_BATCH_OFFSET]
    for batch in batches:
        timestamp = producer.last_timestamp if batch is batches[-1] else batch.timestamp
        yield head + _batch(batch, timestamp)
    if not batches:
        yield head


def _batch(batch: CachedBatch, timestamp: int) -> str:
    return (
        f"firstSequence: {batch.first_sequence} lastSequence: {batch.last_sequence} "
        f"lastOffset: {batch.last_offset} offsetDelta: {batch.last_offset - batch.first_offset} "
        f"timestamp: {timestamp}"
    )


def finding_lines(
    index_mismatches: dict[str, list[tuple[int, int]]],
    time_errors: dict[str, TimeIndexErrors],
    gaps: dict[str, list[tuple[int, int]]],
) -> list[str]:
    """Return the lines about all errors, by the absolute path of each file."""
    lines = []
    for path, pairs in index_mismatches.items():
        lines += [f"Mismatches in :{path}"] if pairs else []
        lines += [f"  Index offset: {one}, log offset: {other}" for one, other in reversed(pairs)]
    for path, errors in time_errors.items():
        lines += [f"Found timestamp mismatch in :{path}"] if errors.mismatches else []
        lines += [f"  Index timestamp: {one}, log timestamp: {other}" for one, other in errors.mismatches]
    for path, errors in time_errors.items():
        lines += [f"Found out of order timestamp in :{path}"] if errors.out_of_order else []
        lines += [
            f"  Index timestamp: {one}, Previously indexed timestamp: {other}"
            for one, other in errors.out_of_order
        ]
    for errors in time_errors.values():
        lines += ["The following indexed offsets are not found in the log."] if errors.not_found else []
        lines += [f"Indexed offset: {one}, found log offset: {other}" for one, other in errors.not_found]
    for path, pairs in gaps.items():
        lines += [f"Non-consecutive offsets in {path}"] if pairs else []
        lines += [f"  {one} is followed by {other}" for one, other in reversed(pairs)]
    return lines
