from __future__ import annotations

import pytest

from barnabas.broker.server.handlers.alter_configs import handle
from barnabas.cluster.model.commands.configs import (
    AlterConfigs,
    AlterConfigsResult,
    ConfigResource,
    ConfigResourceType,
    ResourceResult,
)
from barnabas.cluster.model.errors import ErrorCode

TOPIC = ConfigResource(ConfigResourceType.TOPIC, "orders")


@pytest.mark.parametrize("version", range(3))
async def test_each_version_is_understood(broker, schema, request_of, version):
    broker.any_controller.answer = AlterConfigsResult((ResourceResult(TOPIC, ErrorCode.NONE),))
    s = schema(33, version)
    config = s.AlterableConfig(name="flush.ms", value="9")
    resource = s.AlterConfigsResource(resource_type=2, resource_name="orders", configs=(config,))
    body = s.request(resources=(resource,), validate_only=False)
    (result,) = (await handle(broker.context, request_of(33, version, body))).responses
    assert (result.error_code, result.error_message) == (ErrorCode.NONE, None)
    assert broker.any_controller.commands[0][0] == AlterConfigs({TOPIC: {"flush.ms": "9"}})


async def test_null_is_no_value(broker, schema, request_of):
    s = schema(33, 2)
    config = s.AlterableConfig(name="flush.ms", value=None)
    resource = s.AlterConfigsResource(resource_type=2, resource_name="orders", configs=(config,))
    body = s.request(resources=(resource,), validate_only=False)
    (result,) = (await handle(broker.context, request_of(33, 2, body))).responses
    assert (result.error_code, result.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "Null value not supported for : flush.ms",
    )
    assert broker.any_controller.commands == []
