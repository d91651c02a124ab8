"""Blocks without a search for cycles of objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from barnabas.analysis.runtime.collection import without_collection


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_cycles_are_searched_again_after_the_block() -> None:
    with without_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_in_the_block_ends_the_pause_too() -> None:
    with pytest.raises(ValueError, match="broken"), without_collection():
        raise ValueError("broken")
    assert gc.isenabled()


def test_a_program_that_searches_for_none_goes_on_without() -> None:
    gc.disable()
    with without_collection(), without_collection():
        pass
    assert not gc.isenabled()
