"""Command lines of Kafka's tools in Java; the messages are those of argparse4j."""

from __future__ import annotations

import pytest

from barnabas.tools.command_line.argparse4j import Parser, integer, long


def parser() -> Parser:
    flags = Parser("tool", "What it does.")
    flags.add_argument("--topic")
    flags.add_argument("--count", type=integer)
    flags.add_argument("--most", type=long)
    flags.need("--topic", "--count")
    return flags


def test_a_command_line() -> None:
    found = parser().parse(["--topic", "t", "--count", "-5", "--most", str(2**40)])
    assert (found.topic, found.count, found.most) == ("t", -5, 2**40)


def test_nothing_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parser().parse([])
    assert end.value.code == 0
    assert "What it does." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--count 5", "argument --topic is required"),
        ("--topic t", "argument --count is required"),
        (
            "--topic t --count x",
            "argument --count: could not convert 'x' to Integer (For input string: \"x\")",
        ),
        (
            f"--topic t --count {2**31}",
            f"argument --count: could not convert '{2**31}' to Integer (For input string: \"{2**31}\")",
        ),
        (
            "--topic t --most 1_0",
            "argument --most: could not convert '1_0' to Long (For input string: \"1_0\")",
        ),
        ("--topic", "argument --topic: expected one argument"),
    ],
)
def test_an_error_ends_with_1(line: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parser().parse(line.split())
    assert end.value.code == 1
    usage, *_, message = capsys.readouterr().err.splitlines()
    assert usage.startswith("usage: tool")
    assert message == f"tool: error: {complaint}"
