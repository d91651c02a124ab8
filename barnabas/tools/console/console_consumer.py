"""``kafka-console-consumer.sh``: print the records of topics.

Options and output are those of ``kafka.tools.ConsoleConsumer`` of Kafka 2.8. Exit code 0, also after a
timeout or an error while reading, which is logged; 1 for options that do not fit together and for a record
that cannot be printed; 130 or 143 after SIGINT or SIGTERM.
"""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, Protocol

import confluent_kafka

from barnabas.cluster.model.topic_names import INTERNAL_TOPICS
from barnabas.tools.clients.client_properties import EXCLUDE_INTERNAL, consumer
from barnabas.tools.command_line.files import read_properties
from barnabas.tools.command_line.parser import Parser, ToolError, UsageError, has, integer, key_values
from barnabas.tools.command_line.rdkafka_errors import is_record
from barnabas.tools.dump.offsets_format import (
    GROUPS_FORMATTER,
    OFFSETS_FORMATTER,
    GroupsFormat,
    OffsetsFormat,
)
from barnabas.tools.formats.record_format import Record, record_format

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


_SLICE_S = 0.2
"""The longest wait in one call of the client, which no signal interrupts."""

_SIGNAL_BASE = 128
"""The exit code of a process that a signal ended is larger than the signal's number by this."""

_TIMESTAMP_TYPES = {
    confluent_kafka.TIMESTAMP_CREATE_TIME: "CreateTime",
    confluent_kafka.TIMESTAMP_LOG_APPEND_TIME: "LogAppendTime",
}


class MessageFormatter(Protocol):
    """The formatter of records (``kafka.common.MessageFormatter``)."""

    def text_of(self, record: Record) -> bytes:
        """Return the text of a record, with its end of line."""


class Interrupted(Exception):
    """The end of the tool by a signal."""


class Reader:
    """Reads records until a timeout or a signal.

    Args:
        consumer: The client.
        timeout_ms: How long to wait for a record, in milliseconds; forever if it is negative.

    Attributes:
        count: The records so far.
        signal: The number of the signal that ended the tool; 0 for none.
    """

    def __init__(self, consumer: confluent_kafka.Consumer, timeout_ms: int) -> None:
        self._consumer = consumer
        self._timeout_s = timeout_ms / 1000 if timeout_ms >= 0 else None
        self.count = 0
        self.signal = 0

    def interrupt(self, number: int, _frame: FrameType | None) -> None:
        """End the tool; a second signal does so at once."""
        self.signal = number
        signal.signal(number, signal.SIG_DFL)

    def next(self, before_wait: Callable[[], None]) -> Any:
        """Return the next record.

        Args:
            before_wait: Called before the tool waits for a record.

        Raises:
            ToolError: None came in time, or none can be read any more.
            Interrupted: A signal came.
        """
        deadline = None if self._timeout_s is None else time.monotonic() + self._timeout_s
        # The first poll does not wait, so that what was printed is flushed before a wait.
        wait_s = 0.0
        while not self.signal:
            message = self._consumer.poll(wait_s)
            if message is None:
                if deadline is not None and time.monotonic() >= deadline:
                    raise ToolError("no record came within --timeout-ms")
                if not wait_s:
                    before_wait()
                left = _SLICE_S if deadline is None else deadline - time.monotonic()
                wait_s = min(_SLICE_S, max(left, 0.001))
                continue
            if is_record(message):
                self.count += 1
                return message
        raise Interrupted


def subscribe(consumer: confluent_kafka.Consumer, flags: Namespace) -> None:
    """Subscribe to the topic or the topics, or assign the partition that the options name."""
    if flags.whitelist is not None:
        consumer.subscribe([f"^({flags.whitelist})$"])
    elif flags.partition is None:
        consumer.subscribe([flags.topic])
    else:
        offset = start_offset(flags)
        if offset < 0:
            earliest, latest = confluent_kafka.OFFSET_BEGINNING, confluent_kafka.OFFSET_END
            offset = earliest if offset == EARLIEST else latest
        consumer.assign([confluent_kafka.TopicPartition(flags.topic, flags.partition, offset)])


