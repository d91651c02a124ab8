import logging
import re

import pytest
import structlog

from barnabas.cluster.runtime.logs import set_up


@pytest.fixture(autouse=True)
def _leave_logging_as_it_was():
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    for handler in handlers:
        root.removeHandler(handler)
    yield
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)
    structlog.reset_defaults()


def test_our_lines_go_to_the_file_and_to_standard_error(tmp_path, capsys):
    set_up(tmp_path, "INFO")
    structlog.get_logger("broker.node").info("registered", broker=1, epoch=7)
    text = (tmp_path / "server.log").read_text()
    assert re.fullmatch(
        r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] INFO registered broker=1 epoch=7 \(broker\.node\)\n", text
    )
    assert capsys.readouterr().err == text


def test_what_libraries_log_comes_to_the_same_file(tmp_path):
    set_up(tmp_path, "INFO")
    logging.getLogger("some.library").warning("lost %s", "it")
    assert "WARN lost it (some.library)\n" in (tmp_path / "server.log").read_text()


def test_a_client_cannot_forge_a_line(tmp_path):
    set_up(tmp_path, "INFO")
    forged = "x\n[2026-01-01 00:00:00,000] INFO all is well\r\x1b[2J"
    structlog.get_logger("a").info("closing", client_id=forged)
    structlog.get_logger("a").info(f"refused {forged}")
    structlog.get_logger("a").info("values: \n\ta = 1\n\tb = ü\n")
    text = (tmp_path / "server.log").read_text()
    assert "\r" not in text
    assert "\x1b" not in text
    assert r"client_id=x\n[2026-01-01 00:00:00,000] INFO all is well\r\x1b[2J (a)" in text
    assert "refused x\n\t[2026-01-01" in text
    assert "values: \n\ta = 1\n\tb = ü\n (a)\n" in text
    assert sum(line.startswith("[") for line in text.splitlines()) == 3


def test_every_attempt_to_reach_zookeeper_is_no_line(tmp_path):
    set_up(tmp_path, "DEBUG")
    logging.getLogger("kazoo.client").warning("Connection dropped")
    assert (tmp_path / "server.log").read_text() == ""


def test_an_exception_follows_its_line(tmp_path):
    set_up(tmp_path, "INFO")
    try:
        raise ValueError("broken")
    except ValueError:
        structlog.get_logger("a").exception("failed")
    lines = (tmp_path / "server.log").read_text().splitlines()
    assert lines[0].endswith("ERROR failed (a)")
    assert lines[-1] == "ValueError: broken"


def test_lines_below_the_level_are_dropped(tmp_path):
    set_up(tmp_path, "WARN")
    structlog.get_logger("a").info("no")
    structlog.get_logger("a").warning("yes")
    assert "no" not in (tmp_path / "server.log").read_text()


def test_without_a_directory_there_is_no_file(tmp_path, capsys):
    set_up(None, "INFO")
    structlog.get_logger("a").info("said")
    assert "INFO said (a)" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported_once_and_blocks_nothing(tmp_path, capsys):
    (tmp_path / "server.log").symlink_to("/dev/full")
    set_up(tmp_path, "INFO")
    for number in range(3):
        structlog.get_logger("broker.node").info("registered", epoch=number)
    notified = capsys.readouterr().err
    assert notified.count("No space left on device") == 1
    assert [f"epoch={number} " in notified for number in range(3)] == [True] * 3
