"""The clusters whose logs are mixed, by their ids, their controller epochs and their assignments.

In one cluster the controller epoch never falls. Where it falls within a folder, another cluster begins, or
the same brokers with another ZooKeeper; where it rises over the former one again, the lines may be of either,
which the replicas of their partitions decide. Files of one folder that give different ids are looked at one
by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from barnabas.analysis.segments.writers import folder_of

Partition = tuple[str, int]

QUICKEST = timedelta(seconds=10)
"""The least time in which brokers are stopped and started as another cluster.

Where an epoch falls sooner, a former controller goes on that does not know of the next one.
"""


class Minute(NamedTuple):
    """The lines of a file within a minute that have a controller epoch.

    Attributes:
        source: The file.
        first: The time of the first of them.
        last: The time of the last of them.
        epoch: The highest controller epoch; lines about older states have lower ones.
    """

    source: str
    first: datetime
    last: datetime
    epoch: int


class Id(NamedTuple):
    """A line that gives the id of the cluster.

    Attributes:
        source: The file.
        time: Its time.
        cluster: The id.
        started: When its process started, by the last line before that shows a start; else ``time``.
    """

    source: str
    time: datetime
    cluster: str
    started: datetime


class Assigned(NamedTuple):
    """The replicas of a partition, by lines of a file within a minute."""

    source: str
    time: datetime
    partition: Partition
    replicas: frozenset[int]


class Span(NamedTuple):
    """The lines of a file from one time on, before another."""

    source: str
    since: datetime
    until: datetime


@dataclass(slots=True)
class Run:
    """Lines of one folder, or of one of its files, that are of one cluster.

    Attributes:
        place: The folder, or the file.
        first: The time of the first line that counts.
        last: The time of the last one.
        lowest: The controller epoch of the first; None without any.
        highest: The controller epoch of the last; None without any.
        cluster: The id of the cluster; None if no line gives it.
        replicas: The replicas of its partitions.
    """

    place: str
    first: datetime
    last: datetime
    lowest: int | None = None
    highest: int | None = None
    cluster: str | None = None
    replicas: dict[Partition, frozenset[int]] = field(default_factory=dict)


def runs_of(minutes: Sequence[Minute], ids: Sequence[Id]) -> list[Run]:
    """Cut folders where a controller epoch falls, rises over a former one again, or another id is given."""
    place_of = _places(ids)
    all_marks: list[Minute | Id] = [*minutes, *ids]
    marks: dict[str, list[Minute | Id]] = defaultdict(list)
    for each in all_marks:
        marks[place_of(each.source)].append(each)
    return [run for place in sorted(marks) for run in _runs_of(place, sorted(marks[place], key=_begin))]


def _places(ids: Iterable[Id]) -> Callable[[str], str]:
    """Return the function from a file to its folder, or to itself if files of the folder give several ids."""
    given: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for each in ids:
        given[folder_of(each.source)][each.source].add(each.cluster)
    mixed = {
        folder
        for folder, files in given.items()
        if len(set().union(*files.values())) > 1 and all(len(found) == 1 for found in files.values())
    }
    return lambda source: source if folder_of(source) in mixed else folder_of(source)


def _begin(mark: Minute | Id) -> tuple[datetime, bool]:
    return (mark.first, True) if isinstance(mark, Minute) else (mark.started, False)


def _runs_of(place: str, marks: Sequence[Minute | Id]) -> list[Run]:
    runs: list[Run] = []
    ceiling = -1
    """The highest epoch before it fell."""
    for mark in marks:
        run = runs[-1] if runs else None
        if isinstance(mark, Id):
            if run is None or run.cluster not in (None, mark.cluster):
                run = Run(place, mark.started, mark.time)
                runs.append(run)
            run.cluster, run.last = mark.cluster, max(run.last, mark.time)
            continue
        highest = None if run is None else run.highest
        is_other = highest is not None and (mark.epoch < highest or highest < ceiling < mark.epoch)
        if run is None or (is_other and mark.first - run.last >= QUICKEST):
            ceiling = max(ceiling, highest or -1)
            run = Run(place, mark.first, mark.last)
            runs.append(run)
        run.lowest = mark.epoch if run.lowest is None else run.lowest
        run.highest, run.last = max(mark.epoch, run.highest or 0), max(run.last, mark.last)
    return runs


def clusters_of(runs: Sequence[Run], assigned: Iterable[Assigned] = ()) -> list[list[Run]]:
    """Group runs by cluster, by time; one group if nothing proves several."""
    for each in assigned:
        for run in runs:
            if run.place in (each.source, folder_of(each.source)) and run.first <= each.time <= run.last:
                run.replicas[each.partition] = each.replicas
    groups: list[list[Run]] = []
    for run in sorted(runs, key=lambda each: (each.first, each.place)):
        possible = [group for group in groups if _fits(run, group)]
        likeliest = max(possible, key=lambda group: _likeness(run, group), default=None)
        if likeliest is None or _likeness(run, likeliest) < 0:
            groups.append([run])
        else:
            likeliest.append(run)
    return groups


def _fits(run: Run, group: Sequence[Run]) -> bool:
    """Return whether a run may be of a cluster: by its id, and by epochs that do not fall."""
    ids = {each.cluster for each in group if each.cluster is not None}
    if run.cluster is not None and ids and run.cluster not in ids:
        return False
    earlier = (each.highest for each in group if each.last < run.first and each.highest is not None)
    return run.lowest is None or run.lowest >= max(earlier, default=0)


def _likeness(run: Run, group: Sequence[Run]) -> int:
    """Return how many partitions have the same replicas, less those that have others."""
    known: dict[Partition, frozenset[int]] = {}
    for each in group:
        known |= each.replicas
    return sum(
        1 if replicas == known[each] else -1 for each, replicas in run.replicas.items() if each in known
    )


def spans_of(groups: Sequence[Sequence[Run]], files: Iterable[str]) -> list[list[Span]]:
    """Return the lines of each cluster: a folder is cut in the middle between runs of different clusters.

    Files of folders without a run are of the first cluster.

    Args:
        groups: The runs of each cluster.
        files: All files.
    """
    at_place: dict[str, list[tuple[Run, int]]] = defaultdict(list)
    for number, group in enumerate(groups):
        for run in group:
            at_place[run.place].append((run, number))
    spans: list[list[Span]] = [[] for _ in groups]
    for source in files:
        found = at_place.get(source) or at_place.get(folder_of(source)) or [(groups[0][0], 0)]
        found = sorted(found, key=lambda each: each[0].first)
        ends = [_middle(one[0], other[0]) for one, other in pairwise(found)]
        edges = [datetime.min, *ends, datetime.max]  # noqa: DTZ901  (no zone)
        for (_, number), since, until in zip(found, edges, edges[1:], strict=False):
            spans[number].append(Span(source, since, until))
    return spans


def _middle(run: Run, following: Run) -> datetime:
    """Return where one run ends and the next begins."""
    return run.last + max(following.first - run.last, timedelta(0)) / 2
