"""The answers from ZooKeeper to questions about settings and failed log directories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.cluster.model.commands.configs import ConfigResource
from barnabas.cluster.zk.client.errors import BadVersion, NodeExists, NoNode
from barnabas.cluster.zk.schema.admin import LogDirEvent
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.controller.core.configs.effects import ReadConfigs, StoredConfigs, WriteConfigs
from barnabas.controller.core.protocol.broker_znodes import DeleteLogDirEvents, LogDirEvents, ReadLogDirEvents
from barnabas.controller.core.protocol.effects import Ask
from barnabas.controller.zookeeper.reading import Answerer, fence_of


async def _read_configs(
    store: ZooKeeperStore, question: ReadConfigs
) -> Mapping[ConfigResource, StoredConfigs]:
    found = await store.configs.read(question.resources)
    return {resource: StoredConfigs(one.settings, one.version) for resource, one in found.items()}


async def _write_configs(store: ZooKeeperStore, question: WriteConfigs) -> bool:
    try:
        await store.configs.write(
            question.resource, question.settings, question.version, fence_of(question.fence)
        )
    except (BadVersion, NodeExists, NoNode):
        return False
    return True


async def _read_log_dir_events(store: ZooKeeperStore, _question: ReadLogDirEvents) -> LogDirEvents:
    notes = await store.log_dir_events.pending(watch=True)
    # An unreadable notification names no broker; it is deleted with the others.
    named = [note.broker for note in notes.values() if isinstance(note, LogDirEvent)]
    return LogDirEvents(tuple(notes), tuple(dict.fromkeys(named)))


async def _delete_log_dir_events(store: ZooKeeperStore, question: DeleteLogDirEvents) -> None:
    await store.log_dir_events.delete(question.notes, fence_of(question.fence))


CONFIGS: Mapping[type[Ask[Any]], Answerer] = {
    ReadConfigs: _read_configs,
    WriteConfigs: _write_configs,
    ReadLogDirEvents: _read_log_dir_events,
    DeleteLogDirEvents: _delete_log_dir_events,
}
"""The functions that answer these questions, by the kind of question."""
