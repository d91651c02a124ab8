from __future__ import annotations

import itertools

import pytest

from barnabas.controller.core.context.machines import (
    PARTITION_TRANSITIONS,
    REPLICA_TRANSITIONS,
    PartitionAction,
    PartitionMachineState,
    ReplicaAction,
    ReplicaMachineState,
    valid_previous,
)

# The tables of docs/kafka/state-machines.md, in its own words: target, valid previous states, action.
PARTITION_SHEET = {
    "NewPartition": ("NonExistentPartition", "NOTE"),
    "OnlinePartition": ("NewPartition OnlinePartition OfflinePartition", "INITIALIZE ELECT ELECT"),
    "OfflinePartition": ("NewPartition OnlinePartition OfflinePartition", "NOTE NOTE NOTE"),
    "NonExistentPartition": ("OfflinePartition", "NOTE"),
}
REPLICA_SHEET = {
    "NewReplica": ("NonExistentReplica", "CREATE"),
    "OnlineReplica": (
        "NewReplica OnlineReplica OfflineReplica ReplicaDeletionIneligible",
        "JOIN RESUME RESUME RESUME",
    ),
    "OfflineReplica": (
        "NewReplica OnlineReplica OfflineReplica ReplicaDeletionIneligible",
        "STOP STOP STOP STOP",
    ),
    "ReplicaDeletionStarted": ("OfflineReplica", "DELETE"),
    "ReplicaDeletionSuccessful": ("ReplicaDeletionStarted", "NOTE"),
    "ReplicaDeletionIneligible": ("OfflineReplica ReplicaDeletionStarted", "NOTE NOTE"),
    "NonExistentReplica": ("ReplicaDeletionSuccessful", "FORGET"),
}


@pytest.mark.parametrize(
    ("source", "target"), list(itertools.product(PartitionMachineState, repeat=2)), ids=str
)
def test_every_pair_of_partition_states_is_as_the_sheet_says(
    source: PartitionMachineState, target: PartitionMachineState
) -> None:
    sources, actions = PARTITION_SHEET[target.value]
    expected = dict(zip(sources.split(), actions.split(), strict=True)).get(source.value)
    action = PARTITION_TRANSITIONS.get((source, target))
    assert (action.name if action else None) == expected


@pytest.mark.parametrize(
    ("source", "target"), list(itertools.product(ReplicaMachineState, repeat=2)), ids=str
)
def test_every_pair_of_replica_states_is_as_the_sheet_says(
    source: ReplicaMachineState, target: ReplicaMachineState
) -> None:
    sources, actions = REPLICA_SHEET[target.value]
    expected = dict(zip(sources.split(), actions.split(), strict=True)).get(source.value)
    action = REPLICA_TRANSITIONS.get((source, target))
    assert (action.name if action else None) == expected


def test_every_state_can_be_entered_and_every_action_is_used() -> None:
    assert {target for _, target in PARTITION_TRANSITIONS} == set(PartitionMachineState)
    assert {target for _, target in REPLICA_TRANSITIONS} == set(ReplicaMachineState)
    assert set(PARTITION_TRANSITIONS.values()) == set(PartitionAction)
    assert set(REPLICA_TRANSITIONS.values()) == set(ReplicaAction)


def test_the_valid_previous_states_come_in_the_order_of_the_table() -> None:
    assert valid_previous(PARTITION_TRANSITIONS, PartitionMachineState.ONLINE) == (
        PartitionMachineState.NEW,
        PartitionMachineState.ONLINE,
        PartitionMachineState.OFFLINE,
    )
    assert valid_previous(REPLICA_TRANSITIONS, ReplicaMachineState.NEW) == (ReplicaMachineState.NON_EXISTENT,)
