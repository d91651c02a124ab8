"""Controlled shutdown: what a broker that is about to stop asks of the controller, and what it is told.

Source: ``ControlledShutdownRequest`` (api key 7) of release 2.8;
docs/kafka/topics.md, Controlled shutdown.
"""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.commands import Command, CommandResult
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition


@dataclass(frozen=True, slots=True)
class ControlledShutdownResult(CommandResult):
    """The leaders have moved, as far as they could.

    Attributes:
        remaining: The partitions with more than one replica that the broker still leads, because nobody else
            is in sync; none of them: it may stop.
    """

    remaining: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ControlledShutdown(Command[ControlledShutdownResult]):
    """Move every leadership off this broker and take it out of every ISR, for it is about to stop.

    Refused with ``STALE_BROKER_EPOCH`` where the controller knows a later life of the broker, with
    ``BROKER_NOT_AVAILABLE`` where it knows none. Unlike all other commands, ``STALE_CONTROLLER_EPOCH`` says
    that the broker asked is not, or no longer, the controller.

    Attributes:
        broker_id: Who is about to stop.
        broker_epoch: The epoch of its registration.
    """

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
