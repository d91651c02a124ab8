"""Effects of the election of the controller: ``/controller``, its epoch, and its announcement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.cluster.model.controllership import Claim, Controllership
from barnabas.cluster.model.epochs import NO_CONTROLLER_EPOCH, BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.controller.core.protocol.effects import Ask, ControllerFence, Effect


@dataclass(frozen=True, slots=True)
class ReadController(Ask[Controllership]):
    """Read ``/controller``, watch it, and read ``/controller_epoch``."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Another broker was quicker."""


@dataclass(frozen=True, slots=True)
class ContestController(Ask[ControllerFence | Lost]):
    """Delete the claim that was ``seen``, create ``/controller`` and raise its epoch in one transaction.

    Attributes:
        seen: The claim to replace; None where there was none.
        above: The latest known controller epoch: the new one is later, even if the node was lowered.
    """

    seen: Claim | None
    above: ControllerEpoch


@dataclass(frozen=True, slots=True)
class RecordEpoch(Ask[Mapping[BrokerId, BrokerEpoch]]):
    """Record the controller epoch; the answer: the broker epochs that earlier controllers have handled.

    It comes before anything is sent or written in this epoch, so that none below it is ever used again.
    """

    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class RecordBrokers(Ask[None]):
    """Record the broker epochs that the controllers have dealt with (`ControllerRecord`)."""

    broker_epochs: Mapping[BrokerId, BrokerEpoch]
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class GiveUpController(Ask[None]):
    """Delete ``/controller`` if this session owns it, so that all brokers contest it."""


@dataclass(frozen=True, slots=True)
class AnnounceController(Effect):
    """Pass the controller's id, as far as known, to this broker; `NO_CONTROLLER` for none.

    Attributes:
        controller_id: Who.
        epoch: The latest known controller epoch; from now on this broker obeys no earlier one.
    """

    controller_id: BrokerId
    epoch: ControllerEpoch = NO_CONTROLLER_EPOCH


@dataclass(frozen=True, slots=True)
class ScheduleReelection(Effect):
    """Have `Reelect` come in ``delay_s`` seconds, instead of when it was due."""

    delay_s: float
