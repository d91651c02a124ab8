"""What brokers and controllers log about other brokers, from 0.8 to 4.x."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from barnabas.analysis.reading.brokers.companions import companion_columns

QUORUM = "[QuorumController id=3000] "
SAMPLES = Path(__file__).parents[4] / "data" / "broker-lines" / "others.jsonl"
LINES = [json.loads(line) for line in SAMPLES.read_text().splitlines()]


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["message"][:60])
def test_a_line_about_others(line: dict[str, Any]) -> None:
    row = companion_columns(line["message"], "x", lambda: line.get("trace", ""))
    assert row is not None
    assert plain(row) | line["columns"] == plain(row)


def test_a_connection_that_the_writer_closed_itself_is_no_lost_contact() -> None:
    message = (
        "[ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Error sending fetch request (sessionId=7, "
        "epoch=8) to node 2:"
    )
    lost = "java.io.IOException: Connection to 2 was disconnected before the response was read"
    row = companion_columns(message, "x", lambda: lost)
    assert row is not None
    assert row["contact"] == "disconnected"
    own = "java.io.IOException: Client was shutdown before response was read"
    assert companion_columns(message, "x", lambda: own) is None


@pytest.mark.parametrize(
    "message",
    [
        "Error in fetch without a leader",
        "[Producer clientId=p] Node -1 disconnected.",
        "Controller 1 epoch 4 fails to send request X to broker nobody. Reconnecting to broker.",
        "Controller 1 connected to nobody for sending state change requests",
        (
            "broker does not answer; sending again until it does or is gone broker=3 "
            "request=UpdateMetadataRequest status=CANCELLED details=CANCELLED"
        ),
        f"{QUORUM}Replayed BrokerRegistrationChangeRecord modifying the registration for broker 2: X()",
        "[Controller 3000] Registered new broker: RegisterBrokerRecord(brokerId=1)",
        # Elected from the eligible leader replicas.
        (
            f"{QUORUM}UNCLEAN partition change for a-0 with topic ID x: isr: [1] -> [2], leader: 1 -> 2, "
            "leaderEpoch: 2 -> 3, partitionEpoch: 5 -> 6"
        ),
        (
            f"{QUORUM}UNCLEAN partition change for a-0 with topic ID x: leader: 1 -> 2, leaderRecoveryState: "
            "RECOVERED -> RECOVERING"
        ),
        "3 dances",
    ],
)
def test_lines_that_prove_nothing_are_of_no_kind(message: str) -> None:
    assert companion_columns(message) is None
