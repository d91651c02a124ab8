"""The options of ``kafka-topics.sh``, and the combinations that are allowed.

They are those of Kafka 2.8's ``kafka.admin.TopicCommand``, without the deprecated ``--zookeeper`` and the
options that only ``--zookeeper`` needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from types import SimpleNamespace

from barnabas.tools.command_line.options import (
    COMMAND_CONFIG,
    ZOOKEEPER,
    Given,
    Kind,
    Option,
    Options,
    UsageError,
    bootstrap_server,
)

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})
"""Kafka's own topics."""

MAX_REPLICATION_FACTOR = 32767
"""The largest replication factor that the protocol can express (int16)."""

PURPOSE = "This tool helps to create, delete, describe, or change a topic."
PURPOSE_OF_NOTHING = "Create, delete, describe, or change a topic."
"""The first lines of the help; the second one is for an empty command line."""

ACTIONS = ("create", "alter", "delete", "describe", "list")

REPORTS = (
    "under-replicated-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
    "unavailable-partitions",
)
"""The options of ``--describe`` that show only some partitions."""

_CONFIGS_CAN_ALTER = (
    " (the kafka-configs CLI supports altering topic configs with a --bootstrap-server option)"
)

_ONLY_WITH: dict[str, tuple[str, ...]] = {
    "config": ("alter", "create"),
    "delete-config": ("alter",),
    "partitions": ("alter", "create"),
    "replication-factor": ("create",),
    "replica-assignment": ("create", "alter"),
    **dict.fromkeys(REPORTS, ("describe",)),
    "topics-with-overrides": ("describe",),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
}
"""The actions that allow each option, in the order of Kafka's checks."""

_NEVER_WITH: dict[str, tuple[str, ...]] = {
    "delete-config": ("bootstrap-server",),
    **{one: (*(other for other in REPORTS if other != one), "topics-with-overrides") for one in REPORTS},
}
"""The other options that each option excludes."""

OPTIONS = Options(
    bootstrap_server("the servers to connect to; required"),
    COMMAND_CONFIG,
    ZOOKEEPER,
    Option("create", "create a topic"),
    Option("alter", "add partitions to topics"),
    Option("delete", "delete topics"),
    Option("describe", "list details of the given topics, or of all"),
    Option("list", "list the names of the given topics, or of all"),
    Option("topic", "the topic to create; with other actions a regular expression for whole names", "topic"),
    Option(
        "partitions",
        "default at creation: the broker's num.partitions",
        "# of partitions",
        kind=Kind.INTEGER,
    ),
    Option(
        "replication-factor",
        "default: the broker's default.replication.factor",
        "replication factor",
        kind=Kind.INTEGER,
    ),
    Option(
        "replica-assignment",
        "the brokers of each partition, preferred leader first; with --alter those of all partitions",
        "ID:ID,ID:ID",
    ),
    Option("config", "a topic setting; may be repeated", "name=value", repeated=True),
    Option("delete-config", "refused: see kafka-configs.sh", "name", repeated=True),
    Option("if-not-exists", "with --create: an existing topic is no error"),
    Option("if-exists", "with --alter, --delete, --describe: a missing topic is no error"),
    Option("exclude-internal", "with --list, --describe: omit Kafka's internal topics"),
    Option("topics-with-overrides", "with --describe: only topics that override a setting"),
    Option("under-replicated-partitions", "with --describe: only partitions whose ISR lacks a replica"),
    Option("under-min-isr-partitions", "with --describe: only those whose ISR is below the minimum"),
    Option("at-min-isr-partitions", "with --describe: only those whose ISR is at the minimum"),
    Option("unavailable-partitions", "with --describe: only those without a live leader"),
    Option("disable-rack-aware", "of no effect: the controller places replicas"),
    Option("force", "of no effect, kept for old scripts"),
)


class TopicCommandError(Exception):
    """An error that the tool prints as ``Error while executing topic command : …``."""


