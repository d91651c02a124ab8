"""A group's offsets: what is committed, what is on its way to the log, and what expires.

Source: the offsets of ``GroupMetadata.scala`` of Kafka 2.8; KIP-211 for the expiration.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from barnabas.broker.core.group.records import OffsetAndMetadata
from barnabas.broker.core.group.requests import CONSUMER
from barnabas.cluster.model.ids import Offset, ProducerId, TopicPartition

CommittedOffset: TypeAlias = tuple[Offset, int, str, int, int | None, Offset]
"""The fields of an `OffsetAndMetadata`, then the offset of the batch in ``__consumer_offsets`` that holds it.

A coordinator has hundreds of thousands. Garbage collections visit each named tuple again and again, and a
plain tuple of numbers and text once.
"""


@dataclass(frozen=True, slots=True)
class Expiration:
    """The rule by which offsets of a group expire.

    Attributes:
        since_ms: When the group became empty, milliseconds since 1970; None to count from each commit.
        kept_topics: The topics whose offsets do not expire, because members subscribe to them.
    """

    since_ms: int | None = None
    kept_topics: frozenset[str] = frozenset()


def expiration(
    protocol_type: str | None,
    *,
    is_empty: bool,
    is_stable: bool,
    state_timestamp_ms: int | None,
    subscribed_topics: frozenset[str] | None,
) -> Expiration | None:
    """Return the rule for the offsets of a group as it is now; None if none of them expires (KIP-211).

    Args:
        protocol_type: The group's protocol type; None if no member ever joined it.
        is_empty: Whether the group is Empty.
        is_stable: Whether it is Stable.
        state_timestamp_ms: When it came into this state; None if its record does not say so.
        subscribed_topics: The topics that its members subscribe to; None if they are not known.
    """
    if protocol_type is None:
        return Expiration()
    if is_empty:
        return Expiration(since_ms=state_timestamp_ms)
    if protocol_type == CONSUMER and is_stable and subscribed_topics is not None:
        return Expiration(kept_topics=subscribed_topics)
    return None


class GroupOffsets:
    """The offsets of one group.

    A commit is pending from the moment its record is appended until the append is acknowledged, and only then
    readers see it. Commits of a transaction are pending until the transaction's marker (KIP-447).
    """

    __slots__ = ("_committed", "_pending", "_transactional")

    def __init__(
        self,
        committed: Mapping[TopicPartition, CommittedOffset] | None = None,
        transactional: Mapping[ProducerId, Mapping[TopicPartition, CommittedOffset]] | None = None,
    ) -> None:
        self._committed = dict(committed or {})
        self._pending: dict[TopicPartition, list[OffsetAndMetadata]] = {}
        self._transactional = {producer: dict(each) for producer, each in (transactional or {}).items()}

    def __len__(self) -> int:
        """Return the number of committed offsets."""
        return len(self._committed)

    @property
    def partitions(self) -> Collection[TopicPartition]:
        """The partitions with a committed offset."""
        return self._committed.keys()

    @property
    def known(self) -> tuple[TopicPartition, ...]:
        """The partitions with a record in the log: committed ones, and those with a pending commit."""
        return (*self._committed, *(each for each in self._pending if each not in self._committed))

    @property
    def has_any(self) -> bool:
        """Return whether an offset is committed or pending."""
        return bool(self._committed or self._pending or self._transactional)

    def get(self, topic_partition: TopicPartition) -> OffsetAndMetadata | None:
        """Return what is committed for a partition."""
        committed = self._committed.get(topic_partition)
        return None if committed is None else _value(committed)

    def is_pending(self, topic_partition: TopicPartition) -> bool:
        """Return whether a commit of that partition, of a transaction or not, may still come (KIP-447)."""
        return topic_partition in self._pending or any(
            topic_partition in commits for commits in self._transactional.values()
        )

    def prepare(self, commits: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Note commits whose records are about to be appended."""
        for topic_partition, value in commits.items():
            self._pending.setdefault(topic_partition, []).append(value)

    def complete(self, commits: Mapping[TopicPartition, OffsetAndMetadata], log_offset: Offset) -> None:
        """Make prepared commits visible, whose records were appended in the batch at ``log_offset``.

        Appends may be acknowledged out of order; then the later record in the log wins, as it does when the
        log is loaded. A partition whose topic was deleted meanwhile stays away.
        """
        for topic_partition, value in commits.items():
            if not any(each is value for each in self._pending.get(topic_partition, ())):
                continue
            known = self._committed.get(topic_partition)
            if known is None or known[-1] < log_offset:
                self._committed[topic_partition] = (*value, log_offset)
        self.abandon(commits)

    def abandon(self, commits: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Forget prepared commits; other commits of their partitions stay pending.

        In Kafka only the latest one is known: if it is refused, an earlier one that is acknowledged
        afterwards is not seen.
        """
        for topic_partition, value in commits.items():
            others = [each for each in self._pending.pop(topic_partition, ()) if each is not value]
            if others:
                self._pending[topic_partition] = others

    def remove(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Drop all that is known of ``partitions``; return those that have a record in the log.

        A pending commit is in the log already: without a tombstone, it would be back after the next load.
        """
        removed = []
        for topic_partition in partitions:
            was_pending = self._pending.pop(topic_partition, None) is not None
            for commits in self._transactional.values():
                commits.pop(topic_partition, None)
            if self._committed.pop(topic_partition, None) is not None or was_pending:
                removed.append(topic_partition)
        self._transactional = {producer: each for producer, each in self._transactional.items() if each}
        return removed

    def expired(
        self,
        rule: Expiration,
        now_ms: int,
        retention_ms: int,
        among: Iterable[TopicPartition],
    ) -> list[TopicPartition]:
        """Return the partitions in ``among`` whose offsets have expired under ``rule``.

        An offset whose client set an expiration time expires then; else after ``retention_ms``. One with a
        pending commit does not expire.
        """
        return [
            topic_partition
            for topic_partition in among
            if topic_partition.topic not in rule.kept_topics
            and topic_partition not in self._pending
            and (committed := self._committed.get(topic_partition)) is not None
            and _has_expired(_value(committed), rule, now_ms, retention_ms)
        ]


def _value(committed: CommittedOffset) -> OffsetAndMetadata:
    return OffsetAndMetadata._make(committed[:-1])


def _has_expired(value: OffsetAndMetadata, rule: Expiration, now_ms: int, retention_ms: int) -> bool:
    if value.expire_ms is not None:
        return now_ms >= value.expire_ms
    since_ms = value.commit_ms if rule.since_ms is None else rule.since_ms
    return now_ms - since_ms >= retention_ms
