"""The assignment and the leadership of a partition."""

from __future__ import annotations

from dataclasses import dataclass, replace

from barnabas.cluster.model.epochs import INITIAL_LEADER_EPOCH, ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import NO_LEADER, BrokerId


@dataclass(frozen=True, slots=True)
class Assignment:
    """The replicas of a partition, preferred leader first (Kafka: ``ReplicaAssignment``, KIP-455).

    Attributes:
        replicas: All replicas, including those being added and removed.
        adding: The replicas that a running reassignment adds.
        removing: The replicas that a running reassignment removes.
    """

    replicas: tuple[BrokerId, ...]
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()

    @property
    def origin(self) -> tuple[BrokerId, ...]:
        """Return the replicas before the running reassignment: ``replicas`` without ``adding``."""
        return tuple(r for r in self.replicas if r not in self.adding)

    @property
    def target(self) -> tuple[BrokerId, ...]:
        """Return the replicas after the running reassignment: ``replicas`` without ``removing``."""
        return tuple(r for r in self.replicas if r not in self.removing)

    @property
    def is_being_reassigned(self) -> bool:
        """Return whether a reassignment of this partition is running."""
        return bool(self.adding or self.removing)

    def reassign_to(self, target: tuple[BrokerId, ...]) -> Assignment:
        """Return the assignment during a reassignment to ``target`` (KIP-455).

        It replaces a running reassignment: replicas that the running one adds are dropped unless ``target``
        names them, and ``origin`` stays the same. A cancellation is a reassignment to ``origin``.
        """
        origin = self.origin
        return Assignment(
            replicas=(*target, *(r for r in origin if r not in target)),
            adding=tuple(r for r in target if r not in origin),
            removing=tuple(r for r in origin if r not in target),
        )


INITIAL_VERSION = PartitionVersion(0)
"""The version of a new state znode."""


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """A partition's leadership as in ZooKeeper (Kafka: ``LeaderAndIsr``).

    Attributes:
        leader: The leader; ``NO_LEADER`` if there is none.
        leader_epoch: The leader epoch, which every election raises by one, even of the same broker.
        isr: The in-sync replicas; never empty, because the last member stays even if it is dead.
        version: The data version with which the state was read or written, and which the next write expects.
    """

    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    version: PartitionVersion = INITIAL_VERSION

    @classmethod
    def initial(cls, leader: BrokerId, isr: tuple[BrokerId, ...]) -> LeaderAndIsr:
        """Return the first leadership of a new partition, with leader epoch 0 and version 0."""
        return cls(leader, INITIAL_LEADER_EPOCH, isr)

    @property
    def has_leader(self) -> bool:
        """Return whether there is a leader."""
        return self.leader != NO_LEADER

    def new_leader(self, leader: BrokerId, isr: tuple[BrokerId, ...]) -> LeaderAndIsr:
        """Return the leadership that an election writes: the next leader epoch, and the same version."""
        return LeaderAndIsr(leader, LeaderEpoch(self.leader_epoch + 1), isr, self.version)

    def new_epoch(self) -> LeaderAndIsr:
        """Return the same leader and ISR in the next leader epoch, as a reassignment writes to fence."""
        return replace(self, leader_epoch=LeaderEpoch(self.leader_epoch + 1))

    def written_as(self, version: PartitionVersion) -> LeaderAndIsr:
        """Return the same leadership with the version of its write."""
        return LeaderAndIsr(self.leader, self.leader_epoch, self.isr, version)


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A leadership with the controller epoch of its write (Kafka: ``LeaderIsrAndControllerEpoch``)."""

    leader_and_isr: LeaderAndIsr
    controller_epoch: ControllerEpoch
