"""kafka-get-offsets.sh; the messages are those of Kafka 2.8.2's GetOffsetShell."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.admin_client import PartitionMetadata, TopicMetadata
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.get_offsets import lines, main, parse_partitions, select

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TOPICS = {
    "t": TopicMetadata(
        "t", {n: PartitionMetadata(n, leader, (1,), (1,)) for n, leader in ((1, 2), (0, 1), (2, -1))}
    )
}


def test_partitions_are_numbers() -> None:
    assert parse_partitions("") == []
    assert parse_partitions("1,0,1") == [1, 0]
    complaint = "--partitions expects a comma separated list of numeric partition ids, but received: 0,a"
    with pytest.raises(ToolError, match=complaint):
        parse_partitions("0,a")


def test_partitions_with_a_leader_are_selected() -> None:
    dark = "Error: partition 2 does not have a leader. Skip getting offsets"
    assert select(TOPICS, "t", []) == ([T0, T1], [dark])
    assert select(TOPICS, "t", [7, 1]) == ([T1], ["Error: partition 7 does not exist"])


def test_nothing_to_select() -> None:
    with pytest.raises(ToolError, match="Topic u does not exist"):
        select(TOPICS, "u", [])
    with pytest.raises(ToolError, match="Topic t does not have any of the requested partitions 8,9"):
        select(TOPICS, "t", [8, 9])


def test_a_partition_without_a_record_so_young_has_no_offset() -> None:
    assert lines({T0: 5, T1: -1}) == ["t:0:5", "t:1:"]


@pytest.mark.parametrize(
    "line", ["", "--broker-list h:1", "--topic t", "--bootstrap-server localhost --topic t"]
)
def test_a_command_line_that_is_refused(line: str) -> None:
    assert main(line.split()) == 1
