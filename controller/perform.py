"""The performer of effects: writes to ZooKeeper, requests to brokers, log lines, timers and replies."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog

from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.log_text import shortened
from barnabas.cluster.runtime.line_limit import LINES
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.statechange_log import StateChangeLog
from barnabas.cluster.zk.client import errors
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.controller.alarm import Alarm
from barnabas.controller.channels import BrokerChannels
from barnabas.controller.core.brokers.resends import ScheduleResend
from barnabas.controller.core.election.effects import AnnounceController, ScheduleReelection
from barnabas.controller.core.leader_elections.effects import CancelLeaderRebalance, ScheduleLeaderRebalance
from barnabas.controller.core.protocol.effects import (
    Ask,
    CloseAllChannels,
    CloseChannel,
    Effect,
    Interruption,
    LogElection,
    LogInfo,
    LogStateChange,
    OpenChannel,
    Reply,
    SendLeaderAndIsr,
    SendStopReplica,
    SendUpdateMetadata,
    StopWatching,
)
from barnabas.controller.service import Service
from barnabas.controller.zookeeper.answers import ZooKeeperAnswers

_log = structlog.stdlib.get_logger("kafka.controller.KafkaController")

LONGEST_LINE = 100_000
"""The most characters of a log line; some lines name all partitions that a client asked for."""


@dataclass(frozen=True, slots=True)
class Receivers:
    """The receivers of effects that need no ZooKeeper.

    Attributes:
        channels: The channels to the brokers.
        state_change_log: This broker's state-change.log.
        metrics: This broker's metrics.
        service: The service whose callers wait for replies.
        on_controller: Called with the controller's id (``NO_CONTROLLER`` for none) and the latest known
            controller epoch, whenever they are learned.
        rebalance: The timer of the next rebalance of leaders.
        reelection: The timer of the next look at ``/controller`` after an election without a winner.
        resend: The timer of the next repetition of failed requests.
    """

    channels: BrokerChannels
    state_change_log: StateChangeLog
    metrics: Metrics
    service: Service
    on_controller: Callable[[BrokerId, ControllerEpoch], None]
    rebalance: Alarm
    reelection: Alarm
    resend: Alarm


class Performer:
    """The performer of the effects of one broker's controller, through all its ZooKeeper sessions.

    Args:
        receivers: The receivers of effects that need no ZooKeeper.
        dice: Returns numbers uniform in [0, 1), by which the pauses between elections differ between brokers.
    """

    def __init__(self, receivers: Receivers, dice: Callable[[], float] = random.random) -> None:
        self._receivers = receivers
        self._answers: ZooKeeperAnswers | None = None
        self._performers = self._table(receivers, dice)

    def _table(
        self, out: Receivers, dice: Callable[[], float]
    ) -> Mapping[type[Effect], Callable[[Any], None]]:
        """Return the functions that perform each kind of effect without an answer."""
        return {
            LogStateChange: lambda log: out.state_change_log.write(log.line),
            SendLeaderAndIsr: lambda send: out.channels.send(send.broker_id, send.request),
            SendStopReplica: lambda send: out.channels.send(send.broker_id, send.request),
            SendUpdateMetadata: self._send_update_metadata,
            OpenChannel: lambda to: out.channels.open(to.broker),
            CloseChannel: lambda to: out.channels.close(to.broker_id),
            CloseAllChannels: lambda _: out.channels.close_all(),
            LogInfo: _log_info,
            LogElection: self._log_election,
            Reply: out.service.reply,
            AnnounceController: lambda now: out.on_controller(now.controller_id, now.epoch),
            StopWatching: lambda _: self._stop_watching(),
            ScheduleLeaderRebalance: lambda plan: out.rebalance.set(plan.delay_s),
            # Brokers pause for different times, so that usually only one at a time tries to be elected.
            ScheduleReelection: lambda plan: out.reelection.set(plan.delay_s * (1 + dice() / 2)),
            ScheduleResend: lambda plan: out.resend.set(plan.delay_s),
            CancelLeaderRebalance: lambda _: out.rebalance.cancel(),
        }

    def use_session(self, store: ZooKeeperStore, broker_id: BrokerId) -> None:
        """Read and write in this session from now on; the watches of the one before are forgotten."""
        self._answers = ZooKeeperAnswers(store, broker_id)

    def perform(self, effect: Effect) -> None:
        """Perform an effect that has no answer, without waiting."""
        perform = self._performers.get(type(effect))
        if perform is None:
            raise TypeError(f"cannot perform {effect!r}: no effect without an answer is of this kind")
        perform(effect)

    async def answer(self, question: Ask[Any]) -> object:
        """Perform an effect that has an answer; return that, or the `Interruption` that ends the decision."""
        if self._answers is None:
            return Interruption.SESSION_EXPIRED
        try:
            return await self._answers.answer(question)
        except errors.SessionExpired:
            return Interruption.SESSION_EXPIRED
        except errors.ZooKeeperTimeout:
            return Interruption.ZOOKEEPER_SILENT
        except errors.ControllerMoved:
            return Interruption.CONTROLLER_MOVED

    def _stop_watching(self) -> None:
        if self._answers is not None:
            self._answers.stop_watching()

    def _send_update_metadata(self, send: SendUpdateMetadata) -> None:
        for broker_id, epoch in send.recipients.items():
            self._receivers.channels.send(broker_id, replace(send.request, broker_epoch=epoch))

    def _log_election(self, election: LogElection) -> None:
        _log.debug("%s", election)
        self._receivers.metrics.leader_elections.inc()
        self._receivers.metrics.unclean_leader_elections.inc(election.unclean)


def _log_info(log: LogInfo) -> None:
    if log.client_kind is None or LINES.allow(log.client_kind):
        _log.info(shortened(log.line, LONGEST_LINE))
