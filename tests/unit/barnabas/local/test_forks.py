"""Brokers that are forked; one whose settings are missing ends at once and says why."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from barnabas.local.forks import Forks

BROKER = [sys.executable, "-P", "-m", "barnabas.broker"]


@pytest.fixture(scope="module")
def forks(tmp_path_factory):
    started = Forks(tmp_path_factory.mktemp("forks"))
    yield started
    started.close()


def test_a_broker_runs_as_if_it_were_started_by_itself(forks, tmp_path):
    process = forks.start([*BROKER, "missing.properties"], tmp_path, tmp_path / "console.log")
    assert process.wait(60) == process.poll() == 1
    assert "missing.properties" in (tmp_path / "console.log").read_text()
    process.send_signal(signal.SIGKILL)  # the id may be another process's by now


def test_brokers_are_forked_where_there_is_no_pipe2_as_on_macos():
    code = f"import os, sys; del os.pipe2; sys.argv = ['', '{os.getpid()}']; "
    code += "from barnabas.broker.preloaded import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], input="", capture_output=True, text=True, check=False
    )
    assert (done.returncode, "ready" in done.stdout) == (0, True), done.stderr


def test_another_command_is_no_broker(forks, tmp_path):
    process = forks.start([sys.executable, "-c", "print('hello')"], tmp_path, tmp_path / "console.log")
    assert process.wait(60) == 0
    assert (tmp_path / "console.log").read_text() == "hello\n"


def test_a_signal_is_in_the_status_and_nothing_outlives_the_starter(tmp_path):
    forks = Forks(tmp_path)
    fifo = tmp_path / "settings"
    os.mkfifo(fifo)  # a broker that reads its settings waits for a writer
    one, two = (forks.start([*BROKER, str(fifo)], tmp_path, tmp_path / "console.log") for _ in range(2))
    assert os.getsid(one.pid) == one.pid
    one.send_signal(signal.SIGKILL)
    assert one.wait(60) == -signal.SIGKILL
    assert two.poll() is None
    left = psutil.Process(two.pid)
    forks.close()
    assert psutil.wait_procs([left], timeout=60)[1] == []
    assert two.wait(60) == -signal.SIGKILL
