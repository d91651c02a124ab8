"""Requests to coordinators and leaders, which move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace as Fields
from typing import Any

import pytest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients import requests
from barnabas.tools.clients.admin_client import PartitionMetadata, TopicMetadata
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.clients.requests import EARLIEST, LATEST, Requests
from barnabas.tools.command_line.parser import ToolError

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def topic(name: str, *leaders: int) -> TopicMetadata:
    return TopicMetadata(
        name,
        {number: PartitionMetadata(number, leader, (1, 2), (1, 2)) for number, leader in enumerate(leaders)},
    )


@dataclass
class Admin:
    """Answers as a cluster does; each request to a broker takes the next answer of its kind.

    Attributes:
        coordinators: The coordinator at each look-up.
        answers: Returns the answer to a request of a kind.
        asked: The kind of each request to a broker, and the broker.
    """

    coordinators: list[int] = field(default_factory=lambda: [2])
    answers: dict[str, Callable[[Any, int], Any]] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)
    metadata: dict[str, TopicMetadata] = field(
        default_factory=lambda: {"t": topic("t", 1, 2), "u": topic("u", 1)}
    )

    def racks(self) -> dict[int, None]:
        return {2: None, 1: None}

    def topics(self) -> dict[str, TopicMetadata]:
        return self.metadata

    def ask(self, request: Any) -> Any:
        node = self.coordinators.pop(0) if len(self.coordinators) > 1 else self.coordinators[0]
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE if node < 0 else ErrorCode.NONE
        return Fields(error_code=code, node_id=node, host="h", port=9092)

    def ask_broker(self, request: Any, broker: int) -> Any:
        kind = type(request).__name__
        self.asked.append((kind, broker))
        return self.answers[kind](request, broker)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "RETRY_S", 0)


def client(admin: Admin, timeout_ms: int = 60_000) -> Requests:
    return Requests(admin, timeout_ms)  # type: ignore[arg-type]


def group(**fields: Any) -> Any:
    return Fields(
        **{
            "error_code": 0,
            "group_state": "Empty",
            "protocol_type": "consumer",
            "protocol_data": "",
            "members": [],
        }
        | fields
    )


def test_the_coordinator_is_looked_up_until_there_is_one_that_answers() -> None:
    codes = [ErrorCode.NOT_COORDINATOR, ErrorCode.NONE]
    admin = Admin(
        coordinators=[-1, 1, 2],
        answers={"DescribeGroupsRequest": lambda *_: Fields(groups=[group(error_code=codes.pop(0))])},
    )
    described = client(admin).describe_group("g")
    assert admin.asked == [("DescribeGroupsRequest", 1), ("DescribeGroupsRequest", 2)]
    assert (described.name, described.coordinator, described.state) == ("g", "h:9092 (2)", "Empty")


def test_members_have_their_partitions() -> None:
    assigned = bytes.fromhex("0000 00000001 0001 74 00000002 00000001 00000000 00000000")
    member = Fields(
        member_id="m", group_instance_id=None, client_host="/h", client_id="c", member_assignment=assigned
    )
    new = Fields(**{**vars(member), "group_instance_id": "i", "member_assignment": b""})
    answer = Fields(groups=[group(group_state="Stable", members=[member, new])])
    found = client(Admin(answers={"DescribeGroupsRequest": lambda *_: answer})).describe_group("g")
    assert [each.assigned for each in found.members] == [(T1, T0), ()]
    assert [each.instance_id for each in found.members] == ["", "i"]


def test_other_groups_are_not_described() -> None:
    answer = Fields(groups=[group(protocol_type="connect")])
    with pytest.raises(ToolError, match=r"GroupId g is not a consumer group \(connect\)"):
        client(Admin(answers={"DescribeGroupsRequest": lambda *_: answer})).describe_group("g")


def test_an_error_that_does_not_pass_ends_the_request() -> None:
    answer = Fields(groups=[group(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)])
    admin = Admin(answers={"DescribeGroupsRequest": lambda *_: answer})
    with pytest.raises(Refusal) as refused:
        client(admin).describe_group("g")
    assert len(admin.asked) == 1
    assert refused.value.error is ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert str(refused.value) == (
        "org.apache.kafka.common.errors.GroupAuthorizationException: not allowed on this group"
    )


def test_an_error_that_passes_ends_the_request_after_the_timeout() -> None:
    with pytest.raises(Refusal) as refused:
        client(Admin(coordinators=[-1]), timeout_ms=0).committed("g")
    assert refused.value.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_every_broker_lists_its_groups() -> None:
    def answer(request: Any, broker: int) -> Any:
        return Fields(
            error_code=0,
            groups=[
                Fields(group_id=f"g{broker}", protocol_type="consumer", group_state="Empty"),
                Fields(group_id=f"c{broker}", protocol_type="connect", group_state="Empty"),
            ],
        )

    admin = Admin(answers={"ListGroupsRequest": answer})
    assert client(admin).list_groups([]) == {"g1": "Empty", "g2": "Empty"}
    assert list(client(admin).list_groups()) == ["g1", "g2"]


def test_offsets_are_read_and_written() -> None:
    written = []

    def commit(request: Any, broker: int) -> Any:
        written.append(request.topics)
        return Fields(topics=[Fields(partitions=[Fields(error_code=0)])])

    body = Fields(
        error_code=0,
        topics=[
            Fields(name="u", partitions=[Fields(partition_index=0, committed_offset=7)]),
            Fields(name="t", partitions=[Fields(partition_index=1, committed_offset=5)]),
        ],
    )
    admin = Admin(answers={"OffsetFetchRequest": lambda *_: body, "OffsetCommitRequest": commit})
    assert list(client(admin).committed("g").items()) == [(T1, 5), (U0, 7)]
    client(admin).commit("g", {T0: 1, U0: 3})
    client(admin).commit("g", {})
    assert written == [[("t", [(0, 1, -1, "")]), ("u", [(0, 3, -1, "")])]]


def test_offsets_and_groups_are_deleted_with_an_error_each() -> None:
    gone = Fields(results=[Fields(error_code=ErrorCode.NON_EMPTY_GROUP)])
    kept = Fields(
        error_code=0,
        topics=[
            Fields(
                name="t",
                partitions=[Fields(partition_index=0, error_code=ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)],
            )
        ],
    )
    admin = Admin(answers={"DeleteGroupsRequest": lambda *_: gone, "OffsetDeleteRequest": lambda *_: kept})
    assert client(admin).delete_group("g") is ErrorCode.NON_EMPTY_GROUP
    assert client(admin).delete_offsets("g", [T0]) == (
        ErrorCode.NONE,
        {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC},
    )


def test_each_leader_is_asked_for_the_offsets_of_its_partitions() -> None:
    moved = [ErrorCode.NOT_LEADER_OR_FOLLOWER]

    def answer(request: Any, broker: int) -> Any:
        code = moved.pop() if moved else ErrorCode.NONE
        topics = []
        for name, partitions in request.topics:
            found = [
                Fields(partition_index=number, error_code=code, offset=timestamp * 10 - broker)
                for number, _, timestamp in partitions
            ]
            topics.append(Fields(name=name, partitions=found))
        return Fields(topics=topics)

    admin = Admin(answers={"ListOffsetsRequest": answer})
    assert client(admin).offsets_at([U0, T1, T0], EARLIEST) == {U0: -21, T1: -22, T0: -21}
    assert [broker for _, broker in admin.asked] == [1, 1, 2]
    assert client(admin).offsets_at([], LATEST) == {}


@pytest.mark.parametrize(
    ("partition", "error"),
    [
        (TopicPartition("nix", 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("t", 9), ErrorCode.LEADER_NOT_AVAILABLE),
        (TopicPartition("dark", 0), ErrorCode.LEADER_NOT_AVAILABLE),
    ],
)
def test_partitions_that_cannot_be_asked(partition: TopicPartition, error: ErrorCode) -> None:
    admin = Admin(metadata={"t": topic("t", 1), "dark": topic("dark", -1)})
    with pytest.raises(Refusal) as refused:
        client(admin, timeout_ms=0).offsets_at([partition], LATEST)
    assert refused.value.error is error


def test_the_partitions_of_a_topic() -> None:
    assert client(Admin()).partitions_of("t") == [T0, T1]
    with pytest.raises(Refusal, match=r"UnknownTopicOrPartitionException"):
        client(Admin()).partitions_of("nix")


def test_records_are_deleted_with_a_result_for_each_partition() -> None:
    def answer(request: Any, broker: int) -> Any:
        code = ErrorCode.OFFSET_OUT_OF_RANGE if broker == 2 else ErrorCode.NONE
        return Fields(topics=[Fields(partitions=[Fields(error_code=code, low_watermark=4)])])

    results = client(Admin(answers={"DeleteRecordsRequest": answer})).delete_records({T0: 4, T1: 99})
    assert results[T0] == 4
    assert isinstance(results[T1], Refusal)
    assert results[T1].error is ErrorCode.OFFSET_OUT_OF_RANGE
