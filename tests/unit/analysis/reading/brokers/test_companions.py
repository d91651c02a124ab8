"""Lines of server.log and controller.log, of the generations that have them."""

from __future__ import annotations

from datetime import UTC

import pytest

from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.brokers.companions import companion_columns
from barnabas.analysis.reading.events.kinds import CompanionKind
from barnabas.analysis.reading.times import Clock

NOW = "[Partition a-b-0 broker=1] "
OLD = "Partition [a-b,0] on broker 1: "
BEHIND = ". Leader: (highWatermark: 7, endOffset: 9). Out of sync replicas: (brokerId: 2, endOffset: 7)."


@pytest.mark.parametrize(
    ("text", "kind", "isr", "version"),
    [
        (f"{NOW}ISR updated to 1,2 and version updated to [6]", CompanionKind.ISR_UPDATED, (1, 2), 6),
        (f"{NOW}ISR updated to [1,2] and zkVersion updated to [6]", CompanionKind.ISR_UPDATED, (1, 2), 6),
        (
            f"{NOW}ISR updated from AlterIsr to 1 and version updated to [6]",
            CompanionKind.ISR_UPDATED,
            (1,),
            6,
        ),
        (f"{NOW}ISR updated to 1,2  and version updated to 6", CompanionKind.ISR_UPDATED, (1, 2), 6),
        (
            f"{NOW}ISR updated to 1 (under-min-isr) and version updated to 6",
            CompanionKind.ISR_UPDATED,
            (1,),
            6,
        ),
        (f"{OLD}ISR updated to [1,2] and zkVersion updated to [6]", CompanionKind.ISR_UPDATED, (1, 2), 6),
        (f"{NOW}Shrinking ISR from 1,2 to 1{BEHIND}", CompanionKind.ISR_SHRINKING, (1,), None),
        (f"{OLD}Shrinking ISR for partition [a-b,0] from 1,2 to 1", CompanionKind.ISR_SHRINKING, (1,), None),
        (f"{OLD}Shrinking ISR from 1,2 to 1", CompanionKind.ISR_SHRINKING, (1,), None),
        (f"{NOW}Expanding ISR from 1 to 1,2", CompanionKind.ISR_EXPANDING, (1, 2), None),
        (
            f"{NOW}Cached zkVersion [5] not equal to that in zookeeper, skip updating ISR",
            CompanionKind.ISR_NOT_UPDATED,
            None,
            None,
        ),
    ],
)
def test_a_leader_s_words_about_its_isr(
    text: str, kind: CompanionKind, isr: tuple[int, ...] | None, version: int | None
) -> None:
    row = companion_columns(text)
    assert row is not None
    assert (row["kind"], row.get("isr"), row.get("version")) == (kind, isr, version)
    assert (row["topic"], row["partition"], row["broker"], row["leader"]) == ("a-b", 0, 1, 1)


@pytest.mark.parametrize(("mark", "expected"), [("(under-min-isr)", True), ("", None)])
def test_a_leader_says_that_the_isr_is_under_the_minimum(mark: str, expected: bool | None) -> None:
    row = companion_columns(f"{NOW}ISR updated to 1 {mark} and version updated to 6")
    assert row is not None
    assert row.get("under_min_isr") is expected


def test_an_election_gives_the_controller_epoch() -> None:
    row = companion_columns(
        "[Controller id=3] 3 successfully elected as the controller. Epoch incremented to 8 and epoch zk "
        "version is now 8"
    )
    assert row is not None
    assert (row["kind"], row["role"], row["controller"], row["controller_epoch"]) == (
        CompanionKind.CONTROLLER_ELECTED,
        "controller",
        3,
        8,
    )


@pytest.mark.parametrize(
    "text",
    [
        "[KafkaServer id=1] started",
        f"{NOW}Log loaded for partition a-b-0",
        "",
        "[Partition x",
        f"[Partition t-{'9' * 5000} broker=1] ",
    ],
)
def test_what_is_about_other_things_is_left_alone(text: str) -> None:
    assert companion_columns(text) is None


def test_lines_of_several_loggers_may_be_mixed() -> None:
    log = (
        "[2026-11-21 10:00:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n"
        f"[2026-11-21 10:00:01,000] INFO {NOW}Expanding ISR from 1 to 1,2 (kafka.cluster.Partition)\n"
        "[2026-11-21 10:00:02,000] INFO [Broker id=1] Danced (state.change.logger)\n"
        "[2026-11-21 10:00:03,000] INFO [Broker id=1] Handling StopReplica request correlationId 1 from "
        "controller 1 for 2 partitions (state.change.logger)\n"
    )
    rows = BlockReader(Clock(UTC), lambda _: None).read(log.encode(), Origin("file:///a", 0, 1)).rows
    assert rows["understood"].to_pylist() == [True, True, False, True]
    assert rows["kind"].to_pylist() == [
        "broker-started",
        "isr-expanding",
        None,
        "stop-replica-handling",
    ]
    assert rows["broker"].to_pylist() == [1, 1, 1, 1]
    assert rows["logger"].to_pylist()[:2] == ["kafka.server.KafkaServer", "kafka.cluster.Partition"]


STARTED = "[KafkaServer id=1] started"


@pytest.mark.parametrize("thread", ["[main] ", "[kafka-scheduler-1]: "])
@pytest.mark.parametrize(
    "message", [STARTED, f"{NOW}Expanding ISR from 1 to 1,2", f"{OLD}Shrinking ISR from 1 to 1", "starting"]
)
def test_a_thread_may_stand_before_the_writer(thread: str, message: str) -> None:
    row = companion_columns(message, "kafka.server.KafkaServer")
    assert row is not None
    assert companion_columns(thread + message, "kafka.server.KafkaServer") == row
