"""``kafka-leader-election.sh``: elect preferred or unclean leaders through an ordinary Kafka client.

Options and output are those of Kafka 2.8's ``kafka.admin.LeaderElectionCommand``. Exit code 0, or 1 on any
error, which goes to standard error in Java's format. One line differs: for "Valid replica already elected",
Kafka 2.8 lists the partitions whose election succeeded instead of those that needed none (fixed in 3.0).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kafka.protocol.admin import ElectLeadersRequest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.clients.admin_client import SERVER_MS, AdminClient, AdminError, NotSupported
from barnabas.tools.clients.command_config import CommandConfigError, for_kafka_python
from barnabas.tools.command_line.entry import run_tool, run_with_options
from barnabas.tools.command_line.java_errors import java_class
from barnabas.tools.command_line.options import (
    Given,
    JavaError,
    Kind,
    Option,
    OptionError,
    Options,
    bootstrap_server,
)

PURPOSE = (
    "This tool attempts to elect a new leader for a set of topic partitions. The type of elections supported "
    "are preferred replicas and unclean replicas."
)

_EXAMPLE = '{"partitions": [{"topic": "foo", "partition": 1}, {"topic": "foobar", "partition": 2}]}'

OPTIONS = Options(
    bootstrap_server("the servers to connect to, separated by commas; required"),
    Option("admin.config", "a file of properties for the admin client", "config file"),
    Option(
        "election-type",
        '"preferred", or "unclean": if necessary a replica outside the ISR, which may lose records; required',
        "election type",
    ),
    Option("topic", "the topic of the one partition; not with the next two", "topic name"),
    Option("partition", "its number; required with --topic", "partition id", kind=Kind.INTEGER),
    Option("all-topic-partitions", "all partitions"),
    Option("path-to-json-file", f"the partitions, such as {_EXAMPLE}", "Path to JSON file"),
)

_CHOICES = ("topic", "all-topic-partitions", "path-to-json-file")


class CommandFailed(JavaError):
    """An error if the tool cannot carry out the command."""

    def __init__(self, message: str) -> None:
        super().__init__("kafka.common.AdminCommandFailedException", message)


class OperationFailed(JavaError):
    """An error for an invalid file."""

    def __init__(self, message: str) -> None:
        super().__init__("kafka.admin.AdminOperationException", message)


class RequestFailed(JavaError):
    """An error if the cluster refused the whole request, with Java's exception and message."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__("java.util.concurrent.ExecutionException", f"{cause}: {message}")


Partition = tuple[str, int]
"""A topic and a partition number."""


class ElectionType(Enum):
    """The types of election, with their numbers in the protocol."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """The error of a partition's election, with the controller's message."""

    code: ErrorCode
    text: str


def check(given: Given) -> None:
    """Check that the given options fit together.

    Raises:
        CommandFailed: They do not fit together; the message names them.
    """
    missing = [name for name in ("election-type", "bootstrap-server") if not given.has(name)]
    if missing:
        raise CommandFailed(f"Missing required option(s): {', '.join(missing)}")
    if sum(map(given.has, _CHOICES)) != 1:
        raise CommandFailed(f"One and only one of the following options is required: {', '.join(_CHOICES)}")
    if given.has("topic") and not given.has("partition"):
        raise CommandFailed("Missing required option(s): partition")
    if given.has("partition") and not given.has("topic"):
        raise CommandFailed("Option partition is only allowed if topic is used")


def election_type(name: str) -> ElectionType:
    """Parse the name of an election type, ignoring case.

    Raises:
        OptionError: There is no such type.
    """
    try:
        return ElectionType[name.upper()]
    except KeyError:
        raise OptionError(
            "OptionArgumentConversionException", f"Cannot parse argument '{name}' of option election-type"
        ) from None


def chosen_partitions(flags: SimpleNamespace) -> list[Partition] | None:
    """Return the partitions that the options name; None for all.

    Raises:
        OperationFailed: The file cannot be used.
    """
    if flags.path_to_json_file is not None:
        try:
            return parse_partitions(Path(flags.path_to_json_file).read_text(encoding="utf-8"))
        except OSError as error:
            raise OperationFailed(f"cannot read {flags.path_to_json_file}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise OperationFailed(f"{flags.path_to_json_file} is not UTF-8 text: {error.reason}") from error
    return None if flags.topic is None else [(flags.topic, flags.partition)]


def parse_partitions(text: str) -> list[Partition]:
    """Parse the distinct partitions in a file of ``--path-to-json-file``.

    Raises:
        OperationFailed: The file is invalid, or names a partition twice.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise OperationFailed("Replica election data is empty") from error
    if not isinstance(body, dict) or not isinstance(body.get("partitions"), list):
        raise OperationFailed('Replica election data is missing "partitions" field')
    partitions: list[Partition] = []
    for item in body["partitions"]:
        topic, number = (item.get("topic"), item.get("partition")) if isinstance(item, dict) else (None, None)
        if not isinstance(topic, str) or not isinstance(number, int):
            raise OperationFailed(f"{item!r} in the replica election data; expected one as in {_EXAMPLE}")
        partitions.append((topic, number))
    twice = [_name(each) for each, times in Counter(partitions).items() if times > 1]
    if twice:
        raise OperationFailed(f"Replica election data contains duplicate partitions: {','.join(twice)}")
    return partitions


