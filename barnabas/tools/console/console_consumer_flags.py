"""The options of ``kafka-console-consumer.sh`` and what follows from them.

Source: ``ConsumerConfig`` in ``kafka.tools.ConsoleConsumer`` of Kafka 2.8.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping

from barnabas.tools.command_line.parser import Parser, ToolError, UsageError, has, integer
from barnabas.tools.dump.offsets_format import GROUPS_FORMATTER, OFFSETS_FORMATTER

DEFAULT_FORMATTER = "kafka.tools.DefaultMessageFormatter"
NO_FORMATTER = "kafka.tools.NoOpMessageFormatter"
FORMATTERS = (DEFAULT_FORMATTER, NO_FORMATTER, OFFSETS_FORMATTER, GROUPS_FORMATTER)

EARLIEST = -2
LATEST = -1
_MOST = 2**63 - 1
_GROUP_ID = "group.id"
_AUTO_COMMIT = "enable.auto.commit"
_RESET = "auto.offset.reset"

OPTIONS = Parser(
    "kafka-console-consumer.sh",
    "This tool helps to read data from Kafka topics and outputs it to standard output.",
)
OPTIONS.add_servers(config="--consumer.config")
_source = OPTIONS.add_mutually_exclusive_group(required=True)
_source.add_argument("--topic", help="the topic to read")
_source.add_argument("--whitelist", help="a regular expression of the topics to read")
OPTIONS.add_argument(
    "--partition", type=integer, help="the only partition to read; from its end without --offset"
)
OPTIONS.add_argument("--offset", help="with --partition: an offset, earliest or latest")
OPTIONS.add_argument("--group", help="the consumer group")
OPTIONS.add_argument("--max-messages", type=integer, default=-1, help="how many records; all without it")
OPTIONS.add_argument("--timeout-ms", type=integer, default=-1, help="end when no record came for so long")
OPTIONS.add_argument("--isolation-level", help="read_committed or read_uncommitted, the default")
OPTIONS.add_argument("--formatter", default=DEFAULT_FORMATTER, help=f"one of {', '.join(FORMATTERS)}")
OPTIONS.add_argument("--key-deserializer", help="the class for keys")
OPTIONS.add_argument("--value-deserializer", help="the class for values")
OPTIONS.add_lists(
    property="print.timestamp, print.partition, print.offset, print.headers, print.key, print.value=true or "
    "false; key.separator, line.separator, headers.separator, null.literal=...; key.deserializer, "
    "value.deserializer, headers.deserializer=a class",
    consumer_property="a property key=value of the consumer",
)
OPTIONS.add_switches(
    from_beginning="without a committed offset: begin at the start, not at the end",
    skip_message_on_error="go on after a record that cannot be printed",
    enable_systest_events="print shutdown_complete in the end",
)


def check(flags: Namespace) -> None:
    """Check that the options fit together.

    Raises:
        UsageError: They do not.
    """
    if has(flags, "partition"):
        if not has(flags, "topic"):
            raise UsageError("--partition needs --topic")
        if flags.from_beginning and has(flags, "offset"):
            raise UsageError("--from-beginning and --offset exclude each other")
    elif has(flags, "offset"):
        raise UsageError("--offset needs --partition")
    start_offset(flags)


def start_offset(flags: Namespace) -> int:
    """Return the offset of ``--partition`` to begin at; ``EARLIEST`` or ``LATEST``.

    Raises:
        UsageError: It is none.
    """
    if flags.offset is None:
        return EARLIEST if flags.from_beginning else LATEST
    text = flags.offset.lower()
    if text in ("earliest", "latest"):
        return EARLIEST if text == "earliest" else LATEST
    if not re.fullmatch("[+-]?[0-9]+", text) or not 0 <= int(text) <= _MOST:
        raise UsageError(
            f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a "
            "non-negative long."
        )
    return int(text)


def consumer_properties(
    flags: Namespace, from_file: Mapping[str, str], from_options: Mapping[str, str], random_number: int
) -> dict[str, str]:
    """Return the properties of the consumer, by their names in Java.

    Args:
        flags: The options.
        from_file: The properties of ``--consumer.config``.
        from_options: Those of ``--consumer-property``, which count more.
        random_number: The number in the name of a group for this run alone.

    Raises:
        UsageError: Two names of groups contradict each other.
        ToolError: Two offsets to begin at do.
    """
    group = _group(flags.group, from_file, from_options)
    if group is not None and has(flags, "partition"):
        raise UsageError("Options group and partition cannot be specified together.")
    found = {**from_file, **from_options}
    if group is None:
        found = {_AUTO_COMMIT: "false"} | found
        group = f"console-consumer-{random_number}"
    if _RESET in found and flags.from_beginning and found[_RESET] != "earliest":
        raise ToolError(
            f"Can't simultaneously specify --from-beginning and '{_RESET}={found[_RESET]}', please remove "
            "one option"
        )
    defaults = {
        _RESET: "earliest" if flags.from_beginning else "latest",
        "isolation.level": "read_uncommitted",
        # Java's consumer asks brokers to create topics, librdkafka's does not.
        "allow.auto.create.topics": "true",
    }
    own = {_GROUP_ID: group, "bootstrap.servers": flags.bootstrap_server}
    if flags.isolation_level is not None:
        own["isolation.level"] = flags.isolation_level
    return {**defaults, **found, **own}


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
