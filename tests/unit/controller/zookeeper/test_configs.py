from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import AsyncMock

import pytest

from barnabas.cluster.model.commands.configs import ConfigResource, ConfigResourceType
from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import BadVersion, NodeExists, NoNode
from barnabas.cluster.zk.schema.admin import LogDirEvent
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.configs import ResourceConfigs
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.controller.core.configs.effects import ReadConfigs, StoredConfigs, WriteConfigs
from barnabas.controller.core.protocol.broker_znodes import DeleteLogDirEvents, LogDirEvents, ReadLogDirEvents
from barnabas.controller.core.protocol.effects import ControllerFence
from barnabas.controller.zookeeper.answers import ZooKeeperAnswers

TOPIC = ConfigResource(ConfigResourceType.TOPIC, "t")
CONTROLLER_FENCE, FENCE = (
    ControllerFence(ControllerEpoch(3), EpochVersion(5)),
    Fence(ControllerEpoch(3), EpochVersion(5)),
)


def inquiry(**tables):
    return ZooKeeperAnswers(SimpleNamespace(controller=None, **tables), BrokerId(1))


async def test_settings_are_read_with_their_versions():
    configs = SimpleNamespace(read=AsyncMock(return_value={TOPIC: ResourceConfigs({"a": "b"}, 4)}))
    asking = inquiry(configs=configs)
    assert await asking.answer(ReadConfigs((TOPIC,))) == {TOPIC: StoredConfigs({"a": "b"}, 4)}


@pytest.mark.parametrize(
    ("error", "written"),
    [(None, True), (BadVersion("/x"), False), (NodeExists("/x"), False), (NoNode("/x"), False)],
)
async def test_settings_are_written_behind_the_fence(error, written):
    configs = SimpleNamespace(write=AsyncMock(side_effect=error))
    asking = inquiry(configs=configs)
    assert await asking.answer(WriteConfigs(TOPIC, {"a": "b"}, 4, CONTROLLER_FENCE)) is written
    configs.write.assert_awaited_once_with(TOPIC, {"a": "b"}, 4, FENCE)


async def test_log_dir_events_name_each_broker_once_and_are_watched():
    notes = {
        "a": LogDirEvent(BrokerId(2)),
        "b": ZnodeDecodeError("/b", b"?", "json"),
        "c": LogDirEvent(BrokerId(2)),
    }
    events = SimpleNamespace(
        path="/log_dir_event_notification", pending=AsyncMock(return_value=notes), delete=AsyncMock()
    )
    asking = inquiry(log_dir_events=events)
    assert await asking.answer(ReadLogDirEvents()) == LogDirEvents(("a", "b", "c"), (BrokerId(2),))
    events.pending.assert_awaited_once_with(watch=True)
    assert await asking.answer(DeleteLogDirEvents(("a",), CONTROLLER_FENCE)) is None
    events.delete.assert_awaited_once_with(("a",), FENCE)
