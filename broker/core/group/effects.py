"""The effects of a decision, which the coordinator performs in their order.

Every request that was given a token gets exactly one `Answer`, at once or by a later decision. Delays are
milliseconds from now, so decisions need no monotonic clock; the ``now_ms`` that they take is the time of day.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum, auto
from typing import NamedTuple

from barnabas.broker.core.group.group import Group
from barnabas.broker.core.group.requests import GroupProtocol, Token
from barnabas.broker.core.group.results import JoinGroupResult, SyncGroupResult
from barnabas.broker.core.group.stored import StoredGroup


class Answer(NamedTuple):
    """Answer the request ``token``; a client that has gone changes nothing for the group."""

    token: Token
    result: JoinGroupResult | SyncGroupResult


class TimerKind(IntEnum):
    """The event that a timer waits for."""

    SESSION = auto()
    """The next request of a member that proves it alive (Kafka: ``DelayedHeartbeat``)."""
    PENDING_MEMBER = auto()
    """The second JoinGroup of a client that was given a member id (KIP-394)."""
    JOIN = auto()
    """The end of the join round (``InitialDelayedJoin``, ``DelayedJoin``)."""
    SYNC = auto()
    """A SyncGroup of every member of the generation (``DelayedSync``)."""


class TimerKey(NamedTuple):
    """A timer of a group; ``member_id`` is "" for those of the whole group."""

    kind: TimerKind
    group_id: str
    member_id: str = ""


class SetTimer(NamedTuple):
    """Call `timer_expired` with ``key`` after ``delay_ms``, never at once; replaces a timer of that key."""

    key: TimerKey
    delay_ms: int


class ClearTimer(NamedTuple):
    """Stop the timer ``key``; nothing happens if there is none."""

    key: TimerKey


@dataclass(frozen=True, slots=True, eq=False)
class AssignmentWrite:
    """The leader's assignment of a generation is being stored.

    Attributes:
        group: The group.
        generation: The generation.
        member_id: The leader that sent the assignment.
        assignments: An assignment for each member.
    """

    group: Group
    generation: int
    member_id: str
    assignments: Mapping[str, bytes]


@dataclass(frozen=True, slots=True, eq=False)
class EmptyGroupWrite:
    """A group that became empty is being stored."""

    group: Group


@dataclass(frozen=True, slots=True, eq=False)
class StaticMemberWrite:
    """A stable group in which a static member got a new member id is being stored.

    Attributes:
        group: The group.
        token: The JoinGroup that waits for the write.
        old_member_id: The member's id until now.
        old_protocols: The member's protocols until now.
        leader: The leader before the replacement. The answer names it, so that a leader that came back does
            not assign partitions: a stable group would not pass them on.
    """

    group: Group
    token: Token
    old_member_id: str
    old_protocols: tuple[GroupProtocol, ...]
    leader: str


GroupWrite = AssignmentWrite | EmptyGroupWrite | StaticMemberWrite
"""The reason for a write of a group's record, and what follows it."""


@dataclass(frozen=True, slots=True, eq=False)
class PersistGroup:
    """Append ``record`` as the group's metadata, then call `group_written` with ``write`` and the error."""

    write: GroupWrite
    record: StoredGroup


@dataclass(frozen=True, slots=True)
class GroupRemoved:
    """The group is dead and no longer among the groups.

    Attributes:
        group_id: The group.
        generation: Its last generation; above 0 there may be a group record, which needs a tombstone.
    """

    group_id: str
    generation: int


class Level(StrEnum):
    """The level of a log line."""

    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


class Source(StrEnum):
    """The class of Kafka that logs a line; the first two prefix their lines."""

    COORDINATOR = "GroupCoordinator"
    """Prefix ``[GroupCoordinator 1]: ``."""
    MANAGER = "GroupMetadataManager"
    """Prefix ``[GroupMetadataManager brokerId=1] ``."""
    METADATA = "GroupMetadata"


@dataclass(frozen=True, slots=True)
class Log:
    """Log ``text``, which has Kafka's words."""

    level: Level
    text: str
    source: Source = Source.COORDINATOR


Effect = Answer | SetTimer | ClearTimer | PersistGroup | GroupRemoved | Log
Effects = list[Effect]
