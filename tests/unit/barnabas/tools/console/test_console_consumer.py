"""kafka-console-consumer.sh: what it reads and how it ends; integration/test_tools.py has a cluster."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import KafkaError

from barnabas.tools.command_line.parser import ToolError, UsageError
from barnabas.tools.console import console_consumer
from barnabas.tools.console.console_consumer import (
    EARLIEST,
    LATEST,
    OPTIONS,
    Interrupted,
    Reader,
    Warnings,
    check,
    consumer_properties,
    left_out,
    main,
    record_of,
    start_offset,
    subscribe,
    texts,
)
from barnabas.tools.formats.record_format import Record, record_format

SERVER = "--bootstrap-server h:1 --topic t"


@pytest.mark.parametrize(
    "line",
    [
        "--bootstrap-server h:1",
        "--topic t",
        f"{SERVER} --whitelist w",
        "--bootstrap-server h:1 --whitelist w --partition 0",
        f"{SERVER} --partition 0 --offset 3 --from-beginning",
        f"{SERVER} --offset 3",
        f"{SERVER} --partition 0 --offset -3",
    ],
)
def test_options_that_do_not_fit_together(line: str) -> None:
    with pytest.raises((UsageError, SystemExit)):
        check(OPTIONS.parse(line.split()))


@pytest.mark.parametrize(
    ("line", "offset"),
    [
        ("", LATEST),
        ("--from-beginning", EARLIEST),
        ("--offset Earliest", EARLIEST),
        ("--offset latest", LATEST),
        ("--offset 12", 12),
    ],
)
def test_the_first_offset_of_a_partition(line: str, offset: int) -> None:
    given = OPTIONS.parse(f"{SERVER} --partition 0 {line}".split())
    check(given)
    assert start_offset(given) == offset


@pytest.mark.parametrize("text", ["x", "1.5", str(2**63)])
def test_what_is_no_offset(text: str) -> None:
    with pytest.raises(UsageError, match=f"^The provided offset value '{text}' is incorrect"):
        start_offset(OPTIONS.parse(f"{SERVER} --offset {text}".split()))


def settings(line: str, from_file: dict[str, str] | None = None, **options: str) -> dict[str, str]:
    from_options = {name.replace("_", "."): value for name, value in options.items()}
    return consumer_properties(
        OPTIONS.parse(f"{SERVER} {line}".split()), from_file or {}, from_options, 60380
    )


def test_a_run_without_a_group_leaves_no_offsets() -> None:
    assert settings("") == {
        "bootstrap.servers": "h:1",
        "group.id": "console-consumer-60380",
        "enable.auto.commit": "false",
        "auto.offset.reset": "latest",
        "isolation.level": "read_uncommitted",
        "allow.auto.create.topics": "true",
    }
    assert settings("", {"enable.auto.commit": "true"})["enable.auto.commit"] == "true"


def test_a_group_commits() -> None:
    found = settings("--group g --from-beginning --isolation-level read_committed")
    assert (found["group.id"], found["auto.offset.reset"]) == ("g", "earliest")
    assert found["isolation.level"] == "read_committed"
    assert "enable.auto.commit" not in found
    assert (
        settings("", {"group.id": "f", "isolation.level": "read_committed"}, client_id="c")["group.id"] == "f"
    )


def test_contradictions() -> None:
    with pytest.raises(UsageError, match="Detected group ids: 'g', 'f'"):
        settings("--group g", {"group.id": "f"})
    with pytest.raises(UsageError, match="Options group and partition cannot be specified together"):
        settings("--group g --partition 0")
    complaint = "Can't simultaneously specify --from-beginning and 'auto.offset.reset=latest', please remove"
    with pytest.raises(ToolError, match=complaint):
        settings("--from-beginning", auto_offset_reset="latest")
    assert settings("--from-beginning", auto_offset_reset="earliest")["auto.offset.reset"] == "earliest"


@dataclass
class Message:
    content: bytes | None = b"v"
    failure: KafkaError | None = None

    def error(self) -> KafkaError | None:
        return self.failure

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return 7

    def timestamp(self) -> tuple[int, int]:
        return 1, 1000

    def headers(self) -> None:
        return None

    def key(self) -> None:
        return None

    def value(self) -> bytes | None:
        return self.content


@dataclass
class Client:
    """A client that returns these messages, and none for a None."""

    messages: list[Message | None] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    topics: list[Any] = field(default_factory=list)

    def poll(self, wait_s: float) -> Message | None:
        self.waits.append(wait_s)
        return self.messages.pop(0) if self.messages else None

    def subscribe(self, topics: list[str]) -> None:
        self.topics += topics

    def assign(self, partitions: list[Any]) -> None:
        self.topics += [(each.topic, each.partition, each.offset) for each in partitions]


def failed(code: int) -> Message:
    return Message(failure=KafkaError(code))


def test_output_is_flushed_once_before_the_tool_waits() -> None:
    flushed: list[int] = []
    client = Client([None, None, Message(), Message()])
    reader = Reader(client, -1)  # type: ignore[arg-type]
    for _ in range(2):
        reader.next(lambda: flushed.append(len(client.messages)))
    assert flushed == [3]
    assert client.waits == [0.0, 0.2, 0.2, 0.0]
    assert reader.count == 2


def test_a_topic_that_is_not_there_yet_is_waited_for() -> None:
    client = Client([failed(KafkaError.UNKNOWN_TOPIC_OR_PART), failed(KafkaError._TRANSPORT), Message()])
    assert Reader(client, -1).next(lambda: None).value() == b"v"  # type: ignore[arg-type]


def test_other_errors_end_the_reading(capsys: pytest.CaptureFixture[str]) -> None:
    reader = Reader(Client([Message(), failed(KafkaError.TOPIC_AUTHORIZATION_FAILED)]), -1)  # type: ignore[arg-type]
    assert list(texts(reader, record_format({}), -1, skips_errors=False)) == [b"v\n"]
    assert capsys.readouterr().err == "ERROR: the consumer ends: Broker: Topic authorization failed\n"


def test_a_timeout_ends_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    reader = Reader(Client(), 0)  # type: ignore[arg-type]
    assert list(texts(reader, None, -1, skips_errors=False)) == []
    assert "no record came within --timeout-ms" in capsys.readouterr().err


def test_as_many_records_are_printed_as_are_wanted() -> None:
    reader = Reader(Client([Message(), Message(), Message()]), -1)  # type: ignore[arg-type]
    assert list(texts(reader, None, 2, skips_errors=False)) == [b"", b""]
    assert reader.count == 2


def test_a_signal_ends_it_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console_consumer.signal, "signal", lambda *_: None)
    reader = Reader(Client([Message()]), -1)  # type: ignore[arg-type]
    reader.interrupt(signal.SIGTERM, None)
    with pytest.raises(Interrupted):
        reader.next(lambda: None)
    assert list(texts(reader, None, -1, skips_errors=False)) == []
    assert capsys.readouterr().err == ""


def test_a_record_that_cannot_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    class_ = "org.apache.kafka.common.serialization.LongDeserializer"
    form = record_format({"value.deserializer": class_})
    messages = [Message(), Message(bytes(8))]
    reader = Reader(Client(list(messages)), -1)  # type: ignore[arg-type,list-item]
    with pytest.raises(ToolError):
        list(texts(reader, form, 2, skips_errors=False))
    assert reader.count == 1
    reader = Reader(Client(list(messages)), -1)  # type: ignore[arg-type,list-item]
    assert list(texts(reader, form, 2, skips_errors=True)) == [b"", b"0\n"]
    assert "ERROR: a message is skipped: " in capsys.readouterr().err


def test_a_message_as_a_record() -> None:
    assert record_of(Message()) == Record(3, 7, "CreateTime", 1000, None, b"v", ())


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("--topic t", ["t"]),
        ("--whitelist a|b", ["^(a|b)$"]),
        ("--topic t --partition 2 --offset 9", [("t", 2, 9)]),
        ("--topic t --partition 2 --from-beginning", [("t", 2, -2)]),
        ("--topic t --partition 2", [("t", 2, -1)]),
    ],
)
def test_what_is_read(line: str, read: list[Any]) -> None:
    client = Client()
    subscribe(client, OPTIONS.parse(["--bootstrap-server", "h:1", *line.split()]))  # type: ignore[arg-type]
    assert client.topics == read


def test_a_lasting_error_of_a_connection_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    warn = Warnings()
    for code in (KafkaError._TRANSPORT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
        warn(KafkaError(code, "why"))
    assert capsys.readouterr().err == 2 * "WARN: why\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--formatter", "mine"), "--formatter mine, expected one of "),
        (("--from-beginning", "--consumer-property", "auto.offset.reset=latest"), "auto.offset.reset=latest"),
        (("--consumer.config", "/none"), "--consumer.config /none cannot be read"),
        (("--consumer-property", "nonsense=1"), 'No such configuration property: "nonsense"'),
    ],
)
def test_a_command_line_that_is_refused(
    arguments: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SERVER.split(), *arguments]) == 1
    assert complaint in capsys.readouterr().err


def test_only_a_pattern_leaves_out_internal_topics() -> None:
    names = {"topic.blacklist": "^__consumer_offsets$,^__transaction_state$"}
    assert left_out(".*", {}) == left_out(".*", {"exclude.internal.topics": "TRUE"}) == names
    assert left_out(".*", {"exclude.internal.topics": "false"}) == left_out(None, {}) == {}
