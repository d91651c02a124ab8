from __future__ import annotations

import asyncio

import pytest

from barnabas.broker.membership import log_dir_events
from barnabas.broker.membership.log_dir_events import LogDirEvents
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import ZooKeeperTimeout
from barnabas.cluster.zk.schema.admin import LogDirEvent


class Notes:
    def __init__(self):
        self.left = []
        self.failures = 0
        self.came = asyncio.Event()

    async def add(self, note):
        if self.failures:
            self.failures -= 1
            raise ZooKeeperTimeout("no answer")
        self.left.append(note)
        self.came.set()
        return "log_dir_event_0000000000"


@pytest.fixture
async def room(monkeypatch):
    monkeypatch.setattr(log_dir_events, "RETRY_S", 0)
    notes = Notes()
    events = LogDirEvents(BrokerId(3), lambda: notes)
    task = asyncio.create_task(events.run())
    yield events, notes
    task.cancel()


async def notified(notes):
    async with asyncio.timeout(60):
        await notes.came.wait()
    notes.came.clear()


async def test_each_failure_is_noted(room):
    events, notes = room
    for _ in range(2):
        events.failed()
        await notified(notes)
    assert notes.left == [LogDirEvent(BrokerId(3))] * 2


async def test_failures_while_zookeeper_is_away_are_one_note(room):
    events, notes = room
    notes.failures = 3
    events.failed()
    events.failed()
    await notified(notes)
    assert notes.left == [LogDirEvent(BrokerId(3))]
    assert notes.failures == 0
