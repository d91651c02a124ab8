"""The groups of a partition of ``__consumer_offsets``, read from its log.

Source: ``GroupMetadataManager.doLoadGroupsAndOffsets`` of Kafka 2.8. There a record that cannot be read fails
the load of the partition, and with it all of its groups; here it is skipped and reported.

A log may hold a million commits, and the last one of each partition counts. So commits stay bytes until the
whole log is read: keys are compared as bytes, and of values only the layout is checked. Then each commit that
is left becomes an object.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from struct import Struct
from struct import error as StructError  # noqa: N812  (it is a class)
from typing import NamedTuple

from crc32c import crc32c

from barnabas.broker.core.group.offsets import CommittedOffset, GroupOffsets
from barnabas.broker.core.group.records import (
    DamagedRecordError,
    OffsetKey,
    decode_group_value,
    decode_key,
    decode_offset_value,
    encode_offset_key,
    is_plain_offset_value,
)
from barnabas.broker.core.group.stored import StoredGroup
from barnabas.broker.core.records.record_batch import (
    CRC_START,
    HEADER_SIZE,
    MAGIC,
    BatchHeader,
    RecordBatch,
    parse_header,
)
from barnabas.broker.core.records.records import (
    STRETCH_RECORDS,
    CorruptRecordsError,
    KeyValue,
    key_values,
    opened,
)
from barnabas.cluster.model.ids import Offset, ProducerId, TopicPartition
from barnabas.cluster.model.steps import Steps

_CONTROL_KEY = Struct(">hh")
"""The version and the type of a transaction's end marker."""
_COMMIT = 1

_PARTITION = Struct(">i")
"""The layout of a commit key's last field; the bytes before it name group and topic."""

_new = tuple.__new__
"""The quick way to build a named tuple: its own constructor is Python code and takes three times as long."""

_Offsets = dict[TopicPartition, CommittedOffset]

_Commits = dict[bytes, tuple[bytes, Offset]]
"""The last commit of each key: its value, and the base offset of its batch."""


class DamagedRecord(NamedTuple):
    """A record, or all records of a batch, that was skipped: the offset and the reason."""

    offset: Offset
    reason: str


class BrokenFrameError(Exception):
    """An error of data in which no batch begins where the one of ``offset`` should."""

    def __init__(self, offset: Offset) -> None:
        super().__init__(f"expected a batch of offset {offset} or later")
        self.offset = offset


