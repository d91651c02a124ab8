from datetime import datetime

from barnabas.cluster.runtime.line_clock import LineClock

NOON = datetime(2026, 11, 21, 12, 0, 0).astimezone().timestamp()


def test_the_stamp_is_local_time_with_comma_and_milliseconds():
    assert LineClock(lambda: NOON + 0.0425).stamp() == "2026-11-21 12:00:00,042"


def test_each_new_second_is_reported_once():
    now, seconds = [NOON], []
    clock = LineClock(lambda: now[0], on_second=seconds.append)
    for step in (0, 0.5, 0.5, 1.0):
        now[0] += step
        clock.stamp()
    assert [second.second for second in seconds] == [0, 1, 2]
    assert clock.now().timestamp() == now[0]
