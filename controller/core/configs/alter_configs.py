"""The AlterConfigs (33) and IncrementalAlterConfigs (44) requests (Kafka: ``ZkAdminManager.alterConfigs``).

Brokers read the settings after a notification in ``/config/changes``, as if a tool had written them.
Source: ``AdminZkClient.changeEntityConfig`` of release 2.8. Unlike there, settings and notification are one
transaction, and a concurrent change is never overwritten unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.cluster.model.commands.configs import (
    AlterConfigs,
    AlterConfigsResult,
    ConfigResource,
    ConfigResourceType,
    IncrementalAlterConfigs,
    ResourceResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.log_text import shortened
from barnabas.controller.core.configs.config_rules import ConfigRefusedError, altered, check
from barnabas.controller.core.configs.effects import ReadConfigs, StoredConfigs, WriteConfigs
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.protocol.effects import Decision, LogInfo, ask
from barnabas.controller.core.protocol.inputs import CommandReceived

_Change = Callable[[StoredConfigs], Mapping[str, str]]
"""The type of a function from present settings to new ones; it raises ``ConfigRefusedError``."""


def alter_configs(
    context: ControllerContext, request: CommandReceived[AlterConfigs | IncrementalAlterConfigs]
) -> Decision[AlterConfigsResult]:
    """Check and write the settings of each resource separately, and return the result of each."""
    command = request.command
    results = []
    for resource in command.resources:
        change = _change(command, resource)
        try:
            yield from _alter(context, resource, change, validate_only=command.validate_only)
            results.append(ResourceResult(resource, ErrorCode.NONE))
        except ConfigRefusedError as refusal:
            message = str(refusal)
            name = shortened(str(resource))
            line = f"settings of {name} refused with {refusal.error.name}: {shortened(message)}"
            yield LogInfo(line, client_kind="AlterConfigs refused")
            results.append(ResourceResult(resource, refusal.error, message))
    return AlterConfigsResult(tuple(results))


def _change(command: AlterConfigs | IncrementalAlterConfigs, resource: ConfigResource) -> _Change:
    if isinstance(command, AlterConfigs):
        settings = command.resources[resource]
        return lambda _: settings
    alterations = command.resources[resource]
    return lambda stored: altered(resource, _readable(resource, stored), alterations)


def _readable(resource: ConfigResource, stored: StoredConfigs) -> Mapping[str, str]:
    if stored.settings is None:
        raise ConfigRefusedError(
            ErrorCode.INVALID_CONFIG,
            f"What ZooKeeper holds of {resource} cannot be read; AlterConfigs would replace it",
        )
    return stored.settings


def _alter(
    context: ControllerContext, resource: ConfigResource, change: _Change, *, validate_only: bool
) -> Decision[None]:
    """Apply ``change`` to the stored settings and write the result; after a conflict, read again."""
    if resource.type is ConfigResourceType.TOPIC and resource.name not in context.assignments:
        raise ConfigRefusedError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist."
        )
    while True:
        stored = (yield from ask(ReadConfigs((resource,))))[resource]
        settings = change(stored)
        check(resource, settings, stored.settings)
        if validate_only:
            return
        if (yield from ask(WriteConfigs(resource, settings, stored.version, context.fence))):
            yield LogInfo(f"{resource} now sets itself: {', '.join(sorted(settings)) or 'nothing'}")
            return
