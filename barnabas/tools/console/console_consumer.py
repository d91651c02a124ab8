"""``kafka-console-consumer.sh``: print the records of topics.

Options and output are those of ``kafka.tools.ConsoleConsumer`` of Kafka 2.8. Exit code 0, also after a
timeout or an error while reading, which is logged; 1 for options that do not fit together and for a record
that cannot be printed; 130 or 143 after SIGINT or SIGTERM.
"""

from __future__ import annotations

import os
import random
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
from barnabas.tools.command_line.parser import ToolError, key_values
from barnabas.tools.command_line.rdkafka_errors import is_record
from barnabas.tools.console.console_consumer_flags import (
    EARLIEST,
    FORMATTERS,
    NO_FORMATTER,
    OPTIONS,
    check,
    consumer_properties,
    start_offset,
)
from barnabas.tools.dump.offsets_format import (
    GROUPS_FORMATTER,
    OFFSETS_FORMATTER,
    GroupsFormat,
    OffsetsFormat,
)
from barnabas.tools.formats.record_format import Record, record_format

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
