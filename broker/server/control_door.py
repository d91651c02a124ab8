"""The door for what the controller says: epochs are judged before the rest of a request is decoded.

A request may hold megabytes, and a stale one is not worth the time to read it. A controller epoch above all
that are known is believed only once ``/controller_epoch`` in ZooKeeper has reached it (Kafka believes it at
once); until then the caller hears that it is to try again, as a true controller does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from barnabas.broker.core.control_gate import (
    ControlGate,
    Refusal,
    StaleControllerEpoch,
    UnconfirmedControllerEpoch,
)
from barnabas.cluster.model.epochs import UNKNOWN_BROKER_EPOCH, BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.requests import (
    ControlRequest,
    ControlResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from barnabas.cluster.model.statechange import RequestLines, StateChange
from barnabas.cluster.rpc import control_pb2
from barnabas.cluster.zk.errors import ZooKeeperError

Answer = Callable[[ErrorCode], ControlResponse]

REFUSALS: Mapping[type[ControlRequest], tuple[Answer, Callable[[RequestLines, ControllerEpoch], StateChange]]]
REFUSALS = MappingProxyType(
    {
        LeaderAndIsrRequest: (LeaderAndIsrResponse, RequestLines.stale_leader_and_isr),
        UpdateMetadataRequest: (UpdateMetadataResponse, RequestLines.stale_update_metadata),
        StopReplicaRequest: (StopReplicaResponse, RequestLines.stale_stop_replica),
    }
)
"""How each kind of request is refused, and what state-change.log says of one that a stale controller sent."""


@dataclass(frozen=True, slots=True)
class NotConfirmedError(Exception):
    """ZooKeeper knows no controller of that epoch; the caller is to try again."""

    requested: ControllerEpoch
    latest: ControllerEpoch

    def __str__(self) -> str:
        return (
            f"no controller of epoch {self.requested} is known, expected one of at most {self.latest}, "
            "which is what /controller_epoch holds"
        )


class NotRegisteredError(Exception):
    """This process has no registration yet; the caller is to try again."""

    def __init__(self) -> None:
        super().__init__(
            "this process has not registered below /brokers/ids yet; the request is for its predecessor"
        )


class ControlDoor:
    """Lets control requests in by their first three fields.

    Args:
        broker_id: This broker.
        gate: Judges the epochs.
        write: Writes state-change.log.
        latest_epoch: Reads ``/controller_epoch`` in ZooKeeper.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        gate: ControlGate,
        write: Callable[[StateChange], None],
        latest_epoch: Callable[[], Awaitable[ControllerEpoch]],
    ) -> None:
        self._broker_id = broker_id
        self._gate = gate
        self._write = write
        self._latest_epoch = latest_epoch
        self._one_question_at_a_time = asyncio.Lock()

    async def refuse(
        self, kind: type[ControlRequest], data: bytes, correlation_id: int
    ) -> ControlResponse | None:
        """Return the answer to a request that is refused; None if it is to be decoded and carried out.

        Args:
            kind: What ``data`` is.
            data: The request's bytes.
            correlation_id: Its number, for state-change.log.

        Raises:
            DecodeError: ``data`` is no message.
            NotRegisteredError: This process is not registered yet. A controller that still sees the
                registration of the former incarnation sends to the same address what only that process may
                do: begin with an empty log although the replica is in sync. Kafka serves no control request
                before it has registered either (``KafkaServer.startup``).
            NotConfirmedError: Its controller epoch is above that in ZooKeeper, or ZooKeeper does not answer.
        """
        if self._gate.broker_epoch == UNKNOWN_BROKER_EPOCH:
            raise NotRegisteredError
        head = control_pb2.ControlRequestHead.FromString(data)
        refusal = await self._judge(ControllerEpoch(head.controller_epoch), BrokerEpoch(head.broker_epoch))
        if refusal is None:
            return None
        answer, line = REFUSALS[kind]
        if isinstance(refusal, StaleControllerEpoch):
            epoch = ControllerEpoch(head.controller_epoch)
            lines = RequestLines(self._broker_id, BrokerId(head.controller_id), epoch, correlation_id)
            self._write(line(lines, refusal.latest))
        return answer(refusal.error)

    async def _judge(self, controller_epoch: ControllerEpoch, broker_epoch: BrokerEpoch) -> Refusal | None:
        finding = self._gate.look_at(controller_epoch, broker_epoch)
        if not isinstance(finding, UnconfirmedControllerEpoch):
            return finding
        async with self._one_question_at_a_time:
            # Whoever asked before may have heard of it.
            finding = self._gate.look_at(controller_epoch, broker_epoch)
            if not isinstance(finding, UnconfirmedControllerEpoch):
                return finding
            try:
                latest = await self._latest_epoch()
            except ZooKeeperError as error:
                raise NotConfirmedError(controller_epoch, finding.latest) from error
        self._gate.adopt(latest)
        finding = self._gate.look_at(controller_epoch, broker_epoch)
        if isinstance(finding, UnconfirmedControllerEpoch):
            raise NotConfirmedError(controller_epoch, latest)
        return finding
