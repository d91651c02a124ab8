"""Numbers of partitions over time, twice: by the fast way and by looking at each moment."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.report import strips
from barnabas.analysis.report.strips import Stretch, cells, chunks

START, END = 100, 160
STRETCHES = st.lists(
    st.builds(
        Stretch,
        st.sampled_from(["without a leader", "under-replicated"]),
        st.sampled_from(["a", "b"]),
        st.integers(START - 5, END),
        st.one_of(st.none(), st.integers(START - 5, END + 9)),
    ),
    max_size=12,
)


def slowly(stretches: list[Stretch], time: int) -> Counter[tuple[str, str]]:
    number: Counter[tuple[str, str]] = Counter()
    for each in stretches:
        since = max(each.since, START)
        until = since + 1 if each.until is None else max(each.until, since + 1)
        number[each.what, each.topic] += since <= time < until
    return +number


@given(STRETCHES, st.integers(1, 5))
def test_chunks_say_the_number_at_each_moment(stretches: list[Stretch], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strips, "CHANGES", most)
        made = chunks(stretches, START, END)
    assert [made[0]["from"], made[-1]["to"]] == [START, END + 1]
    assert all(one["to"] == other["from"] for one, other in pairwise(made))
    for time in range(START, END + 1):
        (chunk,) = (each for each in made if each["from"] <= time < each["to"])
        number = Counter(
            {
                (what, topic): next(known for at, known in reversed(steps) if at <= time)
                for what, topics in chunk["rows"].items()
                for topic, steps in topics.items()
            }
        )
        assert +number == slowly(stretches, time)


@given(STRETCHES, st.sampled_from([1, 7, 61]))
def test_cells_show_the_most_at_once(stretches: list[Stretch], number: int) -> None:
    shown = cells(stretches, START, END, number)
    wanted: dict[tuple[str, str], list[int]] = {}
    for time in range(START, END + 1):
        cell = (time - START) * number // (END - START + 1)
        for key, many in slowly(stretches, time).items():
            row = wanted.setdefault(key, [0] * number)
            row[cell] = max(row[cell], many)
    found = {
        (what, topic): row for what, topics in shown.items() for topic, row in topics.items() if any(row)
    }
    assert found == wanted


def test_a_chunk_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strips, "CHANGES", 10)
    many = [Stretch("x", "a", time, time + 1) for time in range(START, END, 2)]
    made = chunks(many, START, END)
    assert len(made) > 5
    assert max(len(each["rows"]["x"]["a"]) for each in made if each["rows"]) <= 12
