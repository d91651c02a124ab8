"""``kafka-console-producer.sh``: write each line of standard input as a record.

Options and output are those of ``kafka.tools.ConsoleProducer`` of Kafka 2.8. A record that cannot be written
is logged and leaves the exit code at 0, with ``--sync`` it ends the tool with 1, as any other error does.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import confluent_kafka

from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.clients.client_properties import SILENT, for_librdkafka, merged
from barnabas.tools.clients.command_config import CommandConfigError, properties
from barnabas.tools.command_line.entry import run_tool, run_with_options
from barnabas.tools.command_line.log4j import log
from barnabas.tools.command_line.options import Given, JavaError, Kind, Option, Options, bootstrap_server
from barnabas.tools.command_line.rdkafka_errors import java_error
from barnabas.tools.command_line.usage import check_servers, key_values, require, require_unless

PURPOSE = "This tool helps to read data from standard input and publish it to Kafka."

LOGGER = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"

_READER = "kafka.tools.ConsoleProducer$LineMessageReader"
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_RETRY_S = 0.1
_KAFKA = "org.apache.kafka.common.KafkaException"

_FATAL: dict[int, str] = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Not authorized to access topics",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "Invalid topics",
}
"""The errors of a topic that end the wait for its metadata, and how Java's messages of them begin."""

OPTIONS = Options(
    bootstrap_server("the servers to connect to, separated by commas; required"),
    Option("broker-list", "the same, deprecated", "broker-list"),
    Option("topic", "the topic to write to; required", "topic"),
    Option("sync", "wait for each record before the next one"),
    Option(
        "compression-codec",
        "none, gzip, snappy, lz4 or zstd; gzip if no codec is named",
        "compression-codec",
        is_optional=True,
    ),
    Option("batch-size", "ignored, as in Kafka", "size", kind=Kind.INTEGER, default="200"),
    Option("message-send-max-retries", "how often to retry", "", kind=Kind.INTEGER, default="3"),
    Option("retry-backoff-ms", "the pause before a retry", "", kind=Kind.INTEGER, default="100"),
    Option("timeout", "how long to wait for a fuller batch", "timeout_ms", kind=Kind.INTEGER, default="1000"),
    Option("request-required-acks", "0, 1 or all", "request required acks", default="1"),
    Option(
        "request-timeout-ms",
        "how long a broker may take",
        "request timeout ms",
        kind=Kind.INTEGER,
        default="1500",
    ),
    Option(
        "metadata-expiry-ms",
        "how long metadata is used",
        "metadata expiration interval",
        kind=Kind.LONG,
        default="300000",
    ),
    Option(
        "max-block-ms",
        "how long to wait for the topic's metadata",
        "max block on send",
        kind=Kind.LONG,
        default="60000",
    ),
    Option(
        "max-memory-bytes",
        "the bytes of records that wait",
        "total memory in bytes",
        kind=Kind.LONG,
        default="33554432",
    ),
    Option(
        "max-partition-memory-bytes",
        "the bytes of a batch",
        "memory in bytes per partition",
        kind=Kind.LONG,
        default="16384",
    ),
    Option("line-reader", f"no other than {_READER}", "reader_class", default=_READER),
    Option("socket-buffer-size", "the send buffer in bytes", "size", kind=Kind.INTEGER, default="102400"),
    Option(
        "property",
        "parse.key=true: a line has a key and a value; key.separator=... between them, else a tab; "
        "ignore.error=true: a line without it has no key; can be repeated",
        "prop",
        repeated=True,
    ),
    Option("producer-property", "a property key=value of the producer", "producer_prop", repeated=True),
    Option("producer.config", "a file of properties of the producer", "config file"),
)

