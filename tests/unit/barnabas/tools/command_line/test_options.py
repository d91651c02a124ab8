"""The options of Kafka's tools: joptsimple 5.0.4 reads, complains and prints help as is written here."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from barnabas.tools.command_line.options import (
    COMMAND_CONFIG,
    ZOOKEEPER,
    Kind,
    Option,
    OptionError,
    Options,
    bootstrap_server,
)

TABLE = Options(
    bootstrap_server("the servers"),
    Option("topic", "the topic to do it to", "topic"),
    Option("partitions", "how many", "# of partitions", kind=Kind.INTEGER),
    Option("config", "a setting", "name=value", repeated=True),
    Option("delete-config", "settings to remove", "", repeated=True, separator=","),
    Option("throttle", "bytes a second", "throttle", kind=Kind.LONG, default="-1"),
    Option("list", "say what there is"),
    Option("state", "which ones", "", is_optional=True),
    Option("wait", "how long", "", kind=Kind.LONG, is_optional=True, default="10"),
)
NOTHING = {
    "bootstrap_server": None,
    "topic": None,
    "partitions": None,
    "config": [],
    "delete_config": [],
    "throttle": -1,
    "list": False,
    "state": None,
    "wait": 10,
    "help": False,
    "version": False,
}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", {}),
        ("--topic t --list", {"topic": "t", "list": True}),
        ("--topic=a=b -list -partitions 3", {"topic": "a=b", "list": True, "partitions": 3}),
        ("--topic --list", {"topic": "--list"}),
        ("--topic=", {"topic": ""}),
        ("some words - --list", {"list": True}),
        ("-- --list", {}),
        ("--config a=b --config c=d", {"config": ["a=b", "c=d"]}),
        ("--delete-config a,b --delete-config ,c,", {"delete_config": ["a", "b", "c"]}),
        ("--delete-config=", {"delete_config": [""]}),
        ("--throttle -5 --partitions +7", {"throttle": -5, "partitions": 7}),
        ("--state --list", {"list": True}),
        ("--state Empty", {"state": "Empty"}),
        ("--state=--list", {"state": "--list"}),
        ("--list --state", {"list": True}),
        ("--wait -5", {"wait": -5}),
        ("--wait word", {}),
    ],
)
def test_a_command_line_is_read_as_joptsimple_reads_it(line: str, found: dict[str, object]) -> None:
    assert TABLE.parse(line.split()).values() == SimpleNamespace(**{**NOTHING, **found})


def test_the_given_options_are_returned_in_their_order() -> None:
    given = TABLE.parse(["--topic", "t", "--config", "a=b", "--list", "--config", "c=d"])
    assert given.names == ("topic", "config", "list")
    assert given.has("list")
    assert not given.has("partitions")


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        ("--colour red", "UnrecognizedOptionException", "colour is not a recognized option"),
        ("--top t", "UnrecognizedOptionException", "top is not a recognized option"),
        ("-xyz", "UnrecognizedOptionException", "x is not a recognized option"),
        ("-=", "UnrecognizedOptionException", " is not a recognized option"),
        (
            "--list --topic",
            "OptionMissingRequiredArgumentException",
            "Option topic requires an argument",
        ),
    ],
)
def test_what_cannot_be_read(line: str, kind: str, message: str) -> None:
    with pytest.raises(OptionError) as refused:
        TABLE.parse(line.split())
    assert (refused.value.java_class, str(refused.value)) == (f"joptsimple.{kind}", message)


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        (
            "--topic a --topic b",
            "MultipleArgumentsForOptionException",
            "Found multiple arguments for option topic, but you asked for only one",
        ),
        *(
            (
                f"--partitions {text}",
                "OptionArgumentConversionException",
                f"Cannot parse argument '{text}' of option partitions",
            )
            for text in ("many", "1_0", "2147483648", "٣")
        ),
        (
            "--throttle 9223372036854775808",
            "OptionArgumentConversionException",
            "Cannot parse argument '9223372036854775808' of option throttle",
        ),
    ],
)
def test_a_value_is_checked_when_it_is_read(line: str, kind: str, message: str) -> None:
    given = TABLE.parse(line.split())
    with pytest.raises(OptionError) as refused:
        given.values()
    assert (refused.value.java_class, str(refused.value)) == (f"joptsimple.{kind}", message)


def test_the_help_is_a_table_in_the_order_of_names() -> None:
    table = Options(
        Option(
            "topic", "the topic to create, alter, describe or delete, of which there may be many", "topic"
        ),
        Option("partitions", "how many", "# of partitions", kind=Kind.INTEGER),
        Option("throttle", "bytes a second", "a very long word on throttles", kind=Kind.LONG, default="-1"),
    )
    assert table.usage().splitlines() == [
        "Option                                   Description",
        "------                                   -----------",
        "--help                                   Print usage information.",
        "--partitions <Integer: # of partitions>  how many",
        "--throttle <Long: a very long word on    bytes a second (default: -1)",
        "  throttles>",
        "--topic <String: topic>                  the topic to create, alter, describe or",
        "                                           delete, of which there may be many",
        "--version                                Display Kafka version.",
    ]


def test_options_that_several_tools_have() -> None:
    assert (COMMAND_CONFIG.name, ZOOKEEPER.name) == ("command-config", "zookeeper")
    assert TABLE.parse(["--bootstrap-server", "a:1,b:2"]).values().bootstrap_server == "a:1,b:2"
