"""``kafka-console-producer.sh``: write each line of standard input as a record.

Options and output are those of ``kafka.tools.ConsoleProducer`` of Kafka 2.8. A record that cannot be written
is logged and leaves the exit code at 0, with ``--sync`` it ends the tool with 1, as any other error does.
"""

from __future__ import annotations

import io
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import NamedTuple

import confluent_kafka

from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.clients.client_properties import producer
from barnabas.tools.command_line.files import read_properties
from barnabas.tools.command_line.parser import Parser, ToolError, integer, key_values, long

LOGGER = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"

_READER = "kafka.tools.ConsoleProducer$LineMessageReader"
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_RETRY_S = 0.1

_FATAL: dict[int, str] = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Not authorized to access topics",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "Invalid topics",
}
"""The errors of a topic that end the wait for its metadata, and how Java's messages of them begin."""

OPTIONS = Parser(
    "kafka-console-producer.sh", "This tool helps to read data from standard input and publish it to Kafka."
)
OPTIONS.add_servers("--broker-list", config="--producer.config")
OPTIONS.add_argument("--topic", required=True)
OPTIONS.add_argument("--sync", action="store_true", help="wait for each record before the next one")
OPTIONS.add_argument(
    "--compression-codec",
    nargs="?",
    const="gzip",
    default="none",
    choices=_CODECS,
    help="gzip if no codec is named",
)
OPTIONS.add_argument("--batch-size", type=integer, help="ignored, as in Kafka")
OPTIONS.add_argument(
    "--line-reader", default=_READER, choices=[_READER], metavar="CLASS", help="no other than %(default)s"
)
OPTIONS.add_lists(
    property="parse.key=true: a line has a key and a value; key.separator=... between them, else a tab; "
    "ignore.error=true: a line without it has no key",
    producer_property="a property key=value of the producer",
)


class Merged(NamedTuple):
    """An option that sets a property of the producer.

    Attributes:
        property: The name of the property.
        type: Converts the value.
        default: The property's value if neither the option nor the property is given.
        help: The text in the help.
    """

    property: str
    type: Callable[[str], object]
    default: str
    help: str


MERGED = {
    "message-send-max-retries": Merged("retries", integer, "3", "how often to retry"),
    "retry-backoff-ms": Merged("retry.backoff.ms", integer, "100", "the pause before a retry"),
    "timeout": Merged("linger.ms", integer, "1000", "how long to wait for a fuller batch"),
    "request-required-acks": Merged("acks", str, "1", "0, 1 or all"),
    "request-timeout-ms": Merged("request.timeout.ms", integer, "1500", "how long a broker may take"),
    "metadata-expiry-ms": Merged("metadata.max.age.ms", long, "300000", "how long metadata is used"),
    "max-block-ms": Merged("max.block.ms", long, "60000", "how long to wait for the topic's metadata"),
    "max-memory-bytes": Merged("buffer.memory", long, "33554432", "the bytes of records that wait"),
    "max-partition-memory-bytes": Merged("batch.size", long, "16384", "the bytes of a batch"),
    "socket-buffer-size": Merged("send.buffer.bytes", integer, "102400", "the send buffer in bytes"),
}
for _name, _merged in MERGED.items():
    OPTIONS.add_argument(f"--{_name}", type=_merged.type, help=f"{_merged.help} ({_merged.default})")


class LineFormat(NamedTuple):
    """The format of an input line.

    Attributes:
        has_key: Whether a line has a key before its value.
        separator: What stands between them.
        ignores_errors: Whether a line without it is a value alone.
    """

    has_key: bool = False
    separator: str = "\t"
    ignores_errors: bool = False


def line_format(texts: dict[str, str]) -> LineFormat:
    """Return how lines are read, from the properties of ``--property``."""
    return LineFormat(
        texts.get("parse.key", "").strip().lower() == "true",
        texts.get("key.separator", "\t"),
        texts.get("ignore.error", "").strip().lower() == "true",
    )


def parse_line(line: str, number: int, form: LineFormat) -> tuple[bytes | None, bytes]:
    """Return key and value of the line of that number.

    Raises:
        ToolError: It has no key.
    """
    if not form.has_key:
        return None, line.encode()
    key, separator, value = line.partition(form.separator) if form.separator else ("", "", line)
    if separator or not form.separator:
        return key.encode(), value.encode()
    if form.ignores_errors:
        return None, line.encode()
    raise ToolError(f"No key found on line {number}: {line}")


