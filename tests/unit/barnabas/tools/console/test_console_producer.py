"""kafka-console-producer.sh: lines, properties and complaints; integration/test_tools.py has a cluster."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.console import console_producer
from barnabas.tools.console.console_producer import (
    OPTIONS,
    LineFormat,
    line_format,
    main,
    parse_line,
    producer_properties,
)

SERVER = ("--bootstrap-server", "h:1", "--topic", "t")
KEYED = LineFormat(has_key=True)


@pytest.mark.parametrize(
    ("line", "form", "record"),
    [
        ("a\tb", LineFormat(), (None, b"a\tb")),
        ("", LineFormat(), (None, b"")),
        ("é", LineFormat(), (None, b"\xc3\xa9")),
        ("a\tb\tc", KEYED, (b"a", b"b\tc")),
        ("\t", KEYED, (b"", b"")),
        ("a::b", KEYED._replace(separator="::"), (b"a", b"b")),
        ("ab", KEYED._replace(separator=""), (b"", b"ab")),
        ("ab", KEYED._replace(ignores_errors=True), (None, b"ab")),
    ],
)
def test_a_line_is_a_record(line: str, form: LineFormat, record: tuple[bytes | None, bytes]) -> None:
    assert parse_line(line, 1, form) == record


def test_a_line_without_a_key_is_named() -> None:
    with pytest.raises(ToolError, match="No key found on line 7: abc"):
        parse_line("abc", 7, KEYED)


def test_properties_say_how_lines_are_read() -> None:
    assert line_format({}) == LineFormat(has_key=False, separator="\t", ignores_errors=False)
    found = line_format({"parse.key": " TRUE", "key.separator": ":", "ignore.error": "true"})
    assert found == LineFormat(has_key=True, separator=":", ignores_errors=True)


def settings(*arguments: str) -> dict[str, str]:
    return producer_properties(OPTIONS.parse([*SERVER, *arguments]))


def test_the_producer_has_kafkas_defaults() -> None:
    assert settings() == {
        "bootstrap.servers": "h:1",
        "compression.type": "none",
        "client.id": "console-producer",
        "linger.ms": "1000",
        "acks": "1",
        "request.timeout.ms": "1500",
        "retries": "3",
        "retry.backoff.ms": "100",
        "send.buffer.bytes": "102400",
        "buffer.memory": "33554432",
        "batch.size": "16384",
        "metadata.max.age.ms": "300000",
        "max.block.ms": "60000",
    }


def test_options_win_over_properties_and_those_over_the_file(tmp_path: Path) -> None:
    own = tmp_path / "producer.properties"
    own.write_text("acks=0\nlinger.ms=5\nclient.id=me\n")
    found = settings("--producer.config", str(own), "--producer-property", "linger.ms=6", "--timeout", "7")
    assert (found["acks"], found["linger.ms"], found["client.id"]) == ("0", "7", "me")
    assert settings("--producer-property", "acks=all")["acks"] == "all"


def test_codecs() -> None:
    assert settings("--compression-codec", "zstd")["compression.type"] == "zstd"
    assert settings("--compression-codec")["compression.type"] == "gzip"
    with pytest.raises(SystemExit):
        settings("--compression-codec", "quick")


@pytest.mark.parametrize(
    "line",
    [
        "--topic t",
        "--bootstrap-server h:1",
        "--broker-list h --topic t",
        "--broker-list h:1 --topic t --line-reader mine",
        "--broker-list h:1 --topic t --producer-property nonsense=1",
        "--broker-list h:1 --topic t --producer.config /none",
    ],
)
def test_a_command_line_that_is_refused(line: str) -> None:
    assert main(line.split()) == 1


class Client:
    """A client that no broker answers."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings

    def list_topics(self, topic: str, timeout: float) -> None:
        raise console_producer.confluent_kafka.KafkaException("nobody")

    def flush(self) -> None:
        pass


@pytest.fixture
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_producer.confluent_kafka, "Producer", Client)
    typed = io.TextIOWrapper(io.BytesIO(b"abc\r\n"))
    monkeypatch.setattr(console_producer.sys, "stdin", typed)


@pytest.mark.usefixtures("_alone")
def test_a_topic_without_metadata_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SERVER, "--max-block-ms", "0"]) == 0
    assert capsys.readouterr().err == (
        "ERROR: Error when sending message to topic t with key: null, value: 3 bytes with error: Topic t not "
        "present in metadata after 0 ms.\n"
    )


@pytest.mark.usefixtures("_alone")
def test_with_sync_it_ends_the_tool(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SERVER, "--max-block-ms", "0", "--sync"]) == 1
    assert capsys.readouterr().err == (
        "kafka-console-producer.sh: Topic t not present in metadata after 0 ms.\n"
    )


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (29, "Not authorized to access topics: [t]"),
        (17, "Invalid topics: [t]"),
    ],
)
@pytest.mark.parametrize("sync", [False, True])
def test_a_topic_that_may_not_be_accessed_ends_the_wait_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, code: int, cause: str, *, sync: bool
) -> None:
    def list_topics(_self: Client, topic: str, timeout: float) -> SimpleNamespace:
        error = console_producer.confluent_kafka.KafkaError(code)
        return SimpleNamespace(topics={topic: SimpleNamespace(error=error)})

    monkeypatch.setattr(Client, "list_topics", list_topics)
    assert main([*SERVER, "--sync"] if sync else [*SERVER]) == int(sync)
    assert capsys.readouterr().err.endswith(f": {cause}\n")
