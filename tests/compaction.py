"""Compaction in one thread, and what a consumer of the log holds then."""

from __future__ import annotations

from barnabas.broker.cleaning.core.offset_map import ENTRY_SIZE
from barnabas.broker.cleaning.log_cleaner import CleanerSettings
from barnabas.broker.cleaning.rewrite import clean
from tests.batches import records_of, whole_batches

SETTINGS = CleanerSettings(dedupe_buffer_size=ENTRY_SIZE * 10_000, backoff_ms=1)


class Inline:
    """Does the file work here and now; ``before`` is called before each step is given out."""

    def __init__(self, before=lambda _: None):
        self.before = before
        self.closed = 0

    async def steps(self, job):
        for step in clean(job):
            self.before(step)
            yield step

    async def close(self):
        self.closed += 1


def everything(log):
    """All batches of a log."""
    out, offset = [], log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, 1 << 20, log.log_end_offset)
        out += whole_batches(found.records)
        assert found.next_offset > offset
        offset = found.next_offset
    return out


def content(log):
    """All records of a log."""
    return [record for batch in everything(log) for record in records_of(batch)]


def last_values(log):
    """The last value of each key, None for a tombstone that is still there."""
    return {key: value for _, key, value, _ in content(log)}


def values(log):
    """What a consumer holds that has read all."""
    return {key: value for key, value in last_values(log).items() if value is not None}