def report(election_type: ElectionType, results: Mapping[Partition, Failure | None]) -> list[str]:
    """Return the lines about the result of each partition."""
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
        f"{java_class(error.code)}: {error.text}"
        for each, error in failures(results).items()
    ]
    return lines


def failures(results: Mapping[Partition, Failure | None]) -> dict[Partition, Failure]:
    """Return the partitions whose election failed, in order."""
    found = sorted(results.items(), key=_key)
    return {each: error for each, error in found if error is not None and not _is_needless(error)}


def _key(result: tuple[Partition, Failure | None]) -> Partition:
    return result[0]


def _name(partition: Partition) -> str:
    return f"{partition[0]}-{partition[1]}"


def _is_needless(error: Failure | None) -> bool:
    return error is not None and error.code is ErrorCode.ELECTION_NOT_NEEDED


def elect(
    flags: SimpleNamespace, type_: ElectionType, partitions: list[Partition] | None
) -> dict[Partition, Failure | None]:
    """Request the elections, and return the error of each partition, None if it has its leader.

    Raises:
        CommandFailed: The request was not answered in time, or may not be made.
        RequestFailed: The request failed as a whole.
    """
    asked = None
    if partitions is not None:
        topics = sorted({topic for topic, _ in partitions})
        asked = [(topic, [number for name, number in partitions if name == topic]) for topic in topics]
    request = ElectLeadersRequest(
        election_type=type_.value, topic_partitions=asked, timeout_ms=SERVER_MS, min_version=1
    )
    try:
        settings = for_kafka_python(flags.admin_config, "--admin.config")
        with AdminClient(flags.bootstrap_server, settings) as admin:
            answer = admin.ask_controller(request)
    except CommandConfigError as failure:
        raise CommandFailed(str(failure)) from failure
    except NotSupported as failure:
        raise RequestFailed(java_class(ErrorCode.UNSUPPORTED_VERSION), str(failure)) from failure
    except AdminError as failure:
        raise _said_first("Timeout waiting for election results", str(failure)) from failure
    whole = ErrorCode.from_code(answer.body.error_code)
    if whole is ErrorCode.REQUEST_TIMED_OUT:
        raise _said_first("Timeout waiting for election results", whole.meaning)
    if whole is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise _said_first("Not authorized to perform leader election", whole.meaning)
    if whole is not ErrorCode.NONE:
        raise RequestFailed(java_class(whole), whole.meaning)
    return {
        (topic.topic, one.partition_id): _failure(one)
        for topic in answer.body.replica_election_results
        for one in topic.partition_result
    }


def _said_first(message: str, cause: str) -> CommandFailed:
    """Print a failure to standard output, as Kafka does, and return it as an error."""
    sys.stdout.write(f"{message}\n")
    return CommandFailed(f"{message}\nCaused by: {cause}")


def _failure(result: Any) -> Failure | None:
    error = ErrorCode.from_code(result.error_code)
    return None if error is ErrorCode.NONE else Failure(error, result.error_message or error.meaning)


def work(given: Given) -> int:
    """Carry out the options, and return the exit code.

    Raises:
        JavaError: The election of at least one partition failed.
    """
    check(given)
    flags = given.values()
    type_ = election_type(flags.election_type)
    results = elect(flags, type_, chosen_partitions(flags))
    sys.stdout.writelines(f"{line}\n" for line in report(type_, results))
    failed = failures(results)
    if failed:
        raise CommandFailed(f"{len(failed)} replica(s) could not be elected")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool, and return the exit code."""
    return run_with_options(OPTIONS, PURPOSE, arguments, work)


def command() -> int:
    """Run the tool as a program, and return its exit code."""
    return run_tool(main)


if __name__ == "__main__":
    sys.exit(command())
