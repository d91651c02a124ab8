"""Incremental fetch sessions of clients: the last answer of each partition, and the limit of sessions.

A session keeps what its client requests of each partition, so requests and answers contain only changes.
Source: KIP-227; ``FetchSession.scala`` of Kafka 2.8.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, NamedTuple, TypeVar, assert_never

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition

NO_SESSION = 0
"""The session id of an answer outside any session."""

INITIAL_EPOCH = 0
"""The session epoch of a request that asks for a new session."""

FINAL_EPOCH = -1
"""The session epoch of a request that wants no session."""

LARGEST_EPOCH = LARGEST_ID = 2**31 - 1

EVICTION_MS = 120_000
"""The shortest time that a session is idle, or exists, before another session may replace it."""

MAX_PARTITIONS = 200_000
"""The most partitions of all sessions together, about 100 MB; Kafka has no such bound.

Beyond it no session begins, and one that would grow ends: its client begins again with a whole request.
"""

MAX_SESSION_PARTITIONS = 5_000
"""The most partitions of one session: going through them takes some 10 ms for each fetch."""

W = TypeVar("W")
"""The type of what a client asks of one partition."""


class PartitionResult(NamedTuple):
    """The result of a fetch from one partition, as far as it decides whether the answer includes it.

    Attributes:
        high_watermark: The high watermark, or -1.
        log_start_offset: The log start offset, or -1.
        is_error: Whether it is an error.
        is_due: Whether the answer includes it even if nothing changed: there are records, a preferred read
            replica or a divergence.
    """

    high_watermark: Offset
    log_start_offset: Offset
    is_error: bool = False
    is_due: bool = False


@dataclass(slots=True)
class CachedPartition(Generic[W]):
    """One partition of a session.

    Attributes:
        wanted: What the client wants of it.
        high_watermark: The high watermark in the last answer that included it, or -1.
        log_start_offset: The log start offset in the last answer that included it, or -1.
    """

    wanted: W
    high_watermark: int = -1
    log_start_offset: int = -1

    def must_include(self, result: PartitionResult) -> bool:
        """Return whether an incremental answer includes the partition, and remember what the answer says.

        Source: ``CachedPartition.maybeUpdateResponseData``.

        The answer after an error includes the partition again.
        """
        is_changed = (
            result.high_watermark != self.high_watermark or result.log_start_offset != self.log_start_offset
        )
        self.high_watermark = -1 if result.is_error else result.high_watermark
        self.log_start_offset = result.log_start_offset
        return is_changed or result.is_error or result.is_due


@dataclass(slots=True)
class FetchSession(Generic[W]):
    """One session.

    Attributes:
        id: Its number, which only its client knows.
        privileged: Whether it is a follower's.
        created_ms: When it began.
        used_ms: When its last request came.
        epoch: The session epoch that its next request must have.
        partitions: What it fetches; the one that an answer included last is the last.
        size: The number of its partitions at its last request.
    """

    id: int
    privileged: bool
    created_ms: int
    used_ms: int
    epoch: int
    partitions: OrderedDict[TopicPartition, CachedPartition[W]]
    size: int = 0


class Kind(Enum):
    """The relation of a request to sessions."""

    SESSIONLESS = "answered whole, and no session begins"
    FULL = "answered whole, and a session begins if there is room"
    INCREMENTAL = "answered with what is new in its session"


@dataclass(frozen=True, slots=True)
class SessionRequest(Generic[W]):
    """The fields of a Fetch that concern its session.

    Attributes:
        id: The session that it names, or 0.
        epoch: The session epoch.
        wanted: The partitions that it names.
        forgotten: The partitions that it no longer wants.
        privileged: Whether it is a follower's.
    """

    id: int
    epoch: int
    wanted: Mapping[TopicPartition, W]
    forgotten: Iterable[TopicPartition] = ()
    privileged: bool = False


@dataclass(frozen=True, slots=True)
class FetchContext(Generic[W]):
    """A Fetch that is to be read.

    Attributes:
        kind: How it is answered.
        wanted: The partitions to read, in order.
        session: Its session, if it has one.
        epoch: The epoch that the session must still expect when the answer is made.
        privileged: Whether it is a follower's.
    """

    kind: Kind
    wanted: Mapping[TopicPartition, W]
    session: FetchSession[W] | None = None
    epoch: int = INITIAL_EPOCH
    privileged: bool = False


@dataclass(frozen=True, slots=True)
class SessionAnswer:
    """The answer to a Fetch, as far as the session decides it.

    Attributes:
        session_id: The session id of the answer.
        error: ``INVALID_FETCH_SESSION_EPOCH`` if the session has moved on meanwhile.
        included: The partitions that the answer includes; None stands for all.
    """

    session_id: int = NO_SESSION
    error: ErrorCode = ErrorCode.NONE
    included: frozenset[TopicPartition] | None = None


def next_epoch(epoch: int) -> int:
    """Return the session epoch after ``epoch``; it skips 0 and -1, which have other meanings."""
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == LARGEST_EPOCH else epoch + 1


class _Key(NamedTuple):
    """The value of a session, by which sessions are ordered: the least valuable one is evicted first."""

    privileged: bool
    size: int
    id: int


@dataclass(slots=True)
class FetchSessionCache(Generic[W]):
    """The sessions of one broker.

    Attributes:
        slots: The most sessions (``max.incremental.fetch.session.cache.slots``).
        new_id: Returns a random number from 1 to 2^31-2.
        on_evicted: Called for each session that was evicted for another one.
        partition_count: The number of partitions of all sessions.
    """

    slots: int
    new_id: Callable[[], int]
    on_evicted: Callable[[], None] = lambda: None
    partition_count: int = 0
    _sessions: OrderedDict[int, FetchSession[W]] = field(default_factory=OrderedDict)
    _evictable: dict[bool, list[_Key]] = field(default_factory=lambda: {False: [], True: []})
    """The sessions that may be evicted, the least valuable first.

    The key says whether a privileged session asks.
    """

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: SessionRequest[W], now_ms: int) -> FetchContext[W] | ErrorCode:
        """Find the partitions that a request wants, with the help of its session if it names one.

        Returns:
            The context, or ``FETCH_SESSION_ID_NOT_FOUND`` or ``INVALID_FETCH_SESSION_EPOCH``.
        """
        if request.epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if (named := self._sessions.get(request.id)) is not None:
                self._remove(named)
            kind = Kind.FULL if request.epoch == INITIAL_EPOCH else Kind.SESSIONLESS
            return FetchContext(kind, request.wanted, privileged=request.privileged)
        session = self._sessions.get(request.id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != request.epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        partitions = session.partitions
        if not self._may_hold(len(request.wanted), len(partitions)):
            self._remove(session)
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        for topic_partition, wanted in request.wanted.items():
            cached = partitions.get(topic_partition)
            if cached is None:
                partitions[topic_partition] = CachedPartition(wanted)
            else:
                cached.wanted = wanted
        for gone in request.forgotten:
            partitions.pop(gone, None)
        if not partitions:
            self._remove(session)
            return FetchContext(Kind.SESSIONLESS, request.wanted)
        session.epoch = next_epoch(session.epoch)
        self._touch(session, now_ms)
        every = {topic_partition: cached.wanted for topic_partition, cached in partitions.items()}
        return FetchContext(Kind.INCREMENTAL, every, session, session.epoch)

    def finish(
        self, context: FetchContext[W], results: Mapping[TopicPartition, PartitionResult], now_ms: int
    ) -> SessionAnswer:
        """Decide which partitions an answer includes, and begin a session if the request asks for one."""
        match context.kind:
            case Kind.SESSIONLESS:
                return SessionAnswer()
            case Kind.FULL:
                return SessionAnswer(self._create(context, results, now_ms))
            case Kind.INCREMENTAL:
                return self._incremental(context, results)
            case unknown:
                assert_never(unknown)

    @staticmethod
    def throttled(context: FetchContext[W]) -> SessionAnswer:
        """Return the answer to a client that must wait: no partitions, and the session stays as it is."""
        session = context.session
        if session is None:
            return SessionAnswer(included=frozenset())
        error = ErrorCode.NONE if session.epoch == context.epoch else ErrorCode.INVALID_FETCH_SESSION_EPOCH
        return SessionAnswer(session.id, error, frozenset())

    @staticmethod
    def _incremental(
        context: FetchContext[W], results: Mapping[TopicPartition, PartitionResult]
    ) -> SessionAnswer:
        session = context.session
        if session is None or session.epoch != context.epoch:
            session_id = NO_SESSION if session is None else session.id
            return SessionAnswer(session_id, ErrorCode.INVALID_FETCH_SESSION_EPOCH, frozenset())
        included = set()
        for topic_partition, each in results.items():
            cached = session.partitions[topic_partition]
            if cached.must_include(each):
                included.add(topic_partition)
                session.partitions.move_to_end(topic_partition)
        return SessionAnswer(session.id, included=frozenset(included))

    def _create(
        self, context: FetchContext[W], results: Mapping[TopicPartition, PartitionResult], now_ms: int
    ) -> int:
        size = len(results)
        if not self._may_hold(size):
            return NO_SESSION
        if len(self._sessions) >= self.slots and not self._evict(context.privileged, size, now_ms):
            return NO_SESSION
        partitions = OrderedDict(
            (
                topic_partition,
                CachedPartition(context.wanted[topic_partition], each.high_watermark, each.log_start_offset),
            )
            for topic_partition, each in results.items()
        )
        number = self.new_id()
        while number in self._sessions:
            number = self.new_id()
        session = FetchSession(
            number, context.privileged, now_ms, now_ms, next_epoch(INITIAL_EPOCH), partitions
        )
        self._sessions[number] = session
        self._touch(session, now_ms)
        return number

    def _may_hold(self, more: int, held: int = 0) -> bool:
        """Return whether a session that has ``held`` partitions may have so many more."""
        return held + more <= MAX_SESSION_PARTITIONS and self.partition_count + more <= MAX_PARTITIONS

    def _evict(self, privileged: bool, size: int, now_ms: int) -> bool:
        """Evict the stalest session, else the least valuable one if the new one is more valuable."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now_ms - oldest.used_ms > EVICTION_MS:
            victim = oldest
        else:
            evictable = self._evictable[privileged]
            if not evictable or _Key(privileged, size, 0) < evictable[0]:
                return False
            victim = self._sessions[evictable[0].id]
        self._remove(victim)
        self.on_evicted()
        return True

    def _remove(self, session: FetchSession[W]) -> None:
        del self._sessions[session.id]
        self._forget_value(session)
        self.partition_count -= session.size

    def _touch(self, session: FetchSession[W], now_ms: int) -> None:
        """Record that a session is used now, which may change its value."""
        self._forget_value(session)
        self.partition_count += len(session.partitions) - session.size
        session.used_ms = now_ms
        session.size = len(session.partitions)
        self._sessions.move_to_end(session.id)
        key = _Key(session.privileged, session.size, session.id)
        is_old = now_ms - session.created_ms > EVICTION_MS
        if is_old or not session.privileged:
            insort(self._evictable[True], key)
        if is_old:
            insort(self._evictable[False], key)

    def _forget_value(self, session: FetchSession[W]) -> None:
        key = _Key(session.privileged, session.size, session.id)
        for keys in self._evictable.values():
            at = bisect_left(keys, key)
            if at < len(keys) and keys[at] == key:
                del keys[at]
