"""The translation of the commands to the controller, and of their results.

Each command becomes a request without the caller's timeout. Results are in the order of the command.
"""

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
from barnabas.cluster.model.commands.elections import (
    ElectionResult,
    ElectionType,
    ElectLeaders,
    ElectLeadersResult,
)
from barnabas.cluster.model.commands.shutdown import ControlledShutdown, ControlledShutdownResult
from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic, TopicResult
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.rpc import control_pb2 as pb

# CreateTopics


def create_topics_to_message(command: CreateTopics) -> pb.CreateTopicsRequest:
    """Translate the command without the caller's timeout."""
    return pb.CreateTopicsRequest(
        topics=[
            pb.NewTopic(
                name=topic.name,
                partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                assignments={n: pb.Replicas(broker_ids=ids) for n, ids in topic.assignments.items()},
                configs=topic.configs,
            )
            for topic in command.topics
        ],
        validate_only=command.validate_only,
    )


def create_topics_from_message(message: pb.CreateTopicsRequest) -> CreateTopics:
    """Return the command that ``create_topics_to_message`` wrote."""
    return CreateTopics(
        topics=tuple(
            NewTopic(
                name=topic.name,
                partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                assignments={
                    n: tuple(map(BrokerId, topic.assignments[n].broker_ids))
                    for n in sorted(topic.assignments)
                },
                configs=dict(topic.configs),
            )
            for topic in message.topics
        ),
        validate_only=message.validate_only,
    )


def create_topics_result_to_message(result: CreateTopicsResult) -> pb.CreateTopicsResponse:
    """Translate the results in their order."""
    return pb.CreateTopicsResponse(topics=[_topic_to_message(topic) for topic in result.topics])


def create_topics_result_from_message(message: pb.CreateTopicsResponse) -> CreateTopicsResult:
    """Return the result that ``create_topics_result_to_message`` wrote."""
    return CreateTopicsResult(tuple(_topic_from_message(topic) for topic in message.topics))


def _topic_to_message(topic: TopicResult) -> pb.TopicResult:
    return pb.TopicResult(
        name=topic.name,
        error_code=topic.error,
        error_message=topic.message,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
    )


def _topic_from_message(topic: pb.TopicResult) -> TopicResult:
    return TopicResult(
        name=topic.name,
        error=ErrorCode.from_code(topic.error_code),
        message=topic.error_message if topic.HasField("error_message") else None,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
    )


# AlterConfigs and IncrementalAlterConfigs


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


# ElectLeaders


def elect_leaders_to_message(command: ElectLeaders) -> pb.ElectLeadersRequest:
    """Translate the command without the caller's timeout."""
    return pb.ElectLeadersRequest(
        election_type=command.election_type,
        partitions=[pb.PartitionName(topic=tp.topic, partition=tp.partition) for tp in command.partitions],
        damaged=command.damaged,
    )


def elect_leaders_from_message(message: pb.ElectLeadersRequest) -> ElectLeaders:
    """Return the command that ``elect_leaders_to_message`` wrote."""
    return ElectLeaders(
        ElectionType(message.election_type),
        tuple(TopicPartition(each.topic, each.partition) for each in message.partitions),
        BrokerId(message.damaged),
    )


def elect_leaders_result_to_message(result: ElectLeadersResult) -> pb.ElectLeadersResponse:
    """Translate the results in their order."""
    return pb.ElectLeadersResponse(
        elections=[
            pb.ElectionResult(
                partition=pb.PartitionName(topic=tp.topic, partition=tp.partition),
                error_code=election.error,
                error_message=election.message,
                leader=election.leader,
            )
            for tp, election in result.elections.items()
        ]
    )


def elect_leaders_result_from_message(message: pb.ElectLeadersResponse) -> ElectLeadersResult:
    """Return the result that ``elect_leaders_result_to_message`` wrote."""
    return ElectLeadersResult(
        {
            TopicPartition(each.partition.topic, each.partition.partition): ElectionResult(
                ErrorCode.from_code(each.error_code),
                each.error_message if each.HasField("error_message") else None,
                BrokerId(each.leader),
            )
            for each in message.elections
        }
    )


# ControlledShutdown


def controlled_shutdown_to_message(command: ControlledShutdown) -> pb.ControlledShutdownRequest:
    """Translate the command without the caller's timeout."""
    return pb.ControlledShutdownRequest(broker_id=command.broker_id, broker_epoch=command.broker_epoch)


def controlled_shutdown_from_message(message: pb.ControlledShutdownRequest) -> ControlledShutdown:
    """Return the command that ``controlled_shutdown_to_message`` wrote."""
    return ControlledShutdown(BrokerId(message.broker_id), BrokerEpoch(message.broker_epoch))


def controlled_shutdown_result_to_message(result: ControlledShutdownResult) -> pb.ControlledShutdownResponse:
    """Translate the remaining partitions in their order."""
    remaining = [pb.RemainingPartition(topic=topic, partition=number) for topic, number in result.remaining]
    return pb.ControlledShutdownResponse(remaining_partitions=remaining)


def controlled_shutdown_result_from_message(
    message: pb.ControlledShutdownResponse,
) -> ControlledShutdownResult:
    """Return the result that ``controlled_shutdown_result_to_message`` wrote."""
    return ControlledShutdownResult(
        tuple(TopicPartition(each.topic, each.partition) for each in message.remaining_partitions)
    )