def left_out(whitelist: str | None, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the setting of librdkafka by which a pattern leaves out Kafka's own topics, as in Java."""
    if whitelist is None or settings.get(EXCLUDE_INTERNAL, "true").lower() == "false":
        return {}
    return {"topic.blacklist": ",".join(f"^{name}$" for name in sorted(INTERNAL_TOPICS))}


def record_of(message: Any) -> Record:
    """Return a message of the client as a record."""
    kind, timestamp = message.timestamp()
    headers = message.headers() or ()
    return Record(
        message.partition(),
        message.offset(),
        _TIMESTAMP_TYPES.get(kind),
        timestamp,
        message.key(),
        message.value(),
        headers,
    )


def texts(reader: Reader, form: MessageFormatter | None, most: int, *, skips_errors: bool) -> Iterator[bytes]:
    """Yield the text of each record, of at most ``most``; of all if it is negative.

    Raises:
        ToolError: A record cannot be printed, and such records are not skipped.
    """
    while most < 0 or reader.count < most:
        try:
            message = reader.next(sys.stdout.flush)
        except Interrupted:
            return
        except ToolError as error:
            complain(f"ERROR: the consumer ends: {error}")
            return
        try:
            yield b"" if form is None else form.text_of(record_of(message))
        except ToolError as error:
            if not skips_errors:
                raise
            complain(f"ERROR: a message is skipped: {error}")
            yield b""


def _format(flags: Namespace) -> MessageFormatter | None:
    if flags.formatter not in FORMATTERS:
        expected = f"expected one of {', '.join(FORMATTERS)}"
        raise ToolError(f"--formatter {flags.formatter}, {expected}")
    found = key_values(flags.property)
    for name in ("key", "value"):
        class_ = getattr(flags, f"{name}_deserializer")
        if class_:
            found[f"{name}.deserializer"] = class_
    form = record_format(found)
    others: dict[str, MessageFormatter | None] = {
        NO_FORMATTER: None,
        OFFSETS_FORMATTER: OffsetsFormat(),
        GROUPS_FORMATTER: GroupsFormat(),
    }
    return others.get(flags.formatter, form)


def complain(text: str) -> None:
    """Print a line to standard error."""
    sys.stderr.write(f"{text}\n")


class Warnings:
    """Prints the errors of connections; the same one once, until another one comes."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, error: confluent_kafka.KafkaError) -> None:
        """Print an error."""
        if error.name() != self._last:
            complain(f"WARN: {error.str()}")
        self._last = error.name()


def _print(lines: Iterator[bytes]) -> None:
    """Print texts until nobody reads them any more."""
    try:
        for text in lines:
            sys.stdout.buffer.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.write("Unable to write to standard out, closing consumer.\n")
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def read(flags: Namespace, settings: dict[str, str], form: MessageFormatter | None) -> int:
    """Read and print, and return the exit code."""
    client = consumer(settings, {**left_out(flags.whitelist, settings), "error_cb": Warnings()})
    reader = Reader(client, flags.timeout_ms)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, reader.interrupt)
    code = 0
    try:
        subscribe(client, flags)
        _print(texts(reader, form, flags.max_messages, skips_errors=flags.skip_message_on_error))
    except ToolError as error:
        complain(f"ERROR: {error}")
        code = 1
    finally:
        sys.stdout.flush()
        client.close()
        sys.stderr.write(f"Processed a total of {reader.count} messages\n")
    if flags.enable_systest_events:
        sys.stdout.write("shutdown_complete\n")
    return _SIGNAL_BASE + reader.signal if reader.signal else code


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Print the records, and return the exit code."""
    form = _format(flags)
    check(flags)
    from_file = read_properties(flags.consumer_config, "--consumer.config")
    from_options = key_values(flags.consumer_property)
    number = random.randrange(100_000)  # the name of a setting, no secret
    settings = consumer_properties(flags, from_file, from_options, number)
    return read(flags, settings, form)


if __name__ == "__main__":
    sys.exit(main())
