from __future__ import annotations

import pytest

from barnabas.tools.command_line.options import UsageError
from barnabas.tools.topics.topic_flags import (
    OPTIONS,
    TopicCommandError,
    check,
    check_numbers,
    parse_configs,
    parse_replica_assignment,
    select,
)

NAMES = ["orders", "orders.eu", "bills", "__consumer_offsets"]


def checked(*arguments: str) -> None:
    check(OPTIONS.parse(["--bootstrap-server", "h:1", *arguments]))


@pytest.mark.parametrize(
    "line",
    [
        "--create --topic t",
        "--create --topic t --partitions 3 --replication-factor 2 --config a=b --if-not-exists",
        "--create --topic t --replica-assignment 1:2,2:1",
        "--alter --topic t --partitions 3 --replica-assignment 1:2,2:1,1:2 --if-exists",
        "--delete --topic t --if-exists --force",
        "--list --exclude-internal",
        "--describe --topic t --if-exists --under-replicated-partitions",
        "--describe --topics-with-overrides",
    ],
)
def test_these_go_together(line: str) -> None:
    checked(*line.split())


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--create", 'Missing required argument "[topic]"'),
        ("--delete", 'Missing required argument "[topic]"'),
        ("--describe --if-exists", 'Missing required argument "[topic]"'),
        ("--alter --topic t", 'Missing required argument "[partitions]"'),
        (
            "--alter --topic t --partitions 2 --config a=b",
            (
                'Option combination "[bootstrap-server],[config]" can\'t be used with option "[alter]" (the '
                "kafka-configs CLI supports altering topic configs with a --bootstrap-server option)"
            ),
        ),
        (
            "--alter --topic t --partitions 2 --delete-config a",
            '"[delete-config]" can\'t be used with option "[bootstrap-server]"',
        ),
        ("--describe --topic t --config a=b", '"[config]" can\'t be used with option "[describe]"'),
        ("--delete --topic t --partitions 2", '"[partitions]" can\'t be used with option "[delete]"'),
        ("--list --if-exists --topic t", '"[if-exists]" can\'t be used with option "[list]"'),
        ("--delete --topic t --if-not-exists", '"[if-not-exists]" can\'t be used with option "[delete]"'),
        ("--delete --topic t --exclude-internal", '"[exclude-internal]" can\'t be used with'),
        ("--list --unavailable-partitions", '"[unavailable-partitions]" can\'t be used with option "[list]"'),
        (
            "--create --topic t --replica-assignment 1 --partitions 1",
            '"[replica-assignment]" can\'t be used with option "[partitions]"',
        ),
        (
            "--describe --at-min-isr-partitions --topics-with-overrides",
            '"[at-min-isr-partitions]" can\'t be used with option "[topics-with-overrides]"',
        ),
        (
            "--describe --at-min-isr-partitions --under-min-isr-partitions",
            '"[under-min-isr-partitions]" can\'t be used with option "[at-min-isr-partitions]"',
        ),
    ],
)
def test_these_do_not(line: str, complaint: str) -> None:
    with pytest.raises(UsageError) as refused:
        checked(*line.split())
    assert complaint in str(refused.value)


@pytest.mark.parametrize("line", ["", "--topic t", "--list --create --topic t"])
def test_exactly_one_action(line: str) -> None:
    with pytest.raises(UsageError) as refused:
        checked(*line.split())
    assert str(refused.value) == (
        "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
    )


def test_a_server_is_needed_and_named_by_the_option_that_is_taken() -> None:
    with pytest.raises(UsageError) as refused:
        check(OPTIONS.parse(["--list"]))
    assert str(refused.value) == 'Missing required argument "[bootstrap-server]"'


@pytest.mark.parametrize("line", ["--list --zookeeper h:2", "--list --bootstrap-server h:1 --zookeeper h:2"])
def test_there_is_no_way_past_the_brokers(line: str) -> None:
    with pytest.raises(UsageError, match="the tools do not connect to ZooKeeper"):
        check(OPTIONS.parse(line.split()))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--partitions 0", "The partitions must be greater than 0"),
        ("--replication-factor 0", "The replication factor must be between 1 and 32767 inclusive"),
        (
            "--partitions 0 --replication-factor 32768",
            "The replication factor must be between 1 and 32767 inclusive",
        ),
    ],
)
def test_a_topic_has_partitions_and_replicas(line: str, complaint: str) -> None:
    with pytest.raises(TopicCommandError) as refused:
        check_numbers(OPTIONS.parse(line.split()).values())
    assert str(refused.value) == complaint


def test_configs_are_name_and_value() -> None:
    assert parse_configs(["a.b=1", "c = x y "]) == {"a.b": "1", "c": "x y"}


@pytest.mark.parametrize("setting", ["retention.ms", "retention.ms=", "a=b=c", ""])
def test_a_config_has_one_equals_sign_and_something_behind_it(setting: str) -> None:
    with pytest.raises(TopicCommandError) as refused:
        parse_configs(["a.b=1", setting])
    assert str(refused.value) == (
        'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
    )


def test_an_assignment_is_a_list_of_brokers_for_each_partition() -> None:
    assert parse_replica_assignment("1:2,2 : 3") == [[1, 2], [2, 3]]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1:a", "'1:a' is not of the form ID:ID"),
        ("", "is not of the form ID:ID"),
        ("1:3000000000", "'1:3000000000' is not of the form ID:ID"),
        ("1:2:1", "may not contain duplicate entries: 1"),
        ("1:2,1", "Partition 1 has different replication factor"),
    ],
)
def test_an_assignment_that_is_none(text: str, complaint: str) -> None:
    with pytest.raises(TopicCommandError, match=complaint):
        parse_replica_assignment(text)


def test_topics_are_selected_by_a_regular_expression_for_whole_names() -> None:
    assert select(NAMES, None) == ["__consumer_offsets", "bills", "orders", "orders.eu"]
    assert select(NAMES, None, exclude_internal=True) == ["bills", "orders", "orders.eu"]
    assert select(NAMES, "orders") == ["orders"]
    assert select(NAMES, "orders.*") == ["orders", "orders.eu"]
    assert select(NAMES, '"bills, orders"') == ["bills", "orders"]
    with pytest.raises(TopicCommandError, match="is an invalid regex"):
        select(NAMES, "(")
