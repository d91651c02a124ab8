"""``kafka-topics.sh``: create, list and describe topics through an ordinary Kafka client.

Flags and output are those of Kafka 2.8's ``kafka.admin.TopicCommand``. Exit code 0, or 1 on any error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

DEADLINE_S = 30.0
"""How long the cluster may take to answer, in seconds (Kafka: ``default.api.timeout.ms`` is 60 s)."""

REACH_S = 10.0
"""How long the first answer of any broker may take, in seconds."""

COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could "
    "collide. To avoid issues it is best to use either, but not both."
)


class TopicCommandError(Exception):
    """What the tool reports as ``Error while executing topic command : …``."""


def parser() -> argparse.ArgumentParser:
    """The flags, those of Kafka's tool that we serve."""
    flags = argparse.ArgumentParser(
        prog="kafka-topics.sh", description="Create, list and describe topics.", allow_abbrev=False
    )
    flags.add_argument(
        "--bootstrap-server", required=True, metavar="HOST:PORT", help="the servers to connect to"
    )
    action = flags.add_mutually_exclusive_group(required=True)
    action.add_argument("--create", action="store_true", help="create a topic")
    action.add_argument("--describe", action="store_true", help="list details of the given topic, or of all")
    action.add_argument("--list", action="store_true", help="list the names of all topics")
    flags.add_argument("--topic", help="the topic to create or describe")
    flags.add_argument("--partitions", type=int, default=-1, help="default: the broker's num.partitions")
    flags.add_argument(
        "--replication-factor", type=int, default=-1, help="default: the broker's default.replication.factor"
    )
    flags.add_argument(
        "--config", action="append", default=[], metavar="NAME=VALUE", help="a topic setting; may be repeated"
    )
    flags.add_argument(
        "--if-not-exists", action="store_true", help="with --create: an existing topic is no error"
    )
    return flags


def parse_configs(settings: Iterable[str]) -> dict[str, str]:
    """The ``--config`` flags as a dictionary; a flag without ``=`` is an error that shows it."""
    configs = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise TopicCommandError(f"--config {setting!r} is not of the form NAME=VALUE")
        configs[name.strip()] = value.strip()
    return configs


def brokers(ids: Iterable[int]) -> str:
    """Broker ids as the tool prints them."""
    return ",".join(map(str, ids))


def describe_lines(topic: Any, configs: dict[str, str]) -> list[str]:
    """The lines of ``--describe`` for one topic.

    Args:
        topic: A ``confluent_kafka.admin.TopicMetadata``.
        configs: The settings of the topic that override the brokers'.
    """
    partitions = [topic.partitions[number] for number in sorted(topic.partitions)]
    factor = len(partitions[0].replicas) if partitions else 0
    overrides = ",".join(f"{name}={value}" for name, value in configs.items())
    lines = [
        (
            f"Topic: {topic.topic}\tPartitionCount: {len(partitions)}"
            f"\tReplicationFactor: {factor}\tConfigs: {overrides}"
        )
    ]
    lines += [
        f"\tTopic: {topic.topic}\tPartition: {partition.id}"
        f"\tLeader: {'none' if partition.leader < 0 else partition.leader}"
        f"\tReplicas: {brokers(partition.replicas)}\tIsr: {brokers(partition.isrs)}"
        for partition in partitions
    ]
    return lines


def connect(servers: str) -> AdminClient:
    """A client of the cluster at ``servers``, which one of its brokers has answered.

    Raises:
        TopicCommandError: None of them answered within ``REACH_S``; the message names them.
    """
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
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
    topic = NewTopic(
        flags.topic,
        num_partitions=flags.partitions,
        replication_factor=flags.replication_factor,
        config=parse_configs(flags.config),
    )
    lines = [COLLISION_WARNING] if "." in flags.topic or "_" in flags.topic else []
    try:
        admin.create_topics([topic], operation_timeout=DEADLINE_S)[flags.topic].result(timeout=DEADLINE_S)
    except KafkaException as failure:
        error = failure.args[0]
        if flags.if_not_exists and error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return lines
        raise TopicCommandError(error.str()) from failure
    return [*lines, f"Created topic {flags.topic}."]


def topic_configs(admin: AdminClient, topics: Sequence[str]) -> dict[str, dict[str, str]]:
    """The settings of each topic that are no defaults; a hidden value is ``null``, as Java prints it."""
    resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
    if not resources:
        return {}
    configs: dict[str, dict[str, str]] = {}
    for resource, answer in admin.describe_configs(resources).items():
        try:
            entries = answer.result(timeout=DEADLINE_S)
        except KafkaException as failure:
            raise TopicCommandError(failure.args[0].str()) from failure
        configs[resource.name] = {
            name: "null" if entry.value is None else entry.value
            for name, entry in entries.items()
            if not entry.is_default
        }
    return configs


def known_topics(admin: AdminClient, wanted: str | None) -> dict[str, Any]:
    """The metadata of the topic wanted, or of all, by name in order."""
    try:
        topics = admin.list_topics(timeout=DEADLINE_S).topics
    except KafkaException as failure:
        raise TopicCommandError(failure.args[0].str()) from failure
    if wanted is not None and wanted not in topics:
        raise TopicCommandError(f"Topic '{wanted}' does not exist as expected")
    return {name: topics[name] for name in sorted(topics) if wanted in (None, name)}


def describe(admin: AdminClient, flags: argparse.Namespace) -> list[str]:
    """The lines of ``--describe`` for the topic given, or for all."""
    topics = known_topics(admin, flags.topic)
    configs = topic_configs(admin, list(topics))
    return [line for name, topic in topics.items() for line in describe_lines(topic, configs[name])]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    flags = parser().parse_args(arguments)
    try:
        if flags.create and not flags.topic:
            raise TopicCommandError('Missing required argument "[topic]"')
        admin = connect(flags.bootstrap_server)
        if flags.create:
            lines = create(admin, flags)
        elif flags.describe:
            lines = describe(admin, flags)
        else:
            lines = list(known_topics(admin, flags.topic))
    except TopicCommandError as error:
        sys.stdout.write(f"Error while executing topic command : {error}\n")
        return 1
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
