"""``kafka-verifiable-producer.sh``: write 0, 1, 2, … and print the outcome of each as a line of JSON.

Flags and lines are those of Kafka 2.8's ``org.apache.kafka.tools.VerifiableProducer``, without
``--producer.config``, ``--message-create-time`` and ``--repeating-keys``. The tool runs until it is
interrupted or ``--max-messages`` are sent. Kafka's tool drops a record at its first error; this one retries
for ten minutes, so that an outage delays records and loses none. Exit code 0; 1 for a command line that
cannot be read, or if no broker answered.
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import kafka
from kafka import errors

from barnabas.tools.command_line.parser import Parser, ToolError, integer
from barnabas.tools.command_line.servers import parse_servers, why_silent

RECONNECT_BACKOFF_MAX_MS = 500
"""The longest pause in ms before reconnecting to a broker.

kafka-python's default of 30 s would delay the use of a restarted broker.
"""

DELIVERY_TIMEOUT_MS = 600_000
"""Milliseconds after which the client stops retrying a record."""

Write = Callable[[str], None]

OPTIONS = Parser(
    "kafka-verifiable-producer.sh",
    "Write increasing numbers to a topic and print as JSON which were acknowledged.",
    help_code=0,
)
OPTIONS.add_servers("--broker-list", config=None)
OPTIONS.add_argument("--topic", required=True)
OPTIONS.add_argument("--max-messages", type=integer, default=-1, help="-1: until interrupted")
OPTIONS.add_argument("--throughput", type=float, default=-1, help="messages per second; -1: no limit")
OPTIONS.add_argument("--acks", type=integer, choices=[0, 1, -1], default=-1, help="(%(default)s)")
OPTIONS.add_argument("--value-prefix", type=integer, help="written before each number, with a dot")


def due_s(number: int, throughput: float) -> float:
    """Return when a message is due, in seconds after the first message.

    Args:
        number: The message's number, from 0.
        throughput: Messages per second; no limit if it is 0 or less.
    """
    return number / throughput if throughput > 0 else 0.0


@dataclass(slots=True)
class Tally:
    """The numbers of messages handed to the client, and acknowledged by a broker."""

    sent: int = 0
    acked: int = 0


class Events:
    """The events of the tool, printed as lines of JSON.

    The client reports outcomes on its own thread, so printing takes a lock.

    Args:
        write: Prints a line.
        now_ms: Returns the time in milliseconds since 1970.

    Attributes:
        tally: The counts so far.
    """

    def __init__(self, write: Write, now_ms: Callable[[], int]) -> None:
        self._write = write
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self.tally = Tally()

    def event(self, name: str, **values: Any) -> None:
        """Print an event: the time, its name and its values."""
        line = json.dumps({"timestamp": self._now_ms(), "name": name, **values}, separators=(",", ":"))
        with self._lock:
            self._write(line)

    def success(self, value: str, placed: Any) -> None:
        """Count and print an acknowledged record; ``placed`` has ``topic``, ``partition`` and ``offset``."""
        self.tally.acked += 1
        self.event(
            "producer_send_success",
            key=None,
            value=value,
            offset=placed.offset,
            topic=placed.topic,
            partition=placed.partition,
        )

    def failure(self, value: str, topic: str, error: BaseException) -> None:
        """Print a record that the client could not deliver."""
        self.event(
            "producer_send_error",
            key=None,
            value=value,
            topic=topic,
            exception=type(error).__name__,
            message=str(error),
        )


def write_messages(
    producer: kafka.KafkaProducer, flags: argparse.Namespace, events: Events, stop: threading.Event
) -> None:
    """Send messages until ``flags.max_messages`` are sent or ``stop`` is set."""
    prefix = "" if flags.value_prefix is None else f"{flags.value_prefix}."
    started = time.monotonic()
    while flags.max_messages < 0 or events.tally.sent < flags.max_messages:
        ahead = started + due_s(events.tally.sent, flags.throughput) - time.monotonic()
        if stop.wait(max(0.0, ahead)):
            return
        value = f"{prefix}{events.tally.sent}"
        events.tally.sent += 1
        try:
            future = producer.send(flags.topic, value=value.encode())
        except (errors.KafkaError, ValueError) as error:  # ValueError: the topic name is invalid
            events.failure(value, flags.topic, error)
            continue
        future.add_callback(lambda placed, value=value: events.success(value, placed))
        future.add_errback(lambda error, value=value: events.failure(value, flags.topic, error))


@OPTIONS.main
def main(flags: argparse.Namespace) -> int:
    """Write the messages, and return the exit code."""
    servers = parse_servers(flags.bootstrap_server)
    # Errors of the client are printed as events.
    logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)
    stop = threading.Event()

    def write(line: str) -> None:
        try:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        except BrokenPipeError:
            stop.set()
            raise

    def interrupted(_signal: int, _frame: FrameType | None) -> None:
        stop.set()
        # The first Ctrl-C waits for the messages in flight, the second one ends the process.
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)
    events = Events(write, lambda: time.time_ns() // 1_000_000)
    try:
        producer = kafka.KafkaProducer(
            bootstrap_servers=servers,
            acks=flags.acks,
            enable_idempotence=flags.acks == -1,
            delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
            reconnect_backoff_max_ms=RECONNECT_BACKOFF_MAX_MS,
        )
    except errors.KafkaError as error:
        reason = f"No broker answered at --bootstrap-server {flags.bootstrap_server}"
        raise ToolError(f"{reason}: {why_silent(servers)}") from error
    events.event("startup_complete")
    started = time.monotonic()
    write_messages(producer, flags, events, stop)
    producer.close()
    events.event("shutdown_complete")
    events.event(
        "tool_data",
        sent=events.tally.sent,
        acked=events.tally.acked,
        target_throughput=flags.throughput,
        avg_throughput=events.tally.acked / (time.monotonic() - started),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
