"""The check of control requests by their epochs, before the rest of a request is decoded.

A request may have megabytes, so a stale one is not decoded. A controller epoch above all known ones is
accepted only once ``/controller_epoch`` in ZooKeeper has reached it (Kafka accepts it at once); until then
the caller is asked to try again, as a true controller does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from barnabas.broker.core.replication.control_gate import (
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
from barnabas.cluster.zk.client.errors import ZooKeeperError

Answer = Callable[[ErrorCode], ControlResponse]

REFUSALS: Mapping[type[ControlRequest], tuple[Answer, Callable[[RequestLines, ControllerEpoch], StateChange]]]
REFUSALS = MappingProxyType(
    {
        LeaderAndIsrRequest: (LeaderAndIsrResponse, RequestLines.stale_leader_and_isr),
        UpdateMetadataRequest: (UpdateMetadataResponse, RequestLines.stale_update_metadata),
        StopReplicaRequest: (StopReplicaResponse, RequestLines.stale_stop_replica),
    }
)
"""The refusal of each kind of request, and the line of state-change.log about a stale controller's."""


@dataclass(frozen=True, slots=True)
class NotConfirmedError(Exception):
    """An error of a controller epoch that ZooKeeper does not have; the caller should try again."""

    requested: ControllerEpoch
    latest: ControllerEpoch

    def __str__(self) -> str:
        return (
            f"no controller of epoch {self.requested} is known, expected one of at most {self.latest}, "
            "which is what /controller_epoch holds"
        )


class NotRegisteredError(Exception):
    """An error of a process without a registration; the caller should try again."""

    def __init__(self) -> None:
        super().__init__(
            "this process has not registered below /brokers/ids yet; the request is for its predecessor"
        )


class ControlRequestCheck:
    """The check of control requests by their first three fields.

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
        """Return the answer to a refused request, or None if it may be decoded and handled.

        Args:
            kind: The kind of request.
            data: The request's bytes.
            correlation_id: Its correlation id, for state-change.log.

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
            # The request before this one may have read the epoch.
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
