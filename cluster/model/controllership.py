"""What stands in ``/controller``: who claims to be the controller, and whose claim that is.

The content of the node is what somebody wrote there; the session that owns it is what ZooKeeper knows. An
elected controller's node is owned by the session in which its broker is registered, so the two together tell
an elected controller from a node that a person wrote or that outlived what it meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from barnabas.cluster.model.epochs import NO_CONTROLLER_EPOCH, BrokerEpoch, ControllerEpoch, Zxid
from barnabas.cluster.model.ids import BrokerId


class Owner(Enum):
    """Whose session keeps the node."""

    THIS_SESSION = auto()
    """The one that reads it."""
    NAMED_BROKER = auto()
    """The one in which the broker that the node names is registered."""
    OTHER_BROKER = auto()
    """One in which another broker is registered: the node was rewritten by hand."""
    NOBODY = auto()
    """No broker's: the node was made by hand, or no session keeps it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The node ``/controller``.

    Attributes:
        named: The broker that it names; None where it names nobody (-1) or cannot be read.
        owner: Whose session keeps it.
        version: Its data version, under which it may be deleted.
        zxid: The transaction that wrote it last: another node of the same version has another one. It tells
            one claim from the next, and nothing of what the claim says.
    """

    named: BrokerId | None
    owner: Owner
    version: int
    zxid: Zxid = field(default=Zxid(0), compare=False)


@dataclass(frozen=True, slots=True)
class Controllership:
    """``/controller`` and ``/controller_epoch`` as one look found them.

    Attributes:
        claim: The node; None where there is none.
        epoch: The number of the latest reign, read after the claim: never older than the reign of the broker
            that the claim names; ``NO_CONTROLLER_EPOCH`` where it is missing or cannot be read.
    """

    claim: Claim | None
    epoch: ControllerEpoch = NO_CONTROLLER_EPOCH


@dataclass(frozen=True, slots=True)
class ControllerRecord:
    """``/barnabas/controller``: what a controller leaves for its successors; Kafka has no such node.

    Attributes:
        epoch: The latest controller epoch. It is recorded before its controller sends or writes anything, so
            it outlives ``/controller_epoch``, which a person may delete.
        broker_epochs: The registrations that a controller has dealt with: where the broker had bounced, it
            has left its ISRs, or the leader epoch has risen. A registration with another broker epoch is one
            that no controller has dealt with.
    """

    epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
    broker_epochs: Mapping[BrokerId, BrokerEpoch] = field(default_factory=dict)
