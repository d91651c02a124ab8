from __future__ import annotations

import subprocess
import sys

import pytest

from barnabas.tools.command_line.entry import INTERRUPTED_CODE, SIGPIPE_CODE, run_tool

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
