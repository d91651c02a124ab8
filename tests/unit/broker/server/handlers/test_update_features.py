from __future__ import annotations

import datetime as dt

import pytest

from barnabas.broker.server.handlers.update_features import handle
from barnabas.cluster.model.errors import ErrorCode


@pytest.mark.parametrize(
    ("controller", "refusal"),
    [
        (1, (ErrorCode.INVALID_REQUEST, "Feature versioning system is disabled.")),
        (2, (ErrorCode.NOT_CONTROLLER, None)),
        (None, (ErrorCode.NOT_CONTROLLER, None)),
    ],
)
async def test_features_are_not_versioned(broker, schema, request_of, controller, refusal):
    broker.metadata.controller_changed(controller)
    s = schema(57, 0)
    update = s.FeatureUpdateKey(feature="f", max_version_level=1, allow_downgrade=False)
    body = s.request(timeout=dt.timedelta(seconds=1), feature_updates=(update,))
    answer = await handle(broker.context, request_of(57, 0, body))
    assert (answer.error_code, answer.error_message, answer.results) == (*refusal, ())
