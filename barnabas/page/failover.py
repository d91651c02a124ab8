"""The last failover, step by step, from the history of changes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.cluster.model.ids import NO_LEADER, TopicPartition
from barnabas.page.history import Entry
from barnabas.page.model import Json

TOGETHER_MS = 30_000
"""The time, in ms, within which lost brokers belong to one failover."""

CAUSE_MS = 60_000
"""The time, in ms, from an action on a broker to its loss within which the action counts as the cause."""

_LEFT, _LOST, _STOPPED = "left", "was lost", "was stopped"
"""The ways in which a broker leaves; ``_LEFT`` if nothing shows whether it was stopped or lost."""

_MANNERS = {
    **dict.fromkeys(("stop", "stopped"), _STOPPED),
    **dict.fromkeys(("kill", "killed", "ended", "pause", "paused", "cut", "expire"), _LOST),
}
"""The way in which a broker leaves after an action, or while its process is in a state."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a failover.

    Attributes:
        at_ms: When it was seen, in milliseconds since 1970.
        text: A sentence.
        number: The number of the entry in the history that shows it.
    """

    at_ms: int
    text: str
    number: int


@dataclass(frozen=True, slots=True)
class Failover:
    """A failover.

    Attributes:
        headline: One sentence about all of it.
        steps: The steps in the order of time.
        is_over: Whether every partition has a leader again, and every ISR is as large as before.
    """

    headline: str
    steps: tuple[Step, ...]
    is_over: bool

    def json(self) -> Json:
        """Return the failover as the page gets it, with the milliseconds since its first step."""
        start = self.steps[0].at_ms
        return {
            "headline": self.headline,
            "over": self.is_over,
            "steps": [
                {"at": step.at_ms, "after_ms": step.at_ms - start, "text": step.text, "n": step.number}
                for step in self.steps
            ],
        }


@dataclass(slots=True)
class _Partitions:
    """The leaders and in-sync replicas at a place in the history."""

    leaders: dict[TopicPartition, int] = field(default_factory=dict)
    isr: dict[TopicPartition, frozenset[int]] = field(default_factory=dict)

    def apply(self, entry: Entry) -> TopicPartition | None:
        """Apply a change of a partition, and return which it was; None for other changes."""
        data = entry.change.data
        if entry.change.kind != "partition":
            return None
        partition = TopicPartition(str(data["topic"]), int(str(data["partition"])))
        state = data["state"]
        if state is None:
            self.leaders.pop(partition, None)
            self.isr.pop(partition, None)
        else:
            assert isinstance(state, list)
            self.leaders[partition] = state[0]
            self.isr[partition] = frozenset(state[2])
        return partition

    @classmethod
    def of(cls, base: Json) -> _Partitions:
        """Read them from a snapshot."""
        found = cls()
        topics = base["partitions"]
        assert isinstance(topics, Mapping)
        for topic, partitions in topics.items():
            for number, state in partitions.items():
                found.leaders[TopicPartition(topic, int(number))] = state[0]
                found.isr[TopicPartition(topic, int(number))] = frozenset(state[2])
        return found


class _Moved(NamedTuple):
    """The partitions that the lost brokers led.

    Attributes:
        led: All of them that still exist.
        led_again: Those that moved to another leader, with the change that shows it.
        waiting: Those that did not move, and whose leader is gone.
    """

    led: set[TopicPartition]
    led_again: Mapping[TopicPartition, Entry]
    waiting: set[TopicPartition]


def last_failover(base: Json, entries: Sequence[Entry]) -> Failover | None:
    """Describe the last failover; None if no broker was lost.

    Args:
        base: The snapshot before the first entry.
        entries: The history.
    """
    losses = [at for at, entry in enumerate(entries) if _lost(entry) is not None]
    if not losses:
        return None
    begin = losses[-1]
    for at in reversed(losses):
        if entries[begin].at_ms - entries[at].at_ms <= TOGETHER_MS:
            begin = at
    lost = [broker for at in losses if at >= begin if (broker := _lost(entries[at])) is not None]
    start = min(_cause(entries, begin, lost[0]), _departure(base, entries, begin, lost[0]))
    partitions = _Partitions.of(base)
    for entry in entries[:start]:
        partitions.apply(entry)
    gone = _lost_for_good(entries[:start])
    manners = {broker: _manner(partitions, entries[start:], broker, gone) for broker in lost}
    return _described(partitions, entries[start:], manners)


def _lost(entry: Entry) -> int | None:
    change = entry.change
    if change.kind == "broker" and change.data["registered"] is None:
        return int(str(change.data["id"]))
    return None


def _lost_for_good(entries: Sequence[Entry]) -> set[int]:
    """Return the brokers that are gone at the end of ``entries``."""
    gone: set[int] = set()
    for entry in entries:
        if entry.change.kind == "broker":
            (gone.discard if _lost(entry) is None else gone.add)(int(str(entry.change.data["id"])))
    return gone


def _cause(entries: Sequence[Entry], loss: int, broker: int) -> int:
    """Return the index of the first change that is about the lost broker's process, or of the loss itself."""
    start = loss
    for at in range(loss - 1, -1, -1):
        entry = entries[at]
        if entries[loss].at_ms - entry.at_ms > CAUSE_MS:
            break
        change = entry.change
        is_cause = change.kind == "action" or (change.kind == "process" and change.is_bad)
        if is_cause and change.data.get("id") == broker:
            start = at
    return start


