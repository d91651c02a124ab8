"""``kafka-producer-perf-test.sh``: write many records and print how fast that is.

Options and lines are those of ``org.apache.kafka.tools.ProducerPerformance`` of Kafka 2.8; those of
transactions are refused. A record that fails is printed to standard error and counts as the others. Exit code
0, or 1 for a command line that cannot be read.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import confluent_kafka

from barnabas.tools.clients.client_metrics import Statistics, table
from barnabas.tools.clients.client_properties import producer
from barnabas.tools.command_line.files import read_properties
from barnabas.tools.command_line.parser import Parser, ToolError, UsageError, has, integer, long
from barnabas.tools.performance.perf_stats import ProducerStats, Throttle

INTERVAL_MS = 5000
_POLL_S = 0.1

TRANSACTIONAL = ("transactional-id", "transaction-duration-ms")
"""The options of transactions, which are refused."""

DEFAULTS = {"acks": "1", "linger.ms": "0", "batch.size": "16384", "delivery.timeout.ms": "120000"}
"""The properties whose defaults differ between librdkafka and Java's producer of 2.8."""


OPTIONS = Parser(
    "kafka-producer-perf-test.sh", "This tool is used to verify the producer performance.", help_code=0
)
OPTIONS.add_argument("--topic", required=True)
OPTIONS.add_argument("--num-records", type=long, required=True)
_payload = OPTIONS.add_mutually_exclusive_group(required=True)
_payload.add_argument("--record-size", type=integer, help="bytes of a record")
_payload.add_argument("--payload-file", help="a file of payloads, taken at random")
OPTIONS.add_argument("--payload-delimiter", default="\\n", help="what separates the payloads")
OPTIONS.add_argument("--throughput", type=integer, required=True, help="records per second; -1: no limit")
OPTIONS.add_argument(
    "--producer-props",
    nargs="+",
    metavar="NAME=VALUE",
    help="properties of the producer, such as bootstrap.servers",
)
OPTIONS.add_argument("--producer.config", dest="producer_config", metavar="FILE", help="more properties")
OPTIONS.add_argument("--print-metrics", action="store_true", help="print the producer's metrics at the end")
for _name in TRANSACTIONAL:
    OPTIONS.add_argument(f"--{_name}", help="refused: transactions are not served")


def producer_properties(from_file: dict[str, str], texts: Sequence[str]) -> dict[str, str]:
    """Return the properties of the producer.

    Args:
        from_file: Those of ``--producer.config``.
        texts: Those of ``--producer-props``, which count more.

    Raises:
        ToolError: One has not exactly one ``=``, with something on both sides.
    """
    pairs = [text.split("=") for text in texts]
    for text, pair in zip(texts, pairs, strict=True):
        if len(pair) != 2 or not pair[1]:
            raise ToolError(f"Invalid property: {text}")
    return {**DEFAULTS, **from_file, **dict(pairs)}


def payloads(flags: argparse.Namespace, chance: random.Random) -> Iterator[bytes]:
    """Yield the values of the records, without end.

    Raises:
        ToolError: The file of payloads is not there, or is empty.
    """
    if flags.payload_file is None:
        payload = bytes(chance.randrange(26) + 65 for _ in range(flags.record_size))
        while True:
            yield payload
    path = Path(flags.payload_file)
    sys.stdout.write(f"Reading payloads from: {path.absolute()}\n")
    if not path.is_file() or not path.stat().st_size:
        raise ToolError("File does not exist or empty file provided.")
    delimiter = flags.payload_delimiter.replace("\\n", "\n")
    # Java's split leaves out the empty texts at the end.
    texts = path.read_text(encoding="utf-8").rstrip(delimiter).split(delimiter)
    sys.stdout.write(f"Number of messages read: {len(texts)}\n")
    while True:
        yield chance.choice(texts).encode()


def send(
    producer: confluent_kafka.Producer, flags: argparse.Namespace, values: Iterator[bytes]
) -> Callable[[int], str]:
    """Send the records, and return the statistics about all of them."""
    start_ms = _now_ms()
    stats = ProducerStats(flags.num_records, start_ms, INTERVAL_MS)
    throttle = Throttle(flags.throughput, start_ms)

    def done(number: int, sent_ms: int, size: int, error: confluent_kafka.KafkaError | None) -> None:
        now_ms = _now_ms()
        line = stats.record(number, now_ms - sent_ms, size, now_ms)
        if line is not None:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        if error is not None:
            sys.stderr.write(f"{error.str()}\n")

    for number in range(flags.num_records):
        value, sent_ms = next(values), _now_ms()

        def report(
            error: Any, _: Any, number: int = number, sent_ms: int = sent_ms, size: int = len(value)
        ) -> None:
            done(number, sent_ms, size, error)

        _produce(producer, flags.topic, value, report)
        pause_ns = throttle.sleep_ns(number, sent_ms)
        if pause_ns:
            producer.poll(0)
            time.sleep(pause_ns / 1e9)
    producer.flush()
    return stats.total


def _produce(producer: confluent_kafka.Producer, topic: str, value: bytes, report: Any) -> None:
    while True:
        try:
            producer.produce(topic, value, on_delivery=report)
        except BufferError:
            producer.poll(_POLL_S)
        except confluent_kafka.KafkaException as error:
            report(error.args[0], None)
            return
        else:
            producer.poll(0)
            return


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@OPTIONS.main
def main(flags: argparse.Namespace) -> int:
    """Write the records, print the figures, and return the exit code."""
    if flags.producer_props is None and flags.producer_config is None:
        raise UsageError("one of --producer-props, --producer.config is required")
    for name in TRANSACTIONAL:
        if has(flags, name):
            raise UsageError(f"--{name}: transactions are not served")
    if flags.throughput == 0:
        raise UsageError("--throughput: 0 would wait forever, expected -1 or a positive number")
    from_file = read_properties(flags.producer_config, "--producer.config")
    settings = producer_properties(from_file, flags.producer_props or ())
    statistics = Statistics()
    values = payloads(flags, random.Random(0))  # this is Kafka's seed, so that each run has the same payloads
    client = producer(settings, statistics.settings() if flags.print_metrics else {})
    total = send(client, flags, values)
    sys.stdout.write(f"{total(_now_ms())}\n")
    if flags.print_metrics:
        sys.stdout.write(table(statistics.metrics(client.poll)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
