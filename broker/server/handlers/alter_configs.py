"""AlterConfigs (33): replace all settings of topics, of this broker or of all brokers.

Sources: ``ZkAdminManager.alterConfigs`` of release 2.8; KIP-133.
"""

from __future__ import annotations

from typing import Any

from barnabas.broker.server.alterations import BadAlterationError, alter
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import Request
from barnabas.cluster.model.commands.configs import AlterConfigs


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the result of each resource, in the order of the request."""
    return await alter(context, request, "AlterConfigsResponse", _settings, AlterConfigs)


def _settings(resource: Any) -> dict[str, str]:
    null = [config.name for config in resource.configs if config.value is None]
    if null:
        raise BadAlterationError(f"Null value not supported for : {','.join(null)}")
    return {config.name: config.value for config in resource.configs}
