"""The flags of ``kafka-topics.sh``: which there are, and which go together.

They are those of Kafka 2.8's ``kafka.admin.TopicCommand`` but for ``--zookeeper``, which it calls deprecated,
and what serves that alone.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence

from barnabas.tools.command_config import admin_flags

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})
"""Kafka's own topics."""

MAX_REPLICATION_FACTOR = 32767
"""What the protocol has room for."""

ACTIONS = ("create", "alter", "delete", "describe", "list")

REPORTS = (
    "under_replicated_partitions",
    "under_min_isr_partitions",
    "at_min_isr_partitions",
    "unavailable_partitions",
)
"""The flags of ``--describe`` that show some partitions only."""

_ONLY_WITH: dict[str, tuple[str, ...]] = {
    "config": ("create",),
    "partitions": ("create", "alter"),
    "replication_factor": ("create",),
    "replica_assignment": ("create", "alter"),
    "if_exists": ("alter", "delete", "describe"),
    "if_not_exists": ("create",),
    "exclude_internal": ("list", "describe"),
    "topics_with_overrides": ("describe",),
    **dict.fromkeys(REPORTS, ("describe",)),
}
"""With which actions each flag goes."""

_NOT_TOGETHER = (
    *((one, other) for number, one in enumerate(REPORTS) for other in REPORTS[number + 1 :]),
    *(("topics_with_overrides", report) for report in REPORTS),
)


class TopicCommandError(Exception):
    """What the tool reports as ``Error while executing topic command : …``."""


def parser() -> argparse.ArgumentParser:
    """The flags."""
    flags = admin_flags("kafka-topics.sh", "Create, delete, describe, or change a topic.")
    action = flags.add_mutually_exclusive_group(required=True)
    action.add_argument("--create", action="store_true", help="create a topic")
    action.add_argument("--alter", action="store_true", help="give topics more partitions")
    action.add_argument("--delete", action="store_true", help="delete topics")
    action.add_argument("--describe", action="store_true", help="list details of the given topics, or of all")
    action.add_argument("--list", action="store_true", help="list the names of the given topics, or of all")
    flags.add_argument(
        "--topic", help="the topic to create; else a regular expression that matches whole names"
    )
    flags.add_argument("--partitions", type=int, help="default at creation: the broker's num.partitions")
    flags.add_argument(
        "--replication-factor", type=int, help="default: the broker's default.replication.factor"
    )
    flags.add_argument(
        "--replica-assignment",
        metavar="ID:ID,ID:ID",
        help="the brokers of each partition, preferred leader first; with --alter those of all partitions",
    )
    flags.add_argument(
        "--config", action="append", metavar="NAME=VALUE", help="a topic setting; may be repeated"
    )
    for name, meaning in (
        ("--if-not-exists", "with --create: an existing topic is no error"),
        ("--if-exists", "with --alter, --delete, --describe: a missing topic is no error"),
        ("--exclude-internal", "with --list, --describe: leave Kafka's own topics out"),
        ("--topics-with-overrides", "with --describe: only topics with settings of their own"),
        ("--under-replicated-partitions", "with --describe: only partitions whose ISR lacks a replica"),
        ("--under-min-isr-partitions", "with --describe: only those whose ISR is below the minimum"),
        ("--at-min-isr-partitions", "with --describe: only those whose ISR is at the minimum"),
        ("--unavailable-partitions", "with --describe: only those without a live leader"),
        ("--force", "of no effect, kept for old scripts"),
    ):
        flags.add_argument(name, action="store_true", help=meaning)
    return flags


def check(flags: argparse.Namespace) -> None:
    """See that the flags given go together.

    Raises:
        TopicCommandError: A flag is missing or does not go with another; the message names both.
    """
    action = next(name for name in ACTIONS if getattr(flags, name))
    given = {name for name, value in vars(flags).items() if value not in (None, False)}
    needed = [] if action in ("list", "describe") and not flags.if_exists else ["topic"]
    for name in (*needed, *(("partitions",) if action == "alter" else ())):
        if name not in given:
            raise TopicCommandError(f'Missing required argument "[{_dashed(name)}]"')
    pairs = [(name, action) for name, actions in _ONLY_WITH.items() if action not in actions]
    if action == "create":
        pairs += [("replica_assignment", "partitions"), ("replica_assignment", "replication_factor")]
    for one, other in (*pairs, *_NOT_TOGETHER):
        if one in given and other in given:
            raise TopicCommandError(
                f'Option "[{_dashed(one)}]" can\'t be used with option "[{_dashed(other)}]"'
            )

    _check_numbers(flags)


def _check_numbers(flags: argparse.Namespace) -> None:
    """Refuse what Kafka's tool refuses before it asks anyone."""
    if flags.create and flags.partitions is not None and flags.partitions < 1:
        raise TopicCommandError("The partitions must be greater than 0")
    factor = flags.replication_factor
    if factor is not None and not 1 <= factor <= MAX_REPLICATION_FACTOR:
        raise TopicCommandError(
            f"The replication factor must be between 1 and {MAX_REPLICATION_FACTOR} inclusive"
        )


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def parse_configs(settings: Iterable[str]) -> dict[str, str]:
    """The ``--config`` flags as a dictionary; a flag without ``=`` is an error."""
    configs = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise TopicCommandError(
                "requirement failed: Invalid topic config: all configs to be added must be in the format "
                '"key=val".'
            )
        configs[name.strip()] = value.strip()
    return configs


def parse_replica_assignment(text: str) -> list[list[int]]:
    """``1:2,2:3`` as the brokers of each partition.

    Raises:
        TopicCommandError: A broker is no number or comes twice, or the partitions have different numbers of
            replicas.
    """
    assignment: list[list[int]] = []
    for number, replicas in enumerate(text.split(",")):
        try:
            ids = [int(broker) for broker in replicas.split(":")]
        except ValueError as error:
            raise TopicCommandError(
                f"--replica-assignment {text!r}: {replicas!r} is not of the form ID:ID"
            ) from error
        twice = sorted({id_ for id_ in ids if ids.count(id_) > 1})
        if twice:
            listed = ",".join(map(str, twice))
            raise TopicCommandError(f"Partition replica lists may not contain duplicate entries: {listed}")
        if assignment and len(ids) != len(assignment[0]):
            raise TopicCommandError(f"Partition {number} has different replication factor: {ids}")
        assignment.append(ids)
    return assignment


def select(names: Iterable[str], wanted: str | None, *, exclude_internal: bool = False) -> Sequence[str]:
    """Those of ``names`` that ``--topic`` and ``--exclude-internal`` leave, in order.

    Args:
        names: All topics.
        wanted: A regular expression for whole names, in which a comma separates alternatives; None for all.
        exclude_internal: Leave Kafka's own topics out.

    Raises:
        TopicCommandError: ``wanted`` is no regular expression.
    """
    kept = sorted(name for name in names if not (exclude_internal and name in INTERNAL_TOPICS))
    if wanted is None:
        return kept
    regex = wanted.replace(" ", "").replace(",", "|").strip("\"'")
    try:
        pattern = re.compile(regex)
    except re.error as error:
        raise TopicCommandError(f"{regex} is an invalid regex.") from error
    return [name for name in kept if pattern.fullmatch(name)]
