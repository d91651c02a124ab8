"""Entries of ``/admin/reassign_partitions``, by which old tools request reassignments.

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
"""A predicate of an entry's partition and target: whether to remove the entry."""


def read_requests() -> Decision[RequestedReassignments | None]:
    """Read and watch the requested reassignments; None if there is no node."""
    return (yield from ask(ReadReassignments()))


def withdraw_topics(context: ControllerContext, topics: Collection[str]) -> Decision[None]:
    """Remove the entries of partitions of ``topics``, which were deleted."""
    if topics:
        yield from withdraw(context, lambda tp, _: tp.topic in topics)


def withdraw(context: ControllerContext, goes: Withdraws) -> Decision[None]:
    """Remove the entries for which ``goes`` is true; a node without entries is deleted.

    A leftover entry would prevent old tools from requesting anything again (KAFKA-9478).
    """
    # The write depends on the version that was read: after a write of a tool in between, read again.
    while (asked := (yield from read_requests())) is not None:
        left = {tp: target for tp, target in asked.targets.items() if not goes(tp, target)}
        if left and len(left) == len(asked.targets):
            return
        if (yield from ask(WriteReassignments(left, asked.version, context.fence))):
            gone = ", ".join(str(tp) for tp in asked.targets if tp not in left) or "what cannot be read"
            yield LogInfo(f"taken out of /admin/reassign_partitions: {gone}; left there: {len(left)}")
            return
