"""A partition of ``__consumer_offsets`` that moves between coordinators, with requests in any order.

The log is a list of batches of which a part is committed. A coordinator that fails answers nobody any more;
its successor has at least the committed part and loads its groups from it.
"""

from __future__ import annotations

from itertools import count

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from barnabas.broker.core.group import effects as fx
from barnabas.broker.core.group.loading import load_group
from barnabas.broker.core.group.log_reading import GroupLoad
from barnabas.broker.core.group.offsets import GroupOffsets
from barnabas.broker.core.group.records import (
    OffsetAndMetadata,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from barnabas.broker.core.group.states import GroupState
from barnabas.broker.core.group.writes import group_written
from barnabas.broker.core.records.batch_builder import BatchBuilder
from barnabas.broker.core.records.record_batch import Codec, stamp
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.steps import at_once
from tests.unit.broker.core.group.parts import Coordinator, G

TP = TopicPartition("t", 0)


class LoggedCoordinator(Coordinator):
    """A coordinator whose writes go to the log of its world."""

    def __init__(self, world) -> None:
        super().__init__()
        self.world = world
        self.offsets = GroupOffsets()

    def perform(self, effects) -> None:
        super().perform(effects)
        while self.writes:
            effect = self.writes.popleft()
            key, value = encode_group_key(G), encode_group_value(effect.record)
            self.world.append(key, value, self.end_of(effect.write))

    def end_of(self, write: fx.GroupWrite):
        return lambda error, _: self.perform(group_written(write, error, self.now_ms))


class MovingCoordinator(RuleBasedStateMachine):
    """Clients of one group, its coordinators one after the other, and the log between them."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[bytes, bytes]] = []
        self.committed = 0
        self.waiting: list[tuple[int, object]] = []
        self.commits = count(1)
        self.assignments = count(1)
        self.acknowledged = 0
        self.loaded = 0
        self.promised: dict[str, tuple[int, bytes]] = {}
        self.syncs: dict[int, tuple[str, int]] = {}
        self.coordinator = LoggedCoordinator(self)

    @property
    def group(self):
        return self.coordinator.groups.by_id.get(G)

    def append(self, key, value, end) -> None:
        self.log.append((key, value))
        self.waiting.append((len(self.log), end))

    @initialize()
    def begin(self):
        """A stable group of three, whose record is committed."""
        for _ in range(3):
            self.coordinator.join()
        self.the_round_ends()
        self.followers_fetch(3)

    # What clients do.

    @rule(known=st.booleans(), instance=st.sampled_from([None, None, "i"]))
    def join(self, known, instance):
        self.coordinator.join(known=known, instance=instance)

    @rule(data=st.data())
    def a_member_joins_again(self, data):
        members = self.group and [*self.group.members.values()]
        pending = self.group and [*self.group.pending_members]
        if pending:
            self.coordinator.join(data.draw(st.sampled_from(sorted(pending))))
        elif members:
            member = data.draw(st.sampled_from(members))
            self.coordinator.join(member.member_id, instance=member.instance_id)

    @rule()
    def the_round_ends(self):
        """Let all members join again and, where the group was new, wait for its initial delay."""
        while (
            self.group is not None
            and self.group.members
            and self.group.state is GroupState.PREPARING_REBALANCE
        ):
            for member in [*self.group.members.values()]:
                self.coordinator.join(member.member_id, instance=member.instance_id)
            if self.group.state is GroupState.PREPARING_REBALANCE:
                self.coordinator.advance(self.coordinator.config.initial_rebalance_delay_ms)
        self.everyone_syncs()

    @rule()
    def everyone_is_alive(self):
        for member_id in [*self.group.members] if self.group is not None else ():
            self.coordinator.heartbeat(member_id)

    @rule()
    def everyone_syncs(self):
        if self.group is not None:
            generation, number = self.group.generation, next(self.assignments)
            given = {each: f"{each} {number}".encode() for each in self.group.members}
            for member_id in [*self.group.members]:
                token = self.coordinator.sync(member_id, given)
                self.syncs[token] = (member_id, generation)

    @rule(data=st.data())
    def leave(self, data):
        if self.group is not None and self.group.members:
            self.coordinator.leave(data.draw(st.sampled_from([*self.group.members])))

    @rule(data=st.data())
    def commit(self, data):
        members = [*self.group.members] if self.group is not None else []
        member_id = data.draw(st.sampled_from(["", *members]))
        generation = self.group.generation if member_id else -1
        if self.coordinator.commit(member_id, generation=generation) is ErrorCode.NONE:
            number = next(self.commits)
            commits = {TP: OffsetAndMetadata(number, -1, "", 0)}
            offsets = self.coordinator.offsets
            offsets.prepare(commits)

            def end(error, log_offset):
                if error is ErrorCode.NONE:
                    offsets.complete(commits, log_offset)
                    self.acknowledged = max(self.acknowledged, number)
                else:
                    offsets.abandon(commits)

            self.append(encode_offset_key(G, TP), encode_offset_value(commits[TP]), end)

    # What happens to them.

    @rule(ms=st.sampled_from([1, 3000, 6000, 9999]))
    def time_passes(self, ms):
        self.coordinator.advance(ms)

    @rule(batches=st.integers(1, 3))
    def followers_fetch(self, batches):
        self.committed = min(len(self.log), self.committed + batches)
        while self.waiting and self.waiting[0][0] <= self.committed:
            end, done = self.waiting.pop(0)
            done(ErrorCode.NONE, end - 1)

    @rule()
    def a_write_times_out(self):
        if self.waiting:
            _, done = self.waiting.pop(0)
            done(ErrorCode.REQUEST_TIMED_OUT, -1)

    @rule(data=st.data())
    def the_leader_moves(self, data):
        former = self.coordinator
        kept = data.draw(st.integers(self.committed, len(self.log)), label="batches of the successor")
        former.unload()
        waiting, self.waiting = self.waiting, []
        for _, done in waiting:
            done(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        assert not former.unanswered()
        assert not former.timers
        self.note_answers()
        del self.log[kept:]
        self.load(former)

    def load(self, former):
        """Let another broker become the coordinator; tokens and member ids go on, none comes twice."""
        self.coordinator = successor = LoggedCoordinator(self)
        successor._tokens, successor._uuids = former._tokens, former._uuids
        successor.now_ms = former.now_ms
        self.syncs.clear()
        self.loaded = len(self.log)
        load = GroupLoad()
        for offset, (key, value) in enumerate(self.log):
            batch = BatchBuilder(0, 1_000_000)
            batch.add(key, value)
            at_once(load.add(b"".join(stamp(batch.build(Codec.UNCOMPRESSED), offset, 0)), 0))
        assert not load.damaged
        for group_id, loaded in at_once(load.groups()):
            assert group_id == G
            successor.offsets = loaded.offsets
            now_ms = successor.now_ms
            successor.perform(load_group(successor.config, successor.groups, G, loaded.stored, now_ms))

    # What must hold.

    def note_answers(self):
        """Remember assignments that members got and that no later coordinator may lack.

        A coordinator loads its groups up to the log's end, as Kafka's does
        (``GroupMetadataManager.doLoadGroupsAndOffsets``). What it answers from batches that are not committed
        yet may be lost with them: the member then gets ILLEGAL_GENERATION, and joins again.
        """
        is_durable = self.committed >= self.loaded
        for token, (member_id, generation) in list(self.syncs.items()):
            answer = self.coordinator.answers.get(token)
            if answer is not None:
                del self.syncs[token]
                if answer.error is ErrorCode.NONE and is_durable:
                    self.promised[member_id] = (generation, answer.assignment)

    @invariant()
    def no_acknowledged_commit_goes_back(self):
        committed = self.coordinator.offsets.get(TP)
        assert (committed.offset if committed else 0) >= self.acknowledged

    @invariant()
    def what_members_were_assigned_is_known(self):
        self.note_answers()
        for member_id, (generation, assignment) in self.promised.items():
            assert self.group is not None
            assert self.group.generation >= generation
            member = self.group.members.get(member_id)
            if (
                member is not None
                and self.group.generation == generation
                and self.group.state is GroupState.STABLE
            ):
                assert member.assignment == assignment


def test_groups_and_offsets_survive_their_coordinators():
    run_state_machine_as_test(
        MovingCoordinator,
        settings=settings(
            stateful_step_count=40,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
