"""Short runs of chaos, as CI's long one: a real network cut, a full disk, lost power, wiped registrations."""

from __future__ import annotations

import subprocess
import sys

import pytest

from barnabas.chaos.targets import network, power

NEMESES = "partition-one-way,cut-off,session-expiry-controller,disk-full,pause-leader"
OF_COPIES = "power-cut-controller,power-cut-several,empty-leader,empty-disks"


@pytest.mark.faults
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "flags", [("--only", NEMESES), ("--only", OF_COPIES), ("--flush", "--only", "power-cut-all")]
)
def test_a_short_run_keeps_every_promise(tmp_path, flags):
    reason = network.why_not() or (power.why_not() if NEMESES not in flags else None)
    if reason is not None:
        pytest.skip(reason)
    command = [sys.executable, "-P", "-m", "barnabas.chaos", "--minutes", "0.5", *flags]
    told = subprocess.run([*command, "--dir", str(tmp_path)], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "chaos: passed" in told.stdout
