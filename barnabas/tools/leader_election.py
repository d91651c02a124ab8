"""``kafka-leader-election.sh``: elect preferred or unclean leaders through an ordinary Kafka client.

Flags and output are those of Kafka 2.8's ``kafka.admin.LeaderElectionCommand``. Exit code 0, or 1 on any
error, whose last line goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from kafka.protocol.admin import ElectLeadersRequest

from barnabas.tools.admin_client import SERVER_MS, AdminClient, AdminError
from barnabas.tools.command_config import CommandConfigError, admin_flags, for_kafka_python
from barnabas.tools.entry import run_tool
from cluster.model.errors import ErrorCode

_EXAMPLE = '{"partitions": [{"topic": "foo", "partition": 1}, {"topic": "foobar", "partition": 2}]}'


class LeaderElectionError(Exception):
    """What ends the tool: Kafka's ``AdminCommandFailedException`` and ``AdminOperationException``."""


Partition = tuple[str, int]
"""A topic and the number of a partition."""


class ElectionType(Enum):
    """Whom to elect, by its number on the wire."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a partition's leader was not elected: the error, and the controller's words."""

    code: ErrorCode
    text: str


def parser() -> argparse.ArgumentParser:
    """The flags of Kafka's tool."""
    flags = admin_flags(
        "kafka-leader-election.sh",
        "This tool attempts to elect a new leader for a set of topic partitions. The type of "
        "elections supported are preferred replicas and unclean replicas.",
        "--admin.config",
    )
    flags.add_argument(
        "--election-type",
        required=True,
        type=_election_type,
        metavar="TYPE",
        help='"preferred", or "unclean": a replica from outside the ISR if need be, records may be lost',
    )
    flags.add_argument("--topic", help="the topic of the one partition; not with the next two")
    flags.add_argument("--partition", type=int, help="its number; required with --topic")
    flags.add_argument("--all-topic-partitions", action="store_true", help="every partition there is")
    flags.add_argument("--path-to-json-file", metavar="FILE", help=f"the partitions, such as {_EXAMPLE}")
    return flags


def _election_type(name: str) -> ElectionType:
    try:
        return ElectionType[name.upper()]
    except KeyError:
        raise argparse.ArgumentTypeError(f"{name!r}; expected preferred or unclean") from None


def chosen_partitions(flags: argparse.Namespace) -> list[Partition] | None:
    """The partitions that the flags name; None for all.

    Raises:
        LeaderElectionError: They contradict each other, or the file cannot be used.
    """
    given = [flags.topic is not None, flags.all_topic_partitions, flags.path_to_json_file is not None]
    if sum(given) != 1:
        raise LeaderElectionError(
            "One and only one of the following options is required: topic, all-topic-partitions, "
            "path-to-json-file"
        )
    if flags.topic is not None and flags.partition is None:
        raise LeaderElectionError("Missing required option partition")
    if flags.topic is None and flags.partition is not None:
        raise LeaderElectionError("Option partition is only allowed if topic is used")
    if flags.topic is not None:
        return [(flags.topic, flags.partition)]
    if flags.all_topic_partitions:
        return None
    try:
        return parse_partitions(Path(flags.path_to_json_file).read_text())
    except OSError as error:
        raise LeaderElectionError(f"cannot read {flags.path_to_json_file}: {error.strerror}") from error


def parse_partitions(text: str) -> list[Partition]:
    """The partitions in a file of ``--path-to-json-file``, each once.

    Raises:
        LeaderElectionError: It is no such file, or names a partition twice.
    """
    try:
        body = json.loads(text)
    except ValueError as error:
        raise LeaderElectionError("Replica election data is empty") from error
    if not isinstance(body, dict) or not isinstance(body.get("partitions"), list):
        raise LeaderElectionError('Replica election data is missing "partitions" field')
    partitions: list[Partition] = []
    for item in body["partitions"]:
        topic, number = (item.get("topic"), item.get("partition")) if isinstance(item, dict) else (None, None)
        if not isinstance(topic, str) or not isinstance(number, int):
            raise LeaderElectionError(f"{item!r} in the replica election data; expected one as in {_EXAMPLE}")
        partitions.append((topic, number))
    twice = [_name(each) for each, times in Counter(partitions).items() if times > 1]
    if twice:
        raise LeaderElectionError(f"Replica election data contains duplicate partitions: {','.join(twice)}")
    return partitions


