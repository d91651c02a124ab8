from __future__ import annotations

import gc

import pytest

from cluster.runtime.collector import long_lived


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
    with long_lived():
        kept = [[number] for number in range(200_000)]
    assert 1 in collections, "the young generations are collected as always"
    assert 2 not in collections
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() >= len(kept)


def test_an_error_ends_the_block_too():
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), long_lived():
        raise ZeroDivisionError
    assert gc.get_threshold() == before
    gc.unfreeze()
