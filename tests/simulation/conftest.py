"""The world in memory of the controller's unit tests, for those who let it run for long."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

WORLD = Path(__file__).parents[1] / "unit" / "controller" / "conftest.py"


@pytest.fixture(scope="session")
def world_module() -> ModuleType:
    """The module that has the class ``World``; test folders are no packages, so it is loaded by its path."""
    spec = importlib.util.spec_from_file_location("controller_world", WORLD)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
