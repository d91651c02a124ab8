from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.quotas.sampled_windows import Sample, SampledWindows

WINDOWS, WINDOW_MS = 3, 10


def test_a_window_begins_with_the_first_record_after_the_end_of_the_last() -> None:
    windows = SampledWindows(WINDOWS, WINDOW_MS, Sample)
    assert [windows.current(now_ms).start_ms for now_ms in (4, 13, 14, 37)] == [4, 4, 14, 37]
    assert [sample.start_ms for sample in windows.live(37)] == [14, 37]


@given(st.lists(st.integers(0, 25), max_size=30), st.integers(0, 60))
def test_the_last_windows_count_until_they_are_too_old(waits_ms: list[int], later_ms: int) -> None:
    windows, starts, now_ms = SampledWindows(WINDOWS, WINDOW_MS, Sample), [], 0
    for wait_ms in waits_ms:
        now_ms += wait_ms
        if not starts or now_ms - starts[-1] >= WINDOW_MS:
            starts.append(now_ms)
        assert windows.current(now_ms).start_ms == starts[-1]
    now_ms += later_ms
    expected = [start for start in starts[-WINDOWS:] if now_ms - start < WINDOWS * WINDOW_MS]
    assert [sample.start_ms for sample in windows.live(now_ms)] == expected
    assert windows.live(now_ms) == windows.live(now_ms)
