"""``barnabas analyze PATH… --out DIR``, and ``spark-submit analysis/job.py PATH… --out DIR`` on any master.

``run`` is the entry point for other code. It writes into DIR the tables ``events``, ``files`` and those of
``analysis.derived`` (Parquet), ``report.html``, ``report.json`` and ``report.txt``, and prints one of them.
With ``--follow`` it keeps reading what is added to the logs until it is interrupted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

if not __package__:
    # Python puts a script's own folder on the path, but imports need the folder that holds the package.
    sys.path[0] = next(str(each) for each in Path(__file__).resolve().parents if (each / "barnabas").is_dir())

from barnabas.analysis.derived.store import derive
from barnabas.analysis.follow import PAUSE_S, Follower
from barnabas.analysis.output import LocalOutput, OccupiedError, Output, output_at
from barnabas.analysis.progress import progress, tell
from barnabas.analysis.report.document import gather
from barnabas.analysis.report.files import Format, write_report
from barnabas.analysis.report.words import count
from barnabas.analysis.scan import AS_WRITTEN, Reading
from barnabas.analysis.session import SparkStartError, spark_session
from barnabas.analysis.sources import NothingToReadError, Sources, find

DEFAULT_OUT = "barnabas-report"
"""The default of ``--out``: a folder below the working directory."""

_SMALL_BYTES = 64 * 1024 * 1024
"""The size in bytes up to which logs are read in less time than Spark needs to start."""

_FORMS = "html, json or text"

_EXPECTED = "expected state-change.log, controller.log or server.log of a broker"

_EXPECTED_OUT = "a folder that is writable, or can be made"

_BROKER_MAX = 2**31 - 1

_NAMED = 3
"""The number of files that a message names; it counts the rest."""

_pause = time.sleep
"""The function that waits between two scans of followed logs; tests replace it."""


def run(
    paths: Sequence[str | Path],
    out: str | Path = DEFAULT_OUT,
    spark: SparkSession | None = None,
    form: Format = Format.TEXT,
    *,
    reading: Reading = AS_WRITTEN,
    is_followed: bool = False,
) -> int:
    """Read the logs, write the tables and the report, and print the report.

    Args:
        paths: Files, folders (searched for the names in ``sources.LOG_NAMES``) and globs; with a scheme, as
            Spark takes them.
        out: A local folder, which is created if it does not exist, or a URI that Spark knows. Tables of an
            earlier run in it are replaced.
        spark: A session to run in, which stays open; None to start one and stop it at the end.
        form: The form of the report that is printed.
        reading: The settings for reading, such as the brokers' time zone.
        is_followed: Whether to keep reading what is added to the logs, until an interrupt.

    Returns:
        The exit code: 0 if any line was understood, 1 if none was, 2 if there was nothing to read or
        nowhere to write, 3 if Spark failed. The reason goes to standard error.
    """
    try:
        sources = find(paths)
        target = output_at(out)
    except (NothingToReadError, OccupiedError) as error:
        return _fail(2, str(error))
    except OSError as error:
        return _fail(2, f"cannot write to {str(out)!r}: {error.strerror}; expected {_EXPECTED_OUT}")
    remote = (*sources.remote_files, *sources.remote_folders)
    if is_followed and remote:
        return _fail(2, f"cannot follow {remote[0]!r}: expected files or folders of this machine")
    if is_followed and not isinstance(target, LocalOutput):
        return _fail(2, f"cannot follow into {str(out)!r}: expected a folder of this machine")
    session: AbstractContextManager[SparkSession] = (
        nullcontext(spark) if spark else spark_session(brief=_is_small(sources))
    )
    if spark is None:
        tell("starting Spark, which takes some seconds")
    try:
        with session as active:
            if is_followed and isinstance(target, LocalOutput):
                _follow(active, paths, target.folder, form, reading)
                return 0
            understood = _analyze(active, sources, target, form, reading)
    except SparkStartError as error:
        return _fail(3, str(error))
    except OSError as error:
        return _fail(2, f"cannot write to {str(error.filename or out)!r}: {error.strerror}")
    except PySparkException as error:
        return _fail(3, f"Spark failed: {error.getMessage() or error}")
    except Py4JJavaError as error:
        # Errors that Spark does not wrap: a file system that does not answer, or whose client is not
        # installed.
        return _fail(3, f"Spark failed: {str(error.java_exception).splitlines()[0]}")
    return 0 if understood else _fail(1, f"no line was understood of {_names(sources)}: {_EXPECTED}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Call ``run`` with the arguments of the command line."""
    parser = argparse.ArgumentParser(
        prog="barnabas analyze",
        description="Report what happened in a cluster, from its state-change.log files.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders or globs")
    parser.add_argument(
        "--out", default=DEFAULT_OUT, metavar="DIR", help="a folder, or a URI that Spark knows (%(default)s)"
    )
    parser.add_argument(
        "--format",
        type=_form,
        default=Format.HTML,
        metavar="FORM",
        help=f"what is printed: {_FORMS} (%(default)s)",
    )
    parser.add_argument(
        "--broker",
        type=_broker,
        metavar="ID",
        help="the broker id of lines if neither the line nor the path names one",
    )
    parser.add_argument(
        "--time-zone",
        type=_zone,
        default="UTC",
        metavar="ZONE",
        help="the time zone of the logs; the report is in UTC (%(default)s)",
    )
    parser.add_argument("--follow", action="store_true", help="keep reading what is added to the logs")
    given = parser.parse_args(arguments)
    reading = Reading(given.time_zone, given.broker)
    return run(given.paths, given.out, form=given.format, reading=reading, is_followed=given.follow)


