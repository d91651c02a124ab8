from __future__ import annotations

import pytest

from barnabas.broker.server.handlers.api_versions import handle, unsupported_version
from barnabas.broker.wire.apis import APIS
from barnabas.broker.wire.schemas import RESPONSE, load_schema
from barnabas.cluster.model.errors import ErrorCode

ANNOUNCED = {(api.key, api.announced_min, api.max_version) for api in APIS.values()}


def rows(answer):
    return {(row.api_key, row.min_version, row.max_version) for row in answer.api_keys}


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_all_apis_are_announced(broker, schema, request_of, version):
    answer = await handle(broker.context, request_of(18, version, schema(18, version).request()))
    assert isinstance(answer, load_schema(18, version, RESPONSE))
    assert answer.error_code == ErrorCode.NONE
    assert rows(answer) == ANNOUNCED


@pytest.mark.parametrize(
    ("name", "is_valid"),
    [
        ("librdkafka", True),
        ("kafka-python-3.0", True),
        ("a", True),
        ("", False),
        ("-a", False),
        ("a b", False),
    ],
)
async def test_a_client_must_call_itself_by_a_name(broker, schema, request_of, name, is_valid):
    body = schema(18, 3).request(client_software_name=name, client_software_version="1.0")
    answer = await handle(broker.context, request_of(18, 3, body))
    assert answer.error_code == (ErrorCode.NONE if is_valid else ErrorCode.INVALID_REQUEST)
    assert rows(answer) == (ANNOUNCED if is_valid else set())


def test_an_unsupported_version_is_answered_in_the_layout_of_version_0():
    answer = unsupported_version()
    assert isinstance(answer, load_schema(18, 0, RESPONSE))
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert rows(answer) == {(18, 0, 3)}
