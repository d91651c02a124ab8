"""Who holds a partition and who leads it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from barnabas.cluster.model.epochs import INITIAL_LEADER_EPOCH, ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import NO_LEADER, BrokerId


@dataclass(frozen=True, slots=True)
class Assignment:
    """The brokers that hold a partition, preferred leader first (Kafka: ``ReplicaAssignment``, KIP-455).

    Attributes:
        replicas: All of them, those being added and removed included.
        adding: The part of ``replicas`` that a running reassignment adds.
        removing: The part of ``replicas`` that a running reassignment takes away.
    """

    replicas: tuple[BrokerId, ...]
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()

    @property
    def origin(self) -> tuple[BrokerId, ...]:
        """The replicas before the running reassignment: ``replicas`` without ``adding``."""
        return tuple(r for r in self.replicas if r not in self.adding)

    @property
    def target(self) -> tuple[BrokerId, ...]:
        """The replicas after the running reassignment: ``replicas`` without ``removing``."""
        return tuple(r for r in self.replicas if r not in self.removing)

    @property
    def is_being_reassigned(self) -> bool:
        """Whether a reassignment of this partition is under way."""
        return bool(self.adding or self.removing)

    def reassign_to(self, target: tuple[BrokerId, ...]) -> Assignment:
        """The assignment while a reassignment to ``target`` runs (KIP-455).

        It replaces a running one: what that one was adding and ``target`` does not name is left out, and
        ``origin`` stays what it was. A cancellation is a reassignment to ``origin``.
        """
        origin = self.origin
        return Assignment(
            replicas=(*target, *(r for r in origin if r not in target)),
            adding=tuple(r for r in target if r not in origin),
            removing=tuple(r for r in origin if r not in target),
        )


INITIAL_VERSION = PartitionVersion(0)
"""The version of a state znode as it is created."""


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """A partition's leadership as it stands in ZooKeeper (Kafka: ``LeaderAndIsr``).

    Attributes:
        leader: The leader, or ``NO_LEADER``.
        leader_epoch: Raised by one at each election, also when the same broker is elected again.
        isr: The in-sync replicas; never empty, the last member stays although it is dead.
        version: The data version under which this was read or written; the next write expects it.
    """

    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    version: PartitionVersion = INITIAL_VERSION

    @classmethod
    def initial(cls, leader: BrokerId, isr: tuple[BrokerId, ...]) -> LeaderAndIsr:
        """The first leadership of a new partition, at epoch 0 and version 0."""
        return cls(leader, INITIAL_LEADER_EPOCH, isr)

    @property
    def has_leader(self) -> bool:
        """Whether there is a leader."""
        return self.leader != NO_LEADER

    def new_leader(self, leader: BrokerId, isr: tuple[BrokerId, ...]) -> LeaderAndIsr:
        """The leadership that an election writes: the next leader epoch, under the version known here."""
        return LeaderAndIsr(leader, LeaderEpoch(self.leader_epoch + 1), isr, self.version)

    def new_epoch(self) -> LeaderAndIsr:
        """The same leader and ISR in the next leader epoch (a reassignment's fence)."""
        return replace(self, leader_epoch=LeaderEpoch(self.leader_epoch + 1))

    def written_as(self, version: PartitionVersion) -> LeaderAndIsr:
        """The same leadership, known to stand in ZooKeeper under ``version``."""
        return LeaderAndIsr(self.leader, self.leader_epoch, self.isr, version)


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A leadership and the reign in which it was written (Kafka: ``LeaderIsrAndControllerEpoch``)."""

    leader_and_isr: LeaderAndIsr
    controller_epoch: ControllerEpoch
