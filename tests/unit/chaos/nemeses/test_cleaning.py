"""The process that compacts is killed if it works, and another cleaning is awaited."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from barnabas.broker.cleaning import worker
from barnabas.chaos.nemeses import cleaning
from barnabas.chaos.nemeses.nemeses import inject


@pytest.fixture
def targets(tmp_path):
    """A broker whose process is this one."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "server.log").write_text("Log cleaner thread 0 cleaned log t-0 (dirty")
    broker = SimpleNamespace(pid=os.getpid(), directory=tmp_path)
    return SimpleNamespace(cluster=SimpleNamespace(brokers={2: broker}))


def test_the_process_that_compacts_is_killed_and_another_cleaning_awaited(targets, tmp_path):
    # Without a job the process waits for one.
    with subprocess.Popen([sys.executable, "-P", "-m", worker.__name__], stdin=subprocess.PIPE) as process:
        fault = inject("kill-cleaner", targets, (2,))
        assert process.wait() == -9
    assert (fault.detail, fault.missed) == ("SIGKILL the cleaner of broker 2", "")
    fault.heal()
    assert fault.lacking() == "a cleaning of broker 2 after the kill"
    with (tmp_path / "logs" / "server.log").open("a") as log:
        log.write("Log cleaner thread 0 cleaned log t-0 (dirty")
    assert fault.lacking() == ""


def test_a_broker_that_compacts_nothing_is_missed(targets, monkeypatch):
    monkeypatch.setattr(cleaning, "WAIT_S", 0.0)
    fault = inject("kill-cleaner", targets, (2,))
    assert fault.missed.startswith("there is none")
    assert fault.lacking() == ""
