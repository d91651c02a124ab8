"""The options of kafka-consumer-groups.sh."""

from __future__ import annotations

import pytest

from barnabas.tools.command_line.parser import UsageError
from barnabas.tools.consumer_groups.consumer_group_flags import OPTIONS, check, parse_states

SERVER = "--bootstrap-server h:1"


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
    check(OPTIONS.parse(f"{SERVER} {line}".split()))


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
def test_options_that_do_not(line: str) -> None:
    with pytest.raises((UsageError, SystemExit)):
        check(OPTIONS.parse(f"{SERVER} {line}".split()))


def test_states_are_named_exactly() -> None:
    assert parse_states("") == []
    assert parse_states("Stable, Empty") == ["Stable", "Empty"]
    with pytest.raises(UsageError) as refused:
        parse_states("stable,x")
    assert str(refused.value) == (
        "Invalid state list 'stable,x'. Valid states are: PreparingRebalance, CompletingRebalance, Stable, "
        "Dead, Empty"
    )
