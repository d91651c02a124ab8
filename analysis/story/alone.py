"""Partitions of which a broker that is gone was the only replica in sync.

The controller of KRaft logs no leaders, and a broker only those of its own partitions: that such a partition
lost its leader, and whether it has one again, may stand in no log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from barnabas.analysis.story.absence import begin_of
from barnabas.analysis.story.certainty import latest
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.partitions import History, Life
from barnabas.analysis.story.rows import Alone


def with_alone(made: Iterable[Incident], stories: Sequence[History], led: Sequence[Alone]) -> list[Incident]:
    """Add the partitions to the incidents of brokers of which no line shows a return.

    Args:
        made: The incidents.
        stories: The partitions' histories.
        led: The last states of partitions in which their leader alone was in sync.
    """
    lost: dict[Life, list[datetime]] = {
        story.life: [begin for each in story.outages if (begin := latest(each.begin)) is not None]
        for story in stories
    }
    unseen = [each for each in led if all(begin < each.since for begin in lost.get(each.life, ()))]
    by_leader: dict[int, list[Alone]] = {}
    for each in unseen:
        by_leader.setdefault(each.leader, []).append(each)
    return [replace(incident, alone=tuple(_of(incident, by_leader))) for incident in made]


def _of(incident: Incident, led: dict[int, list[Alone]]) -> Iterable[Alone]:
    for absence in incident.absences:
        if latest(absence.returned) is None:
            yield from (each for each in led.get(absence.broker, ()) if each.since < begin_of(absence))
