"""The alerts in a file beside the tables, so that a follower that starts again sends nothing twice."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from barnabas.analysis.alerting.decide import Alert, Alerts, Status
from barnabas.analysis.story.episodes import AlertKind

ALERTS = "_alerts.json"
"""The file beside the tables that holds the alerts."""

_VERSION = 1


class AlertsFileError(Exception):
    """An error for a file of alerts that is not one; its message says what was expected."""


def load(folder: Path) -> Alerts | None:
    """Return the alerts that ``save`` wrote; None if it never did.

    Raises:
        AlertsFileError: The file holds something else.
        OSError: The file cannot be read.
    """
    try:
        text = (folder / ALERTS).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        return _alerts(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AlertsFileError(
            f"cannot read the alerts in {str(folder / ALERTS)!r} ({error!r}): expected the file of an "
            "earlier run; without one, alerts that still fire are sent again"
        ) from error


def save(folder: Path, alerts: Alerts) -> None:
    """Write the alerts; a crash leaves the former file or the new one."""
    aside = folder / f"{ALERTS}.new"
    aside.write_text(json.dumps({"version": _VERSION, **asdict(alerts)}, default=_plain), encoding="utf-8")
    aside.replace(folder / ALERTS)


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"an alert holds no {type(value).__name__}: {value!r}")


def _alerts(stored: dict[str, Any]) -> Alerts:
    if stored["version"] != _VERSION:
        raise ValueError(f"version {stored['version']!r}: expected {_VERSION}")
    return Alerts(tuple(_alert(each) for each in stored["all"]), _time(stored["horizon"]))


def _alert(row: dict[str, Any]) -> Alert:
    return Alert(
        id=row["id"],
        kind=AlertKind(row["kind"]),
        subject=row["subject"],
        since=datetime.fromisoformat(row["since"]),
        until=_time(row["until"]),
        renewed=datetime.fromisoformat(row["renewed"]),
        status=Status(row["status"]),
        acknowledged=None if row["acknowledged"] is None else Status(row["acknowledged"]),
        shown=row["shown"],
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
