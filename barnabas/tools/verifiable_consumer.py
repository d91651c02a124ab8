"""``kafka-verifiable-consumer.sh``: read a topic as a member of a group, and print what happens as JSON.

Flags and lines are those of ``org.apache.kafka.tools.VerifiableConsumer`` of Kafka 2.8: its start and end,
partitions that it gets and loses, records of each poll, and commits. Exit code 0, also after an error, which
is logged; 1 for a command line that cannot be read; 130 or 143 after SIGINT or SIGTERM, which close it.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any, NamedTuple

import confluent_kafka

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.client_properties import consumer
from barnabas.tools.command_line.files import read_properties
from barnabas.tools.command_line.parser import Parser, ToolError, integer
from barnabas.tools.command_line.rdkafka_errors import is_record

RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"

_POLL_S = 0.1
_BATCH = 500
"""The most records of one poll, as ``max.poll.records``."""

_SIGNAL_BASE = 128
"""The exit code of a process that a signal ended is larger than the signal's number by this."""

Event = dict[str, Any]


class Consumed(NamedTuple):
    """A record as it is printed.

    Attributes:
        key: Its key as text; None for null.
        value: Its value as text; None for null.
        topic: Its topic.
        partition: Its partition.
        offset: Its offset.
    """

    key: str | None
    value: str | None
    topic: str
    partition: int
    offset: int


class Polled(NamedTuple):
    """The consequences of one poll.

    Attributes:
        events: The events to print.
        offsets: The offsets to commit.
        taken: How many records count.
    """

    events: list[Event]
    offsets: dict[TopicPartition, int]
    taken: int


def polled(records: Sequence[Consumed], left: int | None, *, verbose: bool) -> Polled:
    """Return the consequences of the records of one poll.

    Args:
        records: The records.
        left: How many may still count; None for all.
        verbose: Whether there is an event for each record.
    """
    by_partition: dict[TopicPartition, list[Consumed]] = {}
    for record in records:
        by_partition.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
    events: list[Event] = []
    summaries, offsets, taken = [], {}, 0
    for tp, found in by_partition.items():
        counted = found if left is None else found[: left - taken]
        if not counted:
            continue
        taken += len(counted)
        first, last = counted[0].offset, counted[-1].offset
        offsets[tp] = last + 1
        summaries.append({**tp._asdict(), "count": len(counted), "minOffset": first, "maxOffset": last})
        events += [{"name": "record_data", **each._asdict()} for each in counted if verbose]
    # As in Kafka, the count includes the records beyond --max-messages.
    events.append({"name": "records_consumed", "count": len(records), "partitions": summaries})
    return Polled(events, offsets, taken)


def commit_event(offsets: dict[TopicPartition, int], error: str | None) -> Event:
    """Return the event of a commit and its error."""
    committed = [{**tp._asdict(), "offset": offset} for tp, offset in offsets.items()]
    failure = {} if error is None else {"error": error}
    return {"name": "offsets_committed", "offsets": committed, **failure, "success": error is None}


def partitions_event(name: str, partitions: Iterable[Any]) -> Event:
    """Return the event of partitions that the consumer got or lost."""
    return {
        "name": name,
        "partitions": [{"topic": each.topic, "partition": each.partition} for each in partitions],
    }


def line_of(event: Event, now_ms: int) -> str:
    """Return an event as a line of JSON."""
    return json.dumps({"timestamp": now_ms, **event}, separators=(",", ":"), ensure_ascii=False)


OPTIONS = Parser(
    "kafka-verifiable-consumer.sh",
    "This tool consumes messages from a specific topic and emits consumer events (e.g. group rebalances, "
    "received messages, and offsets committed) as JSON objects to STDOUT.",
    help_code=0,
)
OPTIONS.add_servers("--broker-list", config="--consumer.config")
OPTIONS.add_argument("--topic", required=True)
OPTIONS.add_argument("--group-id", required=True)
OPTIONS.add_argument("--group-instance-id", help="of a static member")
OPTIONS.add_argument("--max-messages", type=integer, default=-1, help="-1: no end")
OPTIONS.add_argument("--session-timeout", type=integer, default=30_000, metavar="MS")
OPTIONS.add_argument("--reset-policy", default="earliest", help="earliest, latest or none")
OPTIONS.add_argument("--assignment-strategy", default=RANGE, help="the class of the assignor")
OPTIONS.add_switches(verbose="print each record", enable_autocommit="commit in the background")


