"""The text of a record of ``__consumer_offsets`` that ``kafka-console-consumer.sh`` prints.

Source: ``OffsetsMessageFormatter`` and ``GroupMetadataMessageFormatter`` in
``kafka.coordinator.group.GroupMetadataManager``, ``OffsetAndMetadata.scala`` and ``GroupMetadata.scala`` of
Kafka 2.8. Members are listed as the record has them; 2.8 lists them in the order of a hash map.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.broker.core.group.member import Member
from barnabas.broker.core.group.records import (
    NO_EPOCH,
    DamagedRecordError,
    GroupKey,
    OffsetAndMetadata,
    OffsetKey,
    decode_group_value,
    decode_key,
    decode_offset_value,
)
from barnabas.broker.core.group.requests import GroupProtocol
from barnabas.broker.core.group.stored import StoredGroup, StoredMember
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.formats.record_format import Record

OFFSETS_FORMATTER = "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter"
GROUPS_FORMATTER = "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter"

_NULL = "NULL"


class OffsetsFormat:
    """Prints commits, and nothing of other records."""

    def text_of(self, record: Record) -> bytes:
        """Return the text of a record.

        Raises:
            ToolError: Key or value is damaged.
        """

        def read() -> str:
            match None if record.key is None else decode_key(record.key):
                case OffsetKey(group, partition):
                    value = _NULL if record.value is None else _commit(decode_offset_value(record.value))
                    return f"[{group},{partition.topic},{partition.partition}]::{value}\n"
            return ""

        return _text(record, read)


class GroupsFormat:
    """Prints the metadata of groups, and nothing of other records."""

    def text_of(self, record: Record) -> bytes:
        """Return the text of a record.

        Raises:
            ToolError: Key or value is damaged.
        """

        def read() -> str:
            match None if record.key is None else decode_key(record.key):
                case GroupKey(group):
                    value = _NULL if record.value is None else _group(group, decode_group_value(record.value))
                    return f"{group}::{value}\n"
            return ""

        return _text(record, read)


def _text(record: Record, read: Callable[[], str]) -> bytes:
    try:
        return read().encode()
    except DamagedRecordError as error:
        raise ToolError(f"{error}, at offset {record.offset} of {record.partition}") from error


def _commit(committed: OffsetAndMetadata) -> str:
    has_epoch = committed.leader_epoch != NO_EPOCH
    epoch = f"Optional[{committed.leader_epoch}]" if has_epoch else "Optional.empty"
    expiry = "None" if committed.expire_ms is None else f"Some({committed.expire_ms})"
    return (
        f"OffsetAndMetadata(offset={committed.offset}, leaderEpoch={epoch}, metadata={committed.metadata}, "
        f"commitTimestamp={committed.commit_ms}, expireTimestamp={expiry})"
    )


def _group(group_id: str, group: StoredGroup) -> str:
    protocol_type = f"Some({group.protocol_type})" if group.protocol_type else "None"
    members = ", ".join(f"{each.member_id} -> {_member(each, group)}" for each in group.members)
    return (
        f"GroupMetadata(groupId={group_id}, generation={group.generation}, protocolType={protocol_type}, "
        f"currentState={'Stable' if group.members else 'Empty'}, members=HashMap({members}))"
    )


def _member(member: StoredMember, group: StoredGroup) -> Member:
    return Member(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.session_timeout_ms,
        (GroupProtocol(group.protocol or "", member.subscription),),
        member.assignment,
    )
