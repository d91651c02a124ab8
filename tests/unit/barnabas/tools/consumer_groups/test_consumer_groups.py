"""kafka-consumer-groups.sh: its exit codes; tests/integration/test_tools.py runs it on a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.tools.clients.admin_client import Unreachable
from barnabas.tools.consumer_groups import consumer_groups
from barnabas.tools.consumer_groups.consumer_groups import main

SERVER = ("--bootstrap-server", "127.0.0.1:1")


@pytest.fixture(autouse=True)
def _nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise Unreachable("No broker answered")

    monkeypatch.setattr(consumer_groups, "AdminClient", refuse)


def test_an_error_at_run_time_is_printed_and_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SERVER, "--list"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "\nError: Executing consumer group command failed due to No broker answered\n"
    assert printed.err == ""


def test_a_file_that_cannot_be_read_is_no_failure_either(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SERVER, "--list", "--command-config", "/none"]) == 0
    cause = "--command-config /none cannot be read"
    assert f"\nError: Executing consumer group command failed due to {cause}" in capsys.readouterr().out


def test_options_that_do_not_fit_together_are_one() -> None:
    assert main([]) == 1
    assert main([*SERVER, "--list", "--describe"]) == 1
    assert main([*SERVER, "--list", "--members"]) == 1


def test_a_reset_that_changes_nothing_warns(capsys: pytest.CaptureFixture[str]) -> None:
    reset = ("--reset-offsets", "--group", "g", "--topic", "t", "--to-latest")
    for option, warned in ((), True), (("--dry-run",), False), (("--execute",), False):
        main([*SERVER, *reset, *option])
        assert capsys.readouterr().err.startswith("WARN: No action will be performed") is warned
