"""The numbers of partitions without a leader, or with too few replicas in sync, over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

CHANGES = 4_000
"""The most changes of a number in one chunk, so that its file stays small."""


_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (the logs' times have no zone)


class Stretch(NamedTuple):
    """A time in which one partition was in some trouble.

    Attributes:
        what: The trouble.
        topic: The partition's topic.
        since: The begin in milliseconds.
        until: The end; None if no line shows it, so that only the begin is counted.
    """

    what: str
    topic: str
    since: int
    until: int | None


def millis(time: datetime) -> int:
    """Return a time as milliseconds since 1970, as if it were UTC."""
    return round((time - _EPOCH) / timedelta(milliseconds=1))


def ms(value: datetime | None) -> int | None:
    """Return a time in the page's form; None if it is not known."""
    return None if value is None else millis(value)


def chunks(stretches: Iterable[Stretch], start: int, end: int) -> list[dict[str, Any]]:
    """Return the numbers of partitions in trouble over time, cut into chunks of bounded size.

    Returns:
        Chunks in order of time without gaps, each with ``from`` and ``to`` (milliseconds) and ``rows``: by
        trouble and topic a list of ``[time, number]``, of which the first is the number at ``from``.
    """
    changes = _changes(stretches, start, end)
    cuts = [start, *_cuts([time for time, _, _, _ in changes]), end + 1]
    numbers: dict[tuple[str, str], int] = {}
    made: list[dict[str, Any]] = []
    index = 0
    for begin, over in pairwise(cuts):
        rows: dict[str, dict[str, list[list[int]]]] = {}
        for (what, topic), number in numbers.items():
            if number:
                rows.setdefault(what, {})[topic] = [[begin, number]]
        while index < len(changes) and changes[index][0] < over:
            time, what, topic, step = changes[index]
            index += 1
            numbers[what, topic] = numbers.get((what, topic), 0) + step
            steps = rows.setdefault(what, {}).setdefault(topic, [[begin, 0]])
            if steps[-1][0] == time:
                steps.pop()
            steps.append([time, numbers[what, topic]])
        made.append({"from": begin, "to": over, "rows": rows})
    return made


def cells(stretches: Iterable[Stretch], start: int, end: int, number: int) -> dict[str, dict[str, list[int]]]:
    """Return the most partitions at once in each of ``number`` equal parts of time, by trouble and topic."""
    shown: dict[str, dict[str, list[int]]] = {}
    now: dict[tuple[str, str], tuple[int, int]] = {}
    wide = max(end - start + 1, 1)
    for time, what, topic, step in _changes(stretches, start, end):
        row = shown.setdefault(what, {}).setdefault(topic, [0] * number)
        cell = min((time - start) * number // wide, number - 1)
        last, running = now.get((what, topic), (-1, 0))
        # The number before the change counts in its cell, too, unless the cell begins with the change.
        is_first = (time - 1 - start) * number // wide < cell
        for between in range(last + 1, cell if is_first else cell + 1):
            row[between] = max(row[between], running)
        row[cell] = max(row[cell], running + step)
        now[what, topic] = (cell, running + step)
    for (what, topic), (last, running) in now.items():
        row = shown[what][topic]
        row[last + 1 :] = [running] * (number - last - 1)
    return shown


def _changes(stretches: Iterable[Stretch], start: int, end: int) -> list[tuple[int, str, str, int]]:
    steps: Counter[tuple[int, str, str]] = Counter()
    for each in stretches:
        since = min(max(each.since, start), end)
        steps[since, each.what, each.topic] += 1
        until = each.since if each.until is None else each.until
        # An interval that is over within a millisecond is still visible.
        steps[max(until, since + 1), each.what, each.topic] -= 1
    return sorted((*key, step) for key, step in steps.items() if step and key[0] <= end)


def _cuts(times: Sequence[int]) -> list[int]:
    found = sorted({times[index] for index in range(CHANGES, len(times), CHANGES)})
    return [time for time in found if time > times[0]] if times else []
