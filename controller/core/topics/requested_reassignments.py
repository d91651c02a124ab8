"""Entries of ``/admin/reassign_partitions``, by which old tools request reassignments and see their end.

Source: docs/kafka/topics.md, Reassignment (``maybeRemoveFromZkReassignment``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.protocol.effects import Decision, LogInfo, ask
from barnabas.controller.core.topics.effects import (
    ReadReassignments,
    RequestedReassignments,
    WriteReassignments,
)

Withdraws = Callable[[TopicPartition, tuple[BrokerId, ...]], bool]
"""Whether an entry goes: by its partition and target."""


def read_requests() -> Decision[RequestedReassignments | None]:
    """Read the requested reassignments, None where there is no node; watches the next change."""
    return (yield from ask(ReadReassignments()))


def withdraw_topics(context: ControllerContext, topics: Collection[str]) -> Decision[None]:
    """Take out what is asked for partitions of ``topics``, which are no more."""
    if topics:
        yield from withdraw(context, lambda tp, _: tp.topic in topics)


def withdraw(context: ControllerContext, goes: Withdraws) -> Decision[None]:
    """Take the entries out for which ``goes`` holds; a node without entries is deleted.

    An entry that stayed for ever would keep the tools of old from asking for anything (KAFKA-9478).
    """
    while (asked := (yield from read_requests())) is not None:
        left = {tp: target for tp, target in asked.targets.items() if not goes(tp, target)}
        if left and len(left) == len(asked.targets):
            return
        if (yield from ask(WriteReassignments(left, asked.version, context.fence))):
            gone = ", ".join(str(tp) for tp in asked.targets if tp not in left) or "what cannot be read"
            yield LogInfo(f"taken out of /admin/reassign_partitions: {gone}; left there: {len(left)}")
            return
