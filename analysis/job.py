"""``barnabas analyze PATH… --out DIR``, and ``spark-submit analysis/job.py PATH… --out DIR`` on any master.

``run`` is what others call. It writes into DIR the tables ``events``, ``coverage``, ``controllers``,
``elections`` and ``failures`` (Parquet), ``timeline.json`` and ``timeline.txt``, and prints the latter.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

if not __package__:
    # As a script its own folder is on the path, and not the one above, which holds the packages.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from analysis import report, timeline
from analysis.scan import events
from analysis.session import SparkStartError, spark_session
from analysis.sources import NothingToReadError, Sources, find

_PRINTED_LINES = 200
"""More than this of the timeline is left to ``timeline.txt``."""

_SMALL_BYTES = 64 * 1024 * 1024
"""Up to this much, starting Spark takes longer than reading."""


def run(paths: Sequence[str | Path], out: str | Path, spark: SparkSession | None = None) -> int:
    """Read the logs, write the tables and the timeline, and print the latter.

    Args:
        paths: Files, folders (searched for ``state-change.log*``) and globs; with a scheme, as Spark takes
            them.
        out: A local folder, made where it is not there; tables of a former run in it are replaced.
        spark: A session to run in, which is left open; None for one of its own.

    Returns:
        The exit code: 0 if something was understood, 1 if nothing was, 2 if there was nothing to read or
        nowhere to write, 3 if Spark failed. What is wrong is said on standard error.
    """
    folder = Path(out)
    try:
        sources = find(paths)
        folder.mkdir(parents=True, exist_ok=True)
    except NothingToReadError as error:
        return _fail(2, str(error))
    except OSError as error:
        return _fail(2, f"cannot write to {str(folder)!r}: {error.strerror}")
    session: AbstractContextManager[SparkSession] = (
        nullcontext(spark) if spark else spark_session(brief=_is_small(sources))
    )
    try:
        with session as active:
            understood = _analyze(active, sources, folder)
    except SparkStartError as error:
        return _fail(3, str(error))
    except PySparkException as error:
        return _fail(3, f"Spark failed: {error.getMessage() or error}")
    return 0 if understood else _fail(1, "no line was understood: are these files logs of state changes?")


def main(arguments: Sequence[str] | None = None) -> int:
    """``run`` with the arguments of the command line."""
    parser = argparse.ArgumentParser(
        prog="analyze", description="Tell what happened from state-change.log files."
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders or globs")
    parser.add_argument("--out", required=True, metavar="DIR", help="where tables and timeline are written")
    given = parser.parse_args(arguments)
    return run(given.paths, given.out)


def _analyze(spark: SparkSession, sources: Sources, folder: Path) -> bool:
    def kept(name: str, frame: DataFrame) -> DataFrame:
        # Written once and read back: no table is computed twice, and the text of the logs is read once.
        path = str((folder / name).absolute())
        frame.write.mode("overwrite").parquet(path)
        return spark.read.parquet(path)

    table = kept("events", events(spark, sources))
    questions: tuple[Callable[[DataFrame], DataFrame], ...] = (
        timeline.coverage,
        timeline.controllers,
        timeline.elections,
        timeline.failures,
    )
    # The answers are small: one file each, that is read in one piece and keeps its order.
    answers = {each.__name__: kept(each.__name__, each(table).coalesce(1)) for each in questions}
    with (folder / "timeline.json").open("w", encoding="utf-8") as target:
        report.write_json(target, {name: _rows(frame) for name, frame in answers.items()})
    with (folder / "timeline.txt").open("w", encoding="utf-8") as target:
        target.writelines(
            f"{line}\n" for line in report.text(**{n: _rows(frame) for n, frame in answers.items()})
        )
    _print(folder / "timeline.txt")
    return bool(answers["coverage"].where("kind is not null").head(1))


def _is_small(sources: Sources) -> bool:
    return sources.size is not None and sources.size <= _SMALL_BYTES


def _rows(frame: DataFrame) -> Iterator[dict[str, Any]]:
    return (row.asDict() for row in frame.toLocalIterator())


def _print(path: Path) -> None:
    with path.open(encoding="utf-8") as lines:
        sys.stdout.writelines(islice(lines, _PRINTED_LINES))
        rest = sum(1 for _ in lines)
    if rest:
        sys.stdout.write(f"... and {rest:,} lines more in {path}\n")
    sys.stdout.flush()


def _fail(code: int, reason: str) -> int:
    sys.stderr.write(f"barnabas analyze: {reason}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
