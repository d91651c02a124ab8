"""``barnabas analyze PATH… --out DIR``, and ``spark-submit analysis/job.py PATH… --out DIR`` on any master.

``run`` is the entry point for other code. It writes into DIR the tables ``events``, ``files`` and those of
``analysis.derived`` (Parquet), ``report.html``, ``report.json`` and ``report.txt``, and prints one of them.
With ``--follow`` it keeps reading what is added to the logs until it is interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

if not __package__:
    # Python puts a script's own folder on the path, but imports need the folder that holds the package.
    sys.path[0] = next(str(each) for each in Path(__file__).resolve().parents if (each / "barnabas").is_dir())

from barnabas.analysis.alerting.arguments import Alerting, alerting_of
from barnabas.analysis.alerting.store import AlertsFileError
from barnabas.analysis.alerting.watch import AddressError, watching
from barnabas.analysis.arguments import DEFAULT_OUT, command_line
from barnabas.analysis.derived.store import EVENTS_TABLE, derive_each, derive_each_here, derive_here, has_few
from barnabas.analysis.follow import PAUSE_S, Follower
from barnabas.analysis.output import LocalOutput, OccupiedError, Output, output_at
from barnabas.analysis.questions.reading import cluster_id
from barnabas.analysis.questions.story import observed
from barnabas.analysis.reading.metadata.segments import is_segment
from barnabas.analysis.remote import looked_up
from barnabas.analysis.report.document import Document, gather
from barnabas.analysis.report.files import Format, NotPrintedError, write_report
from barnabas.analysis.runtime.collection import without_collection
from barnabas.analysis.runtime.ending import undisturbed, until_signal
from barnabas.analysis.runtime.engine import in_tasks, in_this_process
from barnabas.analysis.runtime.gateway import outlive
from barnabas.analysis.runtime.progress import BELOW_SPARK_SUBMIT, progress, tell
from barnabas.analysis.runtime.session import Amount, SparkStartError, spark_session
from barnabas.analysis.runtime.threads import threads
from barnabas.analysis.scan import AS_WRITTEN, SPLIT_BYTES_MIN, Reading
from barnabas.analysis.sources import (
    STDIN,
    STDIN_COPY,
    NothingToReadError,
    Sources,
    covered_by,
    find,
    met,
    nothing_of,
    spooled,
)
from barnabas.analysis.story.episodes import episodes
from barnabas.analysis.story.words import count

_ASIDE = "rows"
"""The folder for rows on their way to this process, below that of what a run writes."""

FEW_BYTES = 1024 * 1024
"""The size in bytes up to which logs are read before it is decided whether Spark is needed."""

FEW = 4_000
"""The most entries of logs whose tables are computed without Spark, which takes seconds of CPU time."""

_FINDING = "finding out what happened"

_EXPECTED = "expected state-change.log, controller.log or server.log of a broker"

_READ_WHOLE = "it is of a metadata log, which is only read whole"

_EXPECTED_OUT = "a folder that is writable, or can be made"

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
    alerting: Alerting | None = None,
) -> int:
    """Read the logs, write the tables and the report, and print the report.

    Args:
        paths: Files, folders (all logs in them) and globs; with a scheme, as Spark takes them; ``-`` for the
            standard input.
        out: A local folder, which is created if it does not exist, or a URI that Spark knows. Tables of an
            earlier run in it are replaced.
        spark: A session to run in, which stays open; None to start one and stop it at the end.
        form: The form of the report that is printed.
        reading: The settings for reading, such as the brokers' time zone.
        is_followed: Whether to keep reading what is added to the logs, until an interrupt.
        alerting: How alerts are sent and shown while the logs are followed; None for no alerts.

    Returns:
        The exit code: 0 if any line was understood, 1 if none was, 2 if there was nothing to read or
        nowhere to write, 3 if Spark failed. The reason goes to standard error.

    Raises:
        BrokenPipeError: The reader of standard output or of standard error has closed the pipe.
    """
    if is_followed and STDIN in map(str, paths):
        return _fail(2, "cannot follow the standard input: expected files or folders of this machine")
    with tempfile.TemporaryDirectory(prefix="barnabas-stdin-") as scratch:
        try:
            # Python has no ``stdin`` if the process was started with it closed.
            local = spooled(paths, None if sys.stdin is None else sys.stdin.buffer, Path(scratch))
        except NothingToReadError as error:
            return _fail(2, str(error))
        reading = replace(reading, stdin=Path(scratch) / STDIN_COPY)
        return _run(local, out, spark, form, reading=reading, is_followed=is_followed, alerting=alerting)


def _run(
    paths: Sequence[str | Path],
    out: str | Path,
    spark: SparkSession | None,
    form: Format,
    *,
    reading: Reading,
    is_followed: bool,
    alerting: Alerting | None,
) -> int:
    try:
        sources = _found(paths)
        _refuse_among_logs(out, paths, sources)
        target = output_at(out)
    except (NothingToReadError, OccupiedError) as error:
        return _fail(2, str(error))
    except OSError as error:
        return _fail(2, f"cannot write to {str(out)!r}: {error.strerror}; expected {_EXPECTED_OUT}")
    if is_followed and (reason := _not_followed(sources, target, out)):
        return _fail(2, reason)
    try:
        is_own = spark is None and not is_followed
        if is_own and (code := _analyze_here(sources, target, form, reading)) is not None:
            return code
        if spark is None:
            tell("starting Spark, which takes some seconds")
        session: AbstractContextManager[SparkSession] = (
            nullcontext(spark) if spark else spark_session(_amount(sources, target))
        )
        with threads(1) as aside:
            early = None
            if is_own and isinstance(target, LocalOutput) and _is_tiny(sources, SPLIT_BYTES_MIN):
                # In the meantime Spark starts.
                early = aside.submit(target.write_few_events, sources, reading)
            with session as active:
                if is_followed and isinstance(target, LocalOutput):
                    return _follow(active, paths, sources, target, form, reading=reading, alerting=alerting)
                return _analyze(active, sources, target, form, reading, early=early)
    except (SparkStartError, NothingToReadError, NotPrintedError) as error:
        return _fail(3 if isinstance(error, SparkStartError) else 2, str(error))
    except BrokenPipeError:
        # No file of the output is a pipe.
        raise
    except OSError as error:
        return _fail(2, f"cannot write to {str(error.filename or out)!r}: {error.strerror}")
    except (PySparkException, Py4JJavaError) as error:
        return _fail(3, f"Spark failed: {_failure(error)}")
    finally:
        outlive()
        target.discard()


def _failure(error: PySparkException | Py4JJavaError) -> str:
    """Return the message of an error of Spark."""
    if isinstance(error, PySparkException):
        return error.getMessage() or str(error)
    # Errors that Spark does not wrap: a file system that does not answer, or whose client is not installed.
    return str(error.java_exception).splitlines()[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Call ``run`` with the arguments of the command line."""
    _replace_closed_streams()
    parser = command_line()
    given = parser.parse_args(arguments)
    alerting = alerting_of(given, parser)
    reading = Reading(given.time_zone, given.broker, min_insync=given.min_insync_replicas)
    code = until_signal(
        lambda: run(
            given.paths,
            given.out,
            form=given.format,
            reading=reading,
            is_followed=given.follow,
            alerting=alerting,
        )
    )
    # An interrupt is how following ends.
    return 0 if given.follow and code == 128 + signal.SIGINT else code


