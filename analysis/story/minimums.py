"""The values of min.insync.replicas, and when the lines prove that each held.

A line about a topic's own settings proves the value from its time until the next such line, within the
topic's life. A broker's setting holds from its line until the broker's next one: a broker logs its settings
at each start, and when they change. What an operator has printed by a tool has no time; it holds where no
line with a time shows another value.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.kinds import CompanionKind
from barnabas.analysis.story.certainty import Line
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.partitions import History, Life
from barnabas.analysis.story.rows import NO_LEADER, BrokerLine, Setting
from barnabas.analysis.story.whole_records import recorded_topics
from barnabas.cluster.model.statechange import Kind

_NAME = "min.insync.replicas="

_MARKED = (Kind.LEADER_STARTS, CompanionKind.ISR_UPDATED)
"""The kinds of lines that end in ``(under-min-isr)`` from 3.5 on; of others ``broker_events`` has none."""

_NO_OWN = ""
"""The text of a topic's setting that stands for the brokers' one."""


class Lack(Enum):
    """The reasons why the minimum of a time is not known."""

    SILENT = auto()
    """No line gives a value."""
    OTHER_TIME = auto()
    """Lines give values of other times only."""
    DIFFERENT = auto()
    """Lines give several values, or one that ended in between."""


class Held(NamedTuple):
    """A time, and the minimum that held in it.

    Attributes:
        since: Its begin.
        until: Its end; None for the end of the logs.
        value: The minimum; None if it is not known.
        is_default: Whether it is the brokers' setting, which the topic may override unseen.
        is_of_others: Whether it is the setting of other brokers than the leader, or of another time.
        line: The line that gives it; None if the operator gives it, or nothing does.
        differs: Whether it is not known because lines contradict each other.
        is_record: Whether a record of a metadata log gives it, which has its exact time.
    """

    since: datetime
    until: datetime | None
    value: int | None
    is_default: bool = False
    is_of_others: bool = False
    line: Line | None = None
    differs: bool = False
    is_record: bool = False


class _Said(NamedTuple):
    """A line that gives a value.

    A refused write gives the value that held, whether it was the topic's or its leader's.
    """

    time: datetime
    text: str
    line: Line
    is_refusal: bool = False
    is_record: bool = False


@dataclass(frozen=True, slots=True)
class Minimums:
    """The values of min.insync.replicas in the lines.

    Attributes:
        topics: The lines about topics' settings, by topic and time.
        brokers: The lines about brokers' settings, by broker and time; under None those about all brokers.
        described: The topics' settings in the output of tools, which has no times.
        given: The brokers' setting as given by the operator; None if it is not given.
        refusals: The lines of brokers that refused a write, by partition and time.
        begun: When each life of a partition began, by topic; None if it was before the logs.
        deleted: When the topic of a partition's life was deleted.
        marked: The lines of leaders that the ISR is under the minimum, by partition and time.
        recorded: Until when records show each setting of a topic, by topic; one that they lack is not set.
    """

    topics: Mapping[str, Sequence[_Said]] = field(default_factory=dict)
    brokers: Mapping[int | None, Sequence[_Said]] = field(default_factory=dict)
    described: Mapping[str, Sequence[Setting]] = field(default_factory=dict)
    given: int | None = None
    refusals: Mapping[tuple[str, int], Sequence[BrokerLine]] = field(default_factory=dict)
    begun: Mapping[str, Mapping[Life, datetime | None]] = field(default_factory=dict)
    deleted: Mapping[Life, datetime] = field(default_factory=dict)
    marked: Mapping[tuple[str, int], Sequence[BrokerLine]] = field(default_factory=dict)
    recorded: Mapping[str, datetime] = field(default_factory=dict)

    def held(self, story: History, since: datetime, until: datetime | None) -> list[Held]:
        """Return the minimum of a partition's topic from one moment to another, one value after the other.

        Args:
            story: The partition's history.
            since: The first moment.
            until: The last moment; None for the end of the logs.
        """
        own = self._own(story.life)
        led = [(each.since, each.leader) for each in story.leaderships if each.leader != NO_LEADER]
        said = [own.lines, *(self.brokers.get(broker, ()) for broker in {None, *(who for _, who in led)})]
        times = {time for time, _ in led if since < time and (until is None or time < until)}
        for lines in said:
            times.update(each.time for each in _between(lines, since, until))
        starts = [since, *sorted(times)]
        found: list[Held] = []
        for start, end in zip(starts, [*starts[1:], until], strict=True):
            index = max(bisect_right(led, start, key=lambda each: each[0]) - 1, 0)
            leader = led[index][1] if led else None
            each = self._at(own, leader, Held(start, end, None), until)
            if found and found[-1]._replace(since=start, until=end) == each:
                found[-1] = found[-1]._replace(until=end)
            else:
                found.append(each)
        return found

    def refusal(self, life: Life, since: datetime, until: datetime | None) -> BrokerLine | None:
        """Return the first line of a broker that refused a write to a partition in a time; None if none did.

        Args:
            life: The partition's life.
            since: The begin of the time, by another broker's clock perhaps.
            until: Its end; None for the end of the logs.
        """
        return _first(self.refusals.get(life[:2], ()), since, until)

    def mark(self, life: Life, since: datetime, until: datetime | None) -> BrokerLine | None:
        """Return the first line in a time of a leader that the ISR is under the minimum, as ``refusal`` does.

        At that ISR it refuses writes, whether the minimum is the topic's or the brokers'.
        """
        return _first(self.marked.get(life[:2], ()), since, until)

    def mark_of(self, life: Life, step: IsrStep) -> BrokerLine | None:
        """Return the first line of a leader that this ISR is under the minimum; None if there is none."""
        lines = self.marked.get(life[:2], ())
        same = [each for each in lines if each.in_sync == step.size]
        return _first(same, step.since, step.until)

    def proofs(self, life: Life, since: datetime, until: datetime | None) -> list[Line]:
        """Return the lines of ``refusal`` and ``mark``, which prove that writes were refused in a time."""
        found = (self.refusal(life, since, until), self.mark(life, since, until))
        return [each.line for each in found if each is not None]

    def lack(self, topic: str, held: Sequence[Held]) -> Lack | None:
        """Return why no single value of ``held`` is known; None if one is, from some moment to the end."""
        values = [each.value for each in held if each.value is not None]
        if not values:
            if any(each.differs for each in held):
                return Lack.DIFFERENT
            is_silent = not (self.topics.get(topic) or self.described.get(topic) or self.brokers)
            return Lack.SILENT if is_silent else Lack.OTHER_TIME
        first = next(index for index, each in enumerate(held) if each.value is not None)
        return None if {each.value for each in held[first:]} == {values[0]} else Lack.DIFFERENT

    def _own(self, life: Life) -> _Own:
        """Return the lines about the topic of a partition's life, without those about other lives."""
        topic, until = life[0], self.deleted.get(life)
        lines, since = self.topics.get(topic, ()), self.begun.get(topic, {}).get(life)
        if since is not None and lines and lines[0].time < since - CLOCKS:
            since = self._begun(life, since)
        first = 0 if since is None else bisect_left(lines, since - CLOCKS, key=_time)
        last = len(lines) if until is None else bisect_right(lines, until + CLOCKS, key=_time)
        is_over = until is not None and any(
            begin is not None and begin > until for begin in self.begun.get(topic, {}).values()
        )
        described = () if is_over else self.described.get(topic, ())
        return _Own(lines[first : max(first, last)], since, described, self.recorded.get(topic))

    def _begun(self, life: Life, begin: datetime) -> datetime | None:
        """Return when the topic of a partition's life was created; None if it was before the logs.

        A partition that is added to a topic begins later than the topic, of which it has the settings.
        """
        lives = self.begun.get(life[0], {})
        latest: dict[int, tuple[int, datetime | None]] = {}
        for (_, partition, number), since in lives.items():
            if since is None or since <= begin + CLOCKS:
                latest[partition] = max(latest.get(partition, (number, since)), (number, since), key=_number)
        older = [
            since
            for partition, (number, since) in latest.items()
            if since is None or since < begin - CLOCKS
            if self.deleted.get((life[0], partition, number), begin) >= begin
        ]
        if None in older:
            return None
        return min((each for each in older if each is not None), default=begin)

    def _at(self, own: _Own, leader: int | None, time: Held, end: datetime | None) -> Held:
        """Return the minimum that holds from the begin of a time on, of a partition with this leader."""
        said = own.latest(time.since, self._last(leader, time.since))
        default = self._default(leader, time, end)
        if said is not None:
            text, line = said.text, said.line
            time = time._replace(is_record=said.is_record)
        elif own.described:
            texts = {each.value for each in own.described} | {each.text for each in own.lines}
            if len(texts) > 1:
                return time._replace(differs=True)
            text, line = own.described[-1].value, own.described[-1].line
        else:
            return default._replace(is_default=not own.is_recorded(time))
        if text == _NO_OWN:
            return default
        return time._replace(value=_number_of(text), line=line)

    def _last(self, broker: int | None, until: datetime) -> _Said | None:
        """Return the latest line up to a moment about a broker's setting."""
        lines = (_last_until(self.brokers.get(each, ()), until) for each in {broker, None})
        return max((each for each in lines if each is not None), key=_time, default=None)

    def _default(self, leader: int | None, time: Held, end: datetime | None) -> Held:
        """Return the brokers' setting that holds from the begin of a time on for a leader.

        If neither a line of the leader nor the operator gives it, it is that of the other brokers up to
        ``end``, if they agree.
        """
        own = self._last(leader, time.since)
        if own is not None:
            return time._replace(value=_number_of(own.text), line=own.line)
        if self.given is not None:
            return time._replace(value=self.given)
        last = {
            broker: lines[-1] if end is None else _last_until(lines, end)
            for broker, lines in self.brokers.items()
        }
        known = {broker: each for broker, each in last.items() if each is not None}
        if len({each.text for each in known.values()}) > 1:
            return time._replace(differs=True)
        other = next((each for broker, each in known.items() if broker != leader), None)
        if other is None:
            return time
        return time._replace(value=_number_of(other.text), is_of_others=True, line=other.line)


