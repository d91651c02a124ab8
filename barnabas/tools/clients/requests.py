"""Requests that only one broker answers: a group's coordinator, or a partition's leader.

As ``KafkaAdminClient`` does, each request goes to the broker that is responsible, which is looked up again
and asked again while coordinators and leaders move, until a timeout.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from kafka.protocol.admin import (
    DeleteGroupsRequest,
    DeleteRecordsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
)
from kafka.protocol.consumer import (
    ListOffsetsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from kafka.protocol.metadata import FindCoordinatorRequest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.admin_client import RETRY_S, SERVER_MS, AdminClient
from barnabas.tools.clients.groups import Group, GroupMember
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.formats.consumer_protocol import decode_assignment

T = TypeVar("T")

EARLIEST = -2
LATEST = -1

UNKNOWN_OFFSET = -1
"""The offset in the answer of ListOffsets if no record has the requested time or a later one."""

_PASSING = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    }
)
"""The errors after which a request is repeated."""

_CONSUMER = "consumer"
_GROUP_KEY = 0
_CONSUMER_ID = -1
_READ_UNCOMMITTED = 0
_NO_GENERATION = -1
_NO_EPOCH = -1


class _Passing(Exception):
    """An error after which the request is made again."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error.name)
        self.error = error


class Requests:
    """A client for groups, offsets and records.

    Args:
        admin: A client of the cluster.
        timeout_ms: How long one request is repeated, in milliseconds.
    """

    def __init__(self, admin: AdminClient, timeout_ms: int) -> None:
        self._admin = admin
        self._timeout_ms = timeout_ms

    def list_groups(self, states: Iterable[str] | None = None) -> dict[str, str]:
        """Return the consumer groups and their states; all of them, or those in ``states``.

        Raises:
            Refusal: A broker refused.
        """
        return {
            group.group_id: group.group_state if states is not None else ""
            for broker in sorted(self._admin.racks())
            for group in self._persist(partial(self._groups_at, broker, states))
            if group.protocol_type in (_CONSUMER, "")
        }

    def describe_group(self, group: str) -> Group:
        """Describe a consumer group; one that does not exist is ``Dead``.

        Raises:
            Refusal: The coordinator refused, or it is not a group of consumers.
        """

        def attempt() -> Group:
            node = self._coordinator(group)
            (found,) = self._admin.ask_broker(DescribeGroupsRequest(groups=[group]), node.node_id).groups
            _demand(found.error_code)
            if found.protocol_type not in (_CONSUMER, ""):
                raise ToolError(
                    f"GroupId {group} is not a consumer group ({found.protocol_type}).",
                )
            members = tuple(map(_member, found.members))
            place = f"{node.host}:{node.port} ({node.node_id})"
            return Group(group, place, found.group_state, found.protocol_data or "", members)

        return self._persist(attempt)

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return all offsets that a group has committed, in order.

        Raises:
            Refusal: The coordinator refused.
        """

        def attempt() -> dict[TopicPartition, int]:
            request = OffsetFetchRequest(group_id=group, topics=None, min_version=2, max_version=7)
            body = self._ask_coordinator(group, request)
            _demand(body.error_code)
            return dict(
                sorted(
                    (TopicPartition(topic.name, one.partition_index), one.committed_offset)
                    for topic in body.topics
                    for one in topic.partitions
                )
            )

        return self._persist(attempt)

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets for a group without members.

        Raises:
            Refusal: The first error of a partition.
        """

        def attempt() -> None:
            topics = [
                (topic, [(tp.partition, offsets[tp], _NO_EPOCH, "") for tp in partitions])
                for topic, partitions in _by_topic(offsets).items()
            ]
            # From version 5 on the cluster's retention applies; before, the request names one.
            request = OffsetCommitRequest(
                group_id=group,
                generation_id_or_member_epoch=_NO_GENERATION,
                member_id="",
                topics=topics,
                min_version=6,
                max_version=8,
            )
            for topic in self._ask_coordinator(group, request).topics:
                for one in topic.partitions:
                    _demand(one.error_code)

        if offsets:
            self._persist(attempt)

    def delete_group(self, group: str) -> ErrorCode:
        """Delete a group and return the error, or NONE."""

        def attempt() -> ErrorCode:
            (result,) = self._ask_coordinator(group, DeleteGroupsRequest(groups_names=[group])).results
            return _lasting(result.error_code)

        return self._persist(attempt)

    def delete_offsets(
        self, group: str, partitions: Iterable[TopicPartition]
    ) -> tuple[ErrorCode, dict[TopicPartition, ErrorCode]]:
        """Delete offsets of a group; return the error of the request, and that of each partition."""
        wanted = list(partitions)

        def attempt() -> tuple[ErrorCode, dict[TopicPartition, ErrorCode]]:
            topics = [(name, [(tp.partition,) for tp in tps]) for name, tps in _by_topic(wanted).items()]
            body = self._ask_coordinator(group, OffsetDeleteRequest(group_id=group, topics=topics))
            whole = _lasting(body.error_code)
            each = {
                TopicPartition(topic.name, one.partition_index): _lasting(one.error_code)
                for topic in body.topics
                for one in topic.partitions
            }
            return whole, each

        return self._persist(attempt)

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic.

        Raises:
            Refusal: There is no such topic.
        """
        found = self._admin.topics().get(topic)
        if found is None:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return [TopicPartition(topic, number) for number in sorted(found.partitions)]

    def offsets_at(self, partitions: Iterable[TopicPartition], timestamp: int) -> dict[TopicPartition, int]:
        """Return the offsets at a time, in the given order.

        Args:
            partitions: Partitions.
            timestamp: Milliseconds since 1970, ``EARLIEST`` or ``LATEST``.

        Returns:
            The offset of each partition; ``UNKNOWN_OFFSET`` if no record is of that time or later.

        Raises:
            Refusal: A partition does not exist, or has no leader.
        """
        wanted = list(partitions)

        def request(topics: list[Any]) -> ListOffsetsRequest:
            return ListOffsetsRequest(
                replica_id=_CONSUMER_ID,
                isolation_level=_READ_UNCOMMITTED,
                topics=topics,
                min_version=1,
                max_version=6,
            )

        def attempt() -> dict[TopicPartition, int]:
            found: dict[TopicPartition, int] = {}
            for leader, topics in self._at_leaders(wanted, lambda _: (_NO_EPOCH, timestamp)).items():
                for topic in self._admin.ask_broker(request(topics), leader).topics:
                    for one in topic.partitions:
                        _demand(one.error_code)
                        found[TopicPartition(topic.name, one.partition_index)] = one.offset
            return {tp: found[tp] for tp in wanted}

        return self._persist(attempt)

    def delete_records(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | Refusal]:
        """Delete the records below offsets; return each partition's new start, or its error.

        A partition whose leader is not found within the timeout gets the error of the last attempt.
        """

        def attempt(tp: TopicPartition) -> int:
            (leader, topics), *_ = self._at_leaders([tp], lambda each: (offsets[each],)).items()
            body = self._admin.ask_broker(DeleteRecordsRequest(topics=topics, timeout_ms=SERVER_MS), leader)
            result = body.topics[0].partitions[0]
            _demand(result.error_code)
            return int(result.low_watermark)

        results: dict[TopicPartition, int | Refusal] = {}
        for tp in offsets:
            try:
                results[tp] = self._persist(partial(attempt, tp))
            except Refusal as error:
                results[tp] = error
        return results

    def _groups_at(self, broker: int, states: Iterable[str] | None) -> list[Any]:
        request = (
            ListGroupsRequest(max_version=4)
            if states is None
            else ListGroupsRequest(states_filter=list(states), min_version=4, max_version=4)
        )
        body = self._admin.ask_broker(request, broker)
        _demand(body.error_code)
        return list(body.groups)

    def _coordinator(self, group: str) -> Any:
        body = self._admin.ask(FindCoordinatorRequest(key=group, key_type=_GROUP_KEY, max_version=3))
        _demand(body.error_code)
        return body

    def _ask_coordinator(self, group: str, request: Any) -> Any:
        return self._admin.ask_broker(request, self._coordinator(group).node_id)

    def _at_leaders(
        self, partitions: Iterable[TopicPartition], fields: Callable[[TopicPartition], tuple[Any, ...]]
    ) -> dict[int, list[Any]]:
        """Return the topics of a request to each leader; ``fields`` follow the number of a partition."""
        known = self._admin.topics()
        found: dict[int, list[TopicPartition]] = defaultdict(list)
        for tp in partitions:
            if tp.topic not in known:
                raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if tp.partition not in known[tp.topic].partitions:
                raise Refusal(ErrorCode.LEADER_NOT_AVAILABLE)
            leader = known[tp.topic].partitions[tp.partition].leader
            if leader < 0:
                raise _Passing(ErrorCode.LEADER_NOT_AVAILABLE)
            found[leader].append(tp)
        return {
            leader: [(topic, [(tp.partition, *fields(tp)) for tp in each]) for topic, each in topics]
            for leader, topics in ((leader, _by_topic(tps).items()) for leader, tps in found.items())
        }

    def _persist(self, attempt: Callable[[], T]) -> T:
        """Repeat ``attempt`` while its error is temporary, until the timeout."""
        deadline = time.monotonic() + self._timeout_ms / 1000
        while True:
            try:
                return attempt()
            except _Passing as passing:
                if time.monotonic() > deadline:
                    raise Refusal(passing.error) from passing
            time.sleep(RETRY_S)


def _demand(code: int) -> None:
    """Raise an error unless ``code`` is NONE."""
    error = _lasting(code)
    if error is not ErrorCode.NONE:
        raise Refusal(error)


def _lasting(code: int) -> ErrorCode:
    """Return the error, unless the request is to be made again."""
    error = ErrorCode.from_code(code)
    if error in _PASSING:
        raise _Passing(error)
    return error


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    topics: dict[str, list[TopicPartition]] = defaultdict(list)
    for tp in partitions:
        topics[tp.topic].append(tp)
    return dict(topics)


def _member(member: Any) -> GroupMember:
    partitions, _ = decode_assignment(bytes(member.member_assignment))
    return GroupMember(
        member.member_id,
        member.group_instance_id or "",
        member.client_host,
        member.client_id,
        tuple(partitions),
    )
