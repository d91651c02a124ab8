"""The worlds in memory of other tests, for those who let them run for long."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

UNIT = Path(__file__).parents[1] / "unit"


def load(name: str, path: Path) -> ModuleType:
    """A module of the tests; their folders are no packages, so it is loaded by its path."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def world_module() -> ModuleType:
    """The module that has the class ``World``: ZooKeeper as a controller sees it."""
    return load("controller_world", UNIT / "controller" / "conftest.py")


@pytest.fixture(scope="session")
def room_module() -> ModuleType:
    """The module that has the class ``Room``: the replicas of one broker."""
    return load("replica_room", UNIT / "broker" / "replicas" / "conftest.py")


@pytest.fixture(scope="session")
def one_partition() -> ModuleType:
    """The module beside this one that has the state machines of one partition."""
    return load("one_partition", Path(__file__).parent / "one_partition.py")


@pytest.fixture(scope="session")
def three_logs(world_module: ModuleType) -> ModuleType:
    """The module beside this one that has the state machine of one partition on real logs."""
    module = load("three_logs", Path(__file__).parent / "three_logs.py")
    module.ThreeLogs.world_module = world_module
    return module


@pytest.fixture(scope="session")
def compacted_logs(three_logs: ModuleType) -> ModuleType:
    """The module beside this one that has the same state machine with a log cleaner."""
    return load("compacted_logs", Path(__file__).parent / "compacted_logs.py")
