from __future__ import annotations

import datetime as dt

import pytest

from barnabas.broker.server.handlers.join_group import handle
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import encode
from barnabas.cluster.model.errors import ErrorCode

JOIN_GROUP = APIS[ApiKey.JOIN_GROUP]


@pytest.mark.parametrize("version", range(JOIN_GROUP.min_version, JOIN_GROUP.max_version + 1))
def test_who_joins_a_group_is_refused_at_once(broker, schema, request_of, version):
    s = schema(11, version)
    newer = {"rebalance_timeout": dt.timedelta(seconds=9)} if version >= 1 else {}
    body = s.request(
        group_id="g",
        session_timeout=dt.timedelta(seconds=9),
        member_id="me",
        protocol_type="consumer",
        protocols=(s.JoinGroupRequestProtocol(name="range", metadata=b""),),
        **newer,
    )
    answer = handle(broker.context, request_of(11, version, body))
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNSUPPORTED_VERSION, "me")
    assert encode(1, answer)