def _form(name: str) -> Format:
    try:
        return Format(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"no format {name!r}: expected {_FORMS}") from error


def _broker(name: str) -> int:
    if name.isascii() and name.isdigit() and len(name) <= len(str(_BROKER_MAX)) and int(name) <= _BROKER_MAX:
        return int(name)
    raise argparse.ArgumentTypeError(f"no broker {name!r}: expected its id, 0 to {_BROKER_MAX}")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        # zoneinfo raises OSError for a name such as Europe, which is a folder of zones.
        raise argparse.ArgumentTypeError(
            f"no time zone {name!r}: expected a name such as Europe/Berlin"
        ) from error


def _analyze(spark: SparkSession, sources: Sources, out: Output, form: Format, reading: Reading) -> bool:
    with progress(spark.sparkContext, "reading logs"):
        tallies = out.write_events(spark, sources, reading)
    troubles = [*sources.closed, *_troubles(tallies)]
    for trouble in troubles:
        _fail(0, f"could not read all of {trouble}")
    if not any(tally["understood"] for tally in tallies):
        return False
    with progress(spark.sparkContext, "finding out what happened"):
        document = gather(derive(spark, out.folder), troubles, str(reading.zone))
    out.write_report(spark, document, form)
    return True


def _troubles(tallies: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each file of the table ``files`` that could not be read completely."""
    damaged = [f"{tally['source']}: {tally['error']}" for tally in tallies if tally["error"] is not None]
    replaced: Counter[str] = Counter()
    for tally in tallies:
        replaced[tally["source"]] += tally["replaced"]
    odd = [f"{source}: {count(number, 'byte')} not UTF-8" for source, number in replaced.items() if number]
    return damaged + odd


def _follow(
    spark: SparkSession, paths: Sequence[str | Path], folder: Path, form: Format, reading: Reading
) -> None:
    reported: dict[str, None] = {}
    follower = Follower(spark, paths, folder, reading=reading)
    try:
        while True:
            has_more = follower.read_added()
            for trouble in (*follower.unreadable, *_troubles(follower.damaged)):
                if trouble not in reported:
                    reported[trouble] = None
                    _fail(0, f"could not read all of {trouble}")
            if has_more:
                write_report(gather(derive(spark, folder), list(reported), str(reading.zone)), folder, form)
            _pause(PAUSE_S)
    except KeyboardInterrupt:
        return


def _names(sources: Sources) -> str:
    files = (*sources.files, *sources.remote_files, *sources.remote_folders)
    rest = len(files) - _NAMED
    return f"{', '.join(files[:_NAMED])}{f' and {rest:,} more' if rest > 0 else ''}"


def _is_small(sources: Sources) -> bool:
    return sources.size is not None and sources.size <= _SMALL_BYTES


def _fail(code: int, reason: str) -> int:
    sys.stderr.write(f"barnabas analyze: {reason}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