@dataclass(frozen=True, slots=True)
class LoadedGroup:
    """A group and its offsets as of the end of the log.

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
        self._stored: dict[str, StoredGroup] = {}
        self._commits: _Commits = {}
        self._open: dict[ProducerId, _Commits] = {}
        self._prefixes: dict[bytes, tuple[str, str]] = {}
        """The group and topic by the bytes of a commit's key that precede the partition."""

    def add(self, data: bytes, next_offset: Offset) -> Steps[Offset]:
        """Read whole batches; return the offset that follows the last one.

        A batch whose checksum is wrong is skipped if another one, or the end, follows it. Between stretches
        of records the generator yields, so that other work can run.

        Args:
            data: The batches.
            next_offset: The offset that was wanted; the first batch ends behind it.

        Raises:
            BrokenFrameError: No batch begins where one should.
        """
        view, position, since_pause = memoryview(data), 0, 0
        while position < len(data):
            header = _plausible_header(data, position, next_offset)
            if header is None:
                raise BrokenFrameError(next_offset)
            end = position + header.size
            try:
                if crc32c(view[position + CRC_START : end]) != header.crc:
                    raise CorruptRecordsError("the checksum of the batch is wrong")
                if header.codec_number:
                    records = bytes((yield from opened(RecordBatch(header, view[position:end]))))
                else:
                    records = data[position + HEADER_SIZE : end]
                found = key_values(header, records)
                for left in range(header.record_count, 0, -STRETCH_RECORDS):
                    self._add_records(header, islice(found, STRETCH_RECORDS))
                    since_pause += min(left, STRETCH_RECORDS)
                    if since_pause >= STRETCH_RECORDS:
                        since_pause = 0
                        yield None
            except CorruptRecordsError as error:
                is_in_frame = end == len(data) or _plausible_header(data, end, Offset(header.next_offset))
                if not is_in_frame:
                    raise BrokenFrameError(next_offset) from error
                self.damaged.append(DamagedRecord(Offset(header.base_offset), str(error)))
            position = end
            next_offset = Offset(header.next_offset)
        return next_offset

    def _add_records(self, header: BatchHeader, records: Iterable[KeyValue]) -> None:
        if header.is_control:
            self._end_transaction(ProducerId(header.producer_id), records)
            return
        commits, prefixes, base_offset = self._commits, self._prefixes, Offset(header.base_offset)
        if header.is_transactional:
            commits = self._open.setdefault(ProducerId(header.producer_id), {})
        for offset, found, value in records:
            try:
                key = found
                if key is None or key[: -_PARTITION.size] not in prefixes:
                    key = self._new_key(key, value)
                if key is None:
                    continue  # it was a group's record
                if value is None:
                    commits.pop(key, None)
                    continue
                if not is_plain_offset_value(value):
                    decode_offset_value(value)
                commits[key] = value, base_offset
            except DamagedRecordError as error:
                self.damaged.append(DamagedRecord(offset, str(error)))

    def _new_key(self, key: bytes | None, value: bytes | None) -> bytes | None:
        """Handle a group's record and return None, or return the key of a commit as this broker writes it.

        Raises:
            DamagedRecordError: The key, or the group's value, cannot be read.
        """
        decoded = decode_key(key)
        if isinstance(decoded, OffsetKey):
            usual = encode_offset_key(decoded.group, decoded.topic_partition)
            self._prefixes[usual[: -_PARTITION.size]] = decoded.group, decoded.topic_partition.topic
            return usual
        if value is None:
            self._stored.pop(decoded.group, None)
        else:
            self._stored[decoded.group] = decode_group_value(value)
        return None

    def _end_transaction(self, producer_id: ProducerId, records: Iterable[KeyValue]) -> None:
        for offset, key, _ in records:
            try:
                _, kind = _CONTROL_KEY.unpack_from(key or b"")
            except StructError as error:
                reason = f"the key of a transaction marker cannot be read: {error}"
                self.damaged.append(DamagedRecord(offset, reason))
                continue
            ended = self._open.pop(producer_id, {})
            if kind != _COMMIT:
                continue
            for name, commit in ended.items():
                known = self._commits.get(name)
                if known is None or known[1] < commit[1]:
                    self._commits[name] = commit

    def groups(self) -> Steps[list[tuple[str, LoadedGroup]]]:
        """Return all groups: those with metadata, and those with offsets alone.

        The generator yields between stretches of offsets. It ends this load: no more batches may be added.
        """
        committed = yield from self._by_group(self._commits)
        pending: defaultdict[str, dict[ProducerId, _Offsets]] = defaultdict(dict)
        for producer_id, commits in self._open.items():
            for group, offsets in (yield from self._by_group(commits)).items():
                pending[group][producer_id] = offsets
        found = []
        for name in dict.fromkeys((*self._stored, *committed, *pending)):
            of_group = GroupOffsets(committed.get(name, {}), pending.get(name, {}))
            found.append((name, LoadedGroup(self._stored.get(name), of_group)))
            yield None
        return found

    def _by_group(self, commits: _Commits) -> Steps[defaultdict[str, _Offsets]]:
        """Take all commits out, and return them as offsets of their groups.

        They are taken out one by one, because the interpreter would free a million of them in one go.
        """
        by_group: defaultdict[str, _Offsets] = defaultdict(dict)
        prefixes = self._prefixes
        while commits:
            for _ in range(min(STRETCH_RECORDS, len(commits))):
                key, (value, base_offset) = commits.popitem()
                group, topic = prefixes[key[: -_PARTITION.size]]
                (number,) = _PARTITION.unpack_from(key, len(key) - _PARTITION.size)
                committed = *decode_offset_value(value), base_offset
                by_group[group][_new(TopicPartition, (topic, number))] = committed
            yield None
        return by_group


def _plausible_header(data: bytes, position: int, offset: Offset) -> BatchHeader | None:
    """Return the header at ``position`` if a whole batch with ``offset`` or a later one begins there."""
    left = len(data) - position
    if left < HEADER_SIZE:
        return None
    header = parse_header(data, position)
    is_whole = header.magic == MAGIC and HEADER_SIZE <= header.size <= left
    return header if is_whole and header.base_offset <= header.last_offset >= offset else None
