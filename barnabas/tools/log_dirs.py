"""``kafka-log-dirs.sh``: describe the log directories of brokers, and the size of each replica in them.

Options and output are those of ``kafka.admin.LogDirsCommand`` of Kafka 2.8. Exit code 0, or 1 on any error.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import Namespace
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kafka.protocol.admin import DescribeLogDirsRequest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.clients.admin_client import AdminClient
from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.command_line.java_errors import java_class
from barnabas.tools.command_line.parser import Parser, ToolError

OPTIONS = Parser(
    "kafka-log-dirs.sh", "This tool helps to query log directory usage on the specified brokers."
)
OPTIONS.add_servers()
OPTIONS.add_actions(describe="describe the log directories")
OPTIONS.add_argument("--topic-list", default="", help="the topics, separated by commas; all without it")
OPTIONS.add_argument("--broker-list", help="the brokers' ids, separated by commas; all without it")


def parse_brokers(text: str) -> list[int]:
    """Parse the ids of ``--broker-list``.

    Raises:
        ToolError: One is not a number.
    """
    ids = [each for each in text.split(",") if each]
    for each in ids:
        if not re.fullmatch("[+-]?[0-9]+", each):
            raise ToolError(f'For input string: "{each}"; expected --broker-list 1,2')
    return list(map(int, ids))


def described(results: Mapping[int, Iterable[Any]], topics: Collection[str]) -> str:
    """Return the JSON of what brokers answered.

    Args:
        results: The log directories of each broker as ``DescribeLogDirsResponse`` has them.
        topics: The topics to show; none for all.
    """
    brokers = [
        {"broker": broker, "logDirs": [_log_dir(each, topics) for each in directories]}
        for broker, directories in sorted(results.items())
    ]
    return json.dumps({"version": 1, "brokers": brokers}, separators=(",", ":"), ensure_ascii=False)


def _log_dir(result: Any, topics: Collection[str]) -> dict[str, Any]:
    error = ErrorCode.from_code(result.error_code)
    return {
        "logDir": result.log_dir,
        "error": java_class(error) if error else None,
        "partitions": [
            {
                "partition": f"{topic.name}-{one.partition_index}",
                "size": one.partition_size,
                "offsetLag": one.offset_lag,
                "isFuture": one.is_future_key,
            }
            for topic in result.topics
            if not topics or topic.name in topics
            for one in topic.partitions
        ],
    }


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Describe the log directories, and return the exit code."""
    topics = {each for each in flags.topic_list.split(",") if each}
    with AdminClient(flags.bootstrap_server, for_kafka_python(flags.command_config)) as admin:
        brokers = sorted(admin.racks()) if flags.broker_list is None else parse_brokers(flags.broker_list)
        sys.stdout.write("Querying brokers for log directories information\n")
        sys.stdout.flush()
        request = DescribeLogDirsRequest(topics=None)
        results = {broker: admin.ask_broker(request, broker).results for broker in brokers}
    sys.stdout.write(f"Received log directory information from brokers {','.join(map(str, brokers))}\n")
    sys.stdout.write(f"{described(results, topics)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
