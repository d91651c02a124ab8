"""kafka-log-dirs.sh: its JSON, as Kafka 2.8.2's tool prints it."""

from __future__ import annotations

from types import SimpleNamespace as Fields
from typing import Any

import pytest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.log_dirs import described, main, parse_brokers


def replica(number: int, size: int) -> Any:
    return Fields(partition_index=number, partition_size=size, offset_lag=0, is_future_key=False)


DIRECTORY = Fields(
    log_dir="/d1",
    error_code=ErrorCode.NONE,
    topics=[Fields(name="t", partitions=[replica(1, 83)]), Fields(name="u", partitions=[replica(0, 92)])],
)
BROKEN = Fields(log_dir="/d2", error_code=ErrorCode.KAFKA_STORAGE_ERROR, topics=[])


def test_brokers_are_described_in_order_with_the_topics_asked_for() -> None:
    assert described({2: [BROKEN], 1: [DIRECTORY]}, {"t"}) == (
        '{"version":1,"brokers":[{"broker":1,"logDirs":[{"logDir":"/d1","error":null,"partitions":'
        '[{"partition":"t-1","size":83,"offsetLag":0,"isFuture":false}]}]},{"broker":2,"logDirs":[{"logDir":'
        '"/d2","error":"org.apache.kafka.common.errors.KafkaStorageException","partitions":[]}]}]}'
    )
    assert '"partition":"u-0"' in described({1: [DIRECTORY]}, ())


def test_broker_ids_are_numbers() -> None:
    assert parse_brokers("2,,1") == [2, 1]
    with pytest.raises(ToolError, match='For input string: "a"'):
        parse_brokers("1,a")


def test_describe_is_required() -> None:
    assert main(["--bootstrap-server", "h:1"]) == 1
