"""Local times become UTC."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.reading.times import Clock, doubled_spans, is_plausible, repeated_times

HOWE = ZoneInfo("Australia/Lord_Howe")
WARSAW = ZoneInfo("Europe/Warsaw")
NEAR = st.datetimes(datetime.fromisoformat("2000-01-01"), datetime.fromisoformat("2100-01-01"))


@given(NEAR, st.sampled_from([UTC, WARSAW, ZoneInfo("America/St_Johns")]))
def test_a_moment_is_what_python_says(moment: datetime, zone: ZoneInfo) -> None:
    # The text of a time does not say which of two equal hours it is in (PEP 495).
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000, fold=0)
    text = f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03}"
    expected = moment.replace(tzinfo=zone).astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    assert Clock(zone).moment(text) == round(expected.total_seconds() * 1000) * 1000


def test_of_an_hour_that_comes_twice_the_first_is_meant() -> None:
    clock = Clock(WARSAW)
    before, twice = clock.minute("2026-10-25 01:59"), clock.minute("2026-10-25 02:00")
    assert before is not None
    assert twice is not None
    assert twice - before == 60_000_000


def test_both_passes_of_an_hour_are_one_span() -> None:
    start, end = datetime(2026, 10, 25), datetime(2026, 10, 26)  # noqa: DTZ001
    both = (datetime(2026, 10, 25), datetime(2026, 10, 25, 2))  # noqa: DTZ001
    assert doubled_spans("Europe/Warsaw", start, end) == [both]
    assert doubled_spans("Europe/Warsaw", end, end) == []
    assert doubled_spans("UTC+01:00", start, end) == []


@pytest.mark.parametrize(
    "text", ["2026-13-21 03:12", "2026-11-31 03:12", "2026-11-21\t03:12", "2026-11-1 003:12", "broker-1", ""]
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert Clock(UTC).minute(text) is None
    assert Clock(UTC).moment(f"{text}:00,000") is None


@pytest.mark.parametrize(
    "text", ["0000-12-31 23:59", "0001-01-01 00:00", "1969-12-30 23:59", "9999-12-31 23:59"]
)
@pytest.mark.parametrize("zone", [UTC, ZoneInfo("Asia/Tokyo"), ZoneInfo("America/New_York")], ids=str)
def test_a_time_that_no_broker_can_have_written_is_none(text: str, zone: tzinfo) -> None:
    assert Clock(zone).minute(text) is None
    assert Clock(zone).moment(f"{text}:59,999") is None


def test_the_first_and_the_last_plausible_minute_are_times() -> None:
    assert Clock(UTC).minute("1970-01-01 00:00") == 0
    assert Clock(UTC).minute("2199-12-31 23:59") is not None
    assert Clock(UTC).minute("2200-01-01 00:00") is None
    assert [is_plausible(time) for time in (-1, 0, 2**63)] == [False, True, False]


def test_seconds_are_digits() -> None:
    assert Clock(UTC).moment("2026-11-21 03:12:4x,678") is None


def test_a_time_with_a_zone_is_not_local() -> None:
    assert Clock(WARSAW).moment("2026-11-21 03:12:45,678Z") == Clock(UTC).moment("2026-11-21 03:12:45,678")
    assert (Clock(UTC).is_utc, Clock(ZoneInfo("UTC")).is_utc, Clock(WARSAW).is_utc) == (True, True, False)


def when(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("zone", "start", "end", "found"),
    [
        (WARSAW, "2026-10-24", "2026-10-26", [("2026-10-25 02:00", "2026-10-25 03:00")]),
        (WARSAW, "2025-10-01 12:34:56.789", "2026-10-25 00:00", [
            ("2025-10-26 02:00", "2025-10-26 03:00"), ("2026-10-25 02:00", "2026-10-25 03:00"),
        ]),
        (HOWE, "2026-04-01", "2026-04-09", [("2026-04-05 01:30", "2026-04-05 02:00")]),
        # The hour was over, it was not there yet, clocks were set forward, or never.
        (WARSAW, "2026-10-25 02:00", "2026-11-26", []),
        (WARSAW, "2026-09-25", "2026-10-24 23:59", []),
        (WARSAW, "2026-03-01", "2026-04-01", []),
        (ZoneInfo("Asia/Tokyo"), "2026-01-01", "2026-12-31", []),
    ],
)  # fmt: skip
def test_local_times_that_occurred_twice_are_found(
    zone: tzinfo, start: str, end: str, found: list[tuple[str, str]]
) -> None:
    assert repeated_times(zone, when(start), when(end)) == [
        (when(first), when(last)) for first, last in found
    ]
