"""kafka-delete-records.sh; the messages are those of Kafka 2.8.2's tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.delete_records import main, parse_offsets, result_lines

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ONE = '{"topic":"t","partition":1,"offset":5}'


def test_the_file_names_an_offset_for_each_partition() -> None:
    assert parse_offsets(
        f'{{"partitions":[{ONE},{{"topic":"t","partition":0,"offset":-1}}],"version":1}}'
    ) == {
        T1: 5,
        T0: -1,
    }
    assert parse_offsets('{"partitions":[]}') == {}


def test_a_partition_is_named_once() -> None:
    with pytest.raises(ToolError, match=r"^Offset json file contains duplicate topic partitions: t-1$"):
        parse_offsets(f'{{"partitions":[{ONE},{ONE}]}}')


def test_each_partition_has_a_line() -> None:
    assert result_lines({T1: 5, T0: Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}) == [
        "partition: t-1\tlow_watermark: 5",
        (
            "partition: t-0\terror: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
            "this broker does not know the topic or partition"
        ),
    ]


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "missing.json"
    assert main(["--bootstrap-server", "h:1", "--offset-json-file", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"kafka-delete-records.sh: {path} cannot be read: ")
