"""The options of kafka-configs.sh: what goes together, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cluster.model.configs.described import ConfigSource
from barnabas.tools.command_line.parser import UsageError
from barnabas.tools.configs.config_flags import (
    OPTIONS,
    Entity,
    InvalidArgument,
    entity_of,
    parse_settings,
    settings_to_add,
    settings_to_delete,
)

SERVER = ("--bootstrap-server", "b:9092")


def named(line: str) -> Entity:
    return entity_of(OPTIONS.parse([*SERVER, *line.split()]))


@pytest.mark.parametrize(
    ("line", "entity"),
    [
        ("--topic t", Entity("topics", "t")),
        ("--broker 1", Entity("brokers", "1")),
        ("--broker-defaults", Entity("brokers", "")),
        ("--entity-type topics --entity-name t", Entity("topics", "t")),
        ("--entity-name 1 --entity-type brokers", Entity("brokers", "1")),
        ("--entity-type brokers --entity-default", Entity("brokers", "")),
        ("--entity-type brokers", Entity("brokers", None)),
        ("--entity-type topics", Entity("topics", None)),
    ],
)
def test_what_is_described(line: str, entity: Entity) -> None:
    assert named(f"--describe --all {line}") == entity


def test_what_an_entity_is_to_a_broker() -> None:
    topic, broker, default = Entity("topics", "t"), Entity("brokers", "1"), Entity("brokers", "")
    assert [str(each.resource) for each in (topic, broker, default)] == [
        "ConfigResource(type=TOPIC, name='t')",
        "ConfigResource(type=BROKER, name='1')",
        "ConfigResource(type=BROKER, name='')",
    ]
    assert [each.dynamic_source for each in (topic, broker, default)] == [
        ConfigSource.DYNAMIC_TOPIC_CONFIG,
        ConfigSource.DYNAMIC_BROKER_CONFIG,
        ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ]


@pytest.mark.parametrize(
    "line",
    [
        "--topic t",
        "--describe --alter --topic t",
        "--describe --topic t --add-config a=b",
        "--describe --topic t --delete-config a",
        "--describe",
        "--describe --entity-type topics --topic t",
        "--describe --entity-type colours",
        "--describe --topic t --broker 1",
        "--describe --topic t --entity-name u",
        "--describe --broker one",
        "--describe --entity-type brokers --entity-name one",
        "--alter --entity-type brokers --add-config a=b",
        "--alter --entity-type topics --add-config a=b",
        "--alter --entity-type topics --entity-default --add-config a=b",
        "--alter --topic t --add-config a=b --add-config-file f",
        "--alter --topic t",
        "--alter --entity-type topics --entity-name t --entity-name u --delete-config a",
        "--describe --broker-logger 1",
        "--describe --entity-type users --entity-name u --entity-default",
        "--alter --entity-type users --entity-type clients --entity-name u --delete-config a",
        "--describe --entity-type topics --entity-default",
        "--describe --topic t --zookeeper z",
        "--describe --topic t --zk-tls-config-file f",
    ],
)
def test_what_makes_no_sense(line: str) -> None:
    with pytest.raises((UsageError, SystemExit)):
        named(line)


@pytest.mark.parametrize(
    "line",
    ["--topic t", "--topic t --zookeeper z", "--broker 1 --zookeeper z", "--user u --all --zookeeper z"],
)
def test_a_server_is_needed(line: str) -> None:
    with pytest.raises(InvalidArgument):
        entity_of(OPTIONS.parse(["--describe", *line.split()]))


def test_values_may_hold_equals_signs_only_in_brackets() -> None:
    assert parse_settings("a=[x=1,y=2],b = c ,d=") == {"a": "x=1,y=2", "b": "c", "d": ""}
    assert parse_settings("a=b,,") == {"a": "b"}
    for text in ("", "a", "a=b=c", "a=b,,c=d", ","):
        with pytest.raises(InvalidArgument, match='in the format "key=val"'):
            parse_settings(text)


def test_settings_stand_on_the_command_line_or_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "some.properties"
    file.write_text("# two\nflush.ms=9\nfollower.replication.throttled.replicas = 0:1,1:2\n")
    assert settings_to_add(OPTIONS.parse(["--alter", "--add-config-file", str(file)])) == {
        "flush.ms": "9",
        "follower.replication.throttled.replicas": "0:1,1:2",
    }
    assert settings_to_add(OPTIONS.parse(["--alter", "--add-config", "a=b"])) == {"a": "b"}
    assert settings_to_add(OPTIONS.parse(["--alter"])) == {}
    flags = OPTIONS.parse(["--alter", "--delete-config", "a, b,", "--delete-config=c"])
    assert settings_to_delete(flags) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--describe --user alice", (("users", "alice"),)),
        ("--describe --user-defaults --client app", (("clients", "app"), ("users", ""))),
        ("--describe --entity-type users --entity-type clients", (("users", None), ("clients", None))),
        (
            "--describe --entity-type users --entity-name u --entity-type clients --entity-default",
            (("users", "u"), ("clients", "")),
        ),
        ("--describe --ip 10.0.0.1", (("ips", "10.0.0.1"),)),
    ],
)
def test_quotas_are_of_users_clients_and_addresses(line: str, expected: object) -> None:
    assert named(line).named == expected
