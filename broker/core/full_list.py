"""The full list of the partitions that this broker hosts, which the controller sends in parts."""

from __future__ import annotations

from collections.abc import Collection

from barnabas.cluster.model.epochs import UNKNOWN_BROKER_EPOCH, BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.requests import LeaderAndIsrRequest


class FullList:
    """A collector of the parts of a list, for one controller epoch and one registration of this broker."""

    def __init__(self) -> None:
        self._of: tuple[ControllerEpoch, BrokerEpoch] | None = None
        self._named: set[TopicPartition] = set()

    def add(
        self, request: LeaderAndIsrRequest, broker_epoch: BrokerEpoch
    ) -> Collection[TopicPartition] | None:
        """Add the partitions of an admitted request; return the whole list if this was its last part.

        Only a list for the current registration counts. One for an earlier registration, or for none, may
        lack partitions that were created since.

        Args:
            request: Any LeaderAndIsr request: partitions sent between two parts are hosted, too.
            broker_epoch: The epoch of this broker's registration.
        """
        of = request.controller_epoch, request.broker_epoch
        if self._of != of:
            self._of, self._named = of, set()
            if not request.is_full:
                self._of = None
        if self._of is None:
            return None
        self._named.update(partition.topic_partition for partition in request.partitions)
        if not request.is_full or request.parts_to_follow:
            return None
        named, self._of, self._named = self._named, None, set()
        is_current = UNKNOWN_BROKER_EPOCH < broker_epoch <= request.broker_epoch
        return named if is_current else None
