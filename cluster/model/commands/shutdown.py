"""The command for a controlled shutdown, and its result.

Source: ``ControlledShutdownRequest`` (api key 7) of release 2.8;
docs/kafka/topics.md, Controlled shutdown.
"""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.commands.command import Command, CommandResult
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition


@dataclass(frozen=True, slots=True)
class ControlledShutdownResult(CommandResult):
    """The result of a controlled shutdown: all leaderships that could move have moved.

    Attributes:
        remaining: The partitions with more than one replica that the broker still leads, because no other
            replica is in sync, and those in which none is known to have its log yet. If it is empty, the
            broker may stop.
    """

    remaining: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ControlledShutdown(Command[ControlledShutdownResult]):
    """The command of a stopping broker to move its leaderships and remove it from all ISRs.

    The command is refused with ``STALE_BROKER_EPOCH`` if the controller knows a later broker epoch, and with
    ``BROKER_NOT_AVAILABLE`` if it does not know the broker. Unlike other commands, it is refused with
    ``STALE_CONTROLLER_EPOCH`` by a broker that is not, or no longer, the controller.

    Attributes:
        broker_id: The stopping broker.
        broker_epoch: The epoch of the broker's registration.
    """

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