def _departure(base: Json, entries: Sequence[Entry], loss: int, broker: int) -> int:
    """Return the index of the first change by which the lost broker left an ISR for good, or of the loss.

    A controlled shutdown moves leaders away before the broker unregisters, and a broker that hangs leaves the
    ISRs of others before its session ends.
    """
    partitions = _Partitions.of(base)
    known = dict(partitions.isr)
    left: dict[TopicPartition, int] = {}
    for at, entry in enumerate(entries[:loss]):
        partition = partitions.apply(entry)
        if partition is None:
            continue
        members = partitions.isr.get(partition)
        if members is None or broker in members:
            left.pop(partition, None)
        elif broker in known.get(partition, frozenset()):
            left[partition] = at
        known[partition] = members or frozenset()
    recent = [at for at in left.values() if entries[loss].at_ms - entries[at].at_ms <= CAUSE_MS]
    return min(recent, default=loss)


def _manner(before: _Partitions, entries: Sequence[Entry], broker: int, gone: AbstractSet[int]) -> str:
    """Return how a broker left.

    An action on it or the state of its process shows that. Without them, leaders that moved away before its
    session ended show a controlled shutdown; a broker that is lost leads until then, although another live
    replica in sync could.

    Args:
        before: The partitions before the entries.
        entries: The failover.
        broker: The broker's id.
        gone: The brokers that are not alive before the entries.
    """
    led = {tp for tp, leader in before.leaders.items() if leader == broker}
    partitions = _Partitions(dict(before.leaders), dict(before.isr))
    away = set(gone)
    shown, inferred, is_gone = None, _LEFT, False
    for entry in entries:
        change = entry.change
        if (other := _lost(entry)) is not None:
            away.add(other)
        if partitions.apply(entry) is not None or change.data.get("id") != broker:
            continue
        if change.kind == "broker":
            is_gone = _lost(entry) is not None
            if is_gone and led:
                now = {partitions.leaders.get(tp, NO_LEADER) for tp in led}
                can_move = any(partitions.isr.get(tp, frozenset()) - away for tp in led)
                inferred = _STOPPED if now - {broker, NO_LEADER} else _LOST if can_move else _LEFT
        elif not is_gone:
            shown = _MANNERS.get(str(change.data.get("action", change.data.get("state"))))
        elif shown is None and change.data.get("state") == "stopped":
            shown = _STOPPED  # the session ends before the process does
    return shown or inferred