def check(given: Given) -> None:
    """Check that the given options are complete and can be used together.

    Raises:
        UsageError: An option is missing or excludes another; the message names both.
    """
    if sum(map(given.has, ACTIONS)) != 1:
        raise UsageError(
            "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
        )
    if not given.has("bootstrap-server"):
        refused = ": the tools do not connect to ZooKeeper" if given.has("zookeeper") else ""
        raise UsageError(f'Missing required argument "[bootstrap-server]"{refused}')
    if given.has("zookeeper"):
        raise UsageError('Option "[zookeeper]" is not supported: the tools do not connect to ZooKeeper')
    _check_required(given)
    for one, actions in _ONLY_WITH.items():
        for other in (*(action for action in ACTIONS if action not in actions), *_NEVER_WITH.get(one, ())):
            _refuse_together(given, one, other)
    if given.has("create"):
        _refuse_together(given, "replica-assignment", "partitions")
        _refuse_together(given, "replica-assignment", "replication-factor")


def _check_required(given: Given) -> None:
    listing = given.has("list") or given.has("describe")
    if not given.has("topic") and (not listing or (given.has("describe") and given.has("if-exists"))):
        raise UsageError('Missing required argument "[topic]"')
    if given.has("alter"):
        if given.has("config"):
            raise UsageError(
                'Option combination "[bootstrap-server],[config]" can\'t be used with option "[alter]"'
                + _CONFIGS_CAN_ALTER
            )
        if not given.has("partitions"):
            raise UsageError('Missing required argument "[partitions]"')


def _refuse_together(given: Given, one: str, other: str) -> None:
    if given.has(one) and given.has(other):
        raise UsageError(f'Option "[{one}]" can\'t be used with option "[{other}]"')


def check_numbers(flags: SimpleNamespace) -> None:
    """Check the numbers of partitions and replicas, as Kafka's tool does before it sends a request.

    Raises:
        TopicCommandError: A number is below 1, or the replication factor exceeds `MAX_REPLICATION_FACTOR`.
    """
    factor = flags.replication_factor
    if factor is not None and not 1 <= factor <= MAX_REPLICATION_FACTOR:
        raise TopicCommandError(
            f"The replication factor must be between 1 and {MAX_REPLICATION_FACTOR} inclusive"
        )
    if flags.partitions is not None and flags.partitions < 1:
        raise TopicCommandError("The partitions must be greater than 0")


def parse_configs(settings: Iterable[str]) -> dict[str, str]:
    """Parse the ``--config`` options.

    Raises:
        TopicCommandError: An option does not have exactly one ``=``, or has no value.
    """
    pairs = [re.split(r"\s*=\s*", setting) for setting in settings]
    if any(len(pair) != 2 or not pair[1] for pair in pairs):
        raise TopicCommandError(
            "requirement failed: Invalid topic config: all configs to be added must be in the format "
            '"key=val".'
        )
    return {name.strip(): value.strip() for name, value in pairs}


def parse_replica_assignment(text: str) -> list[list[int]]:
    """Parse the brokers of each partition, such as ``1:2,2:3``.

    Raises:
        TopicCommandError: A broker is not a number or is given twice for a partition, or the partitions have
            different numbers of replicas.
    """
    assignment: list[list[int]] = []
    for number, replicas in enumerate(text.split(",")):
        try:
            ids = [int(broker) for broker in replicas.split(":")]
            if not all(Kind.INTEGER.fits(str(id_)) for id_ in ids):
                raise ValueError(replicas)
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
    """Return the topics that ``--topic`` and ``--exclude-internal`` select, in order.

    Args:
        names: All topics.
        wanted: A regular expression for whole names, in which a comma separates alternatives; None for all.
        exclude_internal: Whether to omit Kafka's internal topics.

    Raises:
        TopicCommandError: ``wanted`` is not a valid regular expression.
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