def consumer_properties(flags: argparse.Namespace, from_file: dict[str, str]) -> dict[str, str]:
    """Return the properties of the consumer, by their names in Java."""
    static = {} if flags.group_instance_id is None else {"group.instance.id": flags.group_instance_id}
    return {
        **from_file,
        **static,
        "group.id": flags.group_id,
        "bootstrap.servers": flags.bootstrap_server,
        "enable.auto.commit": str(flags.enable_autocommit).lower(),
        "auto.offset.reset": flags.reset_policy,
        "session.timeout.ms": str(flags.session_timeout),
        "partition.assignment.strategy": flags.assignment_strategy,
        "allow.auto.create.topics": "true",
    }


class VerifiableConsumer:
    """Reads and prints.

    Args:
        consumer: The client.
        flags: The options.

    Attributes:
        signal: The number of the signal that ended the tool; 0 for none.
    """

    def __init__(self, consumer: confluent_kafka.Consumer, flags: argparse.Namespace) -> None:
        self._consumer = consumer
        self._flags = flags
        self._count = 0
        self.signal = 0

    def interrupt(self, number: int, _frame: FrameType | None) -> None:
        """End the tool; a second signal does so at once."""
        self.signal = number
        signal.signal(number, signal.SIG_DFL)

    def run(self) -> None:
        """Read until there are enough records, an error or a signal; log the error."""
        _print({"name": "startup_complete"})
        try:
            self._consumer.subscribe(
                [self._flags.topic],
                on_assign=lambda _, partitions: _print(partitions_event("partitions_assigned", partitions)),
                on_revoke=lambda _, partitions: _print(partitions_event("partitions_revoked", partitions)),
            )
            while not self.signal and not 0 <= self._flags.max_messages <= self._count:
                self._poll()
        except ToolError as error:
            sys.stderr.write(f"ERROR: the consumer ends: {error}\n")
        finally:
            self._consumer.close()
            _print({"name": "shutdown_complete"})

    def _poll(self) -> None:
        records = [_consumed(each) for each in self._consumer.consume(_BATCH, _POLL_S) if is_record(each)]
        if not records:
            return
        most = self._flags.max_messages
        found = polled(records, None if most < 0 else most - self._count, verbose=self._flags.verbose)
        self._count += found.taken
        for event in found.events:
            _print(event)
        if not self._flags.enable_autocommit:
            self._commit(found.offsets)

    def _commit(self, offsets: dict[TopicPartition, int]) -> None:
        wanted = [confluent_kafka.TopicPartition(*tp, offset) for tp, offset in offsets.items()]
        try:
            results = self._consumer.commit(offsets=wanted, asynchronous=False)
            error = next((each.error for each in results if each.error is not None), None)
        except confluent_kafka.KafkaException as failure:
            error = failure.args[0]
        if error is not None and error.code() == confluent_kafka.KafkaError.FENCED_INSTANCE_ID:
            raise ToolError(error.str())
        _print(commit_event(offsets, None if error is None else error.str()))


def _consumed(message: Any) -> Consumed:
    key, value = (
        None if content is None else content.decode(errors="replace")
        for content in (message.key(), message.value())
    )
    return Consumed(key, value, message.topic(), message.partition(), message.offset())


def _print(event: Event) -> None:
    sys.stdout.write(f"{line_of(event, time.time_ns() // 1_000_000)}\n")
    sys.stdout.flush()


@OPTIONS.main
def main(flags: argparse.Namespace) -> int:
    """Read and print, and return the exit code."""
    from_file = read_properties(flags.consumer_config, "--consumer.config")
    tool = VerifiableConsumer(consumer(consumer_properties(flags, from_file)), flags)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, tool.interrupt)
    tool.run()
    return _SIGNAL_BASE + tool.signal if tool.signal else 0


if __name__ == "__main__":
    sys.exit(main())
