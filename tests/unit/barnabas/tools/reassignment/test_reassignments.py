"""What kafka-reassign-partitions.sh reads out of a cluster's answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka.protocol.admin import AlterPartitionReassignmentsRequest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.admin_client import AdminClient, Answer, PartitionMetadata, TopicMetadata
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.reassignment.reassignments import Cluster

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class Admin:
    """A cluster that answers each request with what it was told to."""

    def __init__(self, **answer: Any) -> None:
        self.answer = SimpleNamespace(error_code=0, error_message=None, **answer)
        self.asked: list[Any] = []

    def ask_controller(self, request: Any, deadline_ms: int = 0) -> Answer:
        self.asked.append(request)
        return Answer(self.answer)

    def topics(self) -> dict[str, TopicMetadata]:
        return {"t": TopicMetadata("t", {n: PartitionMetadata(n, 1, (1, 2), (1, 2)) for n in (0, 1)})}

    def racks(self) -> dict[int, str | None]:
        return {1: "a", 2: None}


def cluster(admin: Admin) -> Cluster:
    return Cluster(cast("AdminClient", admin))


def topic(name: str, *partitions: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(name=name, partitions=partitions)


def test_what_runs_comes_in_the_order_of_partitions() -> None:
    told = {"replicas": [3, 1], "adding_replicas": [3], "removing_replicas": []}
    admin = Admin(
        topics=[
            topic("u", SimpleNamespace(partition_index=0, **told)),
            topic(
                "t", SimpleNamespace(partition_index=1, **told), SimpleNamespace(partition_index=0, **told)
            ),
        ]
    )
    assert list(cluster(admin).running().items()) == [(T0, told), (T1, told), (U0, told)]


def test_a_request_that_is_refused_as_a_whole_is_quoted() -> None:
    admin = Admin(topics=[])
    admin.answer.error_code = ErrorCode.REQUEST_TIMED_OUT
    admin.answer.error_message = "too late"
    with pytest.raises(ToolError, match=r"^too late"):
        cluster(admin).running()


def test_partitions_are_altered_by_topic_and_failures_returned_by_partition() -> None:
    results = [
        SimpleNamespace(partition_index=0, error_code=ErrorCode.NONE, error_message=None),
        SimpleNamespace(partition_index=1, error_code=ErrorCode.INVALID_REQUEST, error_message="no"),
    ]
    admin = Admin(responses=[topic("t", *results)])
    assert cluster(admin).alter({T0: (3, 4), T1: None, U0: (1,)}) == {T1: "no"}
    (request,) = admin.asked
    assert isinstance(request, AlterPartitionReassignmentsRequest)
    assert request.topics == [("t", [(0, [3, 4]), (1, None)]), ("u", [(0, [1])])]


def test_replicas_of_what_is_there() -> None:
    known = cluster(Admin())
    assert known.racks() == {1: "a", 2: None}
    assert known.replicas(["t", "u"]) == known.replicas_of_each(["t"]) == {T0: (1, 2), T1: (1, 2)}
    with pytest.raises(ToolError, match=r"^Topic u not found\."):
        known.replicas_of_each(["t", "u"])
