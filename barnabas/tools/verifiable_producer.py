"""``kafka-verifiable-producer.sh``: write 0, 1, 2, … and say of each, as a line of JSON, what became of it.

Flags and lines are those of Kafka 2.8's ``org.apache.kafka.tools.VerifiableProducer``, without
``--producer.config``, ``--message-create-time`` and ``--repeating-keys``. It goes on until it is interrupted
or ``--max-messages`` are sent. Kafka's gives up a record at its first error; here the client tries again for
ten minutes, so that an outage that somebody mends is a pause. Exit code 0, or 1 where no broker answered.
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import kafka
from kafka import errors

from barnabas.tools.entry import run_tool
from barnabas.tools.servers import ServersError, parse_servers, why_silent

RECONNECT_BACKOFF_MAX_MS = 500
"""How long to leave a dead broker alone; kafka-python's own half a minute hides that it is back."""

DELIVERY_TIMEOUT_MS = 600_000
"""When a record is given up."""

Write = Callable[[str], None]


def due_s(number: int, throughput: float) -> float:
    """When the message of this number, from 0 on, is to be sent: seconds after the first.

    Args:
        number: How many were sent before it.
        throughput: Messages per second; no limit where it is not above 0.
    """
    return number / throughput if throughput > 0 else 0.0


@dataclass(slots=True)
class Tally:
    """How many messages were handed to the client, and how many a broker acknowledged."""

    sent: int = 0
    acked: int = 0


class Told:
    """The lines of JSON; outcomes arrive in the client's own thread.

    Args:
        write: Prints a line.
        now_ms: The time of day in milliseconds.

    Attributes:
        tally: What was told so far.
    """

    def __init__(self, write: Write, now_ms: Callable[[], int]) -> None:
        self._write = write
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self.tally = Tally()

    def event(self, name: str, **values: Any) -> None:
        """One line: the time, the event's name and its values."""
        line = json.dumps({"timestamp": self._now_ms(), "name": name, **values}, separators=(",", ":"))
        with self._lock:
            self._write(line)

    def success(self, value: str, placed: Any) -> None:
        """The record is acknowledged; ``placed`` has its ``topic``, ``partition`` and ``offset``."""
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
        """The client has given the record up."""
        self.event(
            "producer_send_error",
            key=None,
            value=value,
            topic=topic,
            exception=type(error).__name__,
            message=str(error),
        )


def write_messages(
    producer: kafka.KafkaProducer, flags: argparse.Namespace, told: Told, stop: threading.Event
) -> None:
    """Send until there are ``flags.max_messages``, or ``stop`` is set."""
    prefix = "" if flags.value_prefix is None else f"{flags.value_prefix}."
    started = time.monotonic()
    while flags.max_messages < 0 or told.tally.sent < flags.max_messages:
        ahead = started + due_s(told.tally.sent, flags.throughput) - time.monotonic()
        if stop.wait(max(0.0, ahead)):
            return
        value = f"{prefix}{told.tally.sent}"
        told.tally.sent += 1
        try:
            future = producer.send(flags.topic, value=value.encode())
        except (errors.KafkaError, ValueError) as error:  # ValueError: no topic can have this name
            told.failure(value, flags.topic, error)
            continue
        future.add_callback(lambda placed, value=value: told.success(value, placed))
        future.add_errback(lambda error, value=value: told.failure(value, flags.topic, error))


def parser() -> argparse.ArgumentParser:
    """Kafka's flags."""
    flags = argparse.ArgumentParser(
        prog="kafka-verifiable-producer.sh",
        description="Write increasing numbers to a topic and tell as JSON which were acknowledged.",
        allow_abbrev=False,
    )
    flags.add_argument("--bootstrap-server", "--broker-list", required=True, metavar="HOST:PORT[,...]")
    flags.add_argument("--topic", required=True)
    flags.add_argument(
        "--max-messages", type=int, default=-1, metavar="N", help="how many; -1: until interrupted"
    )
    flags.add_argument(
        "--throughput", type=float, default=-1, metavar="N", help="messages per second; -1: no limit"
    )
    flags.add_argument("--acks", type=int, choices=[0, 1, -1], default=-1, help="(%(default)s)")
    flags.add_argument("--value-prefix", type=int, metavar="N", help="written before each number, with a dot")
    return flags


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    flags = parser().parse_args(arguments)
    try:
        servers = parse_servers(flags.bootstrap_server)
    except ServersError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    # What matters of the client's struggles is told as events.
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
        # What is under way is waited for, but not by somebody who insists.
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)
    told = Told(write, lambda: time.time_ns() // 1_000_000)
    try:
        producer = kafka.KafkaProducer(
            bootstrap_servers=servers,
            acks=flags.acks,
            enable_idempotence=flags.acks == -1,
            delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
            reconnect_backoff_max_ms=RECONNECT_BACKOFF_MAX_MS,
        )
    except errors.KafkaError:
        sys.stderr.write(
            f"No broker answered at --bootstrap-server {flags.bootstrap_server}: {why_silent(servers)}\n"
        )
        return 1
    told.event("startup_complete")
    started = time.monotonic()
    write_messages(producer, flags, told, stop)
    producer.close()
    told.event("shutdown_complete")
    told.event(
        "tool_data",
        sent=told.tally.sent,
        acked=told.tally.acked,
        target_throughput=flags.throughput,
        avg_throughput=told.tally.acked / (time.monotonic() - started),
    )
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
