from __future__ import annotations

from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.partitions import causes
from barnabas.controller.core.partitions.elections import OfflineElection, OtherElection

TP = TopicPartition("t", 0)
FAILED = "kafka.common.StateChangeFailedException: "


def test_causes_are_worded_as_kafka_words_them() -> None:
    assert causes.no_leader(TP, OfflineElection()) == (
        f"{FAILED}Failed to elect leader for partition t-0 under strategy "
        "OfflinePartitionLeaderElectionStrategy(false)"
    )
    assert causes.no_leadership(TP, PartitionMachineState.OFFLINE) == (
        f"{FAILED}LeaderAndIsr information doesn't exist for partition t-0 in OfflinePartition state"
    )
    assert causes.no_isr(BrokerId(2), TP) == (
        f"{FAILED}Failed to change state of replica 2 for partition t-0 since the leader and isr path in "
        "zookeeper is empty"
    )
    assert causes.new_replica_leads(BrokerId(2), TP) == (
        f"{FAILED}Replica 2 for partition t-0 cannot be moved to NewReplica state as it is being requested "
        f"to "
        "become leader"
    )


def test_epochs_and_brokers_are_named() -> None:
    moved = causes.other_controller(ControllerEpoch(3), ControllerEpoch(4))
    assert moved.startswith(FAILED)
    assert "current controller with epoch 3" in moved
    assert "elected with epoch 4" in moved
    nobody = causes.no_replica_alive(
        TP, [BrokerId(4)], [BrokerId(1), BrokerId(2)], BrokerId(1), ControllerEpoch(3)
    )
    assert (
        "Controller 1 epoch 3 encountered error during state change of partition t-0 from New to Online"
        in nobody
    )
    assert "assigned replicas are [4], live brokers are [1,2]. No assigned replica is alive." in nobody


def test_moves_that_the_tables_do_not_hold() -> None:
    states = PartitionMachineState
    assert causes.invalid_partition_move(TP, states.NEW, states.NEW, [states.NON_EXISTENT]) == (
        "java.lang.IllegalStateException: Partition t-0 should be in one of NonExistentPartition states "
        "before "
        "moving to NewPartition state. Instead it is in NewPartition state"
    )
    replica_states = ReplicaMachineState
    assert causes.invalid_replica_move(
        "[R]", replica_states.NEW, replica_states.NEW, [replica_states.NON_EXISTENT]
    ) == (
        "java.lang.IllegalStateException: Replica [R] should be in the NonExistentReplica states before "
        "moving to "
        "NewReplica state. Instead it is in NewReplica state"
    )


def test_a_cause_is_the_class_and_the_text_of_an_exception():
    elected = causes.no_leader(TopicPartition("t", 0), OtherElection.PREFERRED)
    moved = causes.invalid_partition_move(TopicPartition("t", 0), "A", "B", ("C",))
    assert causes.is_failed_change(elected)
    assert not causes.is_failed_change(moved)
    assert causes.message_of(elected) == (
        "Failed to elect leader for partition t-0 under strategy "
        "PreferredReplicaPartitionLeaderElectionStrategy"
    )
