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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"partitions":[{', "The input string is not a valid JSON"),
        ('{"version":2}', "Not supported version field value 2"),
        ('{"version":1}', "Missing partitions field"),
        (f'{{"partitions":[{ONE},{ONE}]}}', "Offset json file contains duplicate topic partitions: t-1"),
        ('{"partitions":[{"topic":"t"}]}', "No such field exists: `partition`"),
        (ONE.join(('{"partitions":[', "]}")).replace("1", '"a"'), 'Expected `Int` value, received "a"'),
        (ONE.join(('{"partitions":[', "]}")).replace("5", "true"), "Expected `Long` value, received true"),
        (ONE.join(('{"partitions":[', "]}")).replace('"t"', "1"), "Expected `String` value, received 1"),
        ("[1]", "Expected JSON object, received [1]"),
        ('{"partitions":5}', "Expected JSON array, received 5"),
    ],
)
def test_a_file_that_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(ToolError) as refused:
        parse_offsets(text)
    assert str(refused.value) == message


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
    assert capsys.readouterr().err == f"kafka-delete-records.sh: Unable to read file {path}\n"
