"""``kafka-topics.sh``: create, extend, delete, list and describe topics through an ordinary Kafka client.

Flags and output are those of Kafka 2.8's ``kafka.admin.TopicCommand``, without ``--zookeeper``. Exit
code 0, or 1 on any error.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kafka.protocol.admin import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest

from barnabas.cluster.model.commands.configs import ConfigResource, ConfigResourceType
from barnabas.cluster.model.configs.described import ConfigSource
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.topic_names import INTERNAL_TOPICS
from barnabas.tools.clients.admin_client import (
    SERVER_MS,
    AdminClient,
    AdminError,
    Answer,
    NotSupported,
    TopicMetadata,
)
from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.clients.config_client import ConfigClient, warnings
from barnabas.tools.command_line.parser import (
    Parser,
    ToolError,
    UsageError,
    has,
    integer,
    refuse_together,
    require,
)
from barnabas.tools.reassignment.reassignments import Cluster as Reassignments
from barnabas.tools.topics.topic_descriptions import (
    MIN_ISR,
    Cluster,
    Reassignment,
    TopicConfigs,
    describe_lines,
)

MAX_REPLICATION_FACTOR = 32767
"""The largest replication factor that the protocol can express (int16)."""

ACTIONS = ("create", "alter", "delete", "describe", "list")

REPORTS = (
    "under-replicated-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
    "unavailable-partitions",
)
"""The options of ``--describe`` that show only some partitions."""

_ONLY_WITH: dict[str, tuple[str, ...]] = {
    "config": ("create",),
    "partitions": ("alter", "create"),
    "replication-factor": ("create",),
    "replica-assignment": ("create", "alter"),
    **dict.fromkeys(REPORTS, ("describe",)),
    "topics-with-overrides": ("describe",),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
}
"""The actions that allow each option."""

OPTIONS = Parser("kafka-topics.sh", "This tool helps to create, delete, describe, or change a topic.")
OPTIONS.add_servers()
OPTIONS.add_actions(
    create="create a topic",
    alter="add partitions to topics",
    delete="delete topics",
    describe="list details of the given topics, or of all",
    list="list the names of the given topics, or of all",
)
OPTIONS.add_argument(
    "--topic", help="the topic to create; with other actions a regular expression for whole names"
)
OPTIONS.add_argument("--partitions", type=integer, help="default at creation: the broker's num.partitions")
OPTIONS.add_argument(
    "--replication-factor", type=integer, help="default: the broker's default.replication.factor"
)
OPTIONS.add_argument(
    "--replica-assignment",
    metavar="ID:ID,ID:ID",
    help="the brokers of each partition, preferred leader first; with --alter those of all partitions",
)
OPTIONS.add_lists(config="with --create: a setting name=value", delete_config="refused: see kafka-configs.sh")
OPTIONS.add_switches(
    if_not_exists="with --create: an existing topic is no error",
    if_exists="with --alter, --delete, --describe: a missing topic is no error",
    exclude_internal="with --list, --describe: omit Kafka's internal topics",
    topics_with_overrides="with --describe: only topics that override a setting",
    under_replicated_partitions="with --describe: only partitions whose ISR lacks a replica",
    under_min_isr_partitions="with --describe: only those whose ISR is below the minimum",
    at_min_isr_partitions="with --describe: only those whose ISR is at the minimum",
    unavailable_partitions="with --describe: only those without a live leader",
    disable_rack_aware="of no effect: the controller places replicas",
    force="of no effect, kept for old scripts",
)


def check(flags: Namespace) -> None:
    """Check that the options are complete and can be used together.

    Raises:
        UsageError: An option is missing or excludes another; the message names both.
    """
    listing = flags.list or flags.describe
    if not listing or (flags.describe and flags.if_exists):
        require(flags, "topic")
    if has(flags, "delete-config") or (flags.alter and has(flags, "config")):
        raise UsageError("kafka-configs.sh alters settings of topics")
    if flags.alter:
        require(flags, "partitions")
    for one, actions in _ONLY_WITH.items():
        refuse_together(flags, one, (action for action in ACTIONS if action not in actions))
    for one in REPORTS:
        refuse_together(flags, one, (*(other for other in REPORTS if other != one), "topics-with-overrides"))
    if flags.create:
        refuse_together(flags, "replica-assignment", ("partitions", "replication-factor"))


def check_numbers(flags: Namespace) -> None:
    """Check the numbers of partitions and replicas, as Kafka's tool does before it sends a request.

    Raises:
        ToolError: A number is below 1, or the replication factor exceeds `MAX_REPLICATION_FACTOR`.
    """
    factor = flags.replication_factor
    if factor is not None and not 1 <= factor <= MAX_REPLICATION_FACTOR:
        raise ToolError(f"The replication factor must be between 1 and {MAX_REPLICATION_FACTOR} inclusive")
    if flags.partitions is not None and flags.partitions < 1:
        raise ToolError("The partitions must be greater than 0")


def parse_configs(settings: Iterable[str]) -> dict[str, str]:
    """Parse the ``--config`` options.

    Raises:
        ToolError: An option does not have exactly one ``=``, or has no value.
    """
    pairs = [re.split(r"\s*=\s*", setting) for setting in settings]
    if any(len(pair) != 2 or not pair[1] for pair in pairs):
        raise ToolError(
            "requirement failed: Invalid topic config: all configs to be added must be in the format "
            '"key=val".'
        )
    return {name.strip(): value.strip() for name, value in pairs}


def parse_replica_assignment(text: str) -> list[list[int]]:
    """Parse the brokers of each partition, such as ``1:2,2:3``.

    Raises:
        ToolError: A broker is not a number or is given twice for a partition, or the partitions have
            different numbers of replicas.
    """
    assignment: list[list[int]] = []
    for number, replicas in enumerate(text.split(",")):
        try:
            ids = [integer(broker.strip()) for broker in replicas.split(":")]
        except ArgumentTypeError as error:
            raise ToolError(
                f"--replica-assignment {text!r}: {replicas!r} is not of the form ID:ID"
            ) from error
        twice = sorted({id_ for id_ in ids if ids.count(id_) > 1})
        if twice:
            listed = ",".join(map(str, twice))
            raise ToolError(f"Partition replica lists may not contain duplicate entries: {listed}")
        if assignment and len(ids) != len(assignment[0]):
            raise ToolError(f"Partition {number} has different replication factor: {ids}")
        assignment.append(ids)
    return assignment


def select(names: Iterable[str], wanted: str | None, *, exclude_internal: bool = False) -> Sequence[str]:
    """Return the topics that ``--topic`` and ``--exclude-internal`` select, in order.

    Args:
        names: All topics.
        wanted: A regular expression for whole names, in which a comma separates alternatives; None for all.
        exclude_internal: Whether to omit Kafka's internal topics.

    Raises:
        ToolError: ``wanted`` is not a valid regular expression.
    """
    kept = sorted(name for name in names if not (exclude_internal and name in INTERNAL_TOPICS))
    if wanted is None:
        return kept
    regex = wanted.replace(" ", "").replace(",", "|").strip("\"'")
    try:
        pattern = re.compile(regex)
    except re.error as error:
        raise ToolError(f"{regex} is an invalid regex.") from error
    return [name for name in kept if pattern.fullmatch(name)]


MOVES_MS = 10_000
"""Milliseconds that ``--describe`` waits for the controller's list of reassignments."""

COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could "
    "collide. To avoid issues it is best to use either, but not both."
)


def create(admin: AdminClient, flags: Namespace) -> list[str]:
    """Create ``flags.topic`` and return the lines to print."""
    configs = parse_configs(flags.config)
    replicas = parse_replica_assignment(flags.replica_assignment) if flags.replica_assignment else None
    may_collide = "." in flags.topic or "_" in flags.topic
    for line in [*warnings(configs), *([COLLISION_WARNING] if may_collide else [])]:
        sys.stdout.write(f"{line}\n")
    check_numbers(flags)
    by_hand = [] if replicas is None else list(enumerate(replicas))
    count, factor = (
        -1 if given is None or by_hand else given for given in (flags.partitions, flags.replication_factor)
    )
    topic = (flags.topic, count, factor, by_hand, list(configs.items()))
    answer = admin.ask_controller(CreateTopicsRequest(topics=[topic], timeout_ms=SERVER_MS, min_version=4))
    (result,) = answer.body.topics
    if flags.if_not_exists and result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
        return []
    _demand_success(answer, answer.body.topics)
    return [f"Created topic {flags.topic}."]


def alter(admin: AdminClient, flags: Namespace) -> list[str]:
    """Add partitions to the selected topics, up to ``flags.partitions``.

    A manual assignment names the replicas of all partitions; those of existing partitions are ignored.
    """
    replicas = parse_replica_assignment(flags.replica_assignment) if flags.replica_assignment else None
    wanted = []
    for name, topic in known_topics(admin, flags).items():
        added = None if replicas is None else [(each,) for each in replicas[len(topic.partitions) :]]
        wanted.append((name, flags.partitions, added))
    if wanted:
        request = CreatePartitionsRequest(topics=wanted, timeout_ms=SERVER_MS, validate_only=False)
        answer = admin.ask_controller(request)
        _demand_success(answer, answer.body.results)
    return []


