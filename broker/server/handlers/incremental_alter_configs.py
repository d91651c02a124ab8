"""IncrementalAlterConfigs (44): set or delete single settings, append to lists, or subtract from them.

Sources: ``ZkAdminManager.incrementalAlterConfigs`` of release 2.8; KIP-339.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from barnabas.broker.server.alterations import BadAlterationError, alter
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import Request
from barnabas.cluster.model.commands.configs import ConfigAlteration, ConfigOperation, IncrementalAlterConfigs


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the result of each resource, in the order of the request."""
    name = "IncrementalAlterConfigsResponse"
    return await alter(context, request, name, _alterations, IncrementalAlterConfigs)


def _alterations(resource: Any) -> tuple[ConfigAlteration, ...]:
    times = Counter(config.name for config in resource.configs)
    twice = [name for name, count in times.items() if count > 1]
    if twice:
        raise BadAlterationError(f"Error due to duplicate config keys : {','.join(twice)}")
    steps = tuple(_step(config) for config in resource.configs)
    null = [
        f"{step.operation.name}:{step.name}"
        for step, config in zip(steps, resource.configs, strict=True)
        if config.value is None and step.operation is not ConfigOperation.DELETE
    ]
    if null:
        raise BadAlterationError(f"Null value not supported for : {','.join(null)}")
    return steps


def _step(config: Any) -> ConfigAlteration:
    try:
        operation = ConfigOperation(config.config_operation)
    except ValueError:
        known = ", ".join(f"{each.value} {each.name}" for each in ConfigOperation)
        raise BadAlterationError(
            f"Unknown operation {config.config_operation} on config key {config.name}; expected {known}"
        ) from None
    return ConfigAlteration(config.name, operation, config.value or "")
