"""Lines of which neither the text nor the path names the broker that wrote them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.analysis import job
from barnabas.analysis.report.as_text import summary
from barnabas.analysis.report.document import Document, Row
from barnabas.analysis.scan import Reading

# A kill of a broker of 2.8, whose lines never name it.
KILLED = """\
[2026-11-21 03:12:00,000] INFO starting (kafka.server.KafkaServer)
[2026-11-21 03:12:01,000] INFO Attempting recovery for all logs in /data since no clean shutdown file was \
found (kafka.log.LogManager)
"""
WHO = {
    1: "1 line of {} does not say which broker wrote it",
    2: "2 lines of {} do not say which broker wrote them",
}
HOW = (
    "lack what only they tell: name the file or its folder after its broker, as in broker-1/server.log, or "
    "give --broker ID."
)


def run(path: Path, reading: Reading = job.AS_WRITTEN) -> tuple[list[str], list[Row]]:
    """The report's sentences about lines without a broker, and the JSON's rows of them."""
    out = path.parent.parent / "out"
    assert job.run([path], out, reading=reading) == 0
    told = (out / "report.txt").read_text().splitlines()
    data = json.loads((out / "report.json").read_text())
    return [line.strip() for line in told if "--broker" in line], data["nameless"]


@pytest.mark.parametrize(("text", "lines"), [(KILLED, 2), (KILLED.splitlines()[0] + "\n", 1)])
def test_a_file_that_names_no_broker_is_named_and_how_to_name_it(
    tmp_path: Path, text: str, lines: int
) -> None:
    log = tmp_path / "lone" / "server.log"
    log.parent.mkdir()
    log.write_text(text)
    (told,), (row,) = run(log)
    assert told == f"{WHO[lines].format(f'{tmp_path.name}/lone/server.log')}, so the incidents {HOW}"
    assert row == {"source": log.as_uri(), "lines": lines}


def test_nothing_is_said_if_the_path_or_the_option_names_the_broker(tmp_path: Path) -> None:
    log = tmp_path / "lone" / "server.log"
    named = tmp_path / "broker-2" / "server.log"
    for each in (log, named):
        each.parent.mkdir()
        each.write_text(KILLED)
    assert run(log, Reading(broker=2)) == ([], [])
    assert run(named) == ([], [])


def test_of_many_files_some_are_named(document: Document) -> None:
    files = [{"source": f"file:///logs/{name}/server.log", "lines": 4} for name in "abcde"]
    assert (
        "20 lines of logs/a/server.log, logs/b/server.log, logs/c/server.log and 2 more files do not say "
        "which broker wrote them, so the incidents lack what only they tell: name files or folders after "
        "brokers, as in broker-1/server.log, or give --broker ID if all are of one broker."
    ) in summary(replace(document, nameless=files))
