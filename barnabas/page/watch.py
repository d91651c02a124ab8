"""``barnabas page``: the live page of a cluster that runs elsewhere, as in containers, without buttons."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from barnabas.page.controls import NoControls
from barnabas.page.live import Source
from barnabas.page.report import WITHOUT_SPARK
from barnabas.page.server import PageError, PageServer


def run(
    source: Source,
    *,
    host: str,
    port: int,
    names: Sequence[str],
    out: Path,
    report_command: str | None,
) -> int:
    """Serve the page until SIGINT or SIGTERM arrives. Call this on the main thread.

    Args:
        source: The cluster.
        host: The address to listen on.
        port: The port; 0 for any free one.
        names: Further names under which browsers reach the page.
        out: The folder for the report of Spark's job.
        report_command: The command that makes a report elsewhere, for a page without Spark; None for none.

    Returns:
        The exit status: 0 after a signal, 1 if the port is taken.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    without_spark = WITHOUT_SPARK
    if report_command is not None:
        without_spark = f"This page has no Spark. A report of the logs: {report_command}"
    try:
        page = PageServer(
            source,
            NoControls(),
            out=out,
            host=host,
            ports=(port,),
            names=names,
            without_spark=without_spark,
        )
    except PageError as error:
        sys.stderr.write(f"barnabas: {error}\n")
        return 1
    with page:
        sys.stdout.write(f"barnabas: watch it on {page.url}\n")
        sys.stdout.flush()
        stop.wait()
    return 0


def by_id(values: Sequence[str], option: str, expected: str) -> dict[int, str]:
    """Read options of the form ``ID=VALUE``.

    Args:
        values: The texts.
        option: The name of the option, for errors.
        expected: What the value is, for errors.

    Raises:
        ValueError: A text is not of this form, or names a broker again.
    """
    found: dict[int, str] = {}
    for text in values:
        number, equals, value = text.partition("=")
        if not equals or not number.isdecimal() or not value or int(number) in found:
            raise ValueError(f"{option} {text}: expected ID={expected}, each broker once")
        found[int(number)] = value
    return found
