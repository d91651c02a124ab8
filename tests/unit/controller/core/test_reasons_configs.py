from __future__ import annotations

import pytest

from barnabas.cluster.model.commands_configs import ConfigResource, ConfigResourceType
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.controller.core.reasons_configs import ConfigsRefused, ConfigsWritten, LogDirsFailed

TOPIC = ConfigResource(ConfigResourceType.TOPIC, "t")


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (ConfigsWritten(TOPIC, ()), f"{TOPIC} now sets itself: nothing"),
        (ConfigsWritten(TOPIC, ("a", "b")), f"{TOPIC} now sets itself: a, b"),
        (
            ConfigsRefused(TOPIC, ErrorCode.INVALID_CONFIG, "no."),
            f"settings of {TOPIC} refused with INVALID_CONFIG: no.",
        ),
        (LogDirsFailed((BrokerId(1), BrokerId(3))), "log directories failed on brokers: 1, 3"),
    ],
)
def test_a_reason_is_a_sentence(reason, sentence):
    assert str(reason) == sentence
