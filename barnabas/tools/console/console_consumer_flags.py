"""The options of ``kafka-console-consumer.sh`` and what follows from them.

Source: ``ConsumerConfig`` in ``kafka.tools.ConsoleConsumer`` of Kafka 2.8.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from barnabas.tools.command_line.options import Given, Kind, Option, Options, UsageError, bootstrap_server
from barnabas.tools.command_line.usage import require
from barnabas.tools.dump.offsets_format import GROUPS_FORMATTER, OFFSETS_FORMATTER

PURPOSE = "This tool helps to read data from Kafka topics and outputs it to standard output."

DEFAULT_FORMATTER = "kafka.tools.DefaultMessageFormatter"
NO_FORMATTER = "kafka.tools.NoOpMessageFormatter"
FORMATTERS = (DEFAULT_FORMATTER, NO_FORMATTER, OFFSETS_FORMATTER, GROUPS_FORMATTER)

EARLIEST = -2
LATEST = -1
_MOST = 2**63 - 1
_GROUP_ID = "group.id"
_AUTO_COMMIT = "enable.auto.commit"
_RESET = "auto.offset.reset"

OPTIONS = Options(
    bootstrap_server("the servers to connect to, separated by commas; required"),
    Option("topic", "the topic to read", "topic"),
    Option("whitelist", "a regular expression of the topics to read, instead of --topic", "whitelist"),
    Option(
        "partition",
        "the only partition to read; from its end without --offset",
        "partition",
        kind=Kind.INTEGER,
    ),
    Option("offset", "with --partition: an offset, earliest or latest", "consume offset", default="latest"),
    Option("from-beginning", "without a committed offset: begin at the start, not at the end"),
    Option("group", "the consumer group", "consumer group id"),
    Option("max-messages", "how many records; all without it", "num_messages", kind=Kind.INTEGER),
    Option("timeout-ms", "end when no record came for so long", "timeout_ms", kind=Kind.INTEGER),
    Option("skip-message-on-error", "go on after a record that cannot be printed"),
    Option("isolation-level", "read_committed or read_uncommitted", "", default="read_uncommitted"),
    Option("formatter", f"one of {', '.join(FORMATTERS)}", "class", default=DEFAULT_FORMATTER),
    Option(
        "property",
        "print.timestamp, print.partition, print.offset, print.headers, print.key, print.value=true or "
        "false; key.separator, line.separator, headers.separator, null.literal=...; key.deserializer, "
        "value.deserializer, headers.deserializer=a class; can be repeated",
        "prop",
        repeated=True,
    ),
    Option("key-deserializer", "the class for keys", "deserializer for key"),
    Option("value-deserializer", "the class for values", "deserializer for values"),
    Option("enable-systest-events", "print shutdown_complete in the end"),
    Option("consumer-property", "a property key=value of the consumer", "consumer_prop", repeated=True),
    Option("consumer.config", "a file of properties of the consumer", "config file"),
)


def check(given: Given) -> None:
    """Check that the options fit together, in Kafka's order.

    Raises:
        UsageError: They do not.
    """
    if given.has("topic") == given.has("whitelist"):
        raise UsageError("Exactly one of whitelist/topic is required.")
    if given.has("partition"):
        if not given.has("topic"):
            raise UsageError("The topic is required when partition is specified.")
        if given.has("from-beginning") and given.has("offset"):
            raise UsageError("Options from-beginning and offset cannot be specified together.")
    elif given.has("offset"):
        raise UsageError("The partition is required when offset is specified.")
    start_offset(given)
    require(given, "bootstrap-server")


def start_offset(given: Given) -> int:
    """Return the offset of ``--partition`` to begin at; ``EARLIEST`` or ``LATEST``.

    Raises:
        UsageError: It is none.
    """
    if not given.has("offset"):
        return EARLIEST if given.has("from-beginning") else LATEST
    text = given.texts("offset")[0].lower()
    if text in ("earliest", "latest"):
        return EARLIEST if text == "earliest" else LATEST
    if not re.fullmatch("[+-]?[0-9]+", text) or not 0 <= int(text) <= _MOST:
        raise UsageError(
            f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a "
            "non-negative long."
        )
    return int(text)


def consumer_properties(
    given: Given, from_file: Mapping[str, str], from_options: Mapping[str, str], random_number: int
) -> dict[str, str]:
    """Return the properties of the consumer, by their names in Java.

    Args:
        given: The options.
        from_file: The properties of ``--consumer.config``.
        from_options: Those of ``--consumer-property``, which count more.
        random_number: The number in the name of a group for this run alone.

    Raises:
        UsageError: Two names of groups, or offsets to begin at, contradict each other.
    """
    flags = given.values()
    group = _group(flags.group, from_file, from_options)
    if group is not None and given.has("partition"):
        raise UsageError("Options group and partition cannot be specified together.")
    found = {**from_file, **from_options}
    if group is None:
        found = {_AUTO_COMMIT: "false"} | found
        group = f"console-consumer-{random_number}"
    if _RESET in found and given.has("from-beginning") and found[_RESET] != "earliest":
        raise ContradictionError(
            f"Can't simultaneously specify --from-beginning and '{_RESET}={found[_RESET]}', please remove "
            "one option"
        )
    defaults = {
        _RESET: "earliest" if given.has("from-beginning") else "latest",
        "isolation.level": flags.isolation_level,
        # Java's consumer asks brokers to create topics, librdkafka's does not.
        "allow.auto.create.topics": "true",
    }
    own = {_GROUP_ID: group, "bootstrap.servers": flags.bootstrap_server}
    if given.has("isolation-level"):
        own["isolation.level"] = flags.isolation_level
    return {**defaults, **found, **own}


class ContradictionError(Exception):
    """An error for two contradicting options, which is printed without the help."""


def _group(option: str | None, from_file: Mapping[str, str], from_options: Mapping[str, str]) -> str | None:
    named = (option, from_file.get(_GROUP_ID), from_options.get(_GROUP_ID))
    groups = list(dict.fromkeys(each for each in named if each is not None))
    if len(groups) > 1:
        detected = "', '".join(groups)
        raise UsageError(
            "The group ids provided in different places (directly using '--group', via "
            "'--consumer-property', or via '--consumer.config') do not match. "
            f"Detected group ids: '{detected}'"
        )
    return groups[0] if groups else None
