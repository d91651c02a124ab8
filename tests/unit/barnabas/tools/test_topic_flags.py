from __future__ import annotations

import pytest

from barnabas.tools.topic_flags import (
    TopicCommandError,
    check,
    parse_configs,
    parse_replica_assignment,
    parser,
    select,
)

NAMES = ["orders", "orders.eu", "bills", "__consumer_offsets"]


def checked(*arguments: str) -> None:
    check(parser().parse_args(["--bootstrap-server", "h:1", *arguments]))


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
        ("--alter --topic t --partitions 2 --config a=b", '"[config]" can\'t be used with option "[alter]"'),
        ("--delete --topic t --partitions 2", '"[partitions]" can\'t be used with option "[delete]"'),
        ("--list --if-exists --topic t", '"[if-exists]" can\'t be used with option "[list]"'),
        ("--delete --topic t --if-not-exists", '"[if-not-exists]" can\'t be used with option "[delete]"'),
        ("--delete --topic t --exclude-internal", '"[exclude-internal]" can\'t be used with'),
        ("--list --unavailable-partitions", '"[unavailable-partitions]" can\'t be used with option "[list]"'),
        ("--create --topic t --partitions 0", "The partitions must be greater than 0"),
        (
            "--create --topic t --replication-factor 0",
            "The replication factor must be between 1 and 32767 inclusive",
        ),
        ("--create --topic t --replication-factor 32768", "must be between 1 and 32767 inclusive"),
        (
            "--create --topic t --replica-assignment 1 --partitions 1",
            '"[replica-assignment]" can\'t be used with option "[partitions]"',
        ),
        (
            "--describe --at-min-isr-partitions --topics-with-overrides",
            '"[topics-with-overrides]" can\'t be used with option "[at-min-isr-partitions]"',
        ),
        (
            "--describe --at-min-isr-partitions --under-min-isr-partitions",
            '"[under-min-isr-partitions]" can\'t be used with option "[at-min-isr-partitions]"',
        ),
    ],
)
def test_these_do_not(line: str, complaint: str) -> None:
    with pytest.raises(TopicCommandError) as refused:
        checked(*line.split())
    assert complaint in str(refused.value)


def test_configs_are_name_and_value() -> None:
    assert parse_configs(["a.b=1", "c = x=y "]) == {"a.b": "1", "c": "x=y"}
    with pytest.raises(TopicCommandError) as refused:
        parse_configs(["retention.ms"])
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
