"""The offsets of groups: committing, fetching, deleting and expiring them.

Source: ``storeOffsets``, ``getOffsets`` and ``cleanupGroupMetadata`` of ``GroupMetadataManager`` of Kafka
2.8; KIP-211 and KIP-496.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.broker.coordinator.coordinated import CoordinatedPartition, CoordinatedPartitions
from barnabas.broker.coordinator.effects import GroupEffects
from barnabas.broker.coordinator.group_log import COMMIT_ERRORS, GroupLog
from barnabas.broker.core.group.deletion import check_offset_delete, remove_empty_group
from barnabas.broker.core.group.effects import Level, Source
from barnabas.broker.core.group.member_calls import check_offset_commit
from barnabas.broker.core.group.offsets import GroupOffsets, expiration
from barnabas.broker.core.group.records import OffsetAndMetadata, encode_offset_key, encode_offset_value
from barnabas.broker.core.group.requests import MemberCall
from barnabas.broker.core.group.settings import GroupSettings
from barnabas.broker.core.group.states import GroupState
from barnabas.broker.core.records.batch_builder import BatchBuilder
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.runtime.collector import exempt_survivors
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.turn import Turn, carried_out, in_its_turn, paced
from barnabas.cluster.runtime.wall_clock import wall_ms

Commits = Mapping[TopicPartition, OffsetAndMetadata]
CommitErrors = dict[TopicPartition, ErrorCode]

PORTION = 500
"""The most offsets that one turn of the event loop deletes."""

MINUTE_MS = 60_000

MANY_NEW = 5_000
"""The offsets of partitions without a commit before that garbage collections may visit: for some 10 ms."""

MOST_LISTED = 100
"""The most partitions that a log line names."""


class FetchedOffset(NamedTuple):
    """The answer of OffsetFetch for a partition.

    ``committed`` is None without a commit and after an error.
    """

    error: ErrorCode
    committed: OffsetAndMetadata | None


class _Encoded(NamedTuple):
    """A commit as a batch.

    Attributes:
        batch: The records of ``commits``; None if they do not fit into one batch.
        commits: What will be committed.
        errors: The errors of the other partitions.
    """

    batch: BatchBuilder | None
    commits: dict[TopicPartition, OffsetAndMetadata]
    errors: CommitErrors


class CoordinatedOffsets:
    """The offsets of the groups that this broker coordinates.

    Args:
        partitions: The partitions that it leads.
        log: Where commits are appended.
        effects: Performs effects of decisions about groups.
        settings: ``offsets.*`` and ``offset.metadata.max.bytes``.
        metrics: Where commits, deletions and expirations are counted.
    """

    def __init__(
        self,
        partitions: CoordinatedPartitions,
        log: GroupLog,
        effects: GroupEffects,
        settings: GroupSettings,
        metrics: Metrics,
    ) -> None:
        self._partitions = partitions
        self._log = log
        self._effects = effects
        self._settings = settings
        self._metrics = metrics
        self._new = 0

    async def commit(self, call: MemberCall, commits: Commits) -> CommitErrors:
        """Commit offsets of a member, or of a client without group management (generation below 0).

        Returns:
            An error, or NONE, for each of ``commits``, once their records are replicated as
            ``offsets.commit.required.acks`` says.
        """
        partition = self._partitions.find(call.group_id, may_be_empty=True)
        if isinstance(partition, ErrorCode):
            return dict.fromkeys(commits, partition)
        encoded = await self._encode(partition, call.group_id, commits)
        found = self._partitions.find(call.group_id, may_be_empty=True)
        if isinstance(found, ErrorCode):
            return dict.fromkeys(commits, found)
        partition = found
        # Nothing else runs from here to the append, so the sender is still a member of this generation.
        error, effects = check_offset_commit(partition.groups, call, wall_ms())
        self._effects.perform(partition, effects)
        if error is not ErrorCode.NONE:
            return dict.fromkeys(commits, error)
        if encoded.batch is None:
            return dict.fromkeys(encoded.commits, ErrorCode.INVALID_COMMIT_OFFSET_SIZE) | encoded.errors
        if not encoded.commits:
            return encoded.errors
        error = await self._append(partition, call.group_id, encoded.batch, encoded.commits)
        return dict.fromkeys(encoded.commits, COMMIT_ERRORS.get(error, error)) | encoded.errors

    async def _encode(self, partition: CoordinatedPartition, group_id: str, commits: Commits) -> _Encoded:
        batch: BatchBuilder | None = self._log.builder(partition.number)
        kept: dict[TopicPartition, OffsetAndMetadata] = {}
        errors: CommitErrors = {}
        async for topic_partition, commit in paced(commits.items()):
            if java_length(commit.metadata) > self._settings.metadata_max_bytes:
                errors[topic_partition] = ErrorCode.OFFSET_METADATA_TOO_LARGE
                continue
            kept[topic_partition] = commit
            if batch is not None:
                key = encode_offset_key(group_id, topic_partition)
                if not batch.add(key, encode_offset_value(commit)):
                    batch = None
        return _Encoded(batch, kept, errors)

    async def _append(
        self, partition: CoordinatedPartition, group_id: str, batch: BatchBuilder, commits: Commits
    ) -> ErrorCode:
        """Append a commit; readers see it once it is acknowledged, even if its client waits no more."""
        offsets = partition.offsets_of(group_id)
        offsets.prepare(commits)
        answer: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()

        def appended(error: ErrorCode, log_offset: Offset) -> None:
            if error is ErrorCode.NONE:
                before = len(offsets)
                offsets.complete(commits, log_offset)
                self._came(len(offsets) - before)
                self._metrics.offset_commits.inc(len(commits))
            else:
                offsets.abandon(commits)
            if not answer.done():
                answer.set_result(error)

        self._log.append(partition.number, batch, appended)
        return await in_its_turn(answer)

    def _came(self, count: int) -> None:
        """Exempt offsets from full garbage collections, which visit each of them, once many have come."""
        self._new += count
        if self._new >= MANY_NEW:
            self._new = 0
            exempt_survivors()

    async def fetch(
        self, group_id: str, wanted: Iterable[TopicPartition] | None, *, require_stable: bool
    ) -> dict[TopicPartition, FetchedOffset] | ErrorCode:
        """Return what a group has committed.

        Args:
            group_id: The group; nothing is committed in an unknown one, which is no error.
            wanted: The partitions; None for all that have a commit.
            require_stable: Whether a partition with a pending commit gets UNSTABLE_OFFSET_COMMIT (KIP-447).

        Returns:
            The answer for each partition, or the error of the request.
        """
        partition = self._partitions.find(group_id, may_be_empty=True)
        if isinstance(partition, ErrorCode):
            return partition
        offsets = partition.offsets.get(group_id, GroupOffsets())
        found: dict[TopicPartition, FetchedOffset] = {}
        async for topic_partition in paced(tuple(offsets.partitions) if wanted is None else wanted):
            if require_stable and offsets.is_pending(topic_partition):
                found[topic_partition] = FetchedOffset(ErrorCode.UNSTABLE_OFFSET_COMMIT, None)
            else:
                found[topic_partition] = FetchedOffset(ErrorCode.NONE, offsets.get(topic_partition))
        return found

    async def delete(
        self, group_id: str, wanted: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode] | ErrorCode:
        """Delete offsets of a group (OffsetDelete), but of no topic to which it is subscribed."""
        partition = self._partitions.find(group_id)
        if isinstance(partition, ErrorCode):
            return partition
        error, _ = check_offset_delete(partition.groups, group_id, ())
        if error is not ErrorCode.NONE:
            return error
        errors: dict[TopicPartition, ErrorCode] = {}

        async def allowed(portion: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
            # Members may have come since the portion before.
            await _read_subscriptions(partition, group_id)
            error, kept = check_offset_delete(partition.groups, group_id, {each.topic for each in portion})
            for each in portion:
                errors[each] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if each.topic in kept else error
            return [each for each in portion if errors[each] is ErrorCode.NONE]

        removed = await self._remove(partition, group_id, wanted, still=allowed)
        if partition.is_unloaded:
            return ErrorCode.NOT_COORDINATOR
        deleted = [each for each, error in errors.items() if error is ErrorCode.NONE]
        if deleted:
            self._metrics.offset_deletions.inc(removed)
            self._log_info(
                f"The following offsets of the group {group_id} were deleted: {_listed(deleted)}. "
                f"A total of {removed} offsets were removed."
            )
        return errors

    async def topic_partitions_deleted(self, deleted: Iterable[TopicPartition]) -> None:
        """Delete the offsets of partitions whose topics were deleted, in all groups.

        A partition that is being loaded does so at the end of its load, before it serves anybody: what is
        committed later belongs to a new topic of that name.
        """
        gone, removed = frozenset(deleted), 0
        for partition in tuple(self._partitions.all):
            if partition.is_loaded:
                removed += await self.forget(partition, gone)
            else:
                partition.deleted_meanwhile |= gone
        listed = _listed(sorted(gone))
        self._log_info(f"Removed {removed} offsets associated with deleted partitions: {listed}.")

    async def forget(self, partition: CoordinatedPartition, gone: Collection[TopicPartition]) -> int:
        """Delete the offsets of ``gone`` in the groups of one partition, and count them."""

        async def still(portion: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
            return [each for each in portion if each in gone]

        removed = 0
        async for group_id, offsets in paced(tuple(partition.offsets.items())):
            fewer = gone if len(gone) < len(offsets) else offsets.known
            removed += await self._remove(partition, group_id, fewer, still=still)
        return removed

    async def expire(self) -> int:
        """Delete the expired offsets, and the groups that then have none (KIP-211)."""
        expired = 0
        for partition in tuple(self._partitions.all):
            if not partition.is_loaded:
                continue
            async for group_id in paced(tuple(partition.groups.by_id)):
                expired += await self._expire(partition, group_id)
        return expired

    async def _expire(self, partition: CoordinatedPartition, group_id: str) -> int:
        async def expired(among: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
            await _read_subscriptions(partition, group_id)
            group, offsets = partition.groups.by_id.get(group_id), partition.offsets.get(group_id)
            if group is None or offsets is None:
                return ()
            rule = expiration(
                group.protocol_type,
                is_empty=group.state is GroupState.EMPTY,
                is_stable=group.state is GroupState.STABLE,
                state_timestamp_ms=group.state_timestamp_ms,
                subscribed_topics=group.subscribed_topics,
            )
            if rule is None:
                return ()
            return offsets.expired(rule, wall_ms(), self._settings.retention_minutes * MINUTE_MS, among)

        # A commit or a join between two portions may keep the remaining offsets.
        known = partition.offsets.get(group_id, GroupOffsets()).partitions
        count = await self._remove(partition, group_id, known, still=expired)
        self._metrics.offset_expirations.inc(count)
        return count

    async def group_died(self, partition: CoordinatedPartition, group_id: str) -> ErrorCode:
        """Delete all offsets of a deleted group, which is found again only then.

        Returns:
            NOT_COORDINATOR if another broker leads the partition before all of them have tombstones.
        """
        offsets = partition.offsets.get(group_id, GroupOffsets())
        removed = await self._remove(partition, group_id, offsets.known)
        partition.offsets.pop(group_id, None)
        partition.dying.remove(group_id)
        if partition.is_unloaded:
            return ErrorCode.NOT_COORDINATOR
        self._log_info(
            f"The following groups were deleted: {group_id}. A total of {removed} offsets were removed."
        )
        return ErrorCode.NONE

    def _log_info(self, text: str) -> None:
        self._effects.log(Level.INFO, text, Source.COORDINATOR)

    async def _remove(
        self,
        partition: CoordinatedPartition,
        group_id: str,
        topic_partitions: Iterable[TopicPartition],
        still: Callable[[Sequence[TopicPartition]], Awaitable[Sequence[TopicPartition]]] | None = None,
    ) -> int:
        """Delete offsets of a group with tombstones, and an empty group that has no others; count both.

        ``still`` returns the offsets of a portion that must still be deleted; it awaits nothing after its
        last look at the group.

        The tombstones of a portion are appended as it is removed: a commit that comes in between the portions
        must not be followed by its own tombstone.
        """
        count, turn = 0, Turn()
        everything = tuple(topic_partitions)
        for begin in range(0, len(everything), PORTION):
            portion: Sequence[TopicPartition] = everything[begin : begin + PORTION]
            if still is not None:
                portion = await still(portion)
            if partition.is_unloaded:
                break
            removed = partition.offsets.get(group_id, GroupOffsets()).remove(portion)
            count += len(removed)
            keys = [encode_offset_key(group_id, each) for each in removed]
            self._effects.append_tombstones(partition, keys)
            await turn.yield_if_long()
        if group_id in partition.groups.by_id and not partition.has_offsets(group_id):
            partition.offsets.pop(group_id, None)
            self._effects.perform(partition, remove_empty_group(partition.groups, group_id, wall_ms()))
        return count


async def _read_subscriptions(partition: CoordinatedPartition, group_id: str) -> None:
    group = partition.groups.by_id.get(group_id)
    if group is not None:
        await carried_out(group.read_subscriptions())


def _listed(partitions: Sequence[TopicPartition]) -> str:
    """Return partitions as a log line names them; of very many, the first ones and the number of others.

    Kafka names all, and such a line may be as long as a request.
    """
    named = ", ".join(map(str, partitions[:MOST_LISTED]))
    others = len(partitions) - MOST_LISTED
    return f"{named} and {others} others" if others > 0 else named


def java_length(text: str) -> int:
    """Return the length of a text in Java: its UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be")) // 2
