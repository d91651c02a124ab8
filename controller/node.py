"""The controller of one broker process (``KafkaController``); it is active in the elected broker alone.

Its owner, the broker, opens and loses ZooKeeper sessions and drives it through this life cycle::

    node = ControllerNode(...)                  # once per process, on the loop
    await node.start(store)                     # after the broker is registered in a session
    node.on_zookeeper_event(event)              # every WatchEvent of that session
    await node.on_session_expired()             # returns when it has resigned; only then
    await node.start(next_store)                #   the next session is opened, the broker registered, and so
    on await node.stop()                           # resigns in order and gives /controller up, before the
    session closes

``node.port`` takes commands at any time, and answers NOT_CONTROLLER while it is not the active controller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.commands.command import ControllerPort
from barnabas.cluster.model.configs.settings import setting
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import (
    ControlRequest,
    ControlResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from barnabas.cluster.model.statechange import ControllerLines
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.statechange_log import StateChangeLog
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.cluster.zk.client.operations import WatchEvent
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.controller.alarm import Alarm
from barnabas.controller.channels import BrokerChannels, ChannelSettings
from barnabas.controller.core.context.controller_context import ControllerContext, Facts
from barnabas.controller.core.protocol.inputs import (
    AutoPreferredReplicaLeaderElection,
    CommandReceived,
    Expire,
    LeaderAndIsrResponseReceived,
    Reelect,
    ResendRequests,
    ShutdownEventThread,
    Startup,
    TopicDeletionStopReplicaResponseReceived,
    TopicUncleanLeaderElectionEnable,
    UncleanLeaderElectionEnable,
    UpdateMetadataResponseReceived,
)
from barnabas.controller.loop import ControllerLoop
from barnabas.controller.perform import Performer, Receivers
from barnabas.controller.service import Service
from barnabas.controller.zookeeper.watches import input_of


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """The settings that the controller reads.

    Attributes:
        broker_id: The id of this broker, which may be a generated one.
        state_change_log_traces: Whether ``state.change.log.level`` is TRACE.
    """

    broker_id: BrokerId
    state_change_log_traces: bool = True
    num_partitions: int = setting("num.partitions")
    default_replication_factor: int = setting("default.replication.factor")
    unclean_leader_election_enable: bool = setting("unclean.leader.election.enable")
    zookeeper_session_timeout_ms: int = setting("zookeeper.session.timeout.ms")
    controller_socket_timeout_ms: int = setting("controller.socket.timeout.ms")
    inter_broker_listener_name: str = setting("inter.broker.listener.name")
    delete_topic_enable: bool = setting("delete.topic.enable")
    auto_leader_rebalance_enable: bool = setting("auto.leader.rebalance.enable")
    leader_imbalance_per_broker_percentage: int = setting("leader.imbalance.per.broker.percentage")
    leader_imbalance_check_interval_seconds: int = setting("leader.imbalance.check.interval.seconds")


class ControllerNode:
    """The controller of one broker, active or not.

    Args:
        settings: The settings that the controller reads.
        supervisor: The owner of its tasks.
        state_change_log: The broker's state-change.log.
        metrics: The broker's metrics.
        on_controller: Called on the event loop with the controller's id (-1 for none) and the latest known
            controller epoch, whenever they are learned.
    """

    def __init__(
        self,
        settings: ControllerSettings,
        supervisor: Supervisor,
        state_change_log: StateChangeLog,
        metrics: Metrics,
        on_controller: Callable[[BrokerId, ControllerEpoch], None] = lambda *_: None,
    ) -> None:
        self._broker_id = settings.broker_id
        self._supervisor = supervisor
        self._state_change_log = state_change_log
        self._context = ControllerContext(
            Facts(
                settings.broker_id,
                settings.num_partitions,
                settings.default_replication_factor,
                settings.unclean_leader_election_enable,
                settings.state_change_log_traces,
                settings.delete_topic_enable,
                auto_leader_rebalance=settings.auto_leader_rebalance_enable,
                leader_imbalance_percentage=settings.leader_imbalance_per_broker_percentage,
                leader_imbalance_check_interval_s=settings.leader_imbalance_check_interval_seconds,
            )
        )
        self._service = Service(self._put)
        channel_settings = ChannelSettings(
            settings.zookeeper_session_timeout_ms,
            settings.controller_socket_timeout_ms,
            settings.inter_broker_listener_name,
        )
        self._channels = BrokerChannels(supervisor, channel_settings, self._on_response)
        self._reelection = Alarm(lambda: self._loop.put_once(Reelect()))
        self._resend = Alarm(lambda: self._loop.put_once(ResendRequests()))
        rebalance = Alarm(lambda: self._loop.put_once(AutoPreferredReplicaLeaderElection()))
        self._performer = Performer(
            Receivers(
                self._channels,
                state_change_log,
                metrics,
                self._service,
                on_controller,
                rebalance,
                self._reelection,
                self._resend,
            )
        )
        self._loop = ControllerLoop(self._context, self._performer, metrics)
        self._task: asyncio.Task[None] | None = None
        self._unclean = settings.unclean_leader_election_enable

    @property
    def active_controller_id(self) -> BrokerId:
        """The controller's broker id as far as this broker knows; -1 for none."""
        return self._context.active_controller_id

    @property
    def port(self) -> ControllerPort:
        """The port for commands to the controller."""
        return self._service

    async def await_propagation(self, timeout_s: float) -> None:
        """Wait until all brokers have answered the requests of until now, at most ``timeout_s`` seconds.

        A controller that is not active has sent no requests, so this returns at once.
        """
        await self._channels.settle(timeout_s)

    async def start(self, store: ZooKeeperStore) -> None:
        """Take part in elections in the session of ``store``, in which this broker is registered."""
        self._performer.use_session(store, self._broker_id)
        if self._task is None:
            self._task = self._supervisor.spawn("controller-event-thread", self._loop.run())
        # Repeated, because the end of the last session may have dropped a change.
        self._loop.put(UncleanLeaderElectionEnable(self._unclean))
        self._loop.put_once(Startup())

    def on_zookeeper_event(self, event: WatchEvent) -> None:
        """Queue the input for ``event``; one that the controller ignores is dropped."""
        happened = input_of(event)
        if happened is not None:
            self._loop.put_once(happened)

    def enable_unclean_leader_election(self, topic: str) -> None:
        """Queue that a topic's own ``unclean.leader.election.enable`` has become true."""
        self._loop.put_once(TopicUncleanLeaderElectionEnable(topic))

    def set_unclean_leader_election(self, *, enabled: bool) -> None:
        """Queue that this broker's ``unclean.leader.election.enable`` has changed."""
        self._unclean = enabled
        self._loop.put(UncleanLeaderElectionEnable(enabled))

    async def on_session_expired(self) -> None:
        """Resign, drop the waiting inputs and refuse their callers; return when that is done."""
        if self._task is not None:
            await self._loop.preempt(Expire())

    async def stop(self) -> None:
        """Resign in order and give ``/controller`` up; returns when the task has ended."""
        if self._task is not None:
            await self._loop.preempt(ShutdownEventThread())
            await self._task
            self._task = None
            self._reelection.cancel()
            self._resend.cancel()

    def _put(self, command: CommandReceived[Any]) -> None:
        self._loop.put(command)

    def _on_response(
        self, broker: Broker, request: ControlRequest, response: ControlResponse, correlation_id: int
    ) -> None:
        # A decision on the controller's thread may be resigning right now. So the line names the epoch of the
        # request, not the context's, which may be 0 already.
        epoch = request.controller_epoch
        lines = ControllerLines(self._broker_id, epoch)
        self._state_change_log.write(lines.received_response(response, correlation_id, broker))
        match response:
            case LeaderAndIsrResponse() if isinstance(request, LeaderAndIsrRequest):
                requested = tuple(each.topic_partition for each in request.partitions)
                self._loop.put(
                    LeaderAndIsrResponseReceived(
                        broker.id, broker.epoch, response, requested, epoch, request.parts_to_follow
                    )
                )
            case UpdateMetadataResponse():
                self._loop.put(UpdateMetadataResponseReceived(broker.id, broker.epoch, response, epoch))
            case StopReplicaResponse() if isinstance(request, StopReplicaRequest):
                errors = deletion_answers(request, response)
                if errors:
                    self._loop.put(
                        TopicDeletionStopReplicaResponseReceived(broker.id, broker.epoch, errors, epoch)
                    )


def deletion_answers(
    request: StopReplicaRequest, response: StopReplicaResponse
) -> Mapping[TopicPartition, ErrorCode]:
    """Return the result for each replica to be deleted; without one, the error of the request."""
    whole = ErrorCode.UNKNOWN_SERVER_ERROR if response.error is ErrorCode.NONE else response.error
    return {
        each.topic_partition: response.partition_errors.get(each.topic_partition, whole)
        for each in request.partitions
        if each.delete
    }
