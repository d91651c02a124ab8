from __future__ import annotations

import pytest

from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.rpc import control_pb2
from barnabas.cluster.rpc.commands import METHODS, SERVICE


def test_the_table_is_the_service_of_the_proto_file():
    service = control_pb2.DESCRIPTOR.services_by_name["Controller"]
    assert service.full_name == SERVICE
    described = {m.name: (m.input_type.name, m.output_type.name) for m in service.methods}
    listed = {m.name: (type(m.request()).__name__, type(m.response()).__name__) for m in METHODS.values()}
    assert listed == described


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_a_refusal_of_the_whole_command(method):
    refused = Refused(ErrorCode.NOT_CONTROLLER, "not here")
    assert method.decode_result(method.encode_result(refused)) == refused