class _Own(NamedTuple):
    """The lines about the settings of a topic in one life of it.

    Attributes:
        lines: The lines, by time.
        begun: When the life began; None if it was before the logs.
        described: The settings in the output of tools.
        recorded: Until when records show each setting of the topic; None if they do not.
    """

    lines: Sequence[_Said]
    begun: datetime | None
    described: Sequence[Setting]
    recorded: datetime | None = None

    def is_recorded(self, time: Held) -> bool:
        """Return whether records show each setting of the topic in a time, or to its begin if it is open."""
        return self.recorded is not None and (time.until or time.since) <= self.recorded + CLOCKS

    def latest(self, time: datetime, of_leader: _Said | None) -> _Said | None:
        """Return the line that holds at a moment.

        Args:
            time: The moment.
            of_leader: The leader's latest line about its own setting: a refused write before it proves
                nothing after it.
        """
        index = bisect_right(self.lines, time, key=_time) - 1
        if index < 0 and self.lines and self.begun is not None and self.lines[0].time <= self.begun + CLOCKS:
            index = 0  # The topic was created with its settings.
        for each in reversed(self.lines[: index + 1]):
            if not each.is_refusal or of_leader is None or of_leader.time < each.time:
                return each
        return None


def minimums_of(observed: Observed) -> Minimums:
    """Return min.insync.replicas of the brokers and of the topics that lines name.

    A line about a topic lists all settings that the topic overrides; an empty value stands for the brokers'
    setting.
    """
    topics: dict[str, list[_Said]] = {}
    brokers: dict[int | None, list[_Said]] = {}
    described: dict[str, list[Setting]] = {}
    refusals: dict[tuple[str, int], list[BrokerLine]] = {}
    marked: dict[tuple[str, int], list[BrokerLine]] = {}
    for line in sorted(observed.brokers, key=lambda each: each.time):
        if line.kind == BrokerKind.WRITES_REFUSED and line.topic is not None:
            if line.partition is not None:
                refusals.setdefault((line.topic, line.partition), []).append(line)
            said = _Said(line.time, str(line.minimum), line.line, is_refusal=True)
            own = topics.setdefault(line.topic, [])
            if not own or own[-1].text != said.text:
                own.append(said)
        if line.kind in _MARKED and line.topic is not None and line.partition is not None:
            marked.setdefault((line.topic, line.partition), []).append(line)
        for setting in line.settings if line.kind == BrokerKind.CONFIGURED else ():
            if setting.startswith(_NAME):
                text, is_record = setting.removeprefix(_NAME), line.controller_epoch is not None
                said = _Said(line.time, text, line.setting or line.line, is_record=is_record)
                if line.topic is not None:
                    topics.setdefault(line.topic, []).append(said)
                else:
                    who = line.broker if line.subject is None else line.subject
                    brokers.setdefault(who, []).append(said)
    for each in observed.settings:
        if f"{each.name}=" == _NAME:
            described.setdefault(each.topic, []).append(each)
    return Minimums(
        topics, brokers, described, observed.min_insync, refusals, _begins(observed), observed.deleted,
        marked, recorded_topics(observed),
    )  # fmt: skip


