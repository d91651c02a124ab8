"""``kafka-consumer-perf-test.sh``: read many records and print how fast that is.

Options and lines are those of ``kafka.tools.ConsumerPerformance`` of Kafka 2.8. Exit code 0, also
with too few records; 1 for options that cannot be used.
"""

from __future__ import annotations

import random
import sys
import time
from argparse import Namespace
from typing import Any

import confluent_kafka

from barnabas.tools.clients.client_metrics import Metrics, Statistics, table
from barnabas.tools.clients.client_properties import consumer
from barnabas.tools.command_line.files import read_properties
from barnabas.tools.command_line.parser import Parser, ToolError, has, integer, long
from barnabas.tools.command_line.rdkafka_errors import is_record
from barnabas.tools.performance.perf_stats import (
    Consumed,
    consumer_header,
    consumer_progress,
    consumer_total,
    format_time,
)

_POLL_S = 0.1
_BATCH = 500
"""The most records of one poll, as ``max.poll.records``."""

OPTIONS = Parser(
    "kafka-consumer-perf-test.sh", "This tool helps in performance test for the full zookeeper consumer"
)
OPTIONS.add_servers("--broker-list", config="--consumer.config")
OPTIONS.add_argument("--topic", required=True)
OPTIONS.add_argument("--messages", type=long, required=True, help="how many records")
OPTIONS.add_argument("--group", help="the consumer group; one for this run without it")
OPTIONS.add_argument(
    "--timeout",
    type=long,
    nargs="?",
    const=10_000,
    default=10_000,
    metavar="MS",
    help="end when no record came for so long (%(default)s)",
)
OPTIONS.add_argument(
    "--reporting-interval", type=integer, default=5000, metavar="MS", help="the time between two lines"
)
OPTIONS.add_argument("--date-format", default="yyyy-MM-dd HH:mm:ss:SSS", help="the format of times")
OPTIONS.add_argument(
    "--fetch-size", type=integer, default=1_048_576, help="the most bytes of a partition in a response"
)
OPTIONS.add_argument(
    "--socket-buffer-size", type=integer, default=2_097_152, help="the receive buffer in bytes"
)
OPTIONS.add_argument("--threads", type=integer, help="ignored, as in Kafka")
OPTIONS.add_argument("--num-fetch-threads", type=integer, help="ignored, as in Kafka")
OPTIONS.add_switches(
    from_latest="without a committed offset: begin at the end, not at the start",
    show_detailed_stats="print a line about each interval, and none about all",
    hide_header="do not print the names of the figures",
    print_metrics="print the consumer's metrics at the end",
)

IGNORED_WARNING = (
    "WARNING: option [threads] and [num-fetch-threads] have been deprecated and will be ignored by the test"
)


def consumer_properties(flags: Namespace, from_file: dict[str, str], random_number: int) -> dict[str, str]:
    """Return the properties of the consumer, by their names in Java.

    Args:
        flags: The options.
        from_file: The properties of ``--consumer.config``, which count less.
        random_number: The number in the name of a group for this run alone.
    """
    return {
        **from_file,
        "bootstrap.servers": flags.bootstrap_server,
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

    def __init__(self, consumer: confluent_kafka.Consumer, flags: Namespace) -> None:
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
            ToolError: The records cannot be read.
        """
        flags = self._flags
        self._consumer.subscribe([flags.topic], on_assign=self.on_assign, on_revoke=self.on_revoke)
        current_ms = last_consumed_ms = now_ms()
        last = Consumed(current_ms, 0, 0)
        while self.count < flags.messages and current_ms - last_consumed_ms <= flags.timeout:
            messages = self._consumer.consume(_BATCH, _POLL_S)
            current_ms = now_ms()
            records = [each for each in messages if is_record(each)]
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


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _metrics(consumer: confluent_kafka.Consumer, statistics: Statistics) -> Metrics:
    """Return the metrics; the partitions are paused, so that no record is read in the meantime."""
    consumer.pause(consumer.assignment())
    return statistics.metrics(consumer.poll)


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Read, print the figures, and return the exit code."""
    if has(flags, "threads") or has(flags, "num-fetch-threads"):
        sys.stdout.write(f"{IGNORED_WARNING}\n")
    if flags.reporting_interval <= 0:
        raise ToolError("Reporting interval must be greater than 0.")
    format_time(flags.date_format, 0)
    from_file = read_properties(flags.consumer_config, "--consumer.config")
    if not flags.hide_header:
        sys.stdout.write(f"{consumer_header(is_detailed=flags.show_detailed_stats)}\n")
    settings = consumer_properties(flags, from_file, random.randrange(100_000))  # a name, no secret
    statistics, metrics = Statistics(), None
    client = consumer(settings, statistics.settings() if flags.print_metrics else {})
    start_ms, reading = now_ms(), Reading(client, flags)
    try:
        reading.run()
        end = Consumed(now_ms(), reading.size, reading.count)
        if flags.print_metrics:
            metrics = _metrics(client, statistics)
    finally:
        client.close()
    if not flags.show_detailed_stats:
        sys.stdout.write(f"{consumer_total(start_ms, end, reading.join_ms, flags.date_format)}\n")
    if metrics is not None:
        sys.stdout.write(table(metrics))
    return 0


if __name__ == "__main__":
    sys.exit(main())