_MERGED = {
    "timeout": "linger.ms",
    "request-required-acks": "acks",
    "request-timeout-ms": "request.timeout.ms",
    "message-send-max-retries": "retries",
    "retry-backoff-ms": "retry.backoff.ms",
    "socket-buffer-size": "send.buffer.bytes",
    "max-memory-bytes": "buffer.memory",
    "max-partition-memory-bytes": "batch.size",
    "metadata-expiry-ms": "metadata.max.age.ms",
    "max-block-ms": "max.block.ms",
}
"""The property that each option sets."""


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
        JavaError: It has no key.
    """
    if not form.has_key:
        return None, line.encode()
    key, separator, value = line.partition(form.separator) if form.separator else ("", "", line)
    if separator or not form.separator:
        return key.encode(), value.encode()
    if form.ignores_errors:
        return None, line.encode()
    raise JavaError(_KAFKA, f"No key found on line {number}: {line}")


def producer_properties(given: Given) -> dict[str, str]:
    """Return the properties of the producer, by their names in Java.

    Raises:
        CommandConfigError: The file of properties cannot be read.
        JavaError: There is no such codec.
    """
    flags = given.values()
    own = {
        **properties(flags.producer_config, "--producer.config"),
        **key_values(flags.producer_property),
        "bootstrap.servers": flags.bootstrap_server or flags.broker_list,
        "compression.type": (flags.compression_codec or "gzip") if given.has("compression-codec") else "none",
    }
    if own["compression.type"] not in _CODECS:
        cause = f"java.lang.IllegalArgumentException: Unknown compression name: {own['compression.type']}"
        raise JavaError(_KAFKA, f"Failed to construct kafka producer\nCaused by: {cause}")
    values = {name: str(getattr(flags, name.replace("-", "_"))) for name in _MERGED}
    explicit = {_MERGED[name]: value if given.has(name) else None for name, value in values.items()}
    defaults = {_MERGED[name]: value for name, value in values.items()} | {"client.id": "console-producer"}
    return merged(own, explicit, defaults)


class Writer:
    """Writes records to a topic.

    Args:
        topic: The topic.
        settings: The properties of the producer, by their names in Java.

    Raises:
        JavaError: The client refuses a property.
    """

    def __init__(self, topic: str, settings: dict[str, str]) -> None:
        self._topic = topic
        self._block_ms = int(settings["max.block.ms"])
        self._is_known = False
        try:
            self._producer = confluent_kafka.Producer({**for_librdkafka(settings), "logger": SILENT})
        except confluent_kafka.KafkaException as error:
            raise java_error(error.args[0]) from error

    def write(self, key: bytes | None, value: bytes, *, sync: bool) -> None:
        """Write a record; log an error, or raise it with ``sync``.

        Raises:
            JavaError: The record was not written, with ``sync``.
        """
        failures: list[confluent_kafka.KafkaError] = []

        def done(error: confluent_kafka.KafkaError | None, _: object) -> None:
            if error is not None and not sync:
                _log_failure(self._topic, key, value, self._java_error(error))
            elif error is not None:
                failures.append(error)

        absent = self._wait_for_topic()
        if absent is not None:
            if sync:
                raise JavaError("java.util.concurrent.ExecutionException", f"{absent.java_class}: {absent}")
            _log_failure(self._topic, key, value, absent)
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
            cause = self._java_error(failure)
            raise JavaError("java.util.concurrent.ExecutionException", f"{cause.java_class}: {cause}")

    def close(self) -> None:
        """Wait until each record is written or has failed."""
        self._producer.flush()

    def _wait_for_topic(self) -> JavaError | None:
        """Wait until the topic has leaders, as Java's producer does before it accepts a record.

        Return the error if it has none in time, or at once if the topic may not be accessed.
        """
        deadline = time.monotonic() + self._block_ms / 1000
        while not self._is_known:
            left = deadline - time.monotonic()
            if left <= 0:
                message = f"Topic {self._topic} not present in metadata after {self._block_ms} ms."
                return JavaError("org.apache.kafka.common.errors.TimeoutException", message)
            try:
                error = self._producer.list_topics(self._topic, timeout=left).topics[self._topic].error
                self._is_known = error is None
                if error is not None and error.code() in _FATAL:
                    return self._java_error(error)
            except confluent_kafka.KafkaException:
                pass  # no broker answered yet
            if not self._is_known:
                time.sleep(min(_RETRY_S, max(0.0, deadline - time.monotonic())))
        return None

    def _java_error(self, error: confluent_kafka.KafkaError) -> JavaError:
        """Return an error as Java's producer gives it, which names the topic in some of them."""
        known = java_error(error)
        start = _FATAL.get(error.code())
        return known if start is None else JavaError(known.java_class, f"{start}: [{self._topic}]")


def _log_failure(topic: str, key: bytes | None, value: bytes, error: JavaError) -> None:
    size = "null" if key is None else f"{len(key)} bytes"
    message = f"Error when sending message to topic {topic} with key: {size}, value: {len(value)} bytes with"
    log("ERROR", f"{message} error:", LOGGER, f"{error.java_class}: {error}")


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


def work(given: Given) -> int:
    """Write the lines, and return the exit code."""
    require_unless(given, "bootstrap-server", "broker-list")
    require(given, "topic")
    flags = given.values()
    check_servers(flags.bootstrap_server or flags.broker_list)
    if flags.line_reader != _READER:
        raise JavaError("java.lang.ClassNotFoundException", flags.line_reader)
    try:
        writer = Writer(flags.topic, producer_properties(given))
    except CommandConfigError as error:
        raise JavaError("org.apache.kafka.common.config.ConfigException", str(error)) from error
    form = line_format(key_values(flags.property))
    try:
        for number, line in enumerate(_lines(), 1):
            writer.write(*parse_line(line, number, form), sync=flags.sync)
    finally:
        writer.close()
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool, and return the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    purpose = PURPOSE if words else "Missing required option(s) [bootstrap-server]"
    return run_with_options(OPTIONS, purpose, words, work, lambda error: f"{error.java_class}: {error}")


def command() -> int:
    """Run the tool as a program, and return its exit code."""
    return run_tool(main)


if __name__ == "__main__":
    sys.exit(command())
