"""A coordinator of one partition without a clock or a log: it performs effects and remembers the answers."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import count

from barnabas.broker.core.group import effects as fx
from barnabas.broker.core.group.group import PartitionGroups
from barnabas.broker.core.group.join import join_group
from barnabas.broker.core.group.leave import leave_group
from barnabas.broker.core.group.loading import unload_groups
from barnabas.broker.core.group.member_calls import check_offset_commit, heartbeat
from barnabas.broker.core.group.requests import GroupProtocol, JoinGroup, LeavingMember, MemberCall, SyncGroup
from barnabas.broker.core.group.settings import GroupSettings
from barnabas.broker.core.group.states import GroupState
from barnabas.broker.core.group.sync import sync_group
from barnabas.broker.core.group.timeouts import timer_expired
from barnabas.broker.core.group.writes import group_written
from barnabas.cluster.model.errors import ErrorCode

CONFIG = GroupSettings(6000, 1_800_000, 2**31 - 1, 3000)
NO_DELAY = replace(CONFIG, initial_rebalance_delay_ms=0)
G = "g"
PARTITION = 12
RANGE = (GroupProtocol("range", b"r"),)
BOTH = (GroupProtocol("range", b"r"), GroupProtocol("roundrobin", b"rr"))

JOIN, SYNC, SESSION, PENDING = (
    fx.TimerKind.JOIN,
    fx.TimerKind.SYNC,
    fx.TimerKind.SESSION,
    fx.TimerKind.PENDING_MEMBER,
)


class Coordinator:
    """Performs the effects of decisions; time moves by `advance` alone, writes end by `written` alone."""

    def __init__(self, config: GroupSettings = CONFIG) -> None:
        self.config = config
        self.groups = PartitionGroups(PARTITION)
        self.now_ms = 1_000_000
        self.answers: dict[int, object] = {}
        self.asked: set[int] = set()
        self.timers: dict[fx.TimerKey, int] = {}
        self.writes: deque[fx.PersistGroup] = deque()
        self.log: list[tuple[str, str]] = []
        self.removed: list[fx.GroupRemoved] = []
        self._tokens = count(1)
        self._uuids = count(1)

    @property
    def group(self):
        return self.groups.by_id[G]

    def perform(self, effects) -> None:
        for effect in effects:
            match effect:
                case fx.Answer(token, result):
                    assert token in self.asked, "an answer to nothing"
                    assert token not in self.answers, "a second answer"
                    self.answers[token] = result
                case fx.SetTimer(key, delay_ms):
                    assert delay_ms >= 0
                    self.timers[key] = self.now_ms + delay_ms
                case fx.ClearTimer(key):
                    self.timers.pop(key, None)
                case fx.PersistGroup():
                    self.writes.append(effect)
                case fx.Log():
                    self.log.append((effect.level.value, effect.text))
                case fx.GroupRemoved():
                    self.removed.append(effect)

    def unanswered(self) -> set[int]:
        return self.asked - self.answers.keys()

    def _token(self) -> int:
        token = next(self._tokens)
        self.asked.add(token)
        return token

    def join(
        self,
        member_id="",
        *,
        instance=None,
        known=True,
        protocols=RANGE,
        type_="consumer",
        session=10_000,
        rebalance=60_000,
        client="c",
        group=G,
    ) -> int:
        """Send a JoinGroup; ``known`` is that of versions below 4, which need no second join."""
        request = JoinGroup(
            group,
            member_id,
            instance,
            not known and instance is None,
            client,
            "/127.0.0.1",
            rebalance,
            session,
            type_,
            protocols,
            f"uuid{next(self._uuids)}",
        )
        token = self._token()
        self.perform(join_group(self.config, self.groups, request, token, self.now_ms))
        return token

    def sync(
        self, member_id, assignments=(), *, generation=None, instance=None, type_=None, protocol=None, group=G
    ):
        if generation is None:
            generation = self.group.generation
        token = self._token()
        request = SyncGroup(group, generation, member_id, instance, type_, protocol, dict(assignments))
        self.perform(sync_group(self.groups, request, token))
        return token

    def heartbeat(self, member_id, *, generation=None, instance=None, group=G) -> ErrorCode:
        if generation is None:
            generation = self.group.generation
        error, effects = heartbeat(self.groups, MemberCall(group, generation, member_id, instance))
        self.perform(effects)
        return error

    def commit(self, member_id, *, generation=None, instance=None, group=G) -> ErrorCode:
        if generation is None:
            generation = self.group.generation
        call = MemberCall(group, generation, member_id, instance)
        error, effects = check_offset_commit(self.groups, call, self.now_ms)
        self.perform(effects)
        return error

    def leave(self, *members, group=G) -> list[ErrorCode]:
        """Let members leave, each given by its id or as (id, instance id)."""
        leaving = [
            LeavingMember(each, None) if isinstance(each, str) else LeavingMember(*each) for each in members
        ]
        left, effects = leave_group(self.groups, group, leaving, self.now_ms)
        self.perform(effects)
        assert [each.member for each in left] == leaving
        return [each.error for each in left]

    def written(self, error=ErrorCode.NONE) -> None:
        """End the oldest write."""
        write = self.writes.popleft().write
        self.perform(group_written(write, error, self.now_ms))

    def unload(self) -> None:
        self.perform(unload_groups(self.groups, self.now_ms))

    def advance(self, ms: int) -> None:
        """Let time pass; timers end in the order of their times."""
        end = self.now_ms + ms
        while self.timers:
            key = min(self.timers, key=self.timers.__getitem__)
            if self.timers[key] > end:
                break
            self.now_ms = max(self.now_ms, self.timers.pop(key))
            self.expire(key)
        self.now_ms = end

    def expire(self, key) -> None:
        """End a timer that was taken out of `timers`."""
        self.perform(timer_expired(self.groups, key, self.now_ms))

    def stable(self, *members: str, **kwargs) -> list[str]:
        """Form a group of the named clients and bring it to Stable; returns the member ids."""
        tokens = [self.join(client=name, **kwargs) for name in members]
        while self.group.state is GroupState.PREPARING_REBALANCE:
            self.advance(self.timers[fx.TimerKey(JOIN, G)] - self.now_ms)
        ids = [self.answers[token].member_id for token in tokens]
        self.sync_all(ids)
        return ids

    def sync_all(self, ids) -> None:
        """Let all members sync, the leader with an assignment that names each member."""
        for member_id in ids:
            self.sync(member_id, {each: f"a-{each}".encode() for each in ids})
        self.written()

    def lines(self, level="info") -> list[str]:
        return [text for each, text in self.log if each == level]
