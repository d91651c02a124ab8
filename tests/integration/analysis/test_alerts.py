"""``barnabas analyze --follow`` over a growing folder of logs, with a real receiver and a real scrape.

The first follower is killed while the receiver is down; the second one sends what the first could not,
and nothing of what the first has sent.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, PartitionVersion
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.model.statechange import ControllerLines, StateChange
from barnabas.local.waiting import wait_until
from tests.receiver import Receiver, receiving

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1_800)]

DEADLINE_S = 600.0
ONE, TWO = BrokerId(1), BrokerId(2)
TP = TopicPartition("orders", 3)
BORN = LeaderAndIsr.initial(ONE, (ONE, TWO))
SHRUNK = BORN.new_leader(ONE, (ONE,)).written_as(PartitionVersion(1))
NOBODY = SHRUNK.new_leader(NO_LEADER, (ONE,)).written_as(PartitionVersion(2))
UNCLEAN = NOBODY.new_leader(TWO, (TWO,)).written_as(PartitionVersion(3))
FIRST, SECOND = (ControllerLines(TWO, ControllerEpoch(1)), ControllerLines(BrokerId(3), ControllerEpoch(2)))


def at(second: int, line: StateChange) -> str:
    return line.entry(f"2026-11-21 03:12:{second:02},000")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as kept:
        yield kept


class Log:
    """A growing state-change.log."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "broker-2" / "state-change.log"
        self.path.parent.mkdir(parents=True)

    def grow(self, *lines: str) -> None:
        with self.path.open("a") as file:
            file.write("".join(lines))


@contextmanager
def follower(logs: Path, out: Path, receiver: Receiver) -> Iterator[int]:
    """A follower's process; gives the port of its metrics."""
    said = out.parent / "stderr.txt"
    with said.open("w") as errors, subprocess.Popen(
        [
            sys.executable, "-m", "barnabas", "analyze", str(logs), "--follow", f"--out={out}",
            f"--alert-webhook={receiver.url}", "--alert-port=0", "--min-insync-replicas=1",
        ],
        stdout=subprocess.DEVNULL, stderr=errors, env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
    ) as process:  # fmt: skip
        try:
            found = wait_until(
                lambda: re.search(r"Prometheus are on http://127\.0\.0\.1:(\d+)/metrics", said.read_text()),
                "the port of the metrics", DEADLINE_S, last=said.read_text,
            )  # fmt: skip
            yield int(found[1])
        finally:
            process.kill()


def metric(port: int, name: str) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        found = re.search(rf"^{re.escape(name)} (\S+)$", answer.read().decode(), re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_alerts_of_a_growing_folder_over_a_restart(tmp_path: Path, receiver: Receiver) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    log = Log(logs)
    log.grow(
        at(0, FIRST.partition_new(TP, "NonExistentPartition", (ONE, TWO))),
        at(1, FIRST.partition_online(TP, "NewPartition", BORN)),
    )
    without = 'barnabas_alerts_firing{kind="PartitionWithoutLeader",severity="critical"}'
    with follower(logs, out, receiver) as port:
        wait_until(lambda: metric(port, "barnabas_follow_looks_total"), "a look", DEADLINE_S)
        log.grow(
            at(5, FIRST.removed_from_isr(TP, PartitionState(SHRUNK, ControllerEpoch(1)), TWO)),
            at(9, FIRST.removed_from_isr(TP, PartitionState(NOBODY, ControllerEpoch(1)), ONE)),
        )
        receiver.wait_for(1, DEADLINE_S)
        assert metric(port, without) == 1
        receiver.status = 503
        log.grow(at(20, SECOND.partition_online(TP, "OfflinePartition", UNCLEAN)))
        receiver.wait_for_refusals(1, DEADLINE_S)
    assert receiver.told == [("orders-3", "firing")]
    (first,) = receiver.posts[0]["alerts"]
    assert first["kind"] == "PartitionWithoutLeader"
    assert first["since"] == {"certainty": "bound", "at_least": None, "at_most": "2026-11-21T03:12:09.000Z"}
    assert "Leader:-1" in first["lines"][0]["raw"]
    receiver.status = 200
    with follower(logs, out, receiver) as port:
        receiver.wait_for(4, DEADLINE_S)
        assert metric(port, without) == 0
    alerts = [each for post in receiver.posts for each in post["alerts"]]
    assert sorted((each["kind"], each["status"]) for each in alerts) == [
        ("ControllerChange", "firing"), ("PartitionWithoutLeader", "firing"),
        ("PartitionWithoutLeader", "resolved"), ("UncleanLeaderElection", "firing"),
    ]  # fmt: skip
    (resolved,) = [each for each in alerts if each["status"] == "resolved"]
    assert resolved["id"] == first["id"]
    assert resolved["brokers"] == [1, 2]
    assert json.loads((out / "_alerts.json").read_text())["version"] == 1
