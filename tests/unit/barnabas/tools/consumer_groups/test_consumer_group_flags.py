"""The options of kafka-consumer-groups.sh; the complaints are those of Kafka 2.8.2's tool."""

from __future__ import annotations

import re

import pytest

from barnabas.tools.command_line.options import OptionError, UsageError
from barnabas.tools.consumer_groups.consumer_group_flags import NO_SCENARIO, OPTIONS, check, parse_states

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
    ("line", "complaint"),
    [
        ("--list", 'Missing required argument "[bootstrap-server]"'),
        (
            f"{SERVER}",
            (
                "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, "
                "--delete-offsets"
            ),
        ),
        (
            f"{SERVER} --list --describe",
            "Option [describe] takes one of these options: [group], [all-groups]",
        ),
        (
            f"{SERVER} --describe --group g --members --state",
            "Option [describe] takes at most one of these options: [members], [offsets], [state]",
        ),
        (
            f"{SERVER} --describe --group g --state Empty",
            "Option [describe] does not take a value for [state]",
        ),
        (f"{SERVER} --delete", "Option [delete] takes one of these options: [group], [all-groups]"),
        (
            f"{SERVER} --delete --group g --topic t",
            "The consumer does not support topic-specific offset deletion from a consumer group.",
        ),
        (
            f"{SERVER} --delete-offsets --group g",
            "Option [delete-offsets] takes the following options: [group], [topic]",
        ),
        (
            f"{SERVER} --reset-offsets --group g --dry-run --execute",
            "Option [reset-offsets] only accepts one of [execute] and [dry-run]",
        ),
        (
            f"{SERVER} --reset-offsets --to-earliest",
            "Option [reset-offsets] takes one of these options: [group], [all-groups]",
        ),
        (
            f"{SERVER} --reset-offsets --group g --to-offset 5 --to-latest",
            'Option "[to-offset]" can\'t be used with option "[to-latest]"',
        ),
        (
            f"{SERVER} --describe --group g --all-groups",
            'Option "[group]" can\'t be used with option "[all-groups]"',
        ),
        (f"{SERVER} --list --group g", 'Option "[group]" can\'t be used with option "[list]"'),
        (f"{SERVER} --list --topic t", 'Option "[topic]" can\'t be used with option "[list]"'),
    ],
)
def test_options_that_do_not(line: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(complaint)}$"):
        check(OPTIONS.parse(line.split()))


@pytest.mark.parametrize(("line", "name"), [("--list --members", "members"), ("--delete --state", "state")])
def test_options_that_go_with_others_only(line: str, name: str) -> None:
    with pytest.raises(OptionError) as refused:
        check(OPTIONS.parse(f"{SERVER} {line}".split()))
    assert refused.value.java_class == "joptsimple.UnavailableOptionException"
    assert str(refused.value) == f"Option(s) [{name}] are unavailable given other options on the command line"


def test_states_are_named_exactly() -> None:
    assert parse_states("") == []
    assert parse_states("Stable, Empty") == ["Stable", "Empty"]
    with pytest.raises(UsageError) as refused:
        parse_states("stable,x")
    assert str(refused.value) == (
        "Invalid state list 'stable,x'. Valid states are: PreparingRebalance, CompletingRebalance, Stable, "
        "Dead, Empty"
    )


def test_the_scenarios_are_all_named() -> None:
    assert NO_SCENARIO.startswith(
        "Option '[reset-offsets]' requires one of the following scenarios: HashSet(["
    )
    assert NO_SCENARIO.count("[") == 9