def _begins(observed: Observed) -> dict[str, dict[Life, datetime | None]]:
    """Return when each life of a partition began, by topic: its first line, if a line shows a creation."""
    begun: dict[str, dict[Life, datetime | None]] = {}
    for each in observed.states:
        since = each.first_logged if each.decided is None else min(each.decided, each.first_logged)
        life = (each.topic, each.partition, each.life)
        lives = begun.setdefault(each.topic, {})
        known = lives.get(life, since)
        lives[life] = None if not each.life or known is None else min(known, since)
    return begun


def _first(lines: Sequence[BrokerLine], since: datetime, until: datetime | None) -> BrokerLine | None:
    first = bisect_left(lines, since - CLOCKS, key=lambda each: each.time)
    if first == len(lines) or (until is not None and lines[first].time > until + CLOCKS):
        return None
    return lines[first]


def _between(lines: Sequence[_Said], since: datetime, until: datetime | None) -> Iterable[_Said]:
    first = bisect_right(lines, since, key=_time)
    return lines[first : len(lines) if until is None else bisect_left(lines, until, key=_time)]


def _last_until(lines: Sequence[_Said], until: datetime) -> _Said | None:
    index = bisect_right(lines, until, key=_time)
    return lines[index - 1] if index else None


def _number_of(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _number(life: tuple[int, datetime | None]) -> int:
    return life[0]


def _time(said: _Said) -> datetime:
    return said.time
