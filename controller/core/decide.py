"""The entrance to the core (Kafka: ``KafkaController.process``): the decision about each input.

`EVENTS` has one row for each kind of input and each command. A decision ends before the next input is taken.
Three answers end it early: the session has expired (`Expire` is the next input), ZooKeeper does not answer,
or another controller has been elected (this one resigns at once).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from barnabas.cluster.model.commands.command import Command, Refused
from barnabas.cluster.model.commands.configs import AlterConfigs, IncrementalAlterConfigs
from barnabas.cluster.model.commands.elections import ElectLeaders
from barnabas.cluster.model.commands.reassignments import (
    AlterPartitionReassignments,
    ListPartitionReassignments,
)
from barnabas.cluster.model.commands.shutdown import ControlledShutdown
from barnabas.cluster.model.commands.topics import CreatePartitions, CreateTopics, DeleteTopics
from barnabas.cluster.model.errors import ErrorCode
from barnabas.controller.core.brokers import broker_changes, isr_changes, log_dir_events, resends, responses
from barnabas.controller.core.brokers.controlled_shutdown import do_controlled_shutdown
from barnabas.controller.core.configs.alter_configs import alter_configs
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.election import controller_election
from barnabas.controller.core.leader_elections import replica_elections
from barnabas.controller.core.protocol.effects import (
    Decision,
    InterruptedDecisionError,
    Interruption,
    LogInfo,
    Reply,
)
from barnabas.controller.core.protocol.inputs import (
    AutoPreferredReplicaLeaderElection,
    BrokerChange,
    BrokerModifications,
    CommandReceived,
    ControllerChange,
    ControllerState,
    Expire,
    Input,
    IsrChangeNotification,
    LeaderAndIsrResponseReceived,
    LogDirEventNotification,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    Reelect,
    ReplicaLeaderElection,
    ResendRequests,
    ShutdownEventThread,
    Startup,
    TopicChange,
    TopicDeletion,
    TopicDeletionStopReplicaResponseReceived,
    TopicUncleanLeaderElectionEnable,
    UncleanLeaderElectionEnable,
    UpdateMetadataResponseReceived,
    ZkPartitionReassignment,
)
from barnabas.controller.core.reassignment import partition_reassignment, reassignment_requests
from barnabas.controller.core.topics import topic_changes, topic_deletion
from barnabas.controller.core.topics.create_partitions import create_partitions
from barnabas.controller.core.topics.create_topics import create_topics
from barnabas.controller.core.topics.delete_topics import delete_topics


@dataclass(frozen=True, slots=True)
class Event:
    """The handling of one kind of input.

    Attributes:
        state: The state of the controller meanwhile.
        handle: The decision. For a command it takes the `CommandReceived` and returns the command's result.
        everybody: Whether every broker handles the input; else only the active controller does.
    """

    state: ControllerState
    handle: Callable[[ControllerContext, Any], Decision[Any]]
    everybody: bool = False


def kind_of(happened: Input) -> type[Input | Command[Any]]:
    """Return the key of ``happened`` in `EVENTS`: its type, or the type of its command."""
    return type(happened.command) if isinstance(happened, CommandReceived) else type(happened)


def event_of(happened: Input) -> Event:
    """Return the row of `EVENTS` for ``happened``.

    Raises:
        TypeError: There is no row for its kind.
    """
    event = EVENTS.get(kind_of(happened))
    if event is None:
        raise TypeError(f"no handler for {happened!r}, expected one of {[kind.__name__ for kind in EVENTS]}")
    return event


def decide(context: ControllerContext, happened: Input) -> Decision[None]:
    """Decide about ``happened``, and change ``context`` accordingly."""
    name = kind_of(happened).__name__
    refusal = refuse(happened)
    if not (event_of(happened).everybody or context.is_active):
        line = f"ignored {name}: this broker is not the active controller"
        yield LogInfo(line, client_kind=f"ignored {name}")
        if refusal is not None:
            yield refusal
        return
    work: Decision[None] | None = _handle(context, happened)
    while work is not None:
        try:
            yield from work
            work = None
        except InterruptedDecisionError as interrupted:
            yield LogInfo(f"gave up {name}, because {interrupted}")
            if refusal is not None:
                yield refusal
                refusal = None
            work = _recover(context, interrupted.interruption)


def refuse(preempted: Input) -> Reply | None:
    """Return the reply to the caller of an input that will not be handled; None if no caller waits."""
    match preempted:
        case CommandReceived(token, ControlledShutdown()):
            # Kafka answers only this command in this way (``doControlledShutdown``:
            # ControllerMovedException).
            refused = Refused(ErrorCode.STALE_CONTROLLER_EPOCH, "The controller has moved to another broker.")
        case CommandReceived(token):
            meaning = "This is not the correct controller for this cluster."
            refused = Refused(ErrorCode.NOT_CONTROLLER, meaning)
        case _:
            return None
    return Reply(token, refused)


def recover(context: ControllerContext, failed: Input, because: str) -> Decision[None]:
    """Recover after a decision failed with an unexpected error.

    As in Kafka, the controller continues with the next input, unless a failover failed: half of one is
    useless, so the controller resigns and takes part in no election for a while. Unlike Kafka's, it also
    resigns if a broker change failed, because no event would repeat the rest, and the next controller does
    all of it. A caller that waits gets a reply.
    """
    if isinstance(failed, CommandReceived):
        yield Reply(failed.token, Refused(ErrorCode.UNKNOWN_SERVER_ERROR, because))
    if event_of(failed).state is ControllerState.CONTROLLER_CHANGE or isinstance(failed, BrokerChange):
        yield from controller_election.rest(context, because)
    elif isinstance(failed, AutoPreferredReplicaLeaderElection):
        yield from replica_elections.schedule_next_rebalance(context)


def _handle(context: ControllerContext, happened: Input) -> Decision[None]:
    result = yield from event_of(happened).handle(context, happened)
    if isinstance(happened, CommandReceived):
        yield Reply(happened.token, result)


def _recover(context: ControllerContext, interruption: Interruption) -> Decision[None] | None:
    match interruption:
        case Interruption.SESSION_EXPIRED:
            return None
        case Interruption.ZOOKEEPER_SILENT:
            # The rest of the decision is lost, so this broker resigns. When ZooKeeper answers again, it
            # deletes ``/controller`` if that still names it.
            return controller_election.await_zookeeper(context, interruption.value)
        case Interruption.CONTROLLER_MOVED:
            return _stand_down(context, interruption.value)
        case unknown:
            assert_never(unknown)


def _stand_down(context: ControllerContext, because: str) -> Decision[None]:
    yield from controller_election.step_down(context, because)
    yield from controller_election.process_controller_change(context)


_S = ControllerState

EVENTS: Mapping[type[Input | Command[Any]], Event] = {
    Startup: Event(
        _S.CONTROLLER_CHANGE, lambda context, _: controller_election.start(context), everybody=True
    ),
    Reelect: Event(_S.CONTROLLER_CHANGE, lambda context, _: controller_election.run(context), everybody=True),
    ControllerChange: Event(
        _S.CONTROLLER_CHANGE,
        lambda context, _: controller_election.process_controller_change(context),
        everybody=True,
    ),
    Expire: Event(
        _S.CONTROLLER_CHANGE,
        lambda context, _: controller_election.on_controller_resignation(
            context, Interruption.SESSION_EXPIRED.value
        ),
        everybody=True,
    ),
    ShutdownEventThread: Event(
        _S.CONTROLLER_SHUTDOWN,
        lambda context, _: controller_election.step_down(context, "this broker shuts down"),
        everybody=True,
    ),
    BrokerChange: Event(_S.BROKER_CHANGE, lambda context, _: broker_changes.process_broker_change(context)),
    BrokerModifications: Event(
        _S.BROKER_CHANGE,
        lambda context, change: broker_changes.process_broker_modification(context, change.broker_id),
    ),
    TopicChange: Event(_S.TOPIC_CHANGE, lambda context, _: topic_changes.process_topic_change(context)),
    PartitionModifications: Event(
        _S.TOPIC_CHANGE,
        lambda context, change: topic_changes.process_partition_modifications(context, change.topic),
    ),
    TopicDeletion: Event(
        _S.TOPIC_DELETION, lambda context, _: topic_deletion.process_topic_deletion(context)
    ),
    TopicDeletionStopReplicaResponseReceived: Event(
        _S.TOPIC_DELETION, responses.process_stop_replica_response
    ),
    IsrChangeNotification: Event(
        _S.ISR_CHANGE, lambda context, _: isr_changes.process_isr_change_notification(context)
    ),
    LogDirEventNotification: Event(
        _S.LOG_DIR_CHANGE, lambda context, _: log_dir_events.process_log_dir_event_notification(context)
    ),
    ZkPartitionReassignment: Event(
        _S.ALTER_PARTITION_REASSIGNMENT,
        lambda context, _: reassignment_requests.process_zk_partition_reassignment(context),
    ),
    PartitionReassignmentIsrChange: Event(
        _S.ALTER_PARTITION_REASSIGNMENT,
        lambda context, change: partition_reassignment.complete_if_in_sync(context, change.partitions),
    ),
    ReplicaLeaderElection: Event(
        _S.MANUAL_LEADER_BALANCE, lambda context, _: replica_elections.elect_by_znode(context)
    ),
    AutoPreferredReplicaLeaderElection: Event(
        _S.AUTO_LEADER_BALANCE,
        lambda context, _: replica_elections.check_and_trigger_auto_leader_rebalance(context),
    ),
    UncleanLeaderElectionEnable: Event(
        _S.UNCLEAN_LEADER_ELECTION_ENABLE,
        replica_elections.process_unclean_leader_election_enable,
        everybody=True,
    ),
    TopicUncleanLeaderElectionEnable: Event(
        _S.TOPIC_UNCLEAN_LEADER_ELECTION_ENABLE,
        lambda context, change: replica_elections.process_topic_unclean_leader_election_enable(
            context, change.topic
        ),
    ),
    LeaderAndIsrResponseReceived: Event(
        _S.LEADER_AND_ISR_RESPONSE_RECEIVED, responses.process_leader_and_isr_response
    ),
    UpdateMetadataResponseReceived: Event(
        _S.UPDATE_METADATA_RESPONSE_RECEIVED, responses.process_update_metadata_response
    ),
    ResendRequests: Event(_S.LEADER_AND_ISR_RESPONSE_RECEIVED, lambda context, _: resends.resend(context)),
    CreateTopics: Event(_S.TOPIC_CHANGE, create_topics),
    ControlledShutdown: Event(_S.CONTROLLED_SHUTDOWN, do_controlled_shutdown),
    CreatePartitions: Event(_S.TOPIC_CHANGE, create_partitions),
    DeleteTopics: Event(_S.TOPIC_DELETION, delete_topics),
    AlterConfigs: Event(_S.IDLE, alter_configs),
    AlterPartitionReassignments: Event(
        _S.ALTER_PARTITION_REASSIGNMENT, reassignment_requests.process_api_partition_reassignment
    ),
    ListPartitionReassignments: Event(
        _S.LIST_PARTITION_REASSIGNMENT, reassignment_requests.process_list_partition_reassignments
    ),
    ElectLeaders: Event(_S.MANUAL_LEADER_BALANCE, replica_elections.elect_on_request),
    IncrementalAlterConfigs: Event(_S.IDLE, alter_configs),
}
"""The handling of every kind of input, then of every command."""
