"""The groups of a partition of ``__consumer_offsets``, read from its log.

Source: ``GroupMetadataManager.doLoadGroupsAndOffsets`` of Kafka 2.8. There a record that cannot be read fails
the load of the partition, and with it all of its groups; here it is skipped and reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct
from struct import error as StructError  # noqa: N812  (it is a class)
from typing import NamedTuple

from barnabas.broker.core.group.offsets import CommittedOffset, GroupOffsets
from barnabas.broker.core.group.records import (
    DamagedRecordError,
    GroupKey,
    OffsetKey,
    decode_group_value,
    decode_key,
    decode_offset_value,
)
from barnabas.broker.core.group.stored import StoredGroup
from barnabas.broker.core.record_batch import HEADER_SIZE, BatchHeader, RecordBatch, parse_header
from barnabas.broker.core.records import STRETCH_RECORDS, CorruptRecordsError, KeyValue, key_values, opened
from barnabas.broker.core.steps import Steps
from barnabas.cluster.model.ids import Offset, ProducerId, TopicPartition

_CONTROL_KEY = Struct(">hh")
"""The version and the type of a transaction's end marker."""
_COMMIT = 1

_Offsets = dict[TopicPartition, CommittedOffset]


class DamagedRecord(NamedTuple):
    """A record, or all records of a batch, that was skipped: the offset and the reason."""

    offset: Offset
    reason: str


@dataclass(frozen=True, slots=True)
class LoadedGroup:
    """A group as the log leaves it.

    Attributes:
        stored: The last metadata; None for a group that only commits offsets.
        offsets: Its offsets; those of open transactions are pending.
    """

    stored: StoredGroup | None
    offsets: GroupOffsets = field(default_factory=GroupOffsets)


class GroupLoad:
    """One pass over a partition's log, batch by batch from its start to its end.

    Attributes:
        damaged: The records that were skipped since the caller last emptied it.
    """

    def __init__(self) -> None:
        self.damaged: list[DamagedRecord] = []
        self._keys: dict[bytes | None, OffsetKey | GroupKey] = {}
        self._stored: dict[str, StoredGroup] = {}
        self._offsets: defaultdict[str, _Offsets] = defaultdict(dict)
        self._open: dict[ProducerId, defaultdict[str, _Offsets]] = {}

    def add(self, data: bytes) -> Steps[Offset]:
        """Read whole batches; return the offset that follows the last one.

        It yields between stretches of records, so that others can go on.
        """
        view, position, next_offset = memoryview(data), 0, Offset(0)
        while position + HEADER_SIZE <= len(view):
            header = parse_header(view, position)
            batch = RecordBatch(header, view[position : position + header.size])
            try:
                if not batch.has_valid_crc:
                    raise CorruptRecordsError("the checksum of the batch is wrong")
                records = yield from opened(batch)
                yield from self._add_batch(header, records)
            except CorruptRecordsError as error:
                self.damaged.append(DamagedRecord(Offset(header.base_offset), str(error)))
            position += header.size
            next_offset = Offset(header.next_offset)
        return next_offset

    def groups(self) -> Iterator[tuple[str, LoadedGroup]]:
        """Return what was found: the groups with metadata, and those with offsets alone."""
        by_group: defaultdict[str, dict[ProducerId, _Offsets]] = defaultdict(dict)
        for producer_id, groups in self._open.items():
            for group, offsets in groups.items():
                by_group[group][producer_id] = offsets
        names = dict.fromkeys((*self._stored, *self._offsets, *by_group))
        for name in names:
            offsets, pending = self._offsets.get(name, {}), by_group.get(name, {})
            if name in self._stored or offsets or pending:
                yield name, LoadedGroup(self._stored.get(name), GroupOffsets(offsets, pending))

    def _add_batch(self, header: BatchHeader, records: bytes | memoryview) -> Steps[None]:
        base_offset, producer_id = Offset(header.base_offset), ProducerId(header.producer_id)
        for index, record in enumerate(key_values(header, records), 1):
            try:
                if header.is_control:
                    self._end_transaction(record.key, producer_id)
                else:
                    transaction = producer_id if header.is_transactional else None
                    self._add_record(record, base_offset, transaction)
            except DamagedRecordError as error:
                self.damaged.append(DamagedRecord(record.offset, str(error)))
            if not index % STRETCH_RECORDS:
                yield None
        yield None

    def _add_record(self, record: KeyValue, base_offset: Offset, transaction: ProducerId | None) -> None:
        raw_key, value = record.key, record.value
        key = self._keys.get(raw_key)
        if key is None:
            key = self._keys[raw_key] = decode_key(raw_key)
        if isinstance(key, GroupKey):
            if value is None:
                self._stored.pop(key.group, None)
            else:
                self._stored[key.group] = decode_group_value(value)
            return
        offsets = self._offsets if transaction is None else self._transaction(transaction)
        if value is None:
            offsets[key.group].pop(key.topic_partition, None)
        else:
            committed = CommittedOffset(decode_offset_value(value), base_offset)
            offsets[key.group][key.topic_partition] = committed

    def _transaction(self, producer_id: ProducerId) -> defaultdict[str, _Offsets]:
        return self._open.setdefault(producer_id, defaultdict(dict))

    def _end_transaction(self, key: bytes | None, producer_id: ProducerId) -> None:
        try:
            _, kind = _CONTROL_KEY.unpack_from(key or b"")
        except StructError as error:
            raise DamagedRecordError(f"the key of a transaction marker cannot be read: {error}") from error
        for group, offsets in self._open.pop(producer_id, {}).items():
            if kind != _COMMIT:
                continue
            for topic_partition, committed in offsets.items():
                known = self._offsets[group].get(topic_partition)
                if known is None or known.log_offset < committed.log_offset:
                    self._offsets[group][topic_partition] = committed
