"""``kafka-topics.sh``: create, extend, delete, list and describe topics through an ordinary Kafka client.

Flags and output are those of Kafka 2.8's ``kafka.admin.TopicCommand``. Exit code 0, or 1 on any error.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafka.protocol.admin import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest

from barnabas.cluster.model.commands.configs import ConfigResource, ConfigResourceType
from barnabas.cluster.model.configs.described import ConfigSource
from barnabas.cluster.model.errors import ErrorCode
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
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.reassignment.reassignments import Cluster as Reassignments
from barnabas.tools.topics.topic_descriptions import (
    MIN_ISR,
    Cluster,
    Reassignment,
    TopicConfigs,
    describe_lines,
)
from barnabas.tools.topics.topic_flags import (
    ACTIONS,
    OPTIONS,
    REPORTS,
    check,
    check_numbers,
    parse_configs,
    parse_replica_assignment,
    select,
)

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
