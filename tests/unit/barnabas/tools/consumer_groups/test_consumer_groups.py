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
    cause = "org.apache.kafka.common.errors.TimeoutException: No broker answered"
    assert printed.out == f"\nError: Executing consumer group command failed due to {cause}\n"
    assert printed.err == f"java.util.concurrent.ExecutionException: {cause}\n"


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (("--to-offset", "x"), "Cannot parse argument 'x' of option to-offset"),
        (("--command-config", "/none"), "--command-config /none cannot be read"),
    ],
)
def test_a_value_that_cannot_be_read_is_no_failure_either(
    arguments: tuple[str, str], cause: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SERVER, "--reset-offsets", "--dry-run", "--group", "g", "--topic", "t", *arguments]) == 0
    assert f"\nError: Executing consumer group command failed due to {cause}" in capsys.readouterr().out


def test_options_that_do_not_fit_together_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert main([*SERVER, "--list", "--describe"]) == 1
    assert main([*SERVER, "--list", "--members"]) == 1
    complaints = capsys.readouterr().err
    assert complaints.startswith('Missing required argument "[bootstrap-server]"\nOption ')
    assert "\nOption [describe] takes one of these options: [group], [all-groups]\nOption " in complaints
    assert 'Exception in thread "main" joptsimple.UnavailableOptionException: ' in complaints


def test_a_reset_that_changes_nothing_warns(capsys: pytest.CaptureFixture[str]) -> None:
    reset = ("--reset-offsets", "--group", "g", "--topic", "t", "--to-latest")
    for option, warned in ((), True), (("--dry-run",), False), (("--execute",), False):
        main([*SERVER, *reset, *option])
        assert capsys.readouterr().err.startswith("WARN: No action will be performed") is warned
