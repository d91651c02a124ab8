from __future__ import annotations

import re
import subprocess
import sys

import pytest

from barnabas.tools.command_line.entry import INTERRUPTED_CODE, SIGPIPE_CODE, run_tool, run_with_options
from barnabas.tools.command_line.options import Given, Option, Options, UsageError

TALKER = """
import sys
from barnabas.tools.command_line.entry import run_tool

def talk():
    sys.stdout.writelines("word\\n" for _ in range(100_000))
    return 0

sys.exit(run_tool(talk))
"""


def test_the_exit_code_is_the_tools() -> None:
    assert run_tool(lambda: 3) == 3


def test_ctrl_c_ends_a_tool_without_a_traceback() -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    assert run_tool(interrupted) == INTERRUPTED_CODE


def test_a_reader_that_goes_away_ends_a_tool_quietly() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TALKER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as talker:
        assert talker.stdout is not None
        assert talker.stderr is not None
        assert talker.stdout.readline() == "word\n"
        talker.stdout.close()
        assert talker.stderr.read() == ""
        assert talker.wait(30) == SIGPIPE_CODE


def test_what_cannot_be_encoded_is_printed_with_backslashes(capsys: pytest.CaptureFixture[str]) -> None:
    def talk() -> int:
        sys.stdout.write("\udcff\n")
        return 0

    assert run_tool(talk) == 0
    assert capsys.readouterr().out == "\\udcff\n"


OPTIONS = Options(Option("list", "say what there is"))


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--list", "--help"]])
def test_the_help_is_an_error_as_in_kafka(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_with_options(OPTIONS, "It does it.", arguments, lambda given: 0) == 1
    assert capsys.readouterr() == ("", f"It does it.\n{OPTIONS.usage()}\n")


def test_the_version_is_that_of_kafka(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_with_options(OPTIONS, "", ["--version"], lambda given: 3) == 0
    assert re.fullmatch(r"2\.8\.0 \(Commit:barnabas-\d+\.\d+\.\d+(\.dev0)?\)\n", capsys.readouterr().out)


def test_what_the_options_say_is_done() -> None:
    assert run_with_options(OPTIONS, "", ["--list"], lambda given: 3 if given.has("list") else 4) == 3


def test_options_that_do_not_fit_together_bring_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(given: Given) -> int:
        raise UsageError("No.")

    assert run_with_options(OPTIONS, "", ["--list"], refuse) == 1
    assert capsys.readouterr() == ("", f"No.\n{OPTIONS.usage()}\n")


def test_an_error_is_printed_as_java_or_the_tool_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_with_options(OPTIONS, "", ["--colour"], lambda given: 0) == 1
    assert capsys.readouterr().err == (
        'Exception in thread "main" joptsimple.UnrecognizedOptionException: '
        "colour is not a recognized option\n"
    )
    assert run_with_options(OPTIONS, "", ["--colour"], lambda given: 0, str) == 1
    assert capsys.readouterr().err == "colour is not a recognized option\n"
