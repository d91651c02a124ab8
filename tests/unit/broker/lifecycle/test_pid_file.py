import os

import pytest

from barnabas.broker.config.start_error import StartError
from barnabas.broker.lifecycle.pid_file import pid_file


def test_it_holds_the_process_id_while_the_broker_runs(tmp_path):
    with pid_file(tmp_path / "broker.pid"):
        assert (tmp_path / "broker.pid").read_text() == f"{os.getpid()}\n"
    assert not (tmp_path / "broker.pid").exists()


def test_a_successors_file_is_left_alone(tmp_path):
    with pid_file(tmp_path / "broker.pid"):
        (tmp_path / "broker.pid").write_text("1\n")
    assert (tmp_path / "broker.pid").read_text() == "1\n"


def test_none_keeps_none(tmp_path):
    with pid_file(None):
        assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with (
        pytest.raises(StartError, match=r"Cannot write pid\.file .*absent"),
        pid_file(tmp_path / "absent" / "pid"),
    ):
        pass