def report(election_type: ElectionType, results: Mapping[Partition, Failure | None]) -> list[str]:
    """The lines that tell what became of each partition."""
    succeeded = [_name(each) for each, error in sorted(results.items(), key=_key) if error is None]
    needless = [_name(each) for each, error in sorted(results.items(), key=_key) if _is_needless(error)]
    lines = []
    if succeeded:
        lines.append(
            f"Successfully completed leader election ({election_type.name}) for partitions "
            f"{', '.join(succeeded)}"
        )
    if needless:
        lines.append(f"Valid replica already elected for partitions {', '.join(needless)}")
    lines += [
        f"Error completing leader election ({election_type.name}) for partition: {_name(each)}: "
        f"{_exception(error)}"
        for each, error in failures(results).items()
    ]
    return lines


def failures(results: Mapping[Partition, Failure | None]) -> dict[Partition, Failure]:
    """The partitions whose election failed, in order."""
    found = sorted(results.items(), key=_key)
    return {each: error for each, error in found if error is not None and not _is_needless(error)}


def _key(result: tuple[Partition, Failure | None]) -> Partition:
    return result[0]


def _name(partition: Partition) -> str:
    return f"{partition[0]}-{partition[1]}"


def _is_needless(error: Failure | None) -> bool:
    return error is not None and error.code is ErrorCode.ELECTION_NOT_NEEDED


_EXCEPTIONS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "UnknownTopicOrPartitionException",
    ErrorCode.REQUEST_TIMED_OUT: "TimeoutException",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "InvalidTopicException",
    ErrorCode.NOT_CONTROLLER: "NotControllerException",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "PreferredLeaderNotAvailableException",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "EligibleLeadersNotAvailableException",
}


def _exception(error: Failure) -> str:
    """An error as Java prints the exception of it."""
    name = _EXCEPTIONS.get(error.code, "UnknownServerException")
    return f"org.apache.kafka.common.errors.{name}: {error.text}"


def elect(flags: argparse.Namespace, partitions: list[Partition] | None) -> dict[Partition, Failure | None]:
    """Have the cluster elect; the error of each partition, None where it has its leader.

    Raises:
        LeaderElectionError: The whole request failed, or was not answered in time.
    """
    asked = None
    if partitions is not None:
        topics = sorted({topic for topic, _ in partitions})
        asked = [(topic, [number for name, number in partitions if name == topic]) for topic in topics]
    request = ElectLeadersRequest(
        election_type=flags.election_type.value, topic_partitions=asked, timeout_ms=SERVER_MS, min_version=1
    )
    try:
        settings = for_kafka_python(flags.admin_config, "--admin.config")
        with AdminClient(flags.bootstrap_server, settings) as admin:
            answer = admin.ask_controller(request)
    except (AdminError, CommandConfigError) as failure:
        sys.stdout.write("Error while making request\n")
        raise LeaderElectionError(str(failure)) from failure
    whole = ErrorCode.from_code(answer.body.error_code)
    if whole is ErrorCode.REQUEST_TIMED_OUT:
        sys.stdout.write("Timeout waiting for election results\n")
        raise LeaderElectionError("Timeout waiting for election results")
    if whole is not ErrorCode.NONE:
        sys.stdout.write("Error while making request\n")
        raise LeaderElectionError(whole.meaning)
    return {
        (topic.topic, one.partition_id): _failure(one)
        for topic in answer.body.replica_election_results
        for one in topic.partition_result
    }


def _failure(result: Any) -> Failure | None:
    error = ErrorCode.from_code(result.error_code)
    return None if error is ErrorCode.NONE else Failure(error, result.error_message or error.meaning)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    flags = parser().parse_args(arguments)
    try:
        results = elect(flags, chosen_partitions(flags))
        sys.stdout.writelines(f"{line}\n" for line in report(flags.election_type, results))
        failed = failures(results)
        if failed:
            raise LeaderElectionError(f"{len(failed)} replica(s) could not be elected")
    except LeaderElectionError as error:
        sys.stderr.write(f'Exception in thread "main" kafka.common.AdminCommandFailedException: {error}\n')
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
