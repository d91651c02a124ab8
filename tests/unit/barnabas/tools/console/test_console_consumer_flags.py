"""The options of kafka-console-consumer.sh."""

from __future__ import annotations

import pytest

from barnabas.tools.command_line.parser import ToolError, UsageError
from barnabas.tools.console.console_consumer_flags import (
    EARLIEST,
    LATEST,
    OPTIONS,
    check,
    consumer_properties,
    start_offset,
)

SERVER = "--bootstrap-server h:1 --topic t"


@pytest.mark.parametrize(
    "line",
    [
        "--bootstrap-server h:1",
        "--topic t",
        f"{SERVER} --whitelist w",
        "--bootstrap-server h:1 --whitelist w --partition 0",
        f"{SERVER} --partition 0 --offset 3 --from-beginning",
        f"{SERVER} --offset 3",
        f"{SERVER} --partition 0 --offset -3",
    ],
)
def test_options_that_do_not_fit_together(line: str) -> None:
    with pytest.raises((UsageError, SystemExit)):
        check(OPTIONS.parse(line.split()))


@pytest.mark.parametrize(
    ("line", "offset"),
    [
        ("", LATEST),
        ("--from-beginning", EARLIEST),
        ("--offset Earliest", EARLIEST),
        ("--offset latest", LATEST),
        ("--offset 12", 12),
    ],
)
def test_the_first_offset_of_a_partition(line: str, offset: int) -> None:
    given = OPTIONS.parse(f"{SERVER} --partition 0 {line}".split())
    check(given)
    assert start_offset(given) == offset


@pytest.mark.parametrize("text", ["x", "1.5", str(2**63)])
def test_what_is_no_offset(text: str) -> None:
    with pytest.raises(UsageError, match=f"^The provided offset value '{text}' is incorrect"):
        start_offset(OPTIONS.parse(f"{SERVER} --offset {text}".split()))


def settings(line: str, from_file: dict[str, str] | None = None, **options: str) -> dict[str, str]:
    from_options = {name.replace("_", "."): value for name, value in options.items()}
    return consumer_properties(
        OPTIONS.parse(f"{SERVER} {line}".split()), from_file or {}, from_options, 60380
    )


def test_a_run_without_a_group_leaves_no_offsets() -> None:
    assert settings("") == {
        "bootstrap.servers": "h:1",
        "group.id": "console-consumer-60380",
        "enable.auto.commit": "false",
        "auto.offset.reset": "latest",
        "isolation.level": "read_uncommitted",
        "allow.auto.create.topics": "true",
    }
    assert settings("", {"enable.auto.commit": "true"})["enable.auto.commit"] == "true"


def test_a_group_commits() -> None:
    found = settings("--group g --from-beginning --isolation-level read_committed")
    assert (found["group.id"], found["auto.offset.reset"]) == ("g", "earliest")
    assert found["isolation.level"] == "read_committed"
    assert "enable.auto.commit" not in found
    assert (
        settings("", {"group.id": "f", "isolation.level": "read_committed"}, client_id="c")["group.id"] == "f"
    )


def test_contradictions() -> None:
    with pytest.raises(UsageError, match="Detected group ids: 'g', 'f'"):
        settings("--group g", {"group.id": "f"})
    with pytest.raises(UsageError, match="Options group and partition cannot be specified together"):
        settings("--group g --partition 0")
    complaint = "Can't simultaneously specify --from-beginning and 'auto.offset.reset=latest', please remove"
    with pytest.raises(ToolError, match=complaint):
        settings("--from-beginning", auto_offset_reset="latest")
    assert settings("--from-beginning", auto_offset_reset="earliest")["auto.offset.reset"] == "earliest"
