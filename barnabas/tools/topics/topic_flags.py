"""The options of ``kafka-topics.sh``, and the combinations that are allowed.

They are those of Kafka 2.8's ``kafka.admin.TopicCommand``, without the deprecated ``--zookeeper``.
"""

from __future__ import annotations

import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterable, Sequence

from barnabas.tools.command_line.parser import (
    Parser,
    ToolError,
    UsageError,
    has,
    integer,
    refuse_together,
    require,
)

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})
"""Kafka's own topics."""

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
