"""kafka-consumer-groups.sh: its options and exit codes; integration/test_tools.py has a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.tools.clients.admin_client import Unreachable
from barnabas.tools.command_line.parser import UsageError
from barnabas.tools.consumer_groups import consumer_groups
from barnabas.tools.consumer_groups.consumer_groups import OPTIONS, check, main, parse_states

SERVER = ("--bootstrap-server", "127.0.0.1:1")


@pytest.fixture(autouse=True)
def _nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise Unreachable("No broker answered")

    monkeypatch.setattr(consumer_groups, "AdminClient", refuse)


@pytest.mark.parametrize(
    "line",
    [
        "--list",
        "--list --state",
        "--list --state Stable,Empty",
        "--describe --group g --members --verbose",
        "--describe --all-groups --state",
        "--delete --group g --group h",
        "--delete-offsets --group g --topic t:0",
        "--reset-offsets --group g --topic t --to-earliest --dry-run",
        "--reset-offsets --all-groups --all-topics --to-current --execute --export",
        "--reset-offsets --group g --from-file f",
    ],
)
def test_options_that_fit_together(line: str) -> None:
    check(OPTIONS.parse([*SERVER, *line.split()]))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--list --describe",
        "--list --members",
        "--describe",
        "--describe --group g --members --state",
        "--describe --group g --state Empty",
        "--describe --group g --all-groups",
        "--describe --group g --topic t",
        "--delete",
        "--delete --group g --state",
        "--delete --group g --topic t",
        "--delete-offsets --group g",
        "--reset-offsets --group g --dry-run --execute",
        "--reset-offsets --to-earliest",
        "--reset-offsets --group g --to-offset 5 --to-latest",
        "--reset-offsets --group g --to-offset x",
        "--list --group g",
        "--list --topic t",
    ],
)
def test_options_that_do_not_are_a_failure(line: str) -> None:
    assert main([*SERVER, *line.split()]) == 1


def test_states_are_named_exactly() -> None:
    assert parse_states("") == []
    assert parse_states("Stable, Empty") == ["Stable", "Empty"]
    with pytest.raises(UsageError) as refused:
        parse_states("stable,x")
    assert str(refused.value) == (
        "Invalid state list 'stable,x'. Valid states are: PreparingRebalance, CompletingRebalance, Stable, "
        "Dead, Empty"
    )


def test_an_error_at_run_time_is_printed_and_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SERVER, "--list"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "\nError: Executing consumer group command failed due to No broker answered\n"
    assert printed.err == ""


def test_a_file_that_cannot_be_read_is_no_failure_either(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SERVER, "--list", "--command-config", "/none"]) == 0
    cause = "--command-config /none cannot be read"
    assert f"\nError: Executing consumer group command failed due to {cause}" in capsys.readouterr().out


def test_a_reset_that_changes_nothing_warns(capsys: pytest.CaptureFixture[str]) -> None:
    reset = ("--reset-offsets", "--group", "g", "--topic", "t", "--to-latest")
    for option, warned in ((), True), (("--dry-run",), False), (("--execute",), False):
        main([*SERVER, *reset, *option])
        assert capsys.readouterr().err.startswith("WARN: No action will be performed") is warned
