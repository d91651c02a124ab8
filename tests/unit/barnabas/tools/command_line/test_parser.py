"""The command lines of all tools, and their exit codes."""

from __future__ import annotations

import re
import tomllib
from argparse import Namespace
from importlib import import_module
from pathlib import Path

import pytest

from barnabas.tools.command_line.parser import (
    Parser,
    ToolError,
    UsageError,
    has,
    integer,
    key_values,
    long,
    refuse_together,
    require,
)

ROOT = Path(__file__).parents[5]
SERVER = ["--bootstrap-server", "h:1"]
SCRIPTS = {
    name: entry
    for name, entry in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"].items()
    if name.endswith(".sh") and name != "zookeeper-shell.sh"
}
IN_JAVA = {"kafka-producer-perf-test.sh", "kafka-verifiable-consumer.sh", "kafka-verifiable-producer.sh"}
"""The tools that are written in Java in Kafka, with another library for options."""


def options(help_code: int = 1) -> Parser:
    parser = Parser("kafka-tool.sh", "It does it.", help_code=help_code)
    parser.add_servers()
    parser.add_actions(list="say what there is", do_it="do it")
    parser.add_switches(if_exists="or nothing")
    parser.add_argument("--count", type=integer)
    parser.add_argument("--most", type=long)
    parser.add_argument("--config", action="append", default=[])
    return parser


def test_a_value_follows_a_blank_or_an_equals_sign_and_some_options_repeat() -> None:
    flags = options().parse(
        [
            "--bootstrap-server=h:1",
            "--do-it",
            "--count",
            "-5",
            f"--most={2**40}",
            "--config",
            "a=b",
            "--config=c=d",
        ]
    )
    assert (flags.bootstrap_server, flags.do_it, flags.list) == ("h:1", True, False)
    assert (flags.count, flags.most, flags.config) == (-5, 2**40, ["a=b", "c=d"])
    assert options().parse(["-bootstrap-server", "h:1", "-list"]).bootstrap_server == "h:1"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--list",
        "--bootstrap-server h:1",
        "--bootstrap-server h:1 --list --do-it",
        "--bootstrap-server h:1 --lis",
        "--bootstrap-server h:1 --list word",
        "--bootstrap-server h:1 --list --count",
        "--bootstrap-server h:1 --list --count many",
        "--bootstrap-server h:1 --list --count 1_0",
        f"--bootstrap-server h:1 --list --count {2**31}",
        f"--bootstrap-server h:1 --list --most {2**63}",
    ],
)
def test_a_command_line_that_cannot_be_read_has_exit_code_1(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert options().main(lambda _: 0)(line.split()) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: kafka-tool.sh ")


@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_the_help_of_each_tool_names_its_script(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    module, _, _ = SCRIPTS[script].partition(":")
    code = import_module(module).main(["--help"])
    printed = capsys.readouterr()
    assert code == (0 if script in IN_JAVA else 1)
    assert (printed.out or printed.err).startswith(f"usage: {script} ")


@pytest.mark.parametrize("arguments", [[], ["--help"]])
@pytest.mark.parametrize("code", [0, 1])
def test_the_help_is_an_error_for_the_tools_in_scala(
    arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert options(code).main(lambda _: 3)(arguments) == code
    printed = capsys.readouterr()
    text, nothing = (printed.err, printed.out) if code else (printed.out, printed.err)
    assert "It does it." in text
    assert nothing == ""


def test_the_version_is_that_of_kafka(capsys: pytest.CaptureFixture[str]) -> None:
    assert options().main(lambda _: 3)(["--version"]) == 0
    assert re.fullmatch(r"2\.8\.0 \(Commit:barnabas-\d+\.\d+\.\d+(\.dev0)?\)\n", capsys.readouterr().out)


def test_the_exit_code_is_that_of_the_work() -> None:
    assert options().main(lambda flags: 3 if flags.list else 4)([*SERVER, "--list"]) == 3


@pytest.mark.parametrize(("error", "is_usage"), [(UsageError("no"), True), (ToolError("no"), False)])
def test_an_error_of_the_work_has_exit_code_1(
    error: ToolError, is_usage: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: Namespace) -> int:
        raise error

    assert options().main(fail)([*SERVER, "--list"]) == 1
    *usage, line = capsys.readouterr().err.splitlines()
    assert bool(usage) == is_usage
    assert line == f"kafka-tool.sh: {'error: ' if is_usage else ''}no"


def test_the_checks_name_the_options() -> None:
    flags = options().parse([*SERVER, "--do-it", "--count", "0", "--if-exists"])
    assert [name for name in ("do-it", "list", "count", "most", "config") if has(flags, name)] == [
        "do-it",
        "count",
    ]
    require(flags, "count")
    refuse_together(flags, "count", ("most", "list"))
    refuse_together(flags, "most", ("count",))
    with pytest.raises(UsageError, match="--most, --config"):
        require(flags, "count", "most", "config")
    with pytest.raises(UsageError, match=r"--if-exists.*--count"):
        refuse_together(flags, "count", ("most", "if-exists"))


def test_properties_are_split_at_the_first_equals_sign() -> None:
    assert key_values(["a=b=c", "d"]) == {"a": "b=c", "d": ""}
