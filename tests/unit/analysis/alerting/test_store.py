"""The file of the alerts: what is read is what was written."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from barnabas.analysis.alerting.decide import Alert, Alerts, Status
from barnabas.analysis.alerting.store import ALERTS, AlertsFileError, load, save
from barnabas.analysis.story.episodes import AlertKind

NOON = datetime(2026, 11, 21, 12, 0, 0, 123_456)  # noqa: DTZ001


def alert(number: int, status: Status, told: Status | None, until: datetime | None) -> Alert:
    return Alert(
        f"id {number}", AlertKind.NO_LEADER, "orders-3", NOON, until, NOON + timedelta(1), status, told,
        {"since": {"certainty": "unknown", "why": "…"}, "lines": [], "partition": None},
    )  # fmt: skip


def test_alerts_come_back_as_they_were(tmp_path: Path) -> None:
    assert load(tmp_path) is None
    alerts = Alerts(
        (
            alert(1, Status.FIRING, None, None),
            alert(2, Status.RESOLVED, Status.FIRING, NOON),
            alert(3, Status.RESOLVED, Status.RESOLVED, NOON),
        ),
        NOON,
    )
    save(tmp_path, alerts)
    assert load(tmp_path) == alerts
    save(tmp_path, Alerts())
    assert load(tmp_path) == Alerts()
    assert [path.name for path in tmp_path.iterdir()] == [ALERTS]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "all": [3], "horizon": 1}']
)
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / ALERTS).write_text(text)
    with pytest.raises(AlertsFileError, match=r"expected the file of an earlier run"):
        load(tmp_path)