def producer_properties(flags: Namespace) -> dict[str, str]:
    """Return the properties of the producer, by their names in Java."""
    own = {
        **read_properties(flags.producer_config, "--producer.config"),
        **key_values(flags.producer_property),
        "bootstrap.servers": flags.bootstrap_server,
        "compression.type": flags.compression_codec,
    }
    given = {each.property: getattr(flags, name.replace("-", "_")) for name, each in MERGED.items()}
    explicit = {name: str(value) for name, value in given.items() if value is not None}
    defaults = {each.property: each.default for each in MERGED.values()} | {"client.id": "console-producer"}
    return {**defaults, **own, **explicit}


class Writer:
    """Writes records to a topic.

    Args:
        topic: The topic.
        settings: The properties of the producer, by their names in Java.

    Raises:
        ToolError: The client refuses a property.
    """

    def __init__(self, topic: str, settings: dict[str, str]) -> None:
        self._topic = topic
        self._block_ms = int(settings["max.block.ms"])
        self._is_known = False
        self._producer = producer(settings)

    def write(self, key: bytes | None, value: bytes, *, sync: bool) -> None:
        """Write a record; log an error, or raise it with ``sync``.

        Raises:
            ToolError: The record was not written, with ``sync``.
        """
        failures: list[confluent_kafka.KafkaError] = []

        def done(error: confluent_kafka.KafkaError | None, _: object) -> None:
            if error is not None and not sync:
                _print_failure(self._topic, key, value, self._error(error))
            elif error is not None:
                failures.append(error)

        absent = self._wait_for_topic()
        if absent is not None:
            if sync:
                raise absent
            _print_failure(self._topic, key, value, absent)
            return
        while True:
            try:
                self._producer.produce(self._topic, value, key, on_delivery=done)
                break
            except BufferError:
                self._producer.poll(_RETRY_S)
            except confluent_kafka.KafkaException as error:
                done(error.args[0], None)
                break
        self._producer.poll(0)
        if sync:
            self._producer.flush()
        for failure in failures:
            raise self._error(failure)

    def close(self) -> None:
        """Wait until each record is written or has failed."""
        self._producer.flush()

    def _wait_for_topic(self) -> ToolError | None:
        """Wait until the topic has leaders, as Java's producer does before it accepts a record.

        Return the error if it has none in time, or at once if the topic may not be accessed.
        """
        deadline = time.monotonic() + self._block_ms / 1000
        while not self._is_known:
            left = deadline - time.monotonic()
            if left <= 0:
                message = f"Topic {self._topic} not present in metadata after {self._block_ms} ms."
                return ToolError(message)
            try:
                error = self._producer.list_topics(self._topic, timeout=left).topics[self._topic].error
                self._is_known = error is None
                if error is not None and error.code() in _FATAL:
                    return self._error(error)
            except confluent_kafka.KafkaException:
                pass  # no broker answered yet
            if not self._is_known:
                time.sleep(min(_RETRY_S, max(0.0, deadline - time.monotonic())))
        return None

    def _error(self, error: confluent_kafka.KafkaError) -> ToolError:
        """Return an error, which names the topic if it may not be accessed."""
        start = _FATAL.get(error.code())
        return ToolError(error.str() if start is None else f"{start}: [{self._topic}]")


def _print_failure(topic: str, key: bytes | None, value: bytes, error: ToolError) -> None:
    size = "null" if key is None else f"{len(key)} bytes"
    message = f"Error when sending message to topic {topic} with key: {size}, value: {len(value)} bytes with"
    sys.stderr.write(f"ERROR: {message} error: {error}\n")
    sys.stderr.flush()


def _lines() -> Iterator[str]:
    """Yield the lines of standard input, after a prompt if a person types them."""
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    text = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace", newline=None)
    while True:
        if is_terminal:
            sys.stdout.write(">")
            sys.stdout.flush()
        line = text.readline()
        if not line:
            return
        yield line.removesuffix("\n")


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Write the lines, and return the exit code."""
    writer = Writer(flags.topic, producer_properties(flags))
    form = line_format(key_values(flags.property))
    try:
        for number, line in enumerate(_lines(), 1):
            writer.write(*parse_line(line, number, form), sync=flags.sync)
    finally:
        writer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