def _described(before: _Partitions, entries: Sequence[Entry], manners: Mapping[int, str]) -> Failover:
    lost = set(manners)
    leaders = dict(before.leaders)
    isr = {tp: set(members) for tp, members in before.isr.items()}
    moving = {tp for tp, leader in leaders.items() if leader in lost}
    shrinking = {tp for tp, members in isr.items() if members & lost}
    steps: list[Step] = []
    led_again: dict[TopicPartition, Entry] = {}
    shrunk: dict[TopicPartition, Entry] = {}
    whole_again: dict[TopicPartition, Entry] = {}
    for entry in entries:
        change = entry.change
        partition = before.apply(entry)
        if partition is None:
            steps.append(Step(entry.at_ms, change.text, entry.number))
            continue
        leader = before.leaders.get(partition)
        if partition in moving and leader not in (None, NO_LEADER, leaders[partition]):
            led_again.setdefault(partition, entry)
        members = before.isr.get(partition, frozenset())
        if partition in shrinking:
            if isr[partition] - members:
                shrunk.setdefault(partition, entry)
                whole_again.pop(partition, None)
            elif partition in shrunk:
                whole_again.setdefault(partition, entry)
    alive = set(before.leaders)
    steps += _series(led_again, len(moving & alive), "moved to a new leader")
    steps += _series(shrunk, len(shrinking & alive), "lost a member of the ISR")
    steps += _series(whole_again, len(shrunk.keys() & alive), "has its whole ISR again")
    steps.sort(key=lambda step: (step.at_ms, step.number))
    leaderless = [tp for tp, leader in before.leaders.items() if leader == NO_LEADER]
    gone = _lost_for_good(entries)
    waiting = {tp for tp in (moving & alive) - led_again.keys() if before.leaders[tp] in gone}
    # A broker that is gone leaves every ISR but those that it is alone in.
    to_shrink = {tp for tp in shrinking & alive if before.isr[tp] & gone and before.isr[tp] - gone}
    is_over = not (leaderless or waiting or to_shrink or (shrunk.keys() & alive) - whole_again.keys())
    headline = _headline(steps, _who(manners), _Moved(moving & alive, led_again, waiting), leaderless)
    return Failover(headline, tuple(steps), is_over)


def _series(found: Mapping[TopicPartition, Entry], of: int, what: str) -> list[Step]:
    """Return one step, or one for the first and one for the last of many partitions."""
    if not found:
        return []
    in_order = sorted(found.items(), key=lambda each: each[1].number)
    (first, entry), (last, last_entry) = in_order[0], in_order[-1]
    if len(in_order) == 1:
        return [Step(entry.at_ms, f"{_name(first)} {what} ({_share(1, of)})", entry.number)]
    return [
        Step(entry.at_ms, f"{_name(first)} {what}, the first of {of}", entry.number),
        Step(
            last_entry.at_ms,
            f"{_name(last)} {what}, the last of {_share(len(in_order), of)}",
            last_entry.number,
        ),
    ]


def _share(count: int, of: int) -> str:
    return str(of) if count == of else f"{count} so far, of {of}"


def _who(manners: Mapping[int, str]) -> str:
    """Return who left, and how, as "Brokers 3, 2 were lost, broker 1 was stopped"."""
    parts = []
    for manner in dict.fromkeys(manners.values()):
        brokers = [str(broker) for broker, each in manners.items() if each == manner]
        if len(brokers) == 1:
            parts.append(f"broker {brokers[0]} {manner}")
        else:
            parts.append(f"brokers {', '.join(brokers)} {manner.replace('was', 'were')}")
    return ", ".join(parts).capitalize()


def _headline(steps: Sequence[Step], who: str, moved: _Moved, leaderless: Sequence[TopicPartition]) -> str:
    of = len(moved.led)
    if leaderless:
        return f"{who}; {_count(len(leaderless))} still without a leader."
    if not of:
        return f"{who}; no partition lost its leader."
    if moved.waiting:
        return f"{who}; {len(moved.waiting)} of {_count(of)} not moved to a new leader."
    if not moved.led_again:
        return f"{who}; {_count(of)} waited for the leader to return."
    took_s = (max(entry.at_ms for entry in moved.led_again.values()) - steps[0].at_ms) / 1000
    return f"{who}; {_count(len(moved.led_again))} moved to a new leader within {took_s:.1f} s."


def _count(partitions: int) -> str:
    return "1 partition" if partitions == 1 else f"{partitions} partitions"


def _name(partition: TopicPartition) -> str:
    return f"{partition.topic}-{partition.partition}"
