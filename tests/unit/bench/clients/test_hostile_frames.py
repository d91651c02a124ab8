from __future__ import annotations

import pytest

from barnabas.bench.clients.hostile_frames import HOSTILE, REQUESTS, hostile_frame
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import decode

NO_ELEMENTS = {
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.API_VERSIONS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.FIND_COORDINATOR,
    ApiKey.HEARTBEAT,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.DESCRIBE_CLUSTER,
}
"""Of what these hold, nothing is gone through."""


@pytest.mark.parametrize("kind", HOSTILE, ids=lambda kind: kind.name)
def test_each_is_a_request_with_so_many_elements(kind):
    frame = memoryview(hostile_frame(kind, 7))
    request = decode(frame[4:], "PLAINTEXT")
    assert (request.api, request.version) == (APIS[kind.api], APIS[kind.api].max_version)
    assert len(frame) == 4 + int.from_bytes(frame[:4], "big")
    assert bytes(frame) != hostile_frame(kind, 8)


def test_every_api_has_one_but_those_without_elements():
    assert APIS.keys() - REQUESTS.keys() == NO_ELEMENTS
