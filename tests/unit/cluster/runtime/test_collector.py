from __future__ import annotations

import gc
import weakref

import pytest

from barnabas.cluster.runtime import collector
from barnabas.cluster.runtime.collector import exempt_survivors, long_lived, many_at_once


@pytest.fixture
def collections():
    """The generations that were collected."""
    seen: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(info["generation"])

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)
    gc.unfreeze()


def test_nothing_long_lived_is_walked_over_while_it_is_made_nor_later(collections):
    before = gc.get_threshold()
    gc.collect()
    collections.clear()
    with long_lived(lambda: True):
        kept = [[number] for number in range(200_000)]
        assert 1 in collections, "the young generations are collected as always"
        assert 2 not in collections
    assert collections.count(2) == 1, "what is garbage at the end must not be frozen"
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() >= len(kept)


def test_where_nothing_long_lived_was_made_nothing_is_collected(collections):
    frozen = gc.get_freeze_count()
    with long_lived(lambda: False):
        pass
    assert 2 not in collections
    assert gc.get_freeze_count() <= frozen


class InACycle:
    def __init__(self):
        self.itself = self


def test_garbage_in_cycles_is_freed_and_not_frozen():
    with long_lived(lambda: True):
        kept = InACycle()
        gc.collect(1)  # moves it to the oldest generation, which no young collection looks at
        garbage = weakref.ref(kept)
        del kept
    assert garbage() is None


def test_an_error_ends_the_block_too():
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), long_lived(lambda: True):
        raise ZeroDivisionError
    assert gc.get_threshold() == before
    gc.unfreeze()


def third() -> int:
    return gc.get_threshold()[2]


def test_blocks_may_overlap_in_any_order():
    before = gc.get_threshold()
    passing, lasting = many_at_once(), long_lived(lambda: True)
    passing.__enter__()
    lasting.__enter__()
    passing.__exit__(None, None, None)
    assert third() > before[2]
    lasting.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_a_block_that_passes_by_freezes_nothing():
    frozen = gc.get_freeze_count()
    with many_at_once():
        assert third() > 1_000_000
    # Some of what was frozen before may have been freed.
    assert gc.get_freeze_count() <= frozen


def test_full_collections_come_back_where_blocks_overlap_without_an_end(monkeypatch):
    before = gc.get_threshold()
    monkeypatch.setattr(collector, "LONGEST_PAUSE_S", -1.0)
    with many_at_once(), many_at_once():
        assert gc.get_threshold() == before
    assert gc.get_threshold() == before


def test_survivors_are_exempted_without_a_full_collection(collections):
    kept = [[number] for number in range(1000)]
    collections.clear()
    exempt_survivors()
    assert 2 not in collections
    assert gc.get_freeze_count() >= len(kept)
