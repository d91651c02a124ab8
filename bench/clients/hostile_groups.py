"""Well-formed requests about consumer groups with any number of elements."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from barnabas.broker.wire.apis import ApiKey

GROUP = "hostile"
MEMBER = "nobody"
_TOPIC = "hostile"
_NO_GENERATION = -1
_SESSION = dt.timedelta(seconds=10)


def _join_group(s: Any, count: int) -> Any:
    protocols = tuple(s.JoinGroupRequestProtocol(name=f"p.{n}", metadata=b"") for n in range(count))
    return s.request(
        group_id=GROUP,
        session_timeout=_SESSION,
        rebalance_timeout=_SESSION,
        member_id=MEMBER,
        protocol_type="consumer",
        protocols=protocols,
    )


def _sync_group(s: Any, count: int) -> Any:
    given = tuple(s.SyncGroupRequestAssignment(member_id=f"m.{n}", assignment=b"") for n in range(count))
    return s.request(
        group_id=GROUP,
        generation_id=1,
        member_id=MEMBER,
        protocol_type="consumer",
        protocol_name="range",
        assignments=given,
    )


def _leave_group(s: Any, count: int) -> Any:
    members = tuple(s.MemberIdentity(member_id=f"m.{n}") for n in range(count))
    return s.request(group_id=GROUP, members=members)


def _offset_commit(s: Any, count: int) -> Any:
    partitions = tuple(
        s.OffsetCommitRequestPartition(partition_index=n, committed_offset=0, committed_metadata="")
        for n in range(count)
    )
    topic = s.OffsetCommitRequestTopic(name=_TOPIC, partitions=partitions)
    return s.request(
        group_id=GROUP, generation_id_or_member_epoch=_NO_GENERATION, member_id="", topics=(topic,)
    )


def _offset_fetch(s: Any, count: int) -> Any:
    topic = s.OffsetFetchRequestTopic(name=_TOPIC, partition_indexes=tuple(range(count)))
    return s.request(group_id=GROUP, topics=(topic,))


def _offset_delete(s: Any, count: int) -> Any:
    partitions = tuple(s.OffsetDeleteRequestPartition(partition_index=n) for n in range(count))
    return s.request(group_id=GROUP, topics=(s.OffsetDeleteRequestTopic(name=_TOPIC, partitions=partitions),))


def _describe_groups(s: Any, count: int) -> Any:
    return s.request(groups=tuple(f"g.{n}" for n in range(count)), include_authorized_operations=True)


def _list_groups(s: Any, count: int) -> Any:
    return s.request(states_filter=tuple(f"s.{n}" for n in range(count)))


def _delete_groups(s: Any, count: int) -> Any:
    return s.request(groups_names=tuple(f"g.{n}" for n in range(count)))


GROUP_REQUESTS: Mapping[ApiKey, Callable[[Any, int], Any]] = {
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.SYNC_GROUP: _sync_group,
    ApiKey.LEAVE_GROUP: _leave_group,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.OFFSET_DELETE: _offset_delete,
    ApiKey.DESCRIBE_GROUPS: _describe_groups,
    ApiKey.LIST_GROUPS: _list_groups,
    ApiKey.DELETE_GROUPS: _delete_groups,
}
"""The builders of requests about groups, for each API whose requests have elements."""
