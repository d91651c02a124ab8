"""The story from the records of ``__cluster_metadata`` of which some are missing."""

from __future__ import annotations

import pytest

from tests.unit.analysis.reading.metadata.conftest import (
    TOPIC,
    batch,
    int32s,
    number,
    partition,
    registration_change,
    text,
    value,
)
from tests.unit.analysis.reading.metadata.conftest import log as log  # noqa: PLC0414
from tests.unit.analysis.story.test_metadata import (
    FENCE,
    FIRST,
    LEAVE,
    SECOND,
    UNFENCE,
    Log,
    at,
    born,
    told,
)

THIRD = bytes(range(2, 18))

WHY = "(why is unknown without its server.log)"
"""Of a broker that led: its leaderships would have been moved before a stop."""


def cluster_of_two(*, lost: bytes) -> bytes:
    """Brokers 1 and 2 register at offsets 0 and 1 and lead; then ``lost`` from offset 6 on."""
    return (
        at(0, born(1, 0), born(2, 1), TOPIC, partition(1, 1, 2))
        + batch(4, registration_change(1, 0, **UNFENCE), registration_change(2, 1, **UNFENCE), time_ms=3_000)
        + lost
    )


def reborn(incarnation: bytes, offset: int = 900) -> bytes:
    """Broker 1 registers an hour later, and is unfenced."""
    return batch(offset, born(1, offset, incarnation), time_ms=3_650_000) + batch(
        offset + 1, registration_change(1, offset, **UNFENCE), time_ms=3_655_000
    )


FENCED = batch(6, registration_change(1, 0, **FENCE), time_ms=50_000)
STOPPED = batch(6, registration_change(1, 0, **LEAVE), time_ms=40_000) + batch(
    7, registration_change(1, 0, **FENCE), time_ms=42_000
)
BORN_AGAIN = batch(7, born(1, 7, SECOND), time_ms=60_000)


NEVER_ASKED = "(a new process registered, and the one before had not asked to stop)"


@pytest.mark.parametrize(
    ("lost", "incarnation", "gone", "back"),
    [
        (FENCED, SECOND, f"lost at 1970-01-01 00:00:50.000 or before {WHY}", None),
        (FENCED, FIRST, f"lost at 1970-01-01 00:00:50.000 or before {WHY}", None),
        (
            FENCED + BORN_AGAIN,
            THIRD,
            f"lost at 1970-01-01 00:00:50.000 or before {NEVER_ASKED[:-1]}",
            "00:01:00",
        ),
        (
            STOPPED,
            SECOND,
            "shut down between 1970-01-01 00:00:42.000 and 1970-01-01 01:00:50.000 (planned",
            None,
        ),
        (b"", SECOND, f"lost at 1970-01-01 01:00:50.000 or before {WHY}", None),
    ],
    ids=["fenced", "fenced-and-lived", "fenced-and-born-again", "stopped", "there"],
)
def test_a_registration_after_missing_records_only_bounds_the_return(
    log: Log, lost: bytes, incarnation: bytes, gone: str, back: str | None
) -> None:
    headline = told(log(cluster_of_two(lost=lost) + reborn(incarnation)))[0]
    assert headline.removeprefix("Broker 1 was ").removeprefix("Broker 1 ").startswith(gone)
    if back is None:
        assert " and was back at 1970-01-01 01:00:55.000 or before;" in headline
    else:
        assert f" and was back between 1970-01-01 {back}.000 and 1970-01-01 01:00:55.000;" in headline


def test_a_fence_after_missing_records_shows_that_a_broker_was_gone_by_then(log: Log) -> None:
    fence = batch(900, registration_change(1, 0, **FENCE), time_ms=3_650_000)
    found = told(log(cluster_of_two(lost=b"") + fence))
    (text,) = (text for text in found if "roker 1" in text)
    assert text == (
        "Broker 1 was fenced at 1970-01-01 01:00:50.000 (whether it stopped or was lost is unknown without "
        "its server.log), and no line shows a return; no line shows a partition without a leader."
    )


def test_a_stop_after_missing_records_was_planned(log: Log) -> None:
    stop = batch(900, registration_change(1, 0, **LEAVE), time_ms=3_600_000)
    stop += batch(901, registration_change(1, 0, **FENCE), time_ms=3_602_000)
    assert told(log(cluster_of_two(lost=b"") + stop + reborn(SECOND, 902)))[0].startswith(
        "Broker 1 was shut down between 1970-01-01 01:00:02.000 and 1970-01-01 01:00:50.000 (planned: its "
        "controlled shutdown succeeded) and was back at 1970-01-01 01:00:55.000;"
    )


def test_a_fence_after_missing_records_is_no_second_loss_of_who_was_gone_before(log: Log) -> None:
    fence = batch(900, registration_change(1, 0, **FENCE), time_ms=3_600_000)
    found = told(log(cluster_of_two(lost=FENCED) + fence + reborn(SECOND, 901)))
    (text,) = (text for text in found if text.startswith("Broker 1 "))
    assert text.startswith(
        f"Broker 1 was lost at 1970-01-01 00:00:50.000 or before {WHY} and was back at 1970-01-01 "
        "01:00:55.000 or before;"
    )


def test_a_process_that_registers_again_after_missing_records_lived(log: Log) -> None:
    found = told(log(cluster_of_two(lost=b"") + reborn(FIRST)))
    assert not any("Broker 1 was" in text or "Broker 1 died" in text for text in found)


def test_a_death_after_missing_records_is_not_the_cause_of_a_loss_before_them(log: Log) -> None:
    again = batch(900, born(1, 900, SECOND), time_ms=3_650_000)
    found = told(log(cluster_of_two(lost=FENCED) + again + reborn(THIRD, 901)))
    assert found[0].startswith("Broker 1 was lost at 1970-01-01 00:00:50.000 or before (why is unknown")


def test_a_loss_before_missing_records_is_not_charged_with_what_follows_them(log: Log) -> None:
    other = bytes(range(1, 17))
    made = (
        value(2, 0, text("later") + other),
        value(
            3, 0, number(0) + other + int32s(1) + int32s(1) + int32s() + int32s() + number(1) + number(0) * 2
        ),
    )
    lost = value(5, 0, number(0) + other, t1=number(-1))
    found = told(
        log(
            cluster_of_two(lost=FENCED)
            + batch(900, *made, time_ms=3_650_000)
            + batch(902, lost, time_ms=3_660_000)
        )
    )
    lost_at = [text for text in found if text.startswith("Broker 1 was lost")]
    assert [text.partition("; ")[2] for text in lost_at] == ["no line shows a partition without a leader."]
    assert any("no line shows why; later-0 had no leader" in text for text in found)


def test_brokers_lost_before_and_after_missing_records_were_not_surely_gone_together(log: Log) -> None:
    other = registration_change(2, 901, **FENCE)
    found = told(
        log(
            cluster_of_two(lost=FENCED)
            + batch(900, born(2, 900, SECOND), registration_change(2, 900, **UNFENCE), time_ms=51_000)
            + batch(902, other, time_ms=52_000)
        )
    )
    assert any(text.startswith("Broker 1 was lost") for text in found)
    assert not any("overlapping" in text for text in found)
