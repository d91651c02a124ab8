"""A client of a broker's metrics page."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request

OFFLINE_DIRECTORIES = "kafka_log_LogManager_OfflineLogDirectoryCount"
"""Kafka's gauge of the log directories that have failed."""


def gauges(address: str, *names: str) -> dict[str, float]:
    """Read metrics without labels by name, by default all; empty if the broker does not answer.

    Args:
        address: ``host:port`` of the page.
        names: The metrics.
    """
    query = urllib.parse.urlencode([("name[]", name) for name in names])
    try:
        with urllib.request.urlopen(f"http://{address}/metrics?{query}", timeout=2) as answer:
            page = answer.read().decode()
    except OSError:
        return {}
    pairs = (line.split(" ") for line in page.splitlines() if line[:1] != "#" and "{" not in line)
    return {name: float(value) for name, value in pairs}


def arm(address: str, failpoint: str, action: str) -> None:
    """Arm ``failpoint`` with ``action`` (``off``, ``pause``, ``error`` or ``exit``).

    Raises:
        ValueError: The broker knows no such failpoint or action; the message is its own.
        OSError: The broker does not answer.
    """
    url = f"http://{address}/failpoints/{failpoint}?action={action}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=5):
            pass
    except urllib.error.HTTPError as error:
        with error:
            raise ValueError(error.read().decode().strip()) from error
