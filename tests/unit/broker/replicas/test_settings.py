"""The fields of each settings object have the types of their rows."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from barnabas.broker.lifecycle.controlled_shutdown import ControlledShutdownSettings
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.broker.server.context import ServerSettings
from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import Type
from barnabas.cluster.model.configs.settings import setting_names
from barnabas.controller.node import ControllerSettings

PYTHON_TYPES = {Type.BOOLEAN: bool, Type.SHORT: int, Type.INT: int, Type.LONG: int, Type.STRING: str}


@pytest.mark.parametrize(
    "kind", [ReplicaSettings, ServerSettings, ControlledShutdownSettings, ControllerSettings]
)
def test_a_field_states_the_type_of_its_row(kind):
    hints, names = get_type_hints(kind), setting_names(kind)
    assert names
    assert {field: hints[field] for field in names} == {
        field: python_type(BROKER_CONFIGS[name]) for field, name in names.items()
    }


def python_type(config):
    known = PYTHON_TYPES[config.type]
    return known | None if config.default is None else known
