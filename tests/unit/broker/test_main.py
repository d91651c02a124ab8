from __future__ import annotations

import os
import subprocess
import sys

import pytest

from barnabas.broker.__main__ import GRPC_EXPERIMENTS, NOT_FOR_BROKERS

WHAT_IS_LOADED = """
import runpy, sys
sys.argv = ["broker", "--help"]
try:
    runpy.run_module("barnabas.broker", run_name="__main__")
except SystemExit as end:
    print(end.code, [name for name in {names} if sys.modules.get(name) is not None])
"""

WHAT_GRPC_FINDS = """
import importlib.abc, os, runpy, sys

class WhenGrpcIsImported(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "grpc":
            print(os.environ["GRPC_EXPERIMENTS"])

sys.meta_path.insert(0, WhenGrpcIsImported())
sys.argv = ["broker", "--help"]
runpy.run_module("barnabas.broker", run_name="__main__")
"""


def test_a_broker_does_without_what_only_tests_and_terminals_need():
    script = WHAT_IS_LOADED.format(names=NOT_FOR_BROKERS)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_a_broker_without_security_does_not_load_it():
    script = WHAT_IS_LOADED.format(names=("cryptography", "jwt"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


@pytest.mark.parametrize(
    ("given", "found"), [({}, GRPC_EXPERIMENTS), ({"GRPC_EXPERIMENTS": "tarpit"}, "tarpit")]
)
def test_grpc_is_configured_before_it_is_imported(given, found):
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_EXPERIMENTS"} | given
    done = subprocess.run(
        [sys.executable, "-c", WHAT_GRPC_FINDS],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert done.stdout.splitlines()[0] == found
