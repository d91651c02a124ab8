"""``kafka-consumer-perf-test.sh``: read many records and print how fast that is.

Options and lines are those of ``kafka.tools.ConsumerPerformance`` of Kafka 2.8. Exit code 0, also
with too few records; 1 for options that cannot be used.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import confluent_kafka

from barnabas.tools.clients.client_metrics import Metrics, Statistics, table
from barnabas.tools.clients.client_properties import SILENT, for_librdkafka
from barnabas.tools.clients.command_config import CommandConfigError, properties
from barnabas.tools.command_line.entry import run_tool, run_with_options
from barnabas.tools.command_line.options import Given, JavaError, Kind, Option, Options, bootstrap_server
from barnabas.tools.command_line.rdkafka_errors import PASSING, java_error
from barnabas.tools.command_line.usage import require, require_unless
from barnabas.tools.performance.perf_stats import (
    Consumed,
    consumer_header,
    consumer_progress,
    consumer_total,
    format_time,
)

PURPOSE = "This tool helps in performance test for the full zookeeper consumer"
PURPOSE_OF_NOTHING = "Missing required option(s) [bootstrap-server]"

_POLL_S = 0.1
_BATCH = 500
"""The most records of one poll, as ``max.poll.records``."""

OPTIONS = Options(
    bootstrap_server("the servers to connect to, separated by commas; required"),
    Option("broker-list", "the same, deprecated", "broker-list"),
    Option("topic", "the topic to read; required", "topic"),
    Option("messages", "how many records; required", "count", kind=Kind.LONG),
    Option("group", "the consumer group; one for this run without it", "gid"),
    Option("from-latest", "without a committed offset: begin at the end, not at the start"),
    Option(
        "timeout",
        "end when no record came for so long",
        "milliseconds",
        kind=Kind.LONG,
        default="10000",
        is_optional=True,
    ),
    Option(
        "reporting-interval", "the time between two lines", "interval_ms", kind=Kind.INTEGER, default="5000"
    ),
    Option("show-detailed-stats", "print a line about each interval, and none about all"),
    Option("hide-header", "do not print the names of the figures"),
    Option("date-format", "the format of times", "date format", default="yyyy-MM-dd HH:mm:ss:SSS"),
    Option(
        "fetch-size",
        "the most bytes of a partition in a response",
        "size",
        kind=Kind.INTEGER,
        default="1048576",
    ),
    Option("socket-buffer-size", "the receive buffer in bytes", "size", kind=Kind.INTEGER, default="2097152"),
    Option("threads", "ignored, as in Kafka", "count", kind=Kind.INTEGER, default="10"),
    Option("num-fetch-threads", "ignored, as in Kafka", "count", kind=Kind.INTEGER, default="1"),
    Option("print-metrics", "print the consumer's metrics at the end"),
    Option("consumer.config", "a file of properties of the consumer", "config file"),
)

IGNORED_WARNING = (
    "WARNING: option [threads] and [num-fetch-threads] have been deprecated and will be ignored by the test"
)


def consumer_properties(
    flags: SimpleNamespace, from_file: dict[str, str], random_number: int
) -> dict[str, str]:
    """Return the properties of the consumer, by their names in Java.

    Args:
        flags: The options.
        from_file: The properties of ``--consumer.config``, which count less.
        random_number: The number in the name of a group for this run alone.
    """
    return {
        **from_file,
        "bootstrap.servers": flags.bootstrap_server or flags.broker_list,
        "group.id": flags.group or f"perf-consumer-{random_number}",
        "receive.buffer.bytes": str(flags.socket_buffer_size),
        "max.partition.fetch.bytes": str(flags.fetch_size),
        "auto.offset.reset": "latest" if flags.from_latest else "earliest",
        "check.crcs": "false",
    }


class Reading:
    """Reads records and counts them.

    Args:
        consumer: The client.
        flags: The options.

    Attributes:
        join_ms: How long it waited for partitions.
        size: The bytes of keys and values so far.
        count: The records so far.
    """

    def __init__(self, consumer: confluent_kafka.Consumer, flags: SimpleNamespace) -> None:
        self._consumer = consumer
        self._flags = flags
        self._join_start_ms = now_ms()
        self._join_ms_of_interval = 0
        self.join_ms = self.size = self.count = 0

    def on_assign(self, _consumer: Any, _partitions: Any) -> None:
        """Count the wait for partitions."""
        waited_ms = now_ms() - self._join_start_ms
        self.join_ms += waited_ms
        self._join_ms_of_interval += waited_ms

    def on_revoke(self, _consumer: Any, _partitions: Any) -> None:
        """Note that the wait for partitions begins."""
        self._join_start_ms = now_ms()

    def run(self) -> None:
        """Read until there are enough records, or none came in time.

        Raises:
            JavaError: The records cannot be read.
        """
        flags = self._flags
        self._consumer.subscribe([flags.topic], on_assign=self.on_assign, on_revoke=self.on_revoke)
        current_ms = last_consumed_ms = now_ms()
        last = Consumed(current_ms, 0, 0)
        while self.count < flags.messages and current_ms - last_consumed_ms <= flags.timeout:
            messages = self._consumer.consume(_BATCH, _POLL_S)
            current_ms = now_ms()
            records = [each for each in messages if _is_record(each)]
            if records:
                last_consumed_ms = current_ms
            for record in records:
                self.count += 1
                self.size += len(record.key() or b"") + len(record.value() or b"")
                if current_ms - last.when_ms >= flags.reporting_interval:
                    last = self._report(last, Consumed(current_ms, self.size, self.count))
        if self.count < flags.messages:
            sys.stdout.write(
                "WARNING: Exiting before consuming the expected number of messages: timeout "
                f"({flags.timeout} ms) exceeded. You can use the --timeout option to increase the timeout.\n"
            )

    def _report(self, last: Consumed, now: Consumed) -> Consumed:
        if self._flags.show_detailed_stats:
            line = consumer_progress(last, now, self._join_ms_of_interval, self._flags.date_format)
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        self._join_ms_of_interval = 0
        return now


def _is_record(message: Any) -> bool:
    """Return whether a message is a record; errors that pass are not.

    Raises:
        JavaError: The error does not pass.
    """
    error = message.error()
    if error is not None and (error.fatal() or error.code() not in PASSING):
        raise java_error(error)
    return error is None


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _metrics(consumer: confluent_kafka.Consumer, statistics: Statistics) -> Metrics:
    """Return the metrics; the partitions are paused, so that no record is read in the meantime."""
    consumer.pause(consumer.assignment())
    return statistics.metrics(consumer.poll)


def work(given: Given) -> int:
    """Read, print the figures, and return the exit code."""
    require_unless(given, "bootstrap-server", "broker-list")
    if given.has("threads") or given.has("num-fetch-threads"):
        sys.stdout.write(f"{IGNORED_WARNING}\n")
    require(given, "topic", "messages")
    flags = given.values()
    if flags.reporting_interval <= 0:
        raise JavaError("java.lang.IllegalArgumentException", "Reporting interval must be greater than 0.")
    format_time(flags.date_format, 0)
    try:
        from_file = properties(flags.consumer_config, "--consumer.config")
    except CommandConfigError as error:
        raise JavaError("java.nio.file.NoSuchFileException", str(error)) from error
    if not flags.hide_header:
        sys.stdout.write(f"{consumer_header(is_detailed=flags.show_detailed_stats)}\n")
    settings = consumer_properties(flags, from_file, random.randrange(100_000))  # a name, no secret
    statistics, metrics = Statistics(), None
    try:
        consumer = confluent_kafka.Consumer(
            {
                **for_librdkafka(settings),
                **(statistics.settings() if flags.print_metrics else {}),
                "logger": SILENT,
            }
        )
    except confluent_kafka.KafkaException as error:
        raise java_error(error.args[0]) from error
    start_ms, reading = now_ms(), Reading(consumer, flags)
    try:
        reading.run()
        end = Consumed(now_ms(), reading.size, reading.count)
        if flags.print_metrics:
            metrics = _metrics(consumer, statistics)
    finally:
        consumer.close()
    if not flags.show_detailed_stats:
        sys.stdout.write(f"{consumer_total(start_ms, end, reading.join_ms, flags.date_format)}\n")
    if metrics is not None:
        sys.stdout.write(table(metrics))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool, and return the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    return run_with_options(OPTIONS, PURPOSE if words else PURPOSE_OF_NOTHING, words, work)


def command() -> int:
    """Run the tool as a program, and return its exit code."""
    return run_tool(main)


if __name__ == "__main__":
    sys.exit(command())
