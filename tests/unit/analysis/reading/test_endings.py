"""Lines without a header that a process ended at once."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.times import Clock

LOGGED = "[2024-03-05 10:00:0{},000] INFO [LogManager] x (kafka.log.LogManager)\n"
NO_HEAP = "Terminating due to java.lang.OutOfMemoryError: Java heap space\n"
CRASHED = "# A fatal error has been detected by the Java Runtime Environment:\n"
KILLED = "Out of memory: Killed process 812 (java) total-vm:9402304kB, oom_score_adj:0\n"


def read(log: str) -> list[dict[str, Any]]:
    reader = BlockReader(Clock(UTC), lambda front: int(front[7]) if front.startswith("broker-") else None)
    rows = reader.read(log.encode(), Origin("f", 0, 1)).rows.to_pylist()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def ended(log: str) -> list[dict[str, Any]]:
    return [row for row in read(log) if row.get("kind") == "broker-ended-at-once"]


def test_the_vm_s_line_is_an_entry_with_the_time_of_the_one_above() -> None:
    above, own, below = read(LOGGED.format(1) + NO_HEAP + LOGGED.format(7))
    assert own["time"] == above["time"]
    assert (own["line"], own["raw"]) == (2, NO_HEAP.strip())
    assert own["error"] == "it ran out of memory: Java heap space"
    assert "trace" not in above
    assert below["line"] == 3


@pytest.mark.parametrize("stamp", ["", "2024-03-05T10:00:09.000000000Z "])
def test_names_in_front_of_the_lines_say_whose_process_it_was(stamp: str) -> None:
    fronts = [f"broker-{broker}  | {stamp}" for broker in (1, 2)]
    log = fronts[0] + LOGGED.format(1) + fronts[1] + LOGGED.format(2) + fronts[0] + NO_HEAP
    (own,) = ended(log)
    assert (own["broker"], own["subject"], own["time"].second) == (1, 1, 1)
    assert own["raw"] == NO_HEAP.strip()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            f"{CRASHED}#\n#  SIGBUS (0x7) at pc=0x0, pid=1, tid=2\n#\n",
            "its Java VM crashed: SIGBUS (0x7)",
        ),
        (CRASHED, "its Java VM crashed"),
        (
            "# There is insufficient memory for the Java Runtime Environment to continue.\n# x\n",
            "it ran out of memory: the system gave its Java VM no more",
        ),
    ],
)
def test_the_lines_below_say_why_the_vm_crashed(text: str, why: str) -> None:
    (own,) = ended(LOGGED.format(1) + "#\n" + text)
    assert own["error"] == why


@pytest.mark.parametrize("stamp", ["Mar  5 10:00:0{} ", "2024-03-05T10:00:0{}+0000 "])
def test_the_kernel_s_line_is_of_the_process_that_the_journal_names(stamp: str) -> None:
    log = f"{stamp}h kafka.sh[812]: {LOGGED}"
    (own,) = ended(log.format(1, 1) + log.format(2, 2) + f"{stamp.format(7)}h kernel: {KILLED}")
    assert own["time"].second == 2
    assert own["error"] == "the kernel killed it: out of memory"


@pytest.mark.parametrize(
    "log",
    [
        NO_HEAP,
        LOGGED.format(1) + "h kernel: " + KILLED,
        "h kafka.sh[640]: " + LOGGED.format(1) + "h kernel: " + KILLED,
        LOGGED.format(1).replace(" x ", f" {NO_HEAP.strip()} "),
        "broker-1  | " + LOGGED.format(1) + "broker-2  | " + NO_HEAP,
    ],
    ids=["no entry above", "no process named", "another process", "in an entry", "another writer"],
)
def test_other_lines_are_none(log: str) -> None:
    assert ended(log) == []