def _replace_closed_streams() -> None:
    """Discard what is written to standard output and standard error if the process has none.

    Otherwise the first files that are opened would get the numbers of these streams, and with them what Java
    writes there.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  (until the end)


def _analyze(
    spark: SparkSession,
    sources: Sources,
    out: Output,
    form: Format,
    reading: Reading,
    *,
    early: Future[list[dict[str, Any]]] | None,
) -> int:
    with progress(spark.sparkContext, "reading logs"):
        sources = looked_up(spark, sources)
        tallies = out.write_events(spark, sources, reading) if early is None else early.result()

    def find(troubles: Sequence[str]) -> list[Document]:
        with progress(spark.sparkContext, _FINDING):
            if isinstance(out, LocalOutput):
                with in_tasks(spark, out.folder / _ASIDE):
                    return _gathered(derive_each_here(out.folder), troubles, reading)
            return _gathered(derive_each(spark, str(out.folder)), troubles, reading)

    def write(documents: Sequence[Document]) -> Callable[[], None]:
        return out.write_report(spark, documents, form)

    return _report(sources, out, tallies, find, write, reading=reading)


def _analyze_here(sources: Sources, out: Output, form: Format, reading: Reading) -> int | None:
    """Analyze few lines of local logs without Spark; return None if Spark is needed."""
    if not isinstance(out, LocalOutput) or not _is_tiny(sources, FEW_BYTES):
        return None
    tallies = out.write_few_events(sources, reading)
    if sum(tally["entries"] for tally in tallies) > FEW:
        return None

    def find(troubles: Sequence[str]) -> list[Document]:
        tell(_FINDING)
        with in_this_process():
            return _gathered(derive_each_here(out.folder), troubles, reading)

    def write(documents: Sequence[Document]) -> Callable[[], None]:
        return out.save_report(documents, form)

    return _report(sources, out, tallies, find, write, reading=reading)


def _gathered(
    each: Sequence[AbstractContextManager[Mapping[str, DataFrame]]], troubles: Sequence[str], reading: Reading
) -> list[Document]:
    """Return the report of each cluster."""
    return [gather(tables, troubles, str(reading.zone), reading.min_insync) for tables in each]


def _report(
    sources: Sources,
    out: Output,
    tallies: Sequence[Mapping[str, Any]],
    find: Callable[[Sequence[str]], list[Document]],
    write: Callable[[Sequence[Document]], Callable[[], None]],
    *,
    reading: Reading,
) -> int:
    """Write and print the report of the logs that were read, and return the exit code.

    Args:
        sources: The logs.
        out: The output.
        tallies: The rows of the table ``files``.
        find: Computes the tables and the report of each cluster from sentences about what could not be read.
        write: Writes the reports, and returns a function that prints it.
        reading: The settings for reading the logs.
    """
    troubles = [*sources.closed, *_troubles(tallies)]
    for trouble in troubles:
        _fail(0, f"could not read all of {trouble}")
    understood = any(tally["understood"] for tally in tallies)
    if not understood:
        out.finish()
        nothing = f"no line was understood of {_names(sources, reading)}"
        return _fail(1, f"{nothing}: {_EXPECTED}{met(sources.files)}")
    with without_collection():
        show = write(find(troubles))
    with undisturbed():
        out.finish()
    show()
    return 0


def _troubles(tallies: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each file of the table ``files`` that could not be read completely."""
    damaged = [f"{tally['source']}: {tally['error']}" for tally in tallies if tally["error"] is not None]
    replaced: Counter[str] = Counter()
    for tally in tallies:
        replaced[tally["source"]] += tally["replaced"]
    odd = [f"{source}: {count(number, 'byte')} not UTF-8" for source, number in replaced.items() if number]
    return damaged + odd


