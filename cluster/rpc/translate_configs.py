"""The translation of commands that alter settings, and of their results."""

from __future__ import annotations

from barnabas.cluster.model.commands.configs import (
    AlterConfigs,
    AlterConfigsResult,
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    IncrementalAlterConfigs,
    ResourceResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.rpc import control_pb2 as pb


def alter_configs_to_message(command: AlterConfigs) -> pb.AlterConfigsRequest:
    """Translate the command without the caller's timeout."""
    return pb.AlterConfigsRequest(
        resources=[
            pb.ReplacedConfigs(resource=_resource_to_message(resource), configs=dict(settings))
            for resource, settings in command.resources.items()
        ],
        validate_only=command.validate_only,
    )


def alter_configs_from_message(message: pb.AlterConfigsRequest) -> AlterConfigs:
    """Return the command that ``alter_configs_to_message`` wrote."""
    return AlterConfigs(
        {_resource_from_message(each.resource): dict(each.configs) for each in message.resources},
        message.validate_only,
    )


def incremental_alter_configs_to_message(
    command: IncrementalAlterConfigs,
) -> pb.IncrementalAlterConfigsRequest:
    """Translate the command without the caller's timeout."""
    return pb.IncrementalAlterConfigsRequest(
        resources=[
            pb.AlteredConfigs(
                resource=_resource_to_message(resource),
                alterations=[
                    pb.ConfigAlteration(name=each.name, operation=each.operation, value=each.value)
                    for each in alterations
                ],
            )
            for resource, alterations in command.resources.items()
        ],
        validate_only=command.validate_only,
    )


def incremental_alter_configs_from_message(
    message: pb.IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigs:
    """Return the command that ``incremental_alter_configs_to_message`` wrote."""
    return IncrementalAlterConfigs(
        {
            _resource_from_message(each.resource): tuple(
                ConfigAlteration(step.name, ConfigOperation(step.operation), step.value)
                for step in each.alterations
            )
            for each in message.resources
        },
        message.validate_only,
    )


def alter_configs_result_to_message(result: AlterConfigsResult) -> pb.AlterConfigsResponse:
    """Translate the results in their order, for both commands."""
    return pb.AlterConfigsResponse(
        resources=[
            pb.ResourceResult(
                resource=_resource_to_message(each.resource),
                error_code=each.error,
                error_message=each.message,
            )
            for each in result.resources
        ]
    )


def alter_configs_result_from_message(message: pb.AlterConfigsResponse) -> AlterConfigsResult:
    """Return the result that ``alter_configs_result_to_message`` wrote."""
    return AlterConfigsResult(
        tuple(
            ResourceResult(
                _resource_from_message(each.resource),
                ErrorCode.from_code(each.error_code),
                each.error_message if each.HasField("error_message") else None,
            )
            for each in message.resources
        )
    )


def _resource_to_message(resource: ConfigResource) -> pb.ConfigResource:
    return pb.ConfigResource(type=resource.type, name=resource.name)


def _resource_from_message(message: pb.ConfigResource) -> ConfigResource:
    return ConfigResource(ConfigResourceType(message.type), message.name)
