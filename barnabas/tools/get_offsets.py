"""``kafka-get-offsets.sh``: print the offsets of a topic's partitions at a time.

Options and output are those of ``kafka.tools.GetOffsetShell`` of Kafka 2.8, which has no script of this name
yet, with ``--bootstrap-server`` and ``--command-config`` of later releases (KIP-635). Exit code 0, or 1 if
the topic or all of the given partitions do not exist.
"""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.admin_client import DEADLINE_MS, AdminClient, TopicMetadata
from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.clients.requests import UNKNOWN_OFFSET, Requests
from barnabas.tools.command_line.parser import Parser, ToolError, integer, long

OPTIONS = Parser("kafka-get-offsets.sh", "An interactive shell for getting topic offsets.")
OPTIONS.add_servers("--broker-list")
OPTIONS.add_argument("--topic", required=True)
OPTIONS.add_argument("--partitions", default="", help="its partitions, separated by commas; all without it")
OPTIONS.add_argument(
    "--time",
    type=long,
    default=-1,
    help="milliseconds since 1970: the offset of the first record that is so young, or none; -1 (default): "
    "the end, -2: the start",
)
OPTIONS.add_argument("--offsets", type=integer, help="ignored, as in Kafka")
OPTIONS.add_argument("--max-wait-ms", type=integer, help="ignored, as in Kafka")


def parse_partitions(text: str) -> list[int]:
    """Parse the numbers of ``--partitions``, each once.

    Raises:
        ToolError: One is not a number.
    """
    numbers = [each for each in text.split(",") if each]
    if not all(re.fullmatch("[+-]?[0-9]+", each) for each in numbers):
        raise ToolError(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
        )
    return list(dict.fromkeys(map(int, numbers)))


def select(
    topics: Mapping[str, TopicMetadata], topic: str, wanted: Sequence[int]
) -> tuple[list[TopicPartition], list[str]]:
    """Select the partitions whose offsets are printed.

    Args:
        topics: All topics.
        topic: The topic.
        wanted: Partition numbers; none for all.

    Returns:
        The partitions that have a leader, in order, and the messages about the others.

    Raises:
        ToolError: The topic does not exist, or none of the partitions.
    """
    if topic not in topics:
        raise ToolError(f"Topic {topic} does not exist")
    known = topics[topic].partitions
    chosen = sorted(number for number in known if not wanted or number in wanted)
    if not chosen:
        requested = ",".join(map(str, wanted))
        raise ToolError(f"Topic {topic} does not have any of the requested partitions {requested}")
    messages = [f"Error: partition {number} does not exist" for number in wanted if number not in known]
    messages += [
        f"Error: partition {number} does not have a leader. Skip getting offsets"
        for number in chosen
        if known[number].leader < 0
    ]
    return [TopicPartition(topic, number) for number in chosen if known[number].leader >= 0], messages


def lines(offsets: Mapping[TopicPartition, int]) -> list[str]:
    """Return a line per partition; the offset is missing if no record is of that time or later."""
    return [
        f"{topic}:{partition}:{'' if offset == UNKNOWN_OFFSET else offset}"
        for (topic, partition), offset in offsets.items()
    ]


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Print the offsets, and return the exit code."""
    wanted = parse_partitions(flags.partitions)
    with AdminClient(flags.bootstrap_server, for_kafka_python(flags.command_config)) as admin:
        partitions, messages = select(admin.topics(), flags.topic, wanted)
        sys.stderr.writelines(f"{message}\n" for message in messages)
        found = Requests(admin, DEADLINE_MS).offsets_at(partitions, flags.time)
    sys.stdout.writelines(f"{line}\n" for line in lines(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