def delete(admin: AdminClient, flags: Namespace) -> list[str]:
    """Delete the selected topics."""
    names = list(known_topics(admin, flags))
    if names:
        # From version 6 on, a list of names or ids (KIP-516) replaces this field.
        request = DeleteTopicsRequest(topic_names=names, timeout_ms=SERVER_MS, max_version=5)
        answer = admin.ask_controller(request)
        _demand_success(answer, answer.body.responses)
    return []


def list_topics(admin: AdminClient, flags: Namespace) -> list[str]:
    """Return the names of the selected topics; if there are none, one empty line as in Kafka."""
    return list(select(admin.topics(), flags.topic, exclude_internal=flags.exclude_internal)) or [""]


def describe(admin: AdminClient, flags: Namespace) -> list[str]:
    """Return the lines of ``--describe`` for the selected topics."""
    topics = known_topics(admin, flags)
    if not topics:
        return []
    configs = topic_configs(ConfigClient(admin), topics)
    report = next((name for name in REPORTS if getattr(flags, name.replace("-", "_"))), None)
    live = frozenset(admin.racks()) if report else frozenset()
    cluster = Cluster(live, reassignments(Reassignments(admin)))
    return [
        line
        for name, topic in topics.items()
        for line in describe_lines(
            topic, configs[name], cluster, report=report, only_overrides=flags.topics_with_overrides
        )
    ]


def reassignments(cluster: Reassignments) -> dict[tuple[str, int], Reassignment]:
    """Return the running reassignments; none if brokers are too old to list them or no controller answers."""
    try:
        running = cluster.running(MOVES_MS)
    except NotSupported:
        return {}
    except AdminError as failure:
        sys.stderr.write(
            f"WARNING: running reassignments are not shown, because no controller listed them: {failure}\n"
        )
        return {}
    return {
        (tp.topic, tp.partition): Reassignment(
            each["replicas"], each["adding_replicas"], each["removing_replicas"]
        )
        for tp, each in running.items()
    }


def topic_configs(client: ConfigClient, topics: Iterable[str]) -> dict[str, TopicConfigs]:
    """Return the settings of each topic; a sensitive value is ``null``, as Java prints it."""
    configs: dict[str, TopicConfigs] = {}
    for topic in topics:
        entries = client.describe(ConfigResource(ConfigResourceType.TOPIC, topic))
        overrides = {
            entry.name: "null" if entry.value is None else entry.value
            for entry in entries
            if entry.source is not ConfigSource.DEFAULT_CONFIG
        }
        min_isr = next(int(entry.value or 1) for entry in entries if entry.name == MIN_ISR)
        configs[topic] = TopicConfigs(overrides, min_isr)
    return configs


def known_topics(admin: AdminClient, flags: Namespace) -> dict[str, TopicMetadata]:
    """Return the metadata of the selected topics, ordered by name.

    Raises:
        ToolError: ``--topic`` selects none, and ``--if-exists`` is not given.
    """
    topics = admin.topics()
    names = select(topics, flags.topic, exclude_internal=flags.exclude_internal)
    if flags.topic is not None and not names and not flags.if_exists:
        raise ToolError(f"Topic '{flags.topic}' does not exist as expected")
    return {name: topics[name] for name in names}


def _demand_success(answer: Answer, results: Iterable[Any]) -> None:
    """Raise the first error among ``results``, which have one for each topic of a request."""
    for result in results:
        if result.error_code != ErrorCode.NONE:
            raise ToolError(answer.message_of(result))


_RUN: Mapping[str, Callable[[AdminClient, Namespace], list[str]]] = {
    "create": create,
    "alter": alter,
    "delete": delete,
    "describe": describe,
    "list": list_topics,
}


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Run the action that the options name, and return the exit code."""
    check(flags)
    action = next(name for name in ACTIONS if getattr(flags, name))
    try:
        with AdminClient(flags.bootstrap_server, for_kafka_python(flags.command_config)) as admin:
            lines = _RUN[action](admin, flags)
    except ToolError as error:
        sys.stdout.write(f"Error while executing topic command : {error}\n")
        return 1
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
