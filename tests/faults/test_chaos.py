"""A short run of chaos, with a real network cut, a full disk and an expired session, as CI's long one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from barnabas.faults.network import why_not

NEMESES = "partition-one-way,cut-off,session-expiry-controller,disk-full,pause-leader"


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_a_short_run_keeps_every_promise(tmp_path):
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    command = [sys.executable, "-P", "-m", "barnabas.faults", "--minutes", "0.5", "--only", NEMESES]
    told = subprocess.run([*command, "--dir", str(tmp_path)], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "chaos: passed" in told.stdout
