"""From an input to what must be done: the one door into the core.

A decision runs to its end before the next input is taken. Three answers end it early: the session has expired
(then the mailbox brings `Expire` next), ZooKeeper is silent, or another controller has been elected (then
this one resigns at once).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from barnabas.cluster.model.commands import Refused
from barnabas.cluster.model.errors import ErrorCode
from barnabas.controller.core import (
    broker_changes,
    deletions,
    isr_changes,
    log_dir_events,
    reassignment,
    reassignment_requests,
    reign,
    replica_elections,
    resends,
    responses,
    topic_changes,
)
from barnabas.controller.core.alter_configs import alter_configs
from barnabas.controller.core.controlled_shutdown import shut_down_broker
from barnabas.controller.core.create_partitions import create_partitions
from barnabas.controller.core.create_topics import create_topics
from barnabas.controller.core.delete_topics import delete_topics
from barnabas.controller.core.effects import Decision, InterruptedDecisionError, Interruption, LogInfo, Reply
from barnabas.controller.core.inputs import (
    EVENTS,
    AlterConfigsRequested,
    AlterPartitionReassignmentsRequested,
    AutoPreferredReplicaLeaderElection,
    BrokerChange,
    BrokerModifications,
    CommandReceived,
    ControlledShutdownRequested,
    ControllerChange,
    ControllerState,
    CreatePartitionsRequested,
    CreateTopicsRequested,
    DeleteTopicsRequested,
    ElectLeadersRequested,
    Expire,
    Input,
    IsrChangeNotification,
    LeaderAndIsrResponseReceived,
    ListPartitionReassignmentsRequested,
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
from barnabas.controller.core.state import ControllerContext


def decide(context: ControllerContext, happened: Input) -> Decision[None]:
    """What to do about ``happened``; ``context`` changes on the way."""
    name = type(happened).__name__
    refusal = refuse(happened)
    if not (EVENTS[type(happened)].everybody or context.is_active):
        yield LogInfo(f"ignored {name}: this broker is not the active controller")
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
    """What to tell the caller of an input that will not be handled; None where nobody waits for it."""
    match preempted:
        case ControlledShutdownRequested(token):
            # The one command that Kafka answers so (``doControlledShutdown``: ControllerMovedException).
            refused = Refused(ErrorCode.STALE_CONTROLLER_EPOCH, "The controller has moved to another broker.")
        case CommandReceived(token):
            meaning = "This is not the correct controller for this cluster."
            refused = Refused(ErrorCode.NOT_CONTROLLER, meaning)
        case _:
            return None
    return Reply(token, refused)


def recover(context: ControllerContext, failed: Input, because: str) -> Decision[None]:
    """What to do after a decision ended with an error that nobody foresaw.

    As in Kafka the controller goes on with the next input, unless it failed while taking over: half a
    takeover is none, so it steps down and leaves the race to the others for a while. So it does, beyond
    Kafka, where it failed while dealing with brokers that came or went: no event would bring the rest of that
    again, and the next controller does all of it. Whoever waits for a reply gets one.
    """
    if isinstance(failed, CommandReceived):
        yield Reply(failed.token, Refused(ErrorCode.UNKNOWN_SERVER_ERROR, because))
    if EVENTS[type(failed)].state is ControllerState.CONTROLLER_CHANGE or isinstance(failed, BrokerChange):
        yield from reign.rest(context, because)
    elif isinstance(failed, AutoPreferredReplicaLeaderElection):
        yield from replica_elections.schedule_next_rebalance(context)


def _handle(context: ControllerContext, happened: Input) -> Decision[None]:
    handler = _HANDLERS.get(type(happened))
    if handler is None:
        known = sorted(kind.__name__ for kind in _HANDLERS)
        raise TypeError(f"no handler for {happened!r}, expected one of {known}")
    return handler(context, happened)


def _recover(context: ControllerContext, interruption: Interruption) -> Decision[None] | None:
    match interruption:
        case Interruption.SESSION_EXPIRED:
            return None
        case Interruption.ZOOKEEPER_SILENT:
            # Half a decision is none. Its node stays until ZooKeeper is back: then it is given up, because
            # its owner does not act.
            return reign.await_zookeeper(context, interruption.value)
        case Interruption.CONTROLLER_MOVED:
            return _stand_down(context, interruption.value)


def _stand_down(context: ControllerContext, because: str) -> Decision[None]:
    yield from reign.step_down(context, because)
    yield from reign.follow_controller(context)


_HANDLERS: Mapping[type[Input], Callable[[ControllerContext, Any], Decision[None]]] = {
    Startup: lambda context, _: reign.start(context),
    Reelect: lambda context, _: reign.run(context),
    ControllerChange: lambda context, _: reign.follow_controller(context),
    Expire: lambda context, _: reign.resign(context, Interruption.SESSION_EXPIRED.value),
    ShutdownEventThread: lambda context, _: reign.step_down(context, "this broker shuts down"),
    BrokerChange: lambda context, _: broker_changes.compare_brokers(context),
    BrokerModifications: lambda context, change: broker_changes.update_broker(context, change.broker_id),
    TopicChange: lambda context, _: topic_changes.compare_topics(context),
    PartitionModifications: lambda context, change: topic_changes.compare_partitions(context, change.topic),
    TopicDeletion: lambda context, _: deletions.take_marks(context),
    TopicDeletionStopReplicaResponseReceived: responses.hear_stop_replica,
    IsrChangeNotification: lambda context, _: isr_changes.take_notes(context),
    LogDirEventNotification: lambda context, _: log_dir_events.take_log_dir_events(context),
    CreateTopicsRequested: create_topics,
    ControlledShutdownRequested: shut_down_broker,
    CreatePartitionsRequested: create_partitions,
    DeleteTopicsRequested: delete_topics,
    AlterConfigsRequested: alter_configs,
    ZkPartitionReassignment: lambda context, _: reassignment_requests.take_requests(context),
    AlterPartitionReassignmentsRequested: reassignment_requests.alter,
    ListPartitionReassignmentsRequested: reassignment_requests.list_running,
    PartitionReassignmentIsrChange: lambda context, change: reassignment.advance_if_complete(
        context, (change.partition,)
    ),
    ReplicaLeaderElection: lambda context, _: replica_elections.elect_by_znode(context),
    ElectLeadersRequested: replica_elections.elect_on_request,
    AutoPreferredReplicaLeaderElection: lambda context, _: replica_elections.rebalance(context),
    UncleanLeaderElectionEnable: replica_elections.enable_unclean,
    TopicUncleanLeaderElectionEnable: lambda context, change: replica_elections.enable_unclean_for(
        context, change.topic
    ),
    LeaderAndIsrResponseReceived: responses.hear_leader_and_isr,
    UpdateMetadataResponseReceived: responses.hear_update_metadata,
    ResendRequests: lambda context, _: resends.resend(context),
}
"""What handles each kind of input."""
