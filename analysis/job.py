"""``barnabas analyze PATH… --out DIR``, and ``spark-submit analysis/job.py PATH… --out DIR`` on any master.

``run`` is what others call. It writes into DIR the table ``events`` and those of ``analysis.derived``
(Parquet), ``report.html``, ``report.json`` and ``report.txt``, and prints one of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

if not __package__:
    # As a script its own folder is on the path, and not the one above, which holds the packages.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from analysis.derived.store import EVENTS_TABLE, derive
from analysis.report.document import gather
from analysis.report.files import Format, tell
from analysis.scan import events
from analysis.session import SparkStartError, spark_session
from analysis.sources import NothingToReadError, Sources, find

DEFAULT_OUT = "barnabas-report"
"""Where tables and report go if nobody says otherwise: a folder below the working directory."""

_SMALL_BYTES = 64 * 1024 * 1024
"""Up to this much, starting Spark takes longer than reading."""


def run(
    paths: Sequence[str | Path],
    out: str | Path = DEFAULT_OUT,
    spark: SparkSession | None = None,
    form: Format = Format.TEXT,
) -> int:
    """Read the logs, write the tables and the report, and print the latter.

    Args:
        paths: Files, folders (searched for ``state-change.log*``) and globs; with a scheme, as Spark takes
            them.
        out: A local folder, made where it is not there; tables of a former run in it are replaced.
        spark: A session to run in, which is left open; None for one of its own.
        form: What is printed of the report.

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
            understood = _analyze(active, sources, folder, form)
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
    parser.add_argument(
        "--out", default=DEFAULT_OUT, metavar="DIR", help="where tables and report are written (%(default)s)"
    )
    parser.add_argument(
        "--format",
        type=Format,
        choices=list(Format),
        default=Format.HTML,
        help="what is printed (%(default)s)",
    )
    given = parser.parse_args(arguments)
    return run(given.paths, given.out, form=given.format)


def _analyze(spark: SparkSession, sources: Sources, folder: Path, form: Format) -> bool:
    # Written once and read back: the text of the logs is read once.
    path = str((folder / EVENTS_TABLE).absolute())
    events(spark, sources).write.mode("overwrite").parquet(path)
    if not spark.read.parquet(path).where("understood").head(1):
        return False
    tell(gather(derive(spark, folder)), folder, form)
    return True


def _is_small(sources: Sources) -> bool:
    return sources.size is not None and sources.size <= _SMALL_BYTES


def _fail(code: int, reason: str) -> int:
    sys.stderr.write(f"barnabas analyze: {reason}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
