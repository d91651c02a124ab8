from __future__ import annotations

import pytest

from barnabas.tools.command_line.parser import ToolError, UsageError
from barnabas.tools.topics.topic_flags import (
    OPTIONS,
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
    "line",
    [
        "",
        "--topic t",
        "--list --create --topic t",
        "--list --zookeeper h:2",
        "--create",
        "--delete",
        "--describe --if-exists",
        "--alter --topic t",
        "--alter --topic t --partitions 2 --config a=b",
        "--alter --topic t --partitions 2 --delete-config a",
        "--describe --topic t --config a=b",
        "--delete --topic t --partitions 2",
        "--list --if-exists --topic t",
        "--delete --topic t --if-not-exists",
        "--delete --topic t --exclude-internal",
        "--list --unavailable-partitions",
        "--create --topic t --replica-assignment 1 --partitions 1",
        "--describe --at-min-isr-partitions --topics-with-overrides",
        "--describe --at-min-isr-partitions --under-min-isr-partitions",
    ],
)
def test_these_do_not(line: str) -> None:
    with pytest.raises((UsageError, SystemExit)):
        checked(*line.split())


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
    with pytest.raises(ToolError) as refused:
        check_numbers(OPTIONS.parse(["--bootstrap-server", "h:1", "--list", *line.split()]))
    assert str(refused.value) == complaint


def test_configs_are_name_and_value() -> None:
    assert parse_configs(["a.b=1", "c = x y "]) == {"a.b": "1", "c": "x y"}


@pytest.mark.parametrize("setting", ["retention.ms", "retention.ms=", "a=b=c", ""])
def test_a_config_has_one_equals_sign_and_something_behind_it(setting: str) -> None:
    with pytest.raises(ToolError) as refused:
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
    with pytest.raises(ToolError, match=complaint):
        parse_replica_assignment(text)


def test_topics_are_selected_by_a_regular_expression_for_whole_names() -> None:
    assert select(NAMES, None) == ["__consumer_offsets", "bills", "orders", "orders.eu"]
    assert select(NAMES, None, exclude_internal=True) == ["bills", "orders", "orders.eu"]
    assert select(NAMES, "orders") == ["orders"]
    assert select(NAMES, "orders.*") == ["orders", "orders.eu"]
    assert select(NAMES, '"bills, orders"') == ["bills", "orders"]
    with pytest.raises(ToolError, match="is an invalid regex"):
        select(NAMES, "(")
