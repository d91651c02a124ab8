"""The groups of one partition of ``__consumer_offsets``, for as long as this broker coordinates them."""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.broker.core.group.group import Group


@dataclass(frozen=True, slots=True)
class PartitionGroups:
    """The groups of a partition that this broker leads and has loaded.

    Attributes:
        partition: The partition of ``__consumer_offsets``.
        by_id: Its groups, none of them dead.
    """

    partition: int
    by_id: dict[str, Group] = field(default_factory=dict)

    def get_or_create(self, group_id: str, now_ms: int) -> Group:
        """Return the group ``group_id``; an unknown one is created empty."""
        group = self.by_id.get(group_id)
        if group is None:
            group = self.by_id[group_id] = Group(group_id, self.partition, now_ms)
        return group
