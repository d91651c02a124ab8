import subprocess
import sys
from unittest.mock import Mock

import pytest

from barnabas.broker import command
from barnabas.broker.config.start_error import StartError

HOLDER = """
import sys
from pathlib import Path
from barnabas.broker import command
command._configure(Path(sys.argv[1]), ["server.log.level=ERROR"])
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def settings(tmp_path):
    file = tmp_path / "server.properties"
    file.write_text(f"zookeeper.connect=z\nkafka.logs.dir={tmp_path / 'logs'}\n")
    return file


@pytest.fixture(autouse=True)
def _without_logs(monkeypatch):
    monkeypatch.setattr(command.logs, "set_up", lambda *_: None)
    monkeypatch.setattr(command, "keep_freed_memory", lambda: True)


def runs(monkeypatch, outcome):
    async def run(config):
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(command, "run", run)


def test_the_exit_status_is_that_of_the_broker(monkeypatch, settings):
    runs(monkeypatch, 0)
    assert command.main([str(settings)]) == 0
    runs(monkeypatch, 1)
    assert command.main([str(settings)]) == 1


def test_what_keeps_it_from_starting_is_logged_and_exit_status_one(monkeypatch, settings):
    runs(monkeypatch, StartError("Cannot listen"))
    said = []
    monkeypatch.setattr(command._log, "critical", said.append, raising=False)
    assert command.main([str(settings)]) == 1
    assert said == ["Cannot listen"]


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("num.partitions=0", "num.partitions has the value '0'"),
        ("broker.id", "must have the form key=value"),
        ("log.segmnt.bytes=5", "did you mean log.segment.bytes?"),
        ("failpoints=x=pause", "no failpoint is called 'x'"),
        ("inter.broker.detours=a:1", "it must be a list of host:port=host:port"),
    ],
)
def test_bad_settings_are_one_line_on_standard_error(settings, capsys, override, said):
    assert command.main([str(settings), "--override", override]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_an_unknown_setting_of_the_file_is_a_warning(monkeypatch, settings):
    runs(monkeypatch, 0)
    said = []
    monkeypatch.setattr(command._log, "warning", said.append, raising=False)
    settings.write_text(f"{settings.read_text()}\ncolour=red\n")
    command.main([str(settings)])
    assert said == ["The configuration 'colour' was supplied but is not a known config."]


def test_logs_that_cannot_be_written_are_named(monkeypatch, settings, capsys):
    monkeypatch.setattr(command.logs, "set_up", Mock(side_effect=PermissionError(13, "Permission denied")))
    assert command.main([str(settings)]) == 1
    assert "Cannot write logs to kafka.logs.dir" in capsys.readouterr().err


def test_a_second_process_leaves_the_logs_of_the_first_alone(tmp_path, settings):
    (tmp_path / "logs").mkdir()
    server_log = tmp_path / "logs" / "server.log"
    server_log.write_text("the line of a broker that runs\n")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(settings)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout.readline() == "locked\n"
        second = subprocess.run(
            [sys.executable, "-m", "barnabas.broker", str(settings)],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        holder.stdin.close()
    assert second.returncode == 1
    assert f"writes its logs to kafka.logs.dir {tmp_path / 'logs'}: process {holder.pid};" in second.stderr
    assert server_log.read_text() == "the line of a broker that runs\n"


def test_without_a_file_it_says_how_it_is_used(capsys):
    with pytest.raises(SystemExit):
        command.main([])
    assert "server.properties" in capsys.readouterr().err
