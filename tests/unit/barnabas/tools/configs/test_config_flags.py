"""The options of kafka-configs.sh: what goes together, and in which words the rest is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cluster.model.configs.described import ConfigSource
from barnabas.tools.command_line.options import UsageError
from barnabas.tools.configs.config_flags import (
    OPTIONS,
    Entity,
    InvalidArgument,
    entity_of,
    parse_settings,
    settings_to_add,
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
    ("line", "says"),
    [
        ("--topic t", "Command must include exactly one action: --describe, --alter"),
        ("--describe --alter --topic t", "Command must include exactly one action: --describe, --alter"),
        (
            "--describe --topic t --add-config a=b",
            'Option "[describe]" can\'t be used with option "[add-config]"',
        ),
        (
            "--describe --topic t --delete-config a",
            'Option "[describe]" can\'t be used with option "[delete-config]"',
        ),
    ],
)
def test_what_brings_the_help(line: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        named(line)
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--describe", "At least one entity type must be specified"),
        ("--describe --entity-type topics --topic t", "Duplicate entity type(s) specified: topics"),
        (
            "--describe --entity-type colours",
            (
                "Invalid entity type colours, the entity type must be one of "
                "topics,clients,users,brokers,ips,broker-loggers with the --bootstrap-server argument"
            ),
        ),
        (
            "--describe --topic t --broker 1",
            "Only 'users' and 'clients' entity types may be specified together",
        ),
        (
            "--describe --topic t --entity-name u",
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags",
        ),
        (
            "--describe --broker one",
            "The entity name for brokers must be a valid integer broker id, but it is: one",
        ),
        (
            "--alter --entity-type brokers --add-config a=b",
            (
                "an entity-name or default entity must be specified with --alter of users, clients, brokers "
                "or ips"
            ),
        ),
        (
            "--alter --entity-type topics --add-config a=b",
            "an entity name must be specified with --alter of topics",
        ),
        (
            "--alter --entity-type topics --entity-default --add-config a=b",
            "an entity name must be specified with --alter of topics",
        ),
        (
            "--alter --topic t --add-config a=b --add-config-file f",
            "Only one of --add-config or --add-config-file must be specified",
        ),
        (
            "--alter --topic t",
            (
                "At least one of --add-config, --add-config-file, or --delete-config must be specified with "
                "--alter"
            ),
        ),
        (
            "--alter --entity-type topics --entity-name t --entity-name u --delete-config a",
            "An entity name must be specified for every entity type",
        ),
        ("--describe --broker-logger 1", "Brokers here have no settings of broker-loggers"),
        (
            "--describe --entity-type users --entity-name u --entity-default",
            "More entity names specified than entity types",
        ),
        (
            "--alter --entity-type users --entity-type clients --entity-name u --delete-config a",
            "An entity name must be specified for every entity type",
        ),
        (
            "--describe --entity-type topics --entity-default",
            "--entity-default is not for topics: they have no default of their own",
        ),
        (
            "--describe --topic t --zookeeper z",
            "Only one of --bootstrap-server or --zookeeper must be specified",
        ),
        (
            "--describe --topic t --zk-tls-config-file f",
            "Only the --zookeeper option can be used with the --zk-tls-config-file option.",
        ),
    ],
)
def test_what_makes_no_sense(line: str, says: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        named(line)
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "--topic t",
            "One of the required --bootstrap-server or --zookeeper arguments must be specified",
        ),
        (
            "--topic t --zookeeper z",
            (
                "Invalid entity type topics, the entity type must be one of users,brokers with the "
                "--zookeeper argument"
            ),
        ),
        (
            "--broker 1 --zookeeper z",
            "--zookeeper is for users here: settings of brokers need --bootstrap-server",
        ),
        ("--user u --all --zookeeper z", "--bootstrap-server must be specified for --all"),
    ],
)
def test_a_server_is_needed(line: str, says: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        entity_of(OPTIONS.parse(["--describe", *line.split()]))
    assert str(refused.value) == says


def test_values_may_hold_equals_signs_only_in_brackets() -> None:
    assert parse_settings("a=[x=1,y=2],b = c ,d=") == {"a": "x=1,y=2", "b": "c", "d": ""}
    assert parse_settings("a=b,,") == {"a": "b"}
    for text in ("", "a", "a=b=c", "a=b,,c=d", ","):
        with pytest.raises(InvalidArgument, match='in the format "key=val"'):
            parse_settings(text)


def test_settings_stand_on_the_command_line_or_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "some.properties"
    file.write_text("# two\nflush.ms=9\nfollower.replication.throttled.replicas = 0:1,1:2\n")
    assert settings_to_add(OPTIONS.parse(["--add-config-file", str(file)]).values()) == {
        "flush.ms": "9",
        "follower.replication.throttled.replicas": "0:1,1:2",
    }
    assert settings_to_add(OPTIONS.parse(["--add-config", "a=b"]).values()) == {"a": "b"}
    assert settings_to_add(OPTIONS.parse([]).values()) == {}


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
