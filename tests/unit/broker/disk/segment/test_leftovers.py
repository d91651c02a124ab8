from __future__ import annotations

import pytest

from barnabas.broker.disk.names import segment_file
from barnabas.broker.disk.segment.leftovers import settle_leftovers


def name(base, suffix):
    return f"{base:020d}{suffix}"


@pytest.fixture
def put(tmp_path, batch):
    """Makes a file: of a segment, with batches at the given offsets."""

    def put_(file, *offsets):
        (tmp_path / file).write_bytes(b"".join(batch(2, base_offset=offset) for offset in offsets))

    return put_


def listing(path):
    return sorted(file.name for file in path.iterdir())


def test_what_is_half_done_goes(tmp_path, put):
    kept = [name(0, ".log"), name(0, ".index"), name(4, ".snapshot"), "leader-epoch-checkpoint"]
    for file in (
        *kept,
        name(0, ".log.deleted"),
        name(4, ".snapshot.deleted"),
        name(4, ".log.cleaned"),
        name(4, ".index.cleaned"),
        name(4, ".timeindex.swap"),
        name(77, ".index"),
        name(77, ".txnindex"),
        "leader-epoch-checkpoint.tmp",
        "junk.log.cleaned",
        "junk.log.swap",
    ):
        put(file)
    settle_leftovers(tmp_path)
    assert listing(tmp_path) == sorted(kept)


def test_a_compaction_that_had_begun_to_swap_is_ended(tmp_path, put):
    for base in (0, 4, 8, 12):
        put(name(base, ".log"), base, base + 2)
        put(name(base, ".index"))
    put(name(0, ".log.swap"), 0, 6, 10)
    put(name(0, ".index.swap"))
    swap = (tmp_path / name(0, ".log.swap")).read_bytes()
    settle_leftovers(tmp_path)
    assert listing(tmp_path) == sorted([name(0, ".log"), name(12, ".log"), name(12, ".index")])
    assert segment_file(tmp_path, 0, ".log").read_bytes() == swap
    settle_leftovers(tmp_path)
    assert segment_file(tmp_path, 0, ".log").read_bytes() == swap


def test_a_swap_counts_as_far_as_its_batches_are_right(tmp_path, put, batch):
    for base in (0, 4):
        put(name(base, ".log"), base, base + 2)
    (tmp_path / name(0, ".log.swap")).write_bytes(batch(2, base_offset=0) + batch(2, base_offset=6)[:-1])
    settle_leftovers(tmp_path)
    assert segment_file(tmp_path, 0, ".log").read_bytes() == batch(2, base_offset=0)
    assert listing(tmp_path) == [name(0, ".log"), name(4, ".log")]


def test_a_split_of_which_a_part_was_not_swapped_is_taken_back(tmp_path, put):
    put(name(0, ".log"), 0, 2, 4, 6)
    put(name(4, ".log.swap"), 4, 6)
    put(name(0, ".log.cleaned"), 0, 2)
    before = (tmp_path / name(0, ".log")).read_bytes()
    settle_leftovers(tmp_path)
    assert listing(tmp_path) == [name(0, ".log")]
    assert (tmp_path / name(0, ".log")).read_bytes() == before
