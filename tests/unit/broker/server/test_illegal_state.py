"""The answer to a request in the middle of an authentication."""

from __future__ import annotations

import pytest

from barnabas.broker.server.illegal_state import illegal_state
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import Prefix, encode
from barnabas.cluster.model.errors import ErrorCode

SERVED = [
    (api.key, version) for api in APIS.values() for version in range(api.min_version, api.max_version + 1)
]


@pytest.mark.parametrize(("key", "version"), SERVED)
def test_every_api_is_answered_with_its_error_or_not_at_all(key, version):
    answer = illegal_state(Prefix(key, version, 1))
    if answer is not None:
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert encode(1, answer)


def test_apis_with_an_error_for_the_whole_request_are_answered():
    for key in (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.FIND_COORDINATOR, ApiKey.HEARTBEAT):
        assert illegal_state(Prefix(key, 0, 1)) is not None
    assert illegal_state(Prefix(ApiKey.PRODUCE, 9, 1)) is None


def test_what_is_not_served_is_not_answered_but_for_api_versions():
    assert illegal_state(Prefix(99, 0, 1)) is None
    assert illegal_state(Prefix(ApiKey.HEARTBEAT, 99, 1)) is None
    answer = illegal_state(Prefix(ApiKey.API_VERSIONS, 99, 1))
    assert (answer.__version__, answer.error_code) == (0, ErrorCode.ILLEGAL_SASL_STATE)
