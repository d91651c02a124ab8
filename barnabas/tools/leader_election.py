"""``kafka-leader-election.sh``: elect preferred or unclean leaders through an ordinary Kafka client.

Options and output are those of Kafka 2.8's ``kafka.admin.LeaderElectionCommand``. Exit code 0, or 1 on any
error, which goes to standard error in Java's format. One line differs: for "Valid replica already elected",
Kafka 2.8 lists the partitions whose election succeeded instead of those that needed none (fixed in 3.0).
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from typing import Any

from kafka.protocol.admin import ElectLeadersRequest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.admin_client import SERVER_MS, AdminClient, AdminError, NotSupported
from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.command_line.files import duplicates, json_items, json_partition, read_text
from barnabas.tools.command_line.java_errors import java_class
from barnabas.tools.command_line.parser import Parser, ToolError, UsageError, integer

_EXAMPLE = '{"partitions": [{"topic": "foo", "partition": 1}, {"topic": "foobar", "partition": 2}]}'


class ElectionType(Enum):
    """The types of election, with their numbers in the protocol."""

    PREFERRED = 0
    UNCLEAN = 1


OPTIONS = Parser(
    "kafka-leader-election.sh",
    "This tool attempts to elect a new leader for a set of topic partitions. The type of elections supported "
    "are preferred replicas and unclean replicas.",
)
OPTIONS.add_servers(config="--admin.config")
OPTIONS.add_argument(
    "--election-type",
    required=True,
    type=str.upper,
    choices=[each.name for each in ElectionType],
    help="PREFERRED, or UNCLEAN: if necessary a replica outside the ISR, which may lose records",
)
_choice = OPTIONS.add_mutually_exclusive_group(required=True)
_choice.add_argument("--topic", help="the topic of the one partition")
_choice.add_argument("--all-topic-partitions", action="store_true")
_choice.add_argument("--path-to-json-file", help=f"a file with the partitions, such as {_EXAMPLE}")
OPTIONS.add_argument("--partition", type=integer, help="the number of the partition; required with --topic")


@dataclass(frozen=True, slots=True)
class Failure:
    """The error of a partition's election, with the controller's message."""

    code: ErrorCode
    text: str


def check(flags: Namespace) -> None:
    """Check that the options fit together.

    Raises:
        UsageError: They do not.
    """
    if (flags.topic is None) != (flags.partition is None):
        raise UsageError("--topic and --partition need each other")


def chosen_partitions(flags: Namespace) -> list[TopicPartition] | None:
    """Return the partitions that the options name; None for all.

    Raises:
        ToolError: The file cannot be used.
    """
    if flags.path_to_json_file is not None:
        return parse_partitions(read_text(flags.path_to_json_file))
    return None if flags.topic is None else [TopicPartition(flags.topic, flags.partition)]


def parse_partitions(text: str) -> list[TopicPartition]:
    """Parse the distinct partitions in a file of ``--path-to-json-file``.

    Raises:
        ToolError: The file is invalid, or names none or a partition twice.
    """
    partitions = [json_partition(item) for item in json_items(text, "partitions")]
    if not partitions:
        raise ToolError("Replica election data is empty")
    twice = duplicates(partitions)
    if twice:
        raise ToolError(f"Replica election data contains duplicate partitions: {','.join(map(str, twice))}")
    return partitions


def report(election_type: ElectionType, results: Mapping[TopicPartition, Failure | None]) -> list[str]:
    """Return the lines about the result of each partition."""
    succeeded = [str(each) for each, error in sorted(results.items(), key=itemgetter(0)) if error is None]
    needless = [
        str(each) for each, error in sorted(results.items(), key=itemgetter(0)) if _is_needless(error)
    ]
    lines = []
    if succeeded:
        lines.append(
            f"Successfully completed leader election ({election_type.name}) for partitions "
            f"{', '.join(succeeded)}"
        )
    if needless:
        lines.append(f"Valid replica already elected for partitions {', '.join(needless)}")
    lines += [
        f"Error completing leader election ({election_type.name}) for partition: {each}: "
        f"{java_class(error.code)}: {error.text}"
        for each, error in failures(results).items()
    ]
    return lines


def failures(results: Mapping[TopicPartition, Failure | None]) -> dict[TopicPartition, Failure]:
    """Return the partitions whose election failed, in order."""
    found = sorted(results.items(), key=itemgetter(0))
    return {each: error for each, error in found if error is not None and not _is_needless(error)}


def _is_needless(error: Failure | None) -> bool:
    return error is not None and error.code is ErrorCode.ELECTION_NOT_NEEDED


def elect(
    flags: Namespace, type_: ElectionType, partitions: list[TopicPartition] | None
) -> dict[TopicPartition, Failure | None]:
    """Request the elections, and return the error of each partition, None if it has its leader.

    Raises:
        ToolError: The request failed as a whole.
    """
    asked = None
    if partitions is not None:
        topics = sorted({topic for topic, _ in partitions})
        asked = [(topic, [number for name, number in partitions if name == topic]) for topic in topics]
    request = ElectLeadersRequest(
        election_type=type_.value, topic_partitions=asked, timeout_ms=SERVER_MS, min_version=1
    )
    settings = for_kafka_python(flags.admin_config, "--admin.config")
    try:
        with AdminClient(flags.bootstrap_server, settings) as admin:
            answer = admin.ask_controller(request)
    except NotSupported:
        raise
    except AdminError as failure:
        raise _said_first("Timeout waiting for election results", str(failure)) from failure
    whole = ErrorCode.from_code(answer.body.error_code)
    if whole is ErrorCode.REQUEST_TIMED_OUT:
        raise _said_first("Timeout waiting for election results", whole.meaning)
    if whole is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise _said_first("Not authorized to perform leader election", whole.meaning)
    if whole is not ErrorCode.NONE:
        raise Refusal(whole)
    return {
        TopicPartition(topic.topic, one.partition_id): _failure(one)
        for topic in answer.body.replica_election_results
        for one in topic.partition_result
    }


def _said_first(message: str, cause: str) -> ToolError:
    """Print a failure to standard output, as Kafka does, and return it as an error."""
    sys.stdout.write(f"{message}\n")
    return ToolError(f"{message}\nCaused by: {cause}")


def _failure(result: Any) -> Failure | None:
    error = ErrorCode.from_code(result.error_code)
    return None if error is ErrorCode.NONE else Failure(error, result.error_message or error.meaning)


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Carry out the options, and return the exit code.

    Raises:
        ToolError: The election of at least one partition failed.
    """
    check(flags)
    type_ = ElectionType[flags.election_type]
    results = elect(flags, type_, chosen_partitions(flags))
    sys.stdout.writelines(f"{line}\n" for line in report(type_, results))
    failed = failures(results)
    if failed:
        raise ToolError(f"{len(failed)} replica(s) could not be elected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
