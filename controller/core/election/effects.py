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
    """The answer if another broker was elected."""


@dataclass(frozen=True, slots=True)
class ContestController(Ask[ControllerFence | Lost]):
    """Delete the claim that was ``seen``, create ``/controller`` and raise the epoch in one transaction.

    Attributes:
        seen: The claim to replace; None if there was none.
        above: The latest known controller epoch. The new one is later, even if ``/controller_epoch`` was
            lowered.
    """

    seen: Claim | None
    above: ControllerEpoch


@dataclass(frozen=True, slots=True)
class RecordEpoch(Ask[Mapping[BrokerId, BrokerEpoch]]):
    """Record the controller epoch; the answer: the broker epochs that earlier controllers have handled.

    This happens before anything is sent or written in this epoch, so that no earlier epoch is used again.
    """

    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class RecordBrokers(Ask[None]):
    """Record the broker epochs that controllers have handled (`ControllerRecord`)."""

    broker_epochs: Mapping[BrokerId, BrokerEpoch]
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class GiveUpController(Ask[None]):
    """Delete ``/controller`` if this session owns it, so that all brokers can be elected."""


@dataclass(frozen=True, slots=True)
class AnnounceController(Effect):
    """Pass the controller's id to this broker.

    Attributes:
        controller_id: The controller's broker id; `NO_CONTROLLER` if none is known.
        epoch: The latest known controller epoch; from now on this broker refuses requests of earlier ones.
    """

    controller_id: BrokerId
    epoch: ControllerEpoch = NO_CONTROLLER_EPOCH


@dataclass(frozen=True, slots=True)
class ScheduleReelection(Effect):
    """Put `Reelect` into the mailbox after ``delay_s`` seconds; an earlier schedule is dropped."""

    delay_s: float
