"""The claim in ``/controller``, the session that owns it, and the controller's record.

Anybody can write the node's content, but its owner is ZooKeeper's own record. An elected controller's node is
owned by the session in which its broker is registered. Content and owner together therefore distinguish an
elected controller from a node that a person wrote or that outlived its election.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from barnabas.cluster.model.epochs import NO_CONTROLLER_EPOCH, BrokerEpoch, ControllerEpoch, Zxid
from barnabas.cluster.model.ids import BrokerId


class Owner(Enum):
    """The owner of the node ``/controller``."""

    THIS_SESSION = auto()
    """The session is the one that reads the node."""
    NAMED_BROKER = auto()
    """The session is that in which the broker named by the node is registered."""
    OTHER_BROKER = auto()
    """The session is another broker's: the node was rewritten by hand."""
    NOBODY = auto()
    """No broker's session owns the node: it was created by hand, or is not ephemeral."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The node ``/controller``.

    Attributes:
        named: The broker that it names; None if it names none (-1) or cannot be read.
        owner: The owner of the node.
        version: The data version, which a deletion expects.
        zxid: The transaction that wrote the node last, which distinguishes two claims of the same version.
    """

    named: BrokerId | None
    owner: Owner
    version: int
    zxid: Zxid = field(default=Zxid(0), compare=False)


@dataclass(frozen=True, slots=True)
class Controllership:
    """The content of ``/controller`` and ``/controller_epoch``.

    Attributes:
        claim: The node ``/controller``; None if it does not exist.
        epoch: The latest controller epoch. It is read after the claim, so it is never older than the epoch of
            the controller that the claim names. ``NO_CONTROLLER_EPOCH`` if it is missing or cannot be read.
    """

    claim: Claim | None
    epoch: ControllerEpoch = NO_CONTROLLER_EPOCH


@dataclass(frozen=True, slots=True)
class ControllerRecord:
    """The node ``/barnabas/controller``, a controller's record for its successors. Kafka has no such node.

    Attributes:
        epoch: The latest controller epoch. It is recorded before the controller sends or writes anything, so
            it survives a deletion of ``/controller_epoch`` by a person.
        broker_epochs: The broker epochs that a controller has handled: if the broker had bounced, it was
            removed from its ISRs or the leader epochs were raised. No controller has handled a registration
            with another broker epoch.
    """

    epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
    broker_epochs: Mapping[BrokerId, BrokerEpoch] = field(default_factory=dict)
