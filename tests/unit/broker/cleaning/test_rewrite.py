"""Compaction of a log on disk, against a dictionary as twin, and with a crash at every call of the disk."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.cleaning.core.choice import dirty_section, log_to_clean
from barnabas.broker.cleaning.core.offset_map import ENTRY_SIZE
from barnabas.broker.cleaning.job import CleanerMemory, facts_of, plan
from barnabas.broker.cleaning.rewrite import Cleaned, NewSegment, clean
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import parse_header
from barnabas.broker.disk.errors import CorruptLogError
from barnabas.cluster.model.epochs import LeaderEpoch
from tests.batches import keyed_batch, records_of
from tests.compaction import content, everything, values
from tests.unit.broker.conftest import Logs, marker, transactional

COMPACT = LogConfig(
    segment_bytes=400,
    index_interval_bytes=100,
    segment_index_bytes=4096,
    cleanup_policy=frozenset({"compact"}),
)
MEMORY = CleanerMemory(ENTRY_SIZE * 1000, 0.9, 1 << 20)
EPOCH = LeaderEpoch(0)


def swap_in(log, step, generation):
    """Whether the new segment took its place."""
    new = log.compaction.open(step.base_offset, log.config).result()
    log.compaction.begin_swap(new).result()
    return log.compaction.end_swap(new, step.replaced, generation, 60_000)


def job_of(log, checkpoint=None, memory=MEMORY, high_watermark=None):
    facts = facts_of(log, log.log_end_offset if high_watermark is None else high_watermark)
    first_dirty = dirty_section(facts, checkpoint).offset
    return plan(log, log_to_clean(facts, first_dirty, 0), memory)


def compact(log, checkpoint=None, memory=MEMORY):
    """Clean all that may be cleaned; the next checkpoint."""
    job = job_of(log, checkpoint, memory)
    for step in clean(job):
        if isinstance(step, NewSegment):
            assert swap_in(log, step, log.compaction.generation)
        elif isinstance(step, Cleaned):
            return step.next_dirty_offset
    raise AssertionError


def fill(log, batches, **how):
    for records in batches:
        log.append_as_leader(keyed_batch(records, **how), EPOCH)


KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
RECORDS = st.tuples(KEYS, st.sampled_from([None, b"", b"v", b"w" * 60]))
BATCHES = st.lists(st.lists(RECORDS, min_size=1, max_size=4), min_size=1, max_size=25)


def twin(records, first_dirty, next_dirty):
    """Which records stay, if no tombstone is old enough to go."""
    last = {key: offset for offset, key, _, _ in records if first_dirty <= offset < next_dirty}
    return [each for each in records if each[0] >= next_dirty or each[0] >= last.get(each[1], -1)]


@given(st.lists(BATCHES, min_size=1, max_size=3), st.sampled_from([0, 2, 4]), st.integers(2, 7))
def test_what_stays_is_what_a_dictionary_says(tmp_path_factory, rounds, codec, slots):
    logs = Logs(tmp_path_factory.mktemp("twin"))
    log, checkpoint = logs.open(COMPACT), 0
    memory = CleanerMemory(ENTRY_SIZE * slots, 1.0, 64)
    for batches in rounds:
        fill(log, batches, codec=codec)
        before, held, end = content(log), values(log), log.log_end_offset
        reached = compact(log, checkpoint, memory)
        assert content(log) == twin(before, checkpoint, reached)
        assert (values(log), log.log_end_offset, log.log_start_offset) == (held, end, 0)
        checkpoint = reached
    before = content(log)
    log.close()
    assert content(logs.open(COMPACT, clean=True, recovery_point=log.log_end_offset)) == before
    again = logs.reopen_after_crash(COMPACT)
    assert (content(again), again.log_end_offset) == (before, log.log_end_offset)
    logs.close()


def small_log(logs):
    log = logs.open(COMPACT)
    fill(log, [[(b"k%d" % (index % 3), b"v%d" % index), (b"x", b"w" * 80)] for index in range(12)])
    return log


def test_the_active_segment_is_left_alone_and_small_segments_become_one(logs):
    log = small_log(logs)
    segments, active = log.segment_count, log.compaction.segments[-1]
    assert compact(log) == active.base_offset
    compact(log)
    assert log.segment_count < segments
    assert log.compaction.segments[-1] is active


def test_a_swap_leaves_the_files_of_one_log(logs):
    log = small_log(logs)
    compact(log)
    names = {path.name.partition(".")[2] for path in log.directory.iterdir()}
    assert {"log", "index", "timeindex", "log.deleted"} <= names
    assert not {name for name in names if name.endswith(("cleaned", "swap"))}
    due_ms, formers = logs.removed[0]
    assert due_ms == logs.now_ms + 60_000
    # Whoever is reading them can go on.
    assert all(parse_header(each.read(0, 61)).base_offset == each.base_offset for each in formers)


def test_a_cleaned_file_is_as_old_as_the_last_one_it_replaces(logs):
    log = small_log(logs)
    for index, segment in enumerate(log.compaction.segments):
        os.utime(segment.path, (1000 + index, 1000 + index))
    job = job_of(log)
    new = [step for step in clean(job) if isinstance(step, NewSegment)]
    ages = [(log.directory / f"{step.base_offset:020d}.log.cleaned").stat().st_mtime for step in new]
    assert ages == [1000 + job_index(job, step.replaced[-1]) for step in new]


def job_index(job, base_offset):
    return [segment.base_offset for segment in job.segments].index(base_offset)


def test_tombstones_go_once_their_segment_is_older_than_the_clean_section_by_the_retention(logs):
    config = replace(COMPACT, delete_retention_ms=1000)
    log = logs.open(config)
    fill(log, [[(b"k", b"v" * 200)], [(b"k", None), (b"x", b"x" * 200)]])
    fill(log, [[(b"%d" % index, b"y" * 280)] for index in range(4)])
    checkpoint = compact(log)
    assert (b"k", None) in [(key, value) for _, key, value, _ in content(log)]
    fill(log, [[(b"z", b"z" * 280)]] * 2)
    clean_segments = [each for each in log.compaction.segments if each.base_offset < checkpoint]
    for segment in clean_segments:
        os.utime(segment.path, (1000, 1000))
    os.utime(clean_segments[-1].path, (1000.5, 1000.5))
    again = compact(log, checkpoint)
    assert (b"k", None) in [(key, value) for _, key, value, _ in content(log)]
    fill(log, [[(b"z", b"z" * 280)]] * 2)
    os.utime(log.compaction.segments[-4].path, (1002, 1002))
    compact(log, again)
    assert b"k" not in {key for _, key, _, _ in content(log)}


def test_the_last_batch_of_a_producer_stays_as_a_header(logs):
    log = logs.open(COMPACT)
    log.append_as_leader(keyed_batch([(b"k", b"old")] * 3, producer=(7, 1, 0)), EPOCH)
    log.append_as_leader(keyed_batch([(b"k", b"old")] * 3, producer=(7, 1, 3)), EPOCH)
    fill(log, [[(b"k", b"v" * 300)], [(b"z", b"z" * 300)]])
    compact(log)
    header = everything(log)[0].header
    assert (header.base_offset, header.last_offset, header.record_count) == (3, 5, 0)
    assert (header.producer_id, header.base_sequence, header.base_timestamp) == (7, 3, -1)
    again = logs.reopen_after_crash(COMPACT)
    assert again.append_as_leader(keyed_batch([(b"k", b"old")] * 3, producer=(7, 1, 3)), EPOCH).duplicate
    assert again.append_as_leader(keyed_batch([(b"k", b"new")], producer=(7, 1, 6)), EPOCH).first_offset == 8


def test_records_whose_abort_lies_beyond_the_cleaned_segments_hide_nothing(logs):
    log = logs.open(COMPACT)
    good = keyed_batch([(b"k", b"good")], base_offset=0)
    aborted = transactional(keyed_batch([(b"k", b"bad" * 150)], base_offset=1, producer=(9, 0, 0)))
    log.append_as_follower(good + aborted)
    log.append_as_follower(marker(0, (9, 0), 2))
    active = log.compaction.segments[-1]
    assert active.base_offset == 2
    assert compact(log) == 2
    found = [(key, value) for _, key, value, _ in content(log) if key == b"k"]
    assert found == [(b"k", b"good")]


def test_aborted_records_go_and_hide_nothing(logs):
    log = logs.open(COMPACT)
    fill(log, [[(b"k", b"good")]])
    aborted = transactional(keyed_batch([(b"k", b"bad")], base_offset=1, producer=(9, 0, 0)))
    committed = transactional(keyed_batch([(b"c", b"done")], base_offset=3, producer=(8, 0, 0)))
    log.append_as_follower(aborted + marker(0, (9, 0), 2) + committed + marker(1, (8, 0), 4))
    fill(log, [[(b"y", b"y" * 250)], [(b"z", b"z" * 250)]])
    checkpoint = compact(log)
    assert values(log).keys() == {b"k", b"c", b"y", b"z", *control_keys(log)}
    assert values(log)[b"k"] == b"good"
    # The markers stay while a consumer may have read the data before them.
    assert [batch.header.base_offset for batch in everything(log) if batch.header.is_control] == [2, 4]
    assert [each.producer_id for each in log.aborted_transactions(0, log.log_end_offset)] == [9]
    # The last batch of the aborted producer is there as a header.
    assert [b.header.record_count for b in everything(log) if b.header.base_offset == 1] == [0]
    assert checkpoint > 5


def control_keys(log):
    return {key for b in everything(log) if b.header.is_control for _, key, _, _ in records_of(b)}


def test_an_open_transaction_bounds_the_cleaning(logs):
    log = logs.open(COMPACT)
    fill(log, [[(b"k", b"v" * 300)]])
    log.append_as_follower(transactional(keyed_batch([(b"k", b"bad")], base_offset=1, producer=(9, 0, 0))))
    fill(log, [[(b"y", b"y" * 250)], [(b"z", b"z" * 250)]])
    assert job_of(log).end_offset <= 1


@pytest.mark.parametrize("damage", ["a flipped bit", "a cut file"])
def test_a_damaged_batch_ends_the_cleaning_and_leaves_nothing_behind(logs, damage):
    log = small_log(logs)
    job = job_of(log)
    path = logs.path(".log", job.segments[-1].base_offset)
    data = path.read_bytes()
    path.write_bytes(data[:-1] if damage == "a cut file" else data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(CorruptLogError):
        list(clean(job))
    assert not list(log.directory.glob("*.cleaned"))


def test_what_was_given_up_halfway_leaves_nothing_behind(logs):
    log = small_log(logs)
    job = job_of(log, memory=MEMORY._replace(buffer_bytes=1))
    steps = clean(job)
    while not list(log.directory.glob("*.cleaned")):
        next(steps)
    steps.close()
    assert not list(log.directory.glob("*.cleaned"))


def test_a_log_that_was_truncated_meanwhile_stays_as_it_is(logs):
    log = small_log(logs)
    generation, job = log.compaction.generation, job_of(log)
    step = next(step for step in clean(job) if isinstance(step, NewSegment))
    log.truncate_to(job.segments[1].base_offset + 1)
    before = content(log)
    assert not swap_in(log, step, generation)
    assert content(log) == before
    assert not list(log.directory.glob("*.swap"))
    assert content(logs.reopen_after_crash(COMPACT)) == before


def test_a_truncation_takes_back_a_swap_that_has_begun(logs):
    log = small_log(logs)
    generation = log.compaction.generation
    step = next(step for step in clean(job_of(log)) if isinstance(step, NewSegment))
    new = log.compaction.open(step.base_offset, log.config).result()
    log.compaction.begin_swap(new).result()
    assert list(log.directory.glob("*.log.swap"))
    log.truncate_to(3)
    assert not list(log.directory.glob("*.swap"))
    assert not log.compaction.end_swap(new, step.replaced, generation, 0)
    assert log.log_end_offset <= 3


def test_an_empty_active_segment_leaves_the_last_offset_to_the_one_before(logs):
    log = small_log(logs)
    log.seal_active()
    last = log.compaction.segments[-2]
    assert compact(log) == last.base_offset


class Crash(Exception):
    """The process is gone."""


def test_a_crash_at_any_call_of_the_disk_leaves_all_last_values(tmp_path, monkeypatch):
    """Twice: the second crash meets the recovery of the first."""
    at = 1
    while crash_and_recover(tmp_path / str(at), monkeypatch, at):
        at += 1
    assert at > 30


CALLS = ("open", "pwritev", "pwrite", "ftruncate", "fsync", "rename", "replace", "unlink", "utime")


def crash_and_recover(directory, monkeypatch, at):
    directory.mkdir()
    logs = Logs(directory)
    log = small_log(logs)
    held, end = values(log), log.log_end_offset
    with monkeypatch.context() as patched:
        crash_at(patched, at)
        try:
            compact(log)
        except Crash:
            has_crashed = True
        else:
            has_crashed = False
    log.abandon()
    with monkeypatch.context() as patched:
        crash_at(patched, at % 7 + 1)
        with contextlib.suppress(Crash):
            logs.open(COMPACT).abandon()
    again = logs.open(COMPACT)
    assert (values(again), again.log_end_offset, again.log_start_offset) == (held, end, 0)
    assert not [path for path in again.directory.iterdir() if path.suffix in {".cleaned", ".swap"}]
    compact(again)
    assert values(again) == held
    logs.close()
    return has_crashed


def crash_at(patched, number):
    """From that call on nothing is done any more: the process is gone."""
    calls = 0

    def wrapped(real):
        def call(*arguments, **more):
            nonlocal calls
            calls += 1
            if calls >= number:
                raise Crash
            return real(*arguments, **more)

        return call

    for name in CALLS:
        patched.setattr(os, name, wrapped(getattr(os, name)))
