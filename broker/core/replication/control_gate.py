"""The checks of a control request's two epochs, and of a partition's leader epoch in it.

Source: Kafka's ``KafkaApis.isBrokerEpochStale`` and
``ReplicaManager.becomeLeaderOrFollower``/``stopReplicas`` of release 2.8; KIP-380 (broker epochs), KIP-570
(leader epochs in StopReplica).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from barnabas.cluster.model.epochs import (
    EPOCH_DURING_DELETE,
    NO_CONTROLLER_EPOCH,
    UNKNOWN_BROKER_EPOCH,
    UNKNOWN_LEADER_EPOCH,
    BrokerEpoch,
    ControllerEpoch,
    LeaderEpoch,
)
from barnabas.cluster.model.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class StaleBrokerEpoch:
    """A request that was meant for an earlier incarnation of this broker."""

    requested: BrokerEpoch
    own: BrokerEpoch
    error: ErrorCode = ErrorCode.STALE_BROKER_EPOCH


@dataclass(frozen=True, slots=True)
class StaleControllerEpoch:
    """A request of a controller whose epoch is below the latest one known."""

    requested: ControllerEpoch
    latest: ControllerEpoch
    error: ErrorCode = ErrorCode.STALE_CONTROLLER_EPOCH


@dataclass(frozen=True, slots=True)
class UnconfirmedControllerEpoch:
    """A controller epoch above all known ones; ZooKeeper must confirm it."""

    requested: ControllerEpoch
    latest: ControllerEpoch


Refusal = StaleBrokerEpoch | StaleControllerEpoch


class ControlGate:
    """A gate that judges the two epochs of every control request.

    The latest controller epoch is kept in memory only: a broker that restarted admits any controller at
    first, and its broker epoch protects it until then.
    """

    def __init__(self) -> None:
        self._broker_epoch = UNKNOWN_BROKER_EPOCH
        self._controller_epoch = NO_CONTROLLER_EPOCH

    @property
    def controller_epoch(self) -> ControllerEpoch:
        """The highest controller epoch admitted so far."""
        return self._controller_epoch

    @property
    def broker_epoch(self) -> BrokerEpoch:
        """The epoch of this broker's registration, -1 before the first."""
        return self._broker_epoch

    def registered(self, broker_epoch: BrokerEpoch) -> None:
        """Note this broker's registration: requests meant for earlier incarnations are stale from now on."""
        self._broker_epoch = broker_epoch

    def adopt(self, controller_epoch: ControllerEpoch) -> None:
        """Note the epoch in ``/controller_epoch``: controllers of lower epochs are refused from now on.

        A former controller is therefore refused even before its successor's first request.
        """
        self._controller_epoch = max(self._controller_epoch, controller_epoch)

    def look_at(
        self, controller_epoch: ControllerEpoch, broker_epoch: BrokerEpoch
    ) -> Refusal | UnconfirmedControllerEpoch | None:
        """Judge a request as `judge` does, but change nothing.

        A controller epoch above all known ones proves nothing, because any process can send one. If it were
        noted at once, one request with the largest epoch would make this broker refuse the true controller
        for ever.
        """
        if broker_epoch != UNKNOWN_BROKER_EPOCH and broker_epoch < self._broker_epoch:
            return StaleBrokerEpoch(broker_epoch, self._broker_epoch)
        if controller_epoch < self._controller_epoch:
            return StaleControllerEpoch(controller_epoch, self._controller_epoch)
        if controller_epoch > self._controller_epoch:
            return UnconfirmedControllerEpoch(controller_epoch, self._controller_epoch)
        return None

    def judge(self, controller_epoch: ControllerEpoch, broker_epoch: BrokerEpoch) -> Refusal | None:
        """Return why the request is refused, or None if it is admitted; then note its controller epoch.

        A broker epoch above our own is admitted: the controller has seen our registration before we have. A
        controller epoch above the latest was confirmed before (`look_at`).
        """
        finding = self.look_at(controller_epoch, broker_epoch)
        if isinstance(finding, StaleBrokerEpoch | StaleControllerEpoch):
            return finding
        self._controller_epoch = controller_epoch
        return None


class LeadershipVerdict(Enum):
    """The decision about one partition of a LeaderAndIsr request, with its error code."""

    APPLY = ErrorCode.NONE, "its leader epoch is above ours"
    NOT_A_REPLICA = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "this broker is not among the replicas"
    STALE_LEADER_EPOCH = ErrorCode.STALE_CONTROLLER_EPOCH, "its leader epoch is below ours"
    SAME_LEADER_EPOCH = ErrorCode.STALE_CONTROLLER_EPOCH, "its leader epoch is ours"

    def __init__(self, error: ErrorCode, meaning: str) -> None:
        self.error = error
        self.meaning = meaning


def judge_leadership(requested: LeaderEpoch, current: LeaderEpoch, *, is_replica: bool) -> LeadershipVerdict:
    """Judge a LeaderAndIsr partition by its leader epoch; ``current`` is -1 before the first."""
    if requested < current:
        return LeadershipVerdict.STALE_LEADER_EPOCH
    if requested == current:
        return LeadershipVerdict.SAME_LEADER_EPOCH
    return LeadershipVerdict.APPLY if is_replica else LeadershipVerdict.NOT_A_REPLICA


class StopVerdict(Enum):
    """The decision about one partition of a StopReplica request, with its error code."""

    APPLY = ErrorCode.NONE, "its leader epoch is above ours, or not to be compared"
    STALE_LEADER_EPOCH = ErrorCode.FENCED_LEADER_EPOCH, "its leader epoch is below ours"
    SAME_LEADER_EPOCH = ErrorCode.FENCED_LEADER_EPOCH, "its leader epoch is ours"

    def __init__(self, error: ErrorCode, meaning: str) -> None:
        self.error = error
        self.meaning = meaning


def judge_stop(requested: LeaderEpoch, current: LeaderEpoch, *, delete: bool) -> StopVerdict:
    """Judge a StopReplica partition by its leader epoch; ``current`` is -1 without a replica.

    Release 2.8 requires an epoch above the current one, because the controller raises it before it stops a
    replica. The epochs of a topic being deleted and of a controller that knows none are admitted. So is, as
    from release 3.4 on, the current epoch if the replica is deleted: a replica that a cancelled reassignment
    had added was never in the ISR, so it is deleted without a new epoch.
    """
    if requested in (EPOCH_DURING_DELETE, UNKNOWN_LEADER_EPOCH) or requested > current:
        return StopVerdict.APPLY
    if delete and requested == current:
        return StopVerdict.APPLY
    return StopVerdict.SAME_LEADER_EPOCH if requested == current else StopVerdict.STALE_LEADER_EPOCH
