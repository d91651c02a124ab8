"""The door for control requests: whose word is old.

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
    """The request was meant for a former life of this broker."""

    requested: BrokerEpoch
    own: BrokerEpoch
    error: ErrorCode = ErrorCode.STALE_BROKER_EPOCH


@dataclass(frozen=True, slots=True)
class StaleControllerEpoch:
    """A newer controller has spoken to this broker."""

    requested: ControllerEpoch
    latest: ControllerEpoch
    error: ErrorCode = ErrorCode.STALE_CONTROLLER_EPOCH


@dataclass(frozen=True, slots=True)
class UnconfirmedControllerEpoch:
    """No controller of that epoch is known yet: ZooKeeper is asked whether there is one."""

    requested: ControllerEpoch
    latest: ControllerEpoch


Refusal = StaleBrokerEpoch | StaleControllerEpoch


class ControlGate:
    """Judges the two epochs that every control request carries.

    The latest controller epoch is remembered in memory only: a restarted broker believes any controller at
    first, and the broker epoch is what protects it then.
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
        """Remember our own registration: requests for former lives are stale from now on."""
        self._broker_epoch = broker_epoch

    def adopt(self, controller_epoch: ControllerEpoch) -> None:
        """Remember a reign read in ``/controller_epoch``: earlier controllers are refused from now on.

        So a deposed one is, even before its successor's first request.
        """
        self._controller_epoch = max(self._controller_epoch, controller_epoch)

    def look_at(
        self, controller_epoch: ControllerEpoch, broker_epoch: BrokerEpoch
    ) -> Refusal | UnconfirmedControllerEpoch | None:
        """As `judge`, and remember nothing: a controller epoch above all that are known proves nothing.

        Anybody can name one. Remembered at once, a single request of the largest epoch would have the true
        controller refused for ever.
        """
        if broker_epoch != UNKNOWN_BROKER_EPOCH and broker_epoch < self._broker_epoch:
            return StaleBrokerEpoch(broker_epoch, self._broker_epoch)
        if controller_epoch < self._controller_epoch:
            return StaleControllerEpoch(controller_epoch, self._controller_epoch)
        if controller_epoch > self._controller_epoch:
            return UnconfirmedControllerEpoch(controller_epoch, self._controller_epoch)
        return None

    def judge(self, controller_epoch: ControllerEpoch, broker_epoch: BrokerEpoch) -> Refusal | None:
        """Why the request is refused, or None where it is admitted; then its controller epoch is remembered.

        A broker epoch above our own is admitted: the controller has seen our registration before we have. A
        controller epoch above the latest was confirmed at the door (`look_at`).
        """
        finding = self.look_at(controller_epoch, broker_epoch)
        if isinstance(finding, StaleBrokerEpoch | StaleControllerEpoch):
            return finding
        self._controller_epoch = controller_epoch
        return None


class LeadershipVerdict(Enum):
    """What becomes of one partition of a LeaderAndIsr request, with the error it is answered with."""

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
    """What becomes of one partition of a StopReplica request, with the error it is answered with."""

    APPLY = ErrorCode.NONE, "its leader epoch is above ours, or not to be compared"
    STALE_LEADER_EPOCH = ErrorCode.FENCED_LEADER_EPOCH, "its leader epoch is below ours"
    SAME_LEADER_EPOCH = ErrorCode.FENCED_LEADER_EPOCH, "its leader epoch is ours"

    def __init__(self, error: ErrorCode, meaning: str) -> None:
        self.error = error
        self.meaning = meaning


def judge_stop(requested: LeaderEpoch, current: LeaderEpoch, *, delete: bool) -> StopVerdict:
    """Judge a StopReplica partition by its leader epoch; ``current`` is -1 where there is no such replica.

    Release 2.8 wants an epoch above the current one: the controller raises it before it stops a replica. A
    topic being deleted and a controller that knows no epoch pass. So does, as from release 3.4 on, the
    current epoch where the replica is deleted: one that a cancelled reassignment had added was never in the
    ISR, and leaves without a new epoch.
    """
    if requested in (EPOCH_DURING_DELETE, UNKNOWN_LEADER_EPOCH) or requested > current:
        return StopVerdict.APPLY
    if delete and requested == current:
        return StopVerdict.APPLY
    return StopVerdict.SAME_LEADER_EPOCH if requested == current else StopVerdict.STALE_LEADER_EPOCH
