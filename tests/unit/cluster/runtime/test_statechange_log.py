import asyncio
from datetime import datetime
from pathlib import Path

from structlog.testing import capture_logs

from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.levels import Level
from barnabas.cluster.model.statechange.line import StateChange
from barnabas.cluster.runtime.statechange_log import StateChangeLog

MOMENT = datetime(2026, 11, 21, 12, 0, 0, 7000).astimezone().timestamp()
INFO = StateChange(Kind.UPDATE_METADATA_BATCH, {"brokers": (1, 2), "count": 6}, speaker_id=1, speaker_epoch=3)
TEXT = (
    "[2026-11-21 12:00:00,007] INFO [Controller id=1 epoch=3] Sending UpdateMetadata request to brokers "
    "HashSet(1, 2) for 6 partitions (state.change.logger)\n"
)


async def test_a_line_looks_as_log4j_lays_it_out(tmp_path):
    log = StateChangeLog(tmp_path / "state-change.log", Level.TRACE, clock=lambda: MOMENT)
    log.write(INFO)
    log.close()
    assert (tmp_path / "state-change.log").read_text() == TEXT


async def test_lines_below_the_level_are_not_written(tmp_path):
    log = StateChangeLog(tmp_path / "state-change.log", Level.WARN, clock=lambda: MOMENT)
    log.write(INFO)
    log.close()
    assert (tmp_path / "state-change.log").read_text() == ""


async def test_lines_are_in_the_file_at_the_next_turn_of_the_event_loop(tmp_path):
    log = StateChangeLog(tmp_path / "state-change.log", Level.TRACE, clock=lambda: MOMENT)
    log.write(INFO)
    log.write(INFO)
    await asyncio.sleep(0)  # one turn: a process that is killed from now on loses neither
    assert (tmp_path / "state-change.log").read_text() == TEXT * 2
    log.write(INFO)
    await asyncio.sleep(0)
    assert (tmp_path / "state-change.log").read_text() == TEXT * 3
    log.close()


async def test_a_new_hour_starts_a_new_file(tmp_path):
    now = [MOMENT]
    log = StateChangeLog(tmp_path / "state-change.log", Level.TRACE, clock=lambda: now[0])
    log.write(INFO)
    now[0] += 3600
    log.write(INFO)
    log.close()
    assert (tmp_path / "state-change.log.2026-11-21-12").read_text() == TEXT
    assert (tmp_path / "state-change.log").read_text() == TEXT.replace(" 12:", " 13:")


async def test_after_close_nothing_is_written_and_nothing_fails(tmp_path):
    log = StateChangeLog(tmp_path / "state-change.log", Level.TRACE, clock=lambda: MOMENT)
    log.close()
    log.write(INFO)
    log.flush()
    log.close()
    assert (tmp_path / "state-change.log").read_text() == ""


async def test_a_full_disk_costs_lines_and_stops_nobody(tmp_path):
    path = tmp_path / "state-change.log"
    path.symlink_to("/dev/full")
    log = StateChangeLog(path, Level.TRACE, clock=lambda: MOMENT)
    with capture_logs() as logged:
        for _ in range(2000):  # more than any buffer takes
            log.write(INFO)
        log.flush()
        log.close()
    assert [(entry["log_level"], "No space left" in entry["event"]) for entry in logged] == [("error", True)]


async def test_lines_are_written_again_as_soon_as_the_disk_takes_them(tmp_path, monkeypatch):
    now = [MOMENT]
    log = StateChangeLog(tmp_path / "state-change.log", Level.TRACE, clock=lambda: now[0])

    def refuse(*_, **_more):
        raise OSError(30, "Read-only file system")

    with capture_logs() as logged:
        with monkeypatch.context() as disk:
            disk.setattr(Path, "replace", refuse)
            disk.setattr(Path, "open", refuse)
            now[0] += 3600
            log.write(INFO)
            log.write(INFO)
        log.write(INFO)
        log.flush()
    log.close()
    assert [entry["log_level"] for entry in logged] == ["error", "warning"]
    assert (tmp_path / "state-change.log").read_text() == TEXT.replace(" 12:", " 13:")
