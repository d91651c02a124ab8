"""The table of the service ``Controller``, from which client and server are built.

Every request has a field ``timeout_ms``, and every response the fields ``error_code`` and ``error_message``,
which hold the refusal of the whole command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from barnabas.cluster.model.commands.command import Command, CommandResult, Refused
from barnabas.cluster.model.commands.configs import AlterConfigs, IncrementalAlterConfigs
from barnabas.cluster.model.commands.elections import ElectLeaders
from barnabas.cluster.model.commands.shutdown import ControlledShutdown
from barnabas.cluster.model.commands.topics import CreateTopics
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.rpc import control_pb2 as pb
from barnabas.cluster.rpc import translate_commands as translate

SERVICE = "barnabas.control.Controller"
"""The name of the service in ``proto/control.proto``."""


@dataclass(frozen=True, slots=True)
class Method:
    """The gRPC method of a command.

    Attributes:
        name: The method of the service.
        request: The type of request messages.
        response: The type of response messages.
        to_message: Translates a command to a request, without its timeout.
        from_message: Translates a request to the command.
        result_to_message: Translates a result to a response.
        result_from_message: Translates a response that is not a refusal to the result.
    """

    name: str
    request: Callable[..., Any]
    response: Callable[..., Any]
    to_message: Callable[[Any], Any]
    from_message: Callable[[Any], Command[Any]]
    result_to_message: Callable[[Any], Any]
    result_from_message: Callable[[Any], CommandResult]

    @property
    def path(self) -> str:
        """Return the name of the call in gRPC."""
        return f"/{SERVICE}/{self.name}"

    def encode(self, command: Command[Any], timeout_ms: int) -> bytes:
        """Encode a request with the caller's timeout in milliseconds."""
        message = self.to_message(command)
        message.timeout_ms = timeout_ms
        return bytes(message.SerializeToString())

    def decode(self, data: bytes) -> tuple[Command[Any], int]:
        """Decode the command and timeout that ``encode`` wrote."""
        message = self.request()
        message.ParseFromString(data)
        return self.from_message(message), message.timeout_ms

    def encode_result(self, result: CommandResult) -> bytes:
        """Encode a response: the result, or the refusal of the whole command."""
        if isinstance(result, Refused):
            refusal = self.response(error_code=result.error, error_message=result.message)
            return bytes(refusal.SerializeToString())
        return bytes(self.result_to_message(result).SerializeToString())

    def decode_result(self, data: bytes) -> CommandResult:
        """Decode the response that ``encode_result`` wrote."""
        message = self.response()
        message.ParseFromString(data)
        if message.error_code != ErrorCode.NONE:
            return Refused(ErrorCode.from_code(message.error_code), message.error_message)
        return self.result_from_message(message)


METHODS: Mapping[type[Command[Any]], Method] = MappingProxyType(
    {
        CreateTopics: Method(
            "CreateTopics",
            pb.CreateTopicsRequest,
            pb.CreateTopicsResponse,
            translate.create_topics_to_message,
            translate.create_topics_from_message,
            translate.create_topics_result_to_message,
            translate.create_topics_result_from_message,
        ),
        ControlledShutdown: Method(
            "ControlledShutdown",
            pb.ControlledShutdownRequest,
            pb.ControlledShutdownResponse,
            translate.controlled_shutdown_to_message,
            translate.controlled_shutdown_from_message,
            translate.controlled_shutdown_result_to_message,
            translate.controlled_shutdown_result_from_message,
        ),
        AlterConfigs: Method(
            "AlterConfigs",
            pb.AlterConfigsRequest,
            pb.AlterConfigsResponse,
            translate.alter_configs_to_message,
            translate.alter_configs_from_message,
            translate.alter_configs_result_to_message,
            translate.alter_configs_result_from_message,
        ),
        IncrementalAlterConfigs: Method(
            "IncrementalAlterConfigs",
            pb.IncrementalAlterConfigsRequest,
            pb.AlterConfigsResponse,
            translate.incremental_alter_configs_to_message,
            translate.incremental_alter_configs_from_message,
            translate.alter_configs_result_to_message,
            translate.alter_configs_result_from_message,
        ),
        ElectLeaders: Method(
            "ElectLeaders",
            pb.ElectLeadersRequest,
            pb.ElectLeadersResponse,
            translate.elect_leaders_to_message,
            translate.elect_leaders_from_message,
            translate.elect_leaders_result_to_message,
            translate.elect_leaders_result_from_message,
        ),
    }
)
"""The gRPC method of each command."""
