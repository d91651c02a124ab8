"""What simulations run: modules, loaded by their paths, as test folders are no packages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

WORLD = Path(__file__).parents[1] / "unit" / "controller" / "conftest.py"
ONE_PARTITION = Path(__file__).parent / "one_partition.py"


@pytest.fixture(scope="session")
def world_module() -> ModuleType:
    """The module that has the class ``World``: the world in memory of the controller's unit tests."""
    return load("controller_world", WORLD)


@pytest.fixture(scope="session")
def one_partition() -> ModuleType:
    """The module that has the state machines of one partition."""
    return load("one_partition", ONE_PARTITION)


def load(name: str, path: Path) -> ModuleType:
    """Run the module at ``path``."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
