"""Consumer groups as their coordinators describe them."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group.

    Attributes:
        member_id: Its id.
        instance_id: Its ``group.instance.id``, empty if it is not a static member.
        host: The address of its client.
        client_id: The name of its client.
        assigned: The partitions that it has.
    """

    member_id: str
    instance_id: str
    host: str
    client_id: str
    assigned: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A group as its coordinator describes it.

    Attributes:
        name: Its name.
        coordinator: The coordinator as ``host:port (id)``.
        state: Its state; one that does not exist is ``Dead``.
        strategy: The assignment strategy; empty without members.
        members: Its members.
    """

    name: str
    coordinator: str
    state: str
    strategy: str
    members: tuple[GroupMember, ...]
