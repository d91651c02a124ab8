"""A group in any order of requests and events, against its twin; and what holds in every order."""

from __future__ import annotations

from dataclasses import astuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from barnabas.broker.core.group.effects import AssignmentWrite, EmptyGroupWrite, StaticMemberWrite, TimerKey
from barnabas.broker.core.group.requests import GroupProtocol
from barnabas.broker.core.group.results import JoinGroupResult
from barnabas.broker.core.group.settings import GroupSettings
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode
from tests.unit.broker.core.group.parts import JOIN, PENDING, SESSION, SYNC, Coordinator, G
from tests.unit.broker.core.group.twin import Twin

A1, A2, B, C = (GroupProtocol(*each) for each in (("a", b"1"), ("a", b"2"), ("b", b""), ("c", b"")))
PROTOCOLS = st.sampled_from([(A1,), (A2,), (A1, B), (B, A1), (B,), (B, C), (C, A1), ()])
INSTANCES = st.sampled_from([None, None, "i", "j"])
WRITE_ERRORS = [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR, ErrorCode.INVALID_TOPIC_EXCEPTION]
KINDS = {AssignmentWrite: "assignment", EmptyGroupWrite: "empty", StaticMemberWrite: "static"}


class GroupAndTwin(RuleBasedStateMachine):
    """Drives a group and its twin by the same requests, events and times."""

    @initialize(max_size=st.sampled_from([2, 3, 99]), delay=st.sampled_from([0, 3000, 20_000]))
    def begin(self, max_size, delay):
        self.coordinator = Coordinator(GroupSettings(6000, 1_800_000, max_size, delay))
        self.coordinator.groups.get_or_create(G, self.coordinator.now_ms)
        self.twin = Twin(max_size, delay, self.coordinator.now_ms)
        self.ids = [""]
        self.generations = {}
        self.joins = 0

    def id(self, data):
        return data.draw(st.sampled_from([*self.ids[-5:], "stranger"]), label="member")

    def known(self, data):
        """Mostly a member as it should present itself."""
        members = list(self.coordinator.group.members.values())
        if members and data.draw(st.integers(0, 3), label="known"):
            member = data.draw(st.sampled_from(members))
            return member.member_id, member.instance_id
        return self.id(data), data.draw(INSTANCES)

    def generation(self, data):
        current = self.coordinator.group.generation
        return data.draw(st.sampled_from([current, current, current, current - 1, -1]))

    def send_join(self, **fields):
        token = self.coordinator.join(**fields)
        self.joins += 1
        self.ids.append(f"{fields['instance'] or 'c'}-uuid{self.joins}")
        self.twin.join(token, self.ids[-1], **fields)

    @rule(
        data=st.data(),
        known=st.booleans(),
        instance=INSTANCES,
        protocols=PROTOCOLS,
        times=st.sampled_from([(6000, 0), (10_000, 9000), (10_000, 60_000), (5999, 60_000)]),
    )
    def a_client_joins(self, data, known, instance, protocols, times):
        type_ = data.draw(st.sampled_from(["consumer"] * 5 + ["connect", ""]))
        session, rebalance = times
        member_id = data.draw(st.sampled_from(["", "", "", *self.ids[-5:], "stranger"]))
        self.send_join(
            member_id=member_id,
            instance=instance,
            known=known,
            protocols=protocols,
            type_=type_,
            session=session,
            rebalance=rebalance,
        )

    @rule(data=st.data(), protocols=PROTOCOLS, unchanged=st.booleans(), restarted=st.booleans())
    def a_member_joins_again(self, data, protocols, unchanged, restarted):
        members = list(self.coordinator.group.members.values())
        if members:
            member = data.draw(st.sampled_from(members))
            self.send_join(
                member_id="" if restarted and member.is_static else member.member_id,
                instance=member.instance_id,
                known=False,
                protocols=member.protocols if unchanged else protocols,
                type_="consumer",
                session=10_000,
                rebalance=60_000,
            )

    @rule()
    def the_group_settles(self):
        """End the round, let the leader assign, write the record: most groups are stable most of the time."""
        group = self.coordinator.group
        while group.state is GroupState.PREPARING_REBALANCE and (group.initial_delay or group.awaiting_join):
            self.end_timer(TimerKey(JOIN, G))
        if group.state is GroupState.COMPLETING_REBALANCE:
            self.leader_syncs()
            while self.coordinator.writes:
                self.a_write_ends(ErrorCode.NONE)

    @rule(data=st.data(), protocol=st.sampled_from([None, None, "a", "b"]))
    def sync(self, data, protocol):
        member_id, instance = self.known(data)
        generation = self.generation(data)
        assignments = {each: each.encode() for each in self.ids[1:]}
        token = self.coordinator.sync(
            member_id, assignments, generation=generation, instance=instance, protocol=protocol
        )
        self.twin.sync(token, (member_id, instance, generation), protocol, assignments)

    @rule()
    def leader_syncs(self):
        leader = self.coordinator.group.leader
        if leader is not None:
            assignments = {each: each.encode() for each in self.coordinator.group.members}
            token = self.coordinator.sync(leader, assignments)
            self.twin.sync(token, (leader, None, self.twin.generation), None, assignments)

    @rule(data=st.data())
    def heartbeat(self, data):
        member_id, instance = self.known(data)
        generation = self.generation(data)
        error = self.coordinator.heartbeat(member_id, generation=generation, instance=instance)
        assert error is self.twin.heartbeat(member_id, instance, generation)

    @rule(data=st.data())
    def commit(self, data):
        member_id, instance = self.known(data)
        generation = self.generation(data)
        error = self.coordinator.commit(member_id, generation=generation, instance=instance)
        assert error is self.twin.commit(member_id, instance, generation)

    @rule(data=st.data())
    def leave(self, data):
        member_id, instance = self.known(data)
        errors = self.coordinator.leave((member_id, instance))
        assert errors == [self.twin.leave(member_id, instance)]

    @rule(error=st.sampled_from(WRITE_ERRORS))
    def a_write_ends(self, error):
        if self.coordinator.writes:
            self.coordinator.written(error)
            self.twin.written(error)

    @rule(data=st.data())
    def a_timer_ends(self, data):
        timers = self.coordinator.timers
        if timers:
            first = min(timers.values())
            self.end_timer(data.draw(st.sampled_from([key for key, at in timers.items() if at == first])))

    def end_timer(self, key):
        """End a timer, even before others that should have ended: no clock is exact."""
        self.coordinator.now_ms = self.twin.now = max(
            self.coordinator.timers.pop(key), self.coordinator.now_ms
        )
        self.coordinator.expire(key)
        ends = {
            SESSION: self.twin.session_ends,
            PENDING: self.twin.pending_gone,
            JOIN: lambda _: self.twin.round_is_over(),
            SYNC: lambda _: self.twin.syncs_are_over(),
        }
        ends[key.kind](key.member_id)

    @rule(ms=st.integers(1, 5000))
    def time_passes(self, ms):
        first = min(self.coordinator.timers.values(), default=self.coordinator.now_ms + ms)
        self.coordinator.now_ms = self.twin.now = max(
            self.coordinator.now_ms, min(first, self.coordinator.now_ms + ms)
        )

    @invariant()
    def the_twin_agrees(self):
        group, twin = self.coordinator.group, self.twin
        assert (group.state.value, group.generation, group.leader) == (
            twin.state,
            twin.generation,
            twin.leader,
        )
        assert (group.protocol_type, group.protocol) == (twin.type, twin.protocol)
        assert [
            (m.member_id, m.instance_id, m.protocols, m.join_token, m.sync_token, m.is_new, m.assignment)
            for m in group.members.values()
        ] == [(m.id, m.instance, m.protocols, m.join, m.sync, m.new, m.assignment) for m in twin.members]
        assert group.static_members == {m.instance: m.id for m in twin.members if m.instance is not None}
        assert group.pending_sync == set(twin.unsynced)
        assert self.coordinator.timers == self.timers_of_twin()
        assert {
            token: self.plain(result) for token, result in self.coordinator.answers.items()
        } == twin.answers
        assert [KINDS[type(each.write)] for each in self.coordinator.writes] == [
            kind for kind, *_ in twin.writes
        ]

    def timers_of_twin(self):
        twin = self.twin
        timers = {TimerKey(SESSION, G, member_id): at for member_id, at in twin.sessions.items()}
        timers |= {TimerKey(PENDING, G, member_id): at for member_id, at in twin.pending.items()}
        if twin.round_ends is not None:
            timers[TimerKey(JOIN, G)] = twin.round_ends
        if twin.syncs_end is not None:
            timers[TimerKey(SYNC, G)] = twin.syncs_end
        return timers

    @staticmethod
    def plain(result):
        if isinstance(result, JoinGroupResult):
            shown = (result.member_id, result.error, result.generation, result.protocol_type, result.protocol)
            return (*shown, result.leader, result.members)
        return astuple(result)

    @invariant()
    def no_answer_is_lost(self):
        members = self.coordinator.group.members.values()
        parked = [t for m in members for t in (m.join_token, m.sync_token) if t is not None]
        assert sorted(parked) == sorted(self.coordinator.unanswered())

    @invariant()
    def all_of_a_generation_are_told_the_same(self):
        for result in self.coordinator.answers.values():
            if isinstance(result, JoinGroupResult) and result.error is ErrorCode.NONE:
                notified = (result.protocol_type, result.protocol)
                assert self.generations.setdefault(result.generation, notified) == notified

    @invariant()
    def a_timer_runs_for_everything_that_is_awaited(self):
        group, timers = self.coordinator.group, self.coordinator.timers
        assert (TimerKey(JOIN, G) in timers) == (group.state is GroupState.PREPARING_REBALANCE)
        assert (TimerKey(SYNC, G) in timers) == bool(group.pending_sync)
        for member in group.members.values():
            assert TimerKey(SESSION, G, member.member_id) in timers or (
                member.is_parked and not member.is_new
            )
        assert all(TimerKey(PENDING, G, each) in timers for each in group.pending_members)

    def teardown(self):
        if hasattr(self, "coordinator"):
            self.coordinator.unload()
            assert not self.coordinator.unanswered()
            assert not self.coordinator.timers


TestGroupAndTwin = GroupAndTwin.TestCase
TestGroupAndTwin.settings = settings(stateful_step_count=40)
