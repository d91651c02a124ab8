from __future__ import annotations

from barnabas.controller.core.effects import Ask
from barnabas.controller.core.effects_configs import (
    DeleteLogDirEvents,
    ReadConfigs,
    ReadLogDirEvents,
    WriteConfigs,
)


def test_each_waits_for_an_answer():
    for kind in (ReadConfigs, WriteConfigs, ReadLogDirEvents, DeleteLogDirEvents):
        assert issubclass(kind, Ask)
