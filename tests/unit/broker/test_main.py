from __future__ import annotations

import subprocess
import sys

from broker.__main__ import NOT_FOR_BROKERS

WHAT_IS_LOADED = """
import runpy, sys
sys.argv = ["broker", "--help"]
try:
    runpy.run_module("broker", run_name="__main__")
except SystemExit as end:
    print(end.code, [name for name in {names} if sys.modules.get(name) is not None])
"""


def test_a_broker_does_without_what_only_tests_and_terminals_need():
    script = WHAT_IS_LOADED.format(names=NOT_FOR_BROKERS)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"
