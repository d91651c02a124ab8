"""``kafka-topics.sh``: create, extend, delete, list and describe topics through an ordinary Kafka client.

Flags and output are those of Kafka 2.8's ``kafka.admin.TopicCommand``. Exit code 0, or 1 on any error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import kafka.errors
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

from barnabas.tools import reassign_partitions
from barnabas.tools.command_config import CommandConfigError, properties
from barnabas.tools.topic_descriptions import MIN_ISR, Cluster, Reassignment, TopicConfigs, describe_lines
from barnabas.tools.topic_flags import (
    ACTIONS,
    REPORTS,
    TopicCommandError,
    check,
    parse_configs,
    parse_replica_assignment,
    parser,
    select,
)

DEADLINE_S = 30.0
"""How long the cluster may take to answer, in seconds (Kafka: ``default.api.timeout.ms`` is 60 s)."""

REACH_S = 10.0
"""How long the first answer of any broker may take, in seconds."""

COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could "
    "collide. To avoid issues it is best to use either, but not both."
)


def connect(servers: str, properties: Mapping[str, str]) -> AdminClient:
    """A client of the cluster at ``servers``, which one of its brokers has answered.

    Raises:
        TopicCommandError: None of them answered within ``REACH_S``, or the client has no such property; the
            message names them.
    """
    try:
        admin = AdminClient({**properties, "bootstrap.servers": servers, "log_level": 0})
    except KafkaException as failure:
        raise TopicCommandError(failure.args[0].str()) from failure
    try:
        admin.list_topics(timeout=REACH_S)
    except KafkaException as failure:
        raise TopicCommandError(
            f"No broker answered at --bootstrap-server {servers} within {REACH_S:g} s: "
            f"{failure.args[0].str()}; expected the host:port of a running broker"
        ) from failure
    return admin


def create(admin: AdminClient, flags: argparse.Namespace) -> list[str]:
    """Create ``flags.topic``; the lines to print."""
    configs = parse_configs(flags.config or ())
    if flags.replica_assignment:
        replicas = parse_replica_assignment(flags.replica_assignment)
        topic = NewTopic(flags.topic, len(replicas), replica_assignment=replicas, config=configs)
    else:
        count = -1 if flags.partitions is None else flags.partitions
        factor = -1 if flags.replication_factor is None else flags.replication_factor
        topic = NewTopic(flags.topic, num_partitions=count, replication_factor=factor, config=configs)
    lines = [COLLISION_WARNING] if "." in flags.topic or "_" in flags.topic else []
    try:
        admin.create_topics([topic], operation_timeout=DEADLINE_S)[flags.topic].result(timeout=DEADLINE_S)
    except KafkaException as failure:
        error = failure.args[0]
        if flags.if_not_exists and error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return lines
        raise TopicCommandError(error.str()) from failure
    return [*lines, f"Created topic {flags.topic}."]


def alter(admin: AdminClient, flags: argparse.Namespace) -> list[str]:
    """Give the topics wanted ``flags.partitions`` partitions; by hand, those that they have keep theirs."""
    replicas = parse_replica_assignment(flags.replica_assignment) if flags.replica_assignment else None
    wanted = []
    for name, topic in known_topics(admin, flags).items():
        if replicas is None:
            wanted.append(NewPartitions(name, flags.partitions))
        else:
            added = replicas[len(topic.partitions) :]
            wanted.append(NewPartitions(name, flags.partitions, replica_assignment=added))
    if wanted:
        _await(admin.create_partitions(wanted, operation_timeout=DEADLINE_S))
    return []


def delete(admin: AdminClient, flags: argparse.Namespace) -> list[str]:
    """Delete the topics wanted."""
    names = list(known_topics(admin, flags))
    if names:
        _await(admin.delete_topics(names, operation_timeout=DEADLINE_S))
    return []


def list_topics(admin: AdminClient, flags: argparse.Namespace) -> list[str]:
    """The names of the topics wanted."""
    names = admin_metadata(admin).topics
    return list(select(names, flags.topic, exclude_internal=flags.exclude_internal))


def describe(admin: AdminClient, flags: argparse.Namespace) -> list[str]:
    """The lines of ``--describe`` for the topics wanted."""
    topics = known_topics(admin, flags)
    if not topics:
        return []
    configs = topic_configs(admin, list(topics))
    report = next((name for name in REPORTS if getattr(flags, name)), None)
    live = frozenset(admin_metadata(admin).brokers) if report else frozenset()
    cluster = Cluster(live, reassignments(flags))
    return [
        line
        for name, topic in topics.items()
        for line in describe_lines(
            topic, configs[name], cluster, report=report, only_overrides=flags.topics_with_overrides
        )
    ]


def reassignments(flags: argparse.Namespace) -> dict[tuple[str, int], Reassignment]:
    """The reassignments that run; none where brokers are too old to say."""
    try:
        with reassign_partitions.opened(flags) as cluster:
            running = cluster.running()
    except kafka.errors.IncompatibleBrokerVersion:
        return {}
    except (reassign_partitions.ReassignCommandError, kafka.errors.KafkaError) as failure:
        raise TopicCommandError(str(failure)) from failure
    return {
        (tp.topic, tp.partition): Reassignment(
            told["replicas"], told["adding_replicas"], told["removing_replicas"]
        )
        for tp, told in running.items()
    }


def topic_configs(admin: AdminClient, topics: Sequence[str]) -> dict[str, TopicConfigs]:
    """The settings of each topic; a hidden value is ``null``, as Java prints it."""
    resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
    configs: dict[str, TopicConfigs] = {}
    for resource, answer in admin.describe_configs(resources).items():
        try:
            entries = answer.result(timeout=DEADLINE_S)
        except KafkaException as failure:
            raise TopicCommandError(failure.args[0].str()) from failure
        overrides = {
            name: "null" if entry.value is None else entry.value
            for name, entry in entries.items()
            if not entry.is_default
        }
        configs[resource.name] = TopicConfigs(overrides, int(entries[MIN_ISR].value))
    return configs


def known_topics(admin: AdminClient, flags: argparse.Namespace) -> dict[str, Any]:
    """The metadata of the topics wanted, by name in order.

    Raises:
        TopicCommandError: There is none, though one was asked for without ``--if-exists``.
    """
    topics = admin_metadata(admin).topics
    names = select(topics, flags.topic, exclude_internal=flags.exclude_internal)
    if flags.topic is not None and not names and not flags.if_exists:
        raise TopicCommandError(f"Topic '{flags.topic}' does not exist as expected")
    return {name: topics[name] for name in names}


def admin_metadata(admin: AdminClient) -> Any:
    """Topics and brokers as the cluster knows them."""
    try:
        return admin.list_topics(timeout=DEADLINE_S)
    except KafkaException as failure:
        raise TopicCommandError(failure.args[0].str()) from failure


def _await(answers: Mapping[str, Any]) -> None:
    """Wait for what was asked of each topic; the first failure is reported."""
    for answer in answers.values():
        try:
            answer.result(timeout=DEADLINE_S)
        except KafkaException as failure:
            raise TopicCommandError(failure.args[0].str()) from failure


_RUN: Mapping[str, Callable[[AdminClient, argparse.Namespace], list[str]]] = {
    "create": create,
    "alter": alter,
    "delete": delete,
    "describe": describe,
    "list": list_topics,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    flags = parser().parse_args(arguments)
    try:
        check(flags)
        admin = connect(flags.bootstrap_server, properties(flags.command_config))
        action = next(name for name in ACTIONS if getattr(flags, name))
        lines = _RUN[action](admin, flags)
    except (TopicCommandError, CommandConfigError) as error:
        sys.stdout.write(f"Error while executing topic command : {error}\n")
        return 1
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
