"""The answer to a request in the middle of an authentication."""

from __future__ import annotations

import pytest

from barnabas.broker.server.network.illegal_state import illegal_state
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import Prefix, encode
from barnabas.cluster.model.errors import ErrorCode
from tests.unit.broker.server.gates.rows import TOLD

SERVED = [
    (api.key, version) for api in APIS.values() for version in range(api.min_version, api.max_version + 1)
]


@pytest.mark.parametrize(("key", "version"), SERVED)
def test_every_api_is_answered_with_its_error_if_it_has_one_for_the_whole_request(key, version):
    answer = illegal_state(Prefix(key, version, 1))
    assert (answer is not None) == (version >= TOLD.get(key, version + 1))
    if answer is not None:
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert encode(1, answer)


def test_what_is_not_served_is_not_answered_but_for_api_versions():
    assert illegal_state(Prefix(99, 0, 1)) is None
    assert illegal_state(Prefix(ApiKey.HEARTBEAT, 99, 1)) is None
    answer = illegal_state(Prefix(ApiKey.API_VERSIONS, 99, 1))
    assert (answer.__version__, answer.error_code) == (0, ErrorCode.ILLEGAL_SASL_STATE)
