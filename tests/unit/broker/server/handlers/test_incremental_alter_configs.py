from __future__ import annotations

import pytest

from barnabas.broker.server.handlers.incremental_alter_configs import handle
from barnabas.cluster.model.commands.configs import (
    AlterConfigsResult,
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    IncrementalAlterConfigs,
    ResourceResult,
)
from barnabas.cluster.model.errors import ErrorCode

TOPIC = ConfigResource(ConfigResourceType.TOPIC, "orders")


@pytest.fixture
def alter(broker, schema, request_of):
    async def send(*steps, version=1):
        s = schema(44, version)
        configs = tuple(
            s.AlterableConfig(name=name, config_operation=operation, value=value)
            for name, operation, value in steps
        )
        resource = s.AlterConfigsResource(resource_type=2, resource_name="orders", configs=configs)
        body = s.request(resources=(resource,), validate_only=False)
        (result,) = (await handle(broker.context, request_of(44, version, body))).responses
        return result.error_code, result.error_message

    broker.any_controller.answer = AlterConfigsResult((ResourceResult(TOPIC, ErrorCode.NONE),))
    return send


@pytest.mark.parametrize("version", range(2))
async def test_each_step_goes_to_the_controller(broker, alter, version):
    steps = (("a", 0, "1"), ("b", 1, None), ("c", 2, "x,y"), ("d", 3, "z"))
    assert await alter(*steps, version=version) == (ErrorCode.NONE, None)
    assert broker.any_controller.commands[0][0] == IncrementalAlterConfigs(
        {
            TOPIC: (
                ConfigAlteration("a", ConfigOperation.SET, "1"),
                ConfigAlteration("b", ConfigOperation.DELETE),
                ConfigAlteration("c", ConfigOperation.APPEND, "x,y"),
                ConfigAlteration("d", ConfigOperation.SUBTRACT, "z"),
            )
        }
    )


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([("a", 0, "1"), ("a", 1, None)], "Error due to duplicate config keys : a"),
        ([("a", 0, None)], "Null value not supported for : SET:a"),
        ([("a", 2, None)], "Null value not supported for : APPEND:a"),
        ([("a", 9, "1")], "Unknown operation 9 on config key a; expected 0 SET, 1 DELETE"),
    ],
)
async def test_steps_that_contradict_each_other_or_themselves(broker, alter, steps, says):
    error, message = await alter(*steps)
    assert error is ErrorCode.INVALID_REQUEST
    assert says in message
    assert broker.any_controller.commands == []