def _follow(
    spark: SparkSession,
    paths: Sequence[str | Path],
    sources: Sources,
    target: LocalOutput,
    form: Format,
    *,
    reading: Reading,
    alerting: Alerting | None,
) -> int:
    folder = target.place
    try:
        watch = None if alerting is None else watching(folder, alerting, _complain)
    except (AlertsFileError, AddressError) as error:
        return _fail(2, str(error))
    segments = filter(is_segment, map(Path, sources.files))
    reported = dict.fromkeys(f"{segment}: {_READ_WHOLE}, without --follow" for segment in segments)
    for trouble in reported:
        _fail(0, f"could not read all of {trouble}")
    follower = Follower(spark, paths, folder, reading=reading)
    try:
        while True:
            has_more = follower.read_added()
            for trouble in (*follower.unreadable, *_troubles(follower.damaged)):
                if trouble not in reported:
                    reported[trouble] = None
                    _fail(0, f"could not read all of {trouble}")
            # A watch that never looked must see what an earlier follower without alerts has read.
            if has_more or (watch is not None and watch.is_new and follower.has_read):
                few = has_few(folder / EVENTS_TABLE, FEW)
                with (
                    without_collection(),
                    in_this_process() if few else in_tasks(spark, target.folder / _ASIDE),
                    derive_here(folder) as tables,
                ):
                    seen = observed(tables, reading.min_insync)
                    if watch is not None:
                        watch.look(episodes(seen), cluster_id(tables["events"]))
                    document = gather(nullcontext(tables), list(reported), str(reading.zone), seen=seen)
                    write_report(document, folder, form)
            elif watch is not None:
                watch.wait()
            _pause(PAUSE_S)
    except KeyboardInterrupt:
        return 0
    finally:
        if watch is not None:
            watch.close()


def _found(paths: Sequence[str | Path]) -> Sources:
    sources = find(paths)
    if not (sources.files or sources.remote):
        raise NothingToReadError(nothing_of(sources.closed))
    return sources


def _refuse_among_logs(out: str | Path, paths: Sequence[str | Path], sources: Sources) -> None:
    log = covered_by(out, paths, sources) if str(out) else None
    if log is not None:
        raise OccupiedError(
            f"cannot write to {str(out)!r}: it holds the log {log!r}, which no run would find beside a "
            f"report; expected another --out, such as {DEFAULT_OUT!r}"
        )


def _not_followed(sources: Sources, target: Output, out: str | Path) -> str | None:
    """Return why logs cannot be followed; None if they can."""
    if sources.remote:
        return f"cannot follow {sources.remote[0]!r}: expected files or folders of this machine"
    if not isinstance(target, LocalOutput):
        return f"cannot follow into {str(out)!r}: expected a folder of this machine"
    if all(is_segment(Path(file)) for file in sources.files):
        return f"cannot follow {sources.files[0]!r}: {_READ_WHOLE}; {_EXPECTED}, or no --follow"
    return None


def _names(sources: Sources, reading: Reading) -> str:
    files = [*map(reading.called, sources.files), *sources.remote]
    rest = len(files) - _NAMED
    return f"{', '.join(files[:_NAMED])}{f' and {rest:,} more' if rest > 0 else ''}"


def _is_tiny(sources: Sources, size: int) -> bool:
    """Return whether this process reads logs of up to ``size`` bytes before a worker of Spark has started.

    Below spark-submit Spark has started already, and its workers may be the ones that see the files.
    """
    is_ours = BELOW_SPARK_SUBMIT not in os.environ
    return is_ours and sources.size is not None and sources.size <= size


def _amount(sources: Sources, target: Output) -> Amount:
    is_local = isinstance(target, LocalOutput) and not sources.remote
    return Amount.SMALL if is_local else Amount.LARGE


def _complain(reason: str) -> None:
    _fail(0, reason)


def _fail(code: int, reason: str) -> int:
    sys.stderr.write(f"barnabas analyze: {reason}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
