"""From effects to deeds: ZooKeeper, channels, logs, callers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog

from cluster.model.epochs import BrokerEpoch, ControllerEpoch
from cluster.model.ids import BrokerId
from cluster.model.requests import UpdateMetadataRequest
from cluster.runtime.metrics import Metrics
from cluster.runtime.statechange_log import StateChangeLog
from cluster.zk import errors
from cluster.zk.store import ZooKeeperStore
from controller.channels import BrokerChannels
from controller.core import effects
from controller.core.effects import Ask, Effect, Interruption
from controller.core.reasons import LeaderElected, Reason
from controller.inquiry import Inquiry
from controller.service import Service

_log = structlog.stdlib.get_logger("kafka.controller.KafkaController")


@dataclass(frozen=True, slots=True)
class Outlets:
    """Where effects go that need no ZooKeeper.

    Attributes:
        channels: To the brokers.
        state_change_log: This broker's state-change.log.
        metrics: This broker's metrics.
        service: Who waits for replies.
        on_controller: Told who is the controller, whenever that is learned, ``NO_CONTROLLER`` for nobody; and
            the epoch of the latest reign known then.
    """

    channels: BrokerChannels
    state_change_log: StateChangeLog
    metrics: Metrics
    service: Service
    on_controller: Callable[[BrokerId, ControllerEpoch], None]


class Performer:
    """Performs the effects of one broker's controller, over one session after the other.

    Args:
        outlets: Where effects go that need no ZooKeeper.
    """

    def __init__(self, outlets: Outlets) -> None:
        self._outlets = outlets
        self._inquiry: Inquiry | None = None

    def use_session(self, store: ZooKeeperStore, broker_id: BrokerId) -> None:
        """Ask this session from now on; what the one before watched is forgotten."""
        self._inquiry = Inquiry(store, broker_id)

    def tell(self, effect: Effect) -> None:
        """Perform an effect that has no answer; never waits."""
        out = self._outlets
        match effect:
            case effects.LogStateChange(line):
                out.state_change_log.write(line)
            case effects.SendLeaderAndIsr(broker_id, request) | effects.SendStopReplica(broker_id, request):
                out.channels.send(broker_id, request)
            case effects.SendUpdateMetadata(recipients, request):
                self._send_update_metadata(recipients, request)
            case effects.OpenChannel(broker):
                out.channels.open(broker)
            case effects.CloseChannel(broker_id):
                out.channels.close(broker_id)
            case effects.CloseAllChannels():
                out.channels.close_all()
            case effects.Explain(reason):
                self._explain(reason)
            case effects.Reply():
                out.service.reply(effect)
            case effects.AnnounceController(controller_id, epoch):
                out.on_controller(controller_id, epoch)
            case effects.StopWatching():
                if self._inquiry is not None:
                    self._inquiry.stop_watching()
            case _:
                raise TypeError(f"cannot perform {effect!r}: no effect without an answer is of this kind")

    async def answer(self, question: Ask[Any]) -> object:
        """Perform an effect that has an answer; the answer, or the `Interruption` that ends the decision."""
        if self._inquiry is None:
            return Interruption.SESSION_EXPIRED
        try:
            return await self._inquiry.answer(question)
        except errors.SessionExpired:
            return Interruption.SESSION_EXPIRED
        except errors.ZooKeeperTimeout:
            return Interruption.ZOOKEEPER_SILENT
        except errors.ControllerMoved:
            return Interruption.CONTROLLER_MOVED

    def _send_update_metadata(
        self, recipients: Mapping[BrokerId, BrokerEpoch], request: UpdateMetadataRequest
    ) -> None:
        for broker_id, epoch in recipients.items():
            self._outlets.channels.send(broker_id, replace(request, broker_epoch=epoch))

    def _explain(self, reason: Reason) -> None:
        _log.info(str(reason))
        if isinstance(reason, LeaderElected):
            self._outlets.metrics.leader_elections.inc()
            self._outlets.metrics.unclean_leader_elections.inc(reason.unclean)
