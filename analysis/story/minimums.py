"""The value of min.insync.replicas in a time, as far as the lines prove one.

A topic's own setting counts before the brokers' one, which the topic may override unseen. Where lines of the
time give several values, none is known.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.kinds import CompanionKind
from barnabas.analysis.story.certainty import Line
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.partitions import Life
from barnabas.analysis.story.rows import BrokerLine
from barnabas.cluster.model.statechange import Kind

_NAME = "min.insync.replicas="

_MARKED = (Kind.LEADER_STARTS, CompanionKind.ISR_UPDATED)
"""The kinds of lines that end in ``(under-min-isr)`` from 3.5 on; of others ``broker_events`` has none."""


class Minimum(NamedTuple):
    """The minimum that held in a time.

    Attributes:
        value: The minimum; None if it is not known.
        is_default: Whether it is the brokers' setting, which the topic may override unseen.
        lines: The lines that give it.
        differs: Whether it is not known because lines give several values.
    """

    value: int | None
    is_default: bool = False
    lines: tuple[Line, ...] = ()
    differs: bool = False


class _Said(NamedTuple):
    """A line that gives a value; an empty text stands for the brokers' setting, no time for all times."""

    time: datetime
    text: str
    line: Line


@dataclass(frozen=True, slots=True)
class Minimums:
    """The values of min.insync.replicas in the lines.

    Attributes:
        topics: The lines about topics' settings, by topic and time.
        described: The topics' settings in the output of tools, which has no times.
        brokers: The lines about brokers' settings, by time.
        given: The brokers' setting as given by the operator; None if it is not given.
        shown: The lines that a broker refused a write, or that the ISR is under the minimum, by partition and
            time.
    """

    topics: Mapping[str, Sequence[_Said]] = field(default_factory=dict)
    described: Mapping[str, Sequence[_Said]] = field(default_factory=dict)
    brokers: Sequence[_Said] = ()
    given: int | None = None
    shown: Mapping[tuple[str, int], Sequence[BrokerLine]] = field(default_factory=dict)

    def held(self, topic: str, since: datetime, until: datetime | None) -> Minimum:
        """Return the minimum of a topic from one moment to another; None is the end of the logs."""
        own = [*_within(self.topics.get(topic, ()), since, until), *self.described.get(topic, ())]
        if own and {each.text for each in own} != {""}:
            return _of(own)
        if self.given is not None:
            return Minimum(self.given, is_default=True)
        # A broker logs its setting when it starts, which may be before or after that.
        default = _of(_within(self.brokers, since, until) or self.brokers)
        return default._replace(is_default=default.value is not None)

    def proof(self, life: Life, since: datetime, until: datetime | None) -> BrokerLine | None:
        """Return the first line in a time which proves that writes to a partition were refused, if any."""
        lines = self.shown.get(life[:2], ())
        first = bisect_left(lines, since - CLOCKS, key=lambda each: each.time)
        is_later = first < len(lines) and until is not None and lines[first].time > until + CLOCKS
        return None if first == len(lines) or is_later else lines[first]


def minimums_of(observed: Observed) -> Minimums:
    """Return min.insync.replicas of the brokers and of the topics that lines name.

    A line about a topic lists all settings that the topic overrides.
    """
    topics: dict[str, list[_Said]] = {}
    brokers: list[_Said] = []
    shown: dict[tuple[str, int], list[BrokerLine]] = {}
    for line in sorted(observed.brokers, key=lambda each: each.time):
        is_refused = line.kind == BrokerKind.WRITES_REFUSED
        if line.topic is not None and is_refused:
            topics.setdefault(line.topic, []).append(_Said(line.time, str(line.minimum), line.line))
        if line.topic is not None and line.partition is not None and (is_refused or line.kind in _MARKED):
            shown.setdefault((line.topic, line.partition), []).append(line)
        for setting in line.settings if line.kind == BrokerKind.CONFIGURED else ():
            if setting.startswith(_NAME):
                said = _Said(line.time, setting.removeprefix(_NAME), line.setting or line.line)
                (brokers if line.topic is None else topics.setdefault(line.topic, [])).append(said)
    described: dict[str, list[_Said]] = {}
    for each in observed.settings:
        if f"{each.name}=" == _NAME:
            said = _Said(datetime.min, each.value, each.line)  # noqa: DTZ901
            described.setdefault(each.topic, []).append(said)
    return Minimums(topics, described, brokers, observed.min_insync, shown)


def _within(lines: Sequence[_Said], since: datetime, until: datetime | None) -> Sequence[_Said]:
    """Return the last line up to a moment, and those from it to another one."""
    first = max(bisect_right(lines, since + CLOCKS, key=lambda each: each.time) - 1, 0)
    return lines[first:] if until is None else [each for each in lines[first:] if each.time <= until]


def _of(lines: Sequence[_Said]) -> Minimum:
    values = {each.text for each in lines}
    if len(values) != 1 or not lines[0].text.isdigit():
        return Minimum(None, differs=len(values) > 1)
    return Minimum(int(lines[0].text), lines=(lines[0].line,))
