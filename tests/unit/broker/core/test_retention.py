from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.retention import Breach, Deletion, LogFacts, SegmentFacts, deletable, stray_delay_ms

NOW = 1_700_000_000_000
KEEP = LogConfig(retention_ms=-1, retention_bytes=-1)


def facts(*segments, start=0, high_watermark=None, end=None):
    """Segments of ``(base offset, size, age in ms)``; everything committed unless said otherwise."""
    end = segments[-1][0] + 10 if end is None else end
    return LogFacts(
        [SegmentFacts(base, size, NOW - age) for base, size, age in segments],
        start,
        end if high_watermark is None else high_watermark,
        end,
    )


def gone(log, **config):
    settings_ = {"retention_ms": -1, "retention_bytes": -1, **config}
    return [
        (deletion.base_offset, deletion.breach) for deletion in deletable(log, LogConfig(**settings_), NOW)
    ]


def test_by_age_the_oldest_go_up_to_the_first_that_is_young():
    log = facts((0, 5, 300), (10, 5, 100), (20, 5, 300), (30, 5, 0))
    assert gone(log, retention_ms=100) == [(0, Breach.RETENTION_MS)]
    assert [base for base, _ in gone(log, retention_ms=99)] == [0, 10, 20]
    assert gone(log, retention_ms=300) == []
    assert gone(log) == []


def test_by_size_what_stays_is_at_least_what_is_to_be_kept():
    log = facts((0, 50, 0), (10, 50, 0), (20, 50, 0))
    assert [base for base, _ in gone(log, retention_bytes=100)] == [0]
    assert [base for base, _ in gone(log, retention_bytes=99)] == [0]
    assert [base for base, _ in gone(log, retention_bytes=50)] == [0, 10]
    assert gone(log, retention_bytes=101) == []
    assert [base for base, _ in gone(log, retention_bytes=0)] == [0, 10, 20]


def test_below_the_log_start_segments_go_under_every_policy():
    log = facts((0, 5, 10**6), (10, 5, 10**6), (20, 5, 0), start=12)
    assert gone(log) == [(0, Breach.LOG_START_OFFSET)]
    compacted = gone(log, cleanup_policy=frozenset({"compact"}), retention_ms=1, retention_bytes=0)
    assert compacted == [(0, Breach.LOG_START_OFFSET)]


def test_nothing_that_may_not_be_committed_goes():
    segments = ((0, 5, 10**6), (10, 5, 10**6), (20, 5, 10**6))
    assert [base for base, _ in gone(facts(*segments, high_watermark=20), retention_ms=1)] == [0, 10]
    assert [base for base, _ in gone(facts(*segments, high_watermark=19), retention_ms=1)] == [0]
    assert gone(facts(*segments, high_watermark=9), retention_ms=1) == []
    assert len(gone(facts(*segments), retention_ms=1)) == 3


def test_an_empty_active_segment_stays():
    log = facts((0, 5, 10**6), (10, 0, 10**6), end=10)
    assert gone(log, retention_ms=1, retention_bytes=0) == [(0, Breach.RETENTION_MS)]
    assert gone(facts((0, 0, 10**6), end=0), retention_ms=1, retention_bytes=0) == []


def slow(log, config, now_ms):
    """Three passes over a list that shrinks, each as its sentence in Kafka's documentation has it."""
    left, result = list(log.segments), []

    def take_while(breach, wants):
        while left:
            bound = left[1].base_offset if len(left) > 1 else log.log_end_offset
            if log.high_watermark < bound or (len(left) == 1 and not left[0].size) or not wants():
                return
            result.append(Deletion(left.pop(0).base_offset, breach))

    if "delete" in config.cleanup_policy:
        if config.retention_ms >= 0:
            take_while(Breach.RETENTION_MS, lambda: now_ms - left[0].largest_timestamp > config.retention_ms)
        if config.retention_bytes >= 0:
            take_while(
                Breach.RETENTION_BYTES,
                lambda: sum(each.size for each in left) - left[0].size >= config.retention_bytes,
            )
    take_while(Breach.LOG_START_OFFSET, lambda: len(left) > 1 and left[1].base_offset <= log.log_start_offset)
    return tuple(result)


@st.composite
def logs(draw):
    sizes = draw(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 90)), min_size=1, max_size=6))
    base, segments = draw(st.integers(0, 20)), []
    start = base
    for records, size in sizes:
        segments.append(SegmentFacts(base, size, NOW - draw(st.integers(-10, 200))))
        base += records
    if draw(st.booleans()):
        segments.append(SegmentFacts(base, 0, NOW))
    return LogFacts(segments, draw(st.integers(start, base)), draw(st.integers(start, base)), base)


@settings(max_examples=200)
@given(
    logs(),
    st.integers(-1, 150),
    st.integers(-1, 300),
    st.sampled_from([{"delete"}, {"compact"}, {"compact", "delete"}]),
)
def test_the_same_as_three_slow_passes(log, retention_ms, retention_bytes, policy):
    config = LogConfig(
        retention_ms=retention_ms, retention_bytes=retention_bytes, cleanup_policy=frozenset(policy)
    )
    assert deletable(log, config, NOW) == slow(log, config, NOW)


def test_a_stray_stays_as_long_as_its_records_would_and_longer_than_a_deleted_file():
    assert stray_delay_ms(LogConfig(retention_ms=70_000)) == 70_000
    assert stray_delay_ms(LogConfig(retention_ms=1)) == LogConfig().file_delete_delay_ms
    assert stray_delay_ms(LogConfig(retention_ms=-1)) is None
    assert stray_delay_ms(LogConfig(cleanup_policy=frozenset({"compact"}))) is None
