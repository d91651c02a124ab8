"""What is followed is in the end what a batch run reads."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.follow import Follower
from barnabas.analysis.runtime.engine import framed
from barnabas.analysis.scan import AS_WRITTEN, Reading, events
from barnabas.analysis.sources import find
from tests.unit.analysis.conftest import derived

pytestmark = pytest.mark.spark
PLACE = ("source", "block", "line")


def rows(table: DataFrame) -> list[str]:
    return sorted(map(str, table.collect()))


def told(table: DataFrame) -> list[str]:
    return rows(table.drop(*PLACE))


def test_logs_that_are_followed_with_interruptions_give_the_rows_of_a_batch(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    growing, out = tmp_path / "growing", tmp_path / "out"
    growing.mkdir()
    out.mkdir()
    texts = {log.parent.name: log.read_bytes() for log in logs.rglob("state-change.log")}

    def go_on(rest_s: float) -> None:
        follower = Follower(spark, [growing], out, reading=Reading(broker=8), rest_s=rest_s)
        assert follower.read_added()
        assert not follower.read_added()

    # The second broker's log comes late, and its first entries are older than what was read of the first one.
    for name, part in (
        ("broker-1", slice(0, 400)),
        ("broker-1", slice(400, None)),
        ("broker-2", slice(None)),
    ):
        (growing / name).mkdir(exist_ok=True)
        with (growing / name / "state-change.log").open("ab") as log:
            log.write(texts[name][part])
        go_on(1e9)
    live = growing / "broker-1" / "state-change.log"
    live.rename(live.with_name("state-change.log.2026-11-21-03"))
    go_on(0.0)
    written = spark.read.parquet(str(out / "events"))
    read = events(spark, find([growing]), Reading(broker=8))
    assert told(written) == told(read)
    followed, at_once = (derived(framed(each.toArrow())) for each in (written, read))
    for table in DERIVED:
        # A row may name the place of its line, which counts from where a batch began to read.
        assert told(followed[table.name]) == told(at_once[table.name]), table.name


def test_a_batch_that_did_not_end_is_read_again_and_replaces_itself(
    spark: SparkSession, logs: Path, table: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def follower() -> Follower:
        return Follower(spark, [logs], tmp_path, reading=AS_WRITTEN, rest_s=0.0)

    store = Follower._store
    stored: list[None] = []

    def die_before_the_end(self: Follower) -> None:
        stored.append(None)
        if len(stored) == 2:
            raise KeyboardInterrupt
        store(self)

    monkeypatch.setattr(Follower, "_store", die_before_the_end)
    with pytest.raises(KeyboardInterrupt):
        follower().read_added()
    monkeypatch.undo()
    again = follower()
    assert again.read_added()
    assert told(spark.read.parquet(str(tmp_path / "events"))) == told(table)
    assert not again.read_added()


def test_what_of_a_log_cannot_be_read_is_remembered(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    whole = (logs / "broker-1" / "state-change.log").read_bytes()
    torn, odd = tmp_path / "state-change.log.1.gz", tmp_path / "state-change.log.2"
    torn.write_bytes(gzip.compress(whole)[:-9])
    odd.write_bytes(whole.replace(b"Changed", b"Chang\xffd"))
    (tmp_path / "state-change.log.3").symlink_to(tmp_path / "gone")
    out = tmp_path / "out"
    out.mkdir()
    follower = Follower(spark, [tmp_path], out, reading=AS_WRITTEN, rest_s=0.0)
    assert follower.read_added()
    assert follower.unreadable == []
    assert not follower.read_added()
    assert follower.unreadable == [f"{tmp_path / 'state-change.log.3'}: No such file or directory"]
    damaged = Follower(spark, [tmp_path], out, reading=AS_WRITTEN).damaged
    assert {Path(each["source"]).name: (each["error"], each["replaced"]) for each in damaged} == {
        torn.name: ("the compressed text ends early; nothing was read after line 3", 0),
        odd.name: (None, 2),
    }


def test_a_python_that_starts_slowly_is_waited_for(
    spark: SparkSession, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine under load, in one script: Spark gives a Python process without a daemon ten seconds."""
    slow = tmp_path / "slow-python"
    slow.write_text(f'#!/bin/sh\nsleep 11\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(slow))
    assert Follower(spark, [logs], tmp_path, reading=AS_WRITTEN, rest_s=0.0).read_added()
