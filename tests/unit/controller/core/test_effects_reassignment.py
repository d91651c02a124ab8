from __future__ import annotations

from barnabas.cluster.model.ids import TopicPartition
from barnabas.controller.core.effects import NO_REIGN, Ask
from barnabas.controller.core.effects_reassignment import (
    ReadReassignments,
    RequestedReassignments,
    WatchPartitionStates,
    WriteReassignments,
)


def test_all_of_them_wait_for_an_answer():
    assert all(
        issubclass(kind, Ask) for kind in (ReadReassignments, WatchPartitionStates, WriteReassignments)
    )


def test_a_write_shows_its_reign_and_what_it_was_decided_from():
    asked = RequestedReassignments({TopicPartition("t", 0): (1,)}, 3)
    write = WriteReassignments(asked.targets, asked.version, NO_REIGN)
    assert (write.version, write.reign) == (3, NO_REIGN)
