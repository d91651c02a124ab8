"""Placement against slow twins: docs/kafka/topics.md, Placement, rule by rule, and what they are for."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.placement import assign, assign_by_rack, interleave


def slow_assign(
    brokers: list[BrokerId], numbers: range, factor: int, start: int, shift: int
) -> dict[int, tuple[BrokerId, ...]]:
    n = len(brokers)
    placed = {}
    for p in numbers:
        if p > 0 and p % n == 0:
            shift += 1
        # Walk round the brokers after the leader, n-1 of them, beginning ``shift`` steps on.
        leader = (p + start) % n
        others = [brokers[(leader + 1 + step) % n] for step in range(n - 1)]
        followers = (
            list(itertools.islice(itertools.cycle(others), shift % (n - 1), shift % (n - 1) + factor - 1))
            if others
            else []
        )
        placed[p] = (brokers[leader], *followers)
    return placed


@st.composite
def requests(draw: st.DrawFn) -> tuple[list[BrokerId], int, int, int, int, int]:
    brokers = sorted(draw(st.sets(st.integers(1, 40).map(BrokerId), min_size=1, max_size=8)))
    factor = draw(st.integers(1, len(brokers)))
    place = st.integers(0, len(brokers) - 1)
    return brokers, draw(st.integers(0, 9)), draw(st.integers(1, 20)), factor, draw(place), draw(place)


@given(requests())
def test_without_racks_it_is_the_slow_walk(request: tuple[list[BrokerId], int, int, int, int, int]) -> None:
    brokers, first, count, factor, start, shift = request
    placed = assign(brokers, count, factor, start=start, shift=shift, first_partition=first)
    assert placed == slow_assign(brokers, range(first, first + count), factor, start, shift)
    assert all(len(set(replicas)) == factor for replicas in placed.values())


@given(requests())
def test_leaders_are_even(request: tuple[list[BrokerId], int, int, int, int, int]) -> None:
    brokers, _, count, factor, start, shift = request
    leaders = Counter(
        replicas[0] for replicas in assign(brokers, count, factor, start=start, shift=shift).values()
    )
    assert max(leaders.values()) - min(leaders[broker] for broker in brokers) <= 1


def slow_by_rack(
    racks: dict[BrokerId, str], numbers: range, factor: int, start: int, shift: int
) -> dict[int, tuple[BrokerId, ...]]:
    rounds = itertools.zip_longest(
        *([b for b in sorted(racks) if racks[b] == rack] for rack in sorted(set(racks.values())))
    )
    brokers = [broker for one in rounds for broker in one if broker is not None]
    n, rack_count = len(brokers), len(set(racks.values()))
    placed = {}
    for p in numbers:
        if p > 0 and p % n == 0:
            shift += 1
        leader = (p + start) % n
        replicas = [brokers[leader]]
        for k in itertools.count():
            if len(replicas) == factor:
                break
            candidate = brokers[(leader + 1 + (shift * rack_count + k) % (n - 1)) % n]
            used = {racks[b] for b in replicas}
            if candidate not in replicas and (racks[candidate] not in used or len(used) == rack_count):
                replicas.append(candidate)
        placed[p] = tuple(replicas)
    return placed


@given(requests(), st.lists(st.sampled_from("abc"), min_size=8, max_size=8))
def test_with_racks_it_is_the_slow_search(
    request: tuple[list[BrokerId], int, int, int, int, int], names: list[str]
) -> None:
    brokers, first, count, factor, start, shift = request
    racks = dict(zip(brokers, names, strict=False))
    placed = assign_by_rack(racks, count, factor, start=start, shift=shift, first_partition=first)
    assert placed == slow_by_rack(racks, range(first, first + count), factor, start, shift)
    for replicas in placed.values():
        assert len(set(replicas)) == factor
        assert len({racks[b] for b in replicas}) == min(factor, len(set(racks.values())))


def test_brokers_are_interleaved_rack_by_rack() -> None:
    racks = {BrokerId(n): rack for n, rack in {0: "r1", 1: "r3", 2: "r3", 3: "r2", 4: "r2", 5: "r1"}.items()}
    assert interleave(racks) == [0, 3, 1, 5, 4, 2]


def test_an_exhausted_rack_is_skipped() -> None:
    racks = {BrokerId(1): "a", BrokerId(2): "a", BrokerId(3): "b"}
    assert interleave(racks) == [1, 3, 2]
