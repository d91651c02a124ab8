from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.records.record_batch import parse_header
from barnabas.broker.core.replication.leader_epochs import (
    UNDEFINED_EPOCH_END,
    EpochEndOffset,
    EpochEntry,
    LeaderEpochCache,
)


class SlowEpochs:
    """The rules of ``LeaderEpochFileCache``, one entry at a time."""

    def __init__(self):
        self.entries = []

    def assign(self, epoch, start):
        if self.entries and self.entries[-1][0] == epoch and start >= self.entries[-1][1]:
            return
        while self.entries and (self.entries[-1][0] >= epoch or self.entries[-1][1] >= start):
            self.entries.pop()
        self.entries.append((epoch, start))

    def truncate_from_end(self, end):
        self.entries = [entry for entry in self.entries if entry[1] < end]

    def truncate_from_start(self, start):
        below = [entry for entry in self.entries if entry[1] <= start]
        if below:
            self.entries = [(below[-1][0], start), *[e for e in self.entries if e[1] > start]]

    def end_offset_for(self, epoch, leo):
        if epoch == -1 or not self.entries:
            return (-1, -1)
        if epoch == self.entries[-1][0]:
            return (epoch, leo)
        larger = [entry for entry in self.entries if entry[0] > epoch]
        if not larger:
            return (-1, -1)
        known = [entry for entry in self.entries if entry[0] <= epoch]
        return (known[-1][0] if known else epoch, larger[0][1])


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("assign"), st.integers(0, 8), st.integers(0, 40)),
        st.tuples(st.just("truncate_from_end"), st.integers(0, 40)),
        st.tuples(st.just("truncate_from_start"), st.integers(0, 40)),
    ),
    max_size=20,
)


@given(STEPS)
def test_cache_follows_the_slow_model(steps):
    cache, model = LeaderEpochCache(), SlowEpochs()
    for name, *arguments in steps:
        before = cache.entries
        changed = getattr(cache, name)(*arguments)
        getattr(model, name)(*arguments)
        assert cache.entries == tuple(model.entries)
        assert changed == (cache.entries != before)
        for epoch in range(-1, 10):
            assert cache.end_offset_for(epoch, 50) == model.end_offset_for(epoch, 50)
    assert LeaderEpochCache(cache.entries).entries == cache.entries


def test_answers_of_the_sheet():
    cache = LeaderEpochCache([EpochEntry(2, 10), EpochEntry(5, 20)])
    assert (cache.oldest, cache.latest_epoch) == (EpochEntry(2, 10), 5)
    assert cache.end_offset_for(-1, 30) == UNDEFINED_EPOCH_END
    assert cache.end_offset_for(5, 30) == EpochEndOffset(5, 30)
    assert cache.end_offset_for(6, 30) == UNDEFINED_EPOCH_END
    assert cache.end_offset_for(1, 30) == EpochEndOffset(1, 10)
    assert cache.end_offset_for(3, 30) == EpochEndOffset(2, 20)


def test_an_empty_cache_knows_nothing():
    cache = LeaderEpochCache()
    assert (cache.oldest, cache.latest_epoch) == (None, None)
    assert cache.end_offset_for(0, 5) == UNDEFINED_EPOCH_END
    assert cache.clear() is False
    cache.assign(1, 0)
    assert cache.clear() is True
    assert cache.entries == ()


def test_a_batch_begins_an_epoch_only_if_its_epoch_is_new(batch):
    epochs = LeaderEpochCache()
    for epoch, offset, new in ((-1, 0, False), (2, 0, True), (2, 5, False), (1, 6, False), (3, 7, True)):
        assert epochs.assign_from(parse_header(batch(base_offset=offset, epoch=epoch))) is new
    assert epochs.entries == ((2, 0), (3, 7))
