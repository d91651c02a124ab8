"""A group written down a second time: slow, without counters, one list of members, straight from the rules.

Rules: ``GroupCoordinator.scala`` of Kafka 2.8. The one group exists from the start. Times are absolute.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.cluster.model.errors import ErrorCode as E

EMPTY, PREPARING, COMPLETING, STABLE = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"
FIVE_MINUTES = 300_000


@dataclass
class TwinMember:
    id: str
    instance: str | None
    rebalance: int
    session: int
    protocols: tuple
    join: int | None
    sync: int | None = None
    new: bool = True
    assignment: bytes = b""

    @property
    def names(self):
        return [name for name, _ in self.protocols]


@dataclass
class Twin:
    """What a group must look like and must have answered."""

    max_size: int
    delay: int
    now: int = 0
    state: str = EMPTY
    generation: int = 0
    assigned: int = -1
    type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: list[TwinMember] = field(default_factory=list)
    pending: dict[str, int] = field(default_factory=dict)
    unsynced: list[str] = field(default_factory=list)
    sessions: dict[str, int] = field(default_factory=dict)
    round_ends: int | None = None
    syncs_end: int | None = None
    first_round: tuple[int, int] | None = None
    grown: bool = False
    answers: dict[int, tuple] = field(default_factory=dict)
    writes: list[tuple] = field(default_factory=list)

    # What is known.

    def find(self, member_id):
        return next((each for each in self.members if each.id == member_id), None)

    def static(self, instance):
        return next(
            (each for each in self.members if instance is not None and each.instance == instance), None
        )

    def common(self):
        return [name for name in self.members[0].names if all(name in each.names for each in self.members)]

    def longest_rebalance(self):
        return max([0, *(each.rebalance for each in self.members)])

    def elected_protocol(self):
        votes = [next(name for name in each.names if name in self.common()) for each in self.members]
        return max(votes, key=lambda name: (votes.count(name), -votes.index(name)))

    def joined(self):
        return [each for each in self.members if each.join is not None]

    # What is answered.

    def answer_join(self, member, *answer):
        if member.join is not None:
            self.answers[member.join] = answer
            member.join = None

    def answer_sync(self, member, *answer):
        if member.sync is not None:
            self.answers[member.sync] = answer
            member.sync = None
            return True
        return False

    def joined_answer(self, member):
        listed = [(each.id, each.instance, dict(each.protocols)[self.protocol]) for each in self.members]
        seen = tuple(listed) if member.id == self.leader else ()
        return (member.id, E.NONE, self.generation, self.type, self.protocol, self.leader, seen)

    def alive(self, member):
        self.sessions[member.id] = self.now + (FIVE_MINUTES if member.new else member.session)

    # Requests.

    def join(self, token, new_id, *, member_id, **fields):
        refusal = self.judge_join(member_id, **fields)
        if refusal == "no room":
            refusal = ("", E.GROUP_MAX_SIZE_REACHED)
            if self.find(member_id) is not None:
                self.drop(self.find(member_id))
        elif refusal is None and member_id == "":
            refusal = self.join_without_id(token, new_id, **fields)
        elif refusal is None:
            refusal = self.join_with_id(token, member_id, **fields)
        if self.state == PREPARING:
            self.complete_if_all_joined()
        if refusal is not None:
            self.answers[token] = (*refusal, -1, None, None, "", ())

    def judge_join(self, member_id, *, protocols, type_, session, **_):
        if not 6000 <= session <= 1_800_000:
            return (member_id, E.INVALID_SESSION_TIMEOUT)
        member = self.find(member_id)
        if self.state == PREPARING:
            room = member in self.joined() or len(self.joined()) < self.max_size
        else:
            room = self.state == EMPTY or member is not None or len(self.members) < self.max_size
        if not room:
            return "no room"
        names = [name for name, _ in protocols]
        if self.state == EMPTY:
            fits = bool(type_ and names)
        else:
            shared = [name for name in names if all(name in each.names for each in self.members)]
            fits = type_ == self.type and bool(shared)
        return None if fits else (member_id, E.INCONSISTENT_GROUP_PROTOCOL)

    def join_without_id(self, token, new_id, *, instance, known, protocols, type_, session, rebalance):
        if self.static(instance) is not None:
            self.replace(token, self.static(instance), new_id, protocols)
        elif not known and instance is None:
            self.pending[new_id] = self.now + session
            return (new_id, E.MEMBER_ID_REQUIRED)
        else:
            self.add(TwinMember(new_id, instance, rebalance, session, protocols, token), type_)
        return None

    def join_with_id(self, token, member_id, *, instance, protocols, type_, session, rebalance, **_):
        if member_id in self.pending:
            if instance is not None:
                return (member_id, E.UNKNOWN_SERVER_ERROR)
            del self.pending[member_id]
            self.add(TwinMember(member_id, None, rebalance, session, protocols, token), type_)
            return None
        member = self.find(member_id)
        if self.fenced(member_id, instance):
            return (member_id, E.FENCED_INSTANCE_ID)
        if member is None or (instance is not None and self.static(instance) is None):
            return (member_id, E.UNKNOWN_MEMBER_ID)
        same = member.protocols == protocols
        if (self.state == COMPLETING and same) or (
            self.state == STABLE and same and member.id != self.leader
        ):
            self.answers[token] = self.joined_answer(member)
            return None
        self.park(member, token)
        member.protocols = protocols
        if self.state != PREPARING:
            self.rebalance()
        return None

    def park(self, member, token):
        self.answer_join(member, member.id, E.REBALANCE_IN_PROGRESS, -1, None, None, "", ())
        member.join = token

    def add(self, member, type_):
        if not self.members:
            self.type = type_
        if self.state == PREPARING and self.generation == 0:
            self.grown = True
        self.members.append(member)
        self.leader = self.leader or member.id
        self.alive(member)
        if self.state == EMPTY:
            self.state = PREPARING
            self.first_round = (self.delay, max(0, self.longest_rebalance() - self.delay))
            self.grown = False
            self.round_ends = self.now + self.delay
        elif self.state != PREPARING:
            self.rebalance()

    def replace(self, token, member, new_id, protocols):
        old_id, old_protocols, leader = member.id, member.protocols, self.leader
        self.answer_join(member, old_id, E.FENCED_INSTANCE_ID, -1, None, None, "", ())
        self.answer_sync(member, E.FENCED_INSTANCE_ID, None, None, b"")
        self.rename(member, new_id)
        self.members.remove(member)
        self.members.append(member)
        self.alive(member)
        member.protocols, member.join = protocols, token
        if self.state == COMPLETING or (self.state == STABLE and self.elected_protocol() != self.protocol):
            self.rebalance()
        elif self.state == STABLE:
            self.writes.append(("static", token, old_id, old_protocols, leader))

    def rename(self, member, new_id):
        self.sessions.pop(member.id, None)
        self.unsynced = [new_id if each == member.id else each for each in self.unsynced]
        if self.leader == member.id:
            self.leader = new_id
        member.id = new_id

    def fenced(self, member_id, instance):
        holder = self.static(instance)
        return holder is not None and holder.id != member_id

    def wrong(self, member_id, instance, generation):
        if self.fenced(member_id, instance):
            return E.FENCED_INSTANCE_ID
        if self.find(member_id) is None:
            return E.UNKNOWN_MEMBER_ID
        return E.NONE if generation == self.generation else E.ILLEGAL_GENERATION

    def sync(self, token, sender, protocol, assignments):
        member_id, instance, generation = sender
        error = self.wrong(member_id, instance, generation)
        if error is E.NONE and protocol not in {None, self.protocol}:
            error = E.INCONSISTENT_GROUP_PROTOCOL
        if error is E.NONE and self.state == PREPARING:
            error = E.REBALANCE_IN_PROGRESS
        if error is not E.NONE:
            self.answers[token] = (error, None, None, b"")
            return
        member = self.find(member_id)
        self.unsynced = [each for each in self.unsynced if each != member_id]
        if not self.unsynced:
            self.syncs_end = None
        if self.state == STABLE:
            self.answers[token] = (E.NONE, self.type, self.protocol, member.assignment)
            self.alive(member)
            return
        self.answer_sync(member, E.REBALANCE_IN_PROGRESS, None, None, b"")
        member.sync = token
        if member_id == self.leader and self.assigned != self.generation:
            self.assigned = self.generation
            kept = {each.id: assignments.get(each.id, b"") for each in self.members}
            self.writes.append(("assignment", self.generation, kept))

    def heartbeat(self, member_id, instance, generation):
        error = self.wrong(member_id, instance, generation)
        if error is E.NONE:
            self.alive(self.find(member_id))
            if self.state == PREPARING:
                return E.REBALANCE_IN_PROGRESS
        return error

    def commit(self, member_id, instance, generation):
        if generation < 0 and self.state == EMPTY:
            return E.NONE
        error = self.wrong(member_id, instance, generation)
        if error is E.NONE:
            if self.state == COMPLETING:
                return E.REBALANCE_IN_PROGRESS
            self.alive(self.find(member_id))
        return error

    def leave(self, member_id, instance):
        if member_id and self.fenced(member_id, instance):
            return E.FENCED_INSTANCE_ID
        if member_id in self.pending:
            if instance is not None:
                return E.UNKNOWN_SERVER_ERROR
            self.pending_gone(member_id)
            return E.NONE
        member = self.static(instance) or self.find(member_id)
        if member is None:
            return E.UNKNOWN_MEMBER_ID
        self.remove(member)
        return E.NONE

    # Events.

    def pending_gone(self, member_id):
        del self.pending[member_id]
        if self.state == PREPARING:
            self.complete_if_all_joined()

    def session_ends(self, member_id):
        member = self.find(member_id)
        del self.sessions[member_id]
        if member.new or (member.join is None and member.sync is None):
            self.remove(member)

    def syncs_are_over(self):
        self.syncs_end = None
        for member_id in self.unsynced:
            self.drop(self.find(member_id))
        self.rebalance()

    def round_is_over(self):
        self.round_ends = None
        if self.first_round is not None and self.grown and self.first_round[1]:
            waited, rest = self.first_round
            self.grown = False
            again = min(self.delay, rest)
            self.first_round = (again, max(0, rest - waited))
            self.round_ends = self.now + again
            return
        self.first_round = None
        self.complete()

    def written(self, error):
        kind, *rest = self.writes.pop(0)
        if kind == "assignment":
            generation, assignments = rest
            if self.state != COMPLETING or self.generation != generation:
                return
            for each in self.members:
                each.assignment = assignments[each.id] if error is E.NONE else b""
                shown = (self.type, self.protocol) if error is E.NONE else (None, None)
                if self.answer_sync(each, error, *shown, each.assignment):
                    self.alive(each)
            if error is E.NONE:
                self.state = STABLE
            else:
                self.rebalance()
        elif kind == "static" and self.state == STABLE:
            token, old_id, old_protocols, leader = rest
            for each in list(self.members):
                if each.join == token:
                    if error is not E.NONE:
                        self.rename(each, old_id)
                        self.members.remove(each)
                        self.members.append(each)
                        each.protocols = old_protocols
                    shown = each.id if error is E.NONE else ""
                    answer = (shown, error, self.generation, self.type, self.protocol, leader, ())
                    self.answer_join(each, *answer)
                    self.alive(each)

    # Rounds.

    def drop(self, member):
        self.answer_join(member, "", E.UNKNOWN_MEMBER_ID, -1, None, None, "", ())
        self.answer_sync(member, E.UNKNOWN_MEMBER_ID, None, None, b"")
        self.sessions.pop(member.id, None)
        self.members.remove(member)
        self.unsynced = [each for each in self.unsynced if each != member.id]
        if self.leader == member.id:
            self.leader = self.members[0].id if self.members else None

    def remove(self, member):
        self.drop(member)
        if self.state == PREPARING:
            self.complete_if_all_joined()
        else:
            self.rebalance()

    def rebalance(self):
        if self.state == COMPLETING:
            for each in self.members:
                each.assignment = b""
                if self.answer_sync(each, E.REBALANCE_IN_PROGRESS, None, None, b""):
                    self.alive(each)
        self.unsynced, self.syncs_end = [], None
        self.state = PREPARING
        self.round_ends = self.now + self.longest_rebalance()
        self.complete_if_all_joined()

    def complete_if_all_joined(self):
        everyone = all(each.join is not None for each in self.members) and not self.pending
        if self.first_round is None and everyone:
            self.round_ends = None
            self.complete()

    def complete(self):
        for each in list(self.members):
            if each.join is None and each.instance is None:
                self.drop(each)
        if self.members and not self.joined():
            self.round_ends = self.now + max(1000, self.longest_rebalance())
            return
        if self.members and self.find(self.leader).join is None:
            self.leader = self.joined()[0].id
        self.generation += 1
        self.protocol = self.elected_protocol() if self.members else None
        if not self.members:
            self.state = EMPTY
            self.writes.append(("empty",))
            return
        self.state = COMPLETING
        self.unsynced = [each.id for each in self.members]
        for each in self.members:
            self.answer_join(each, *self.joined_answer(each))
            each.new = False
            self.alive(each)
        self.syncs_end = self.now + self.longest_rebalance()
