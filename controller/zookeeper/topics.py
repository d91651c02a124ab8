"""The answers from ZooKeeper to questions about more partitions and deleted topics."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from operator import eq
from typing import Any

from barnabas.cluster.zk.client.errors import BadVersion, NoNode
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.topics import TopicAssignment
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.controller.core.protocol.effects import Ask
from barnabas.controller.core.topics.effects import (
    DeleteTopic,
    MarkTopicDeletions,
    ReadTopicDeletions,
    RemoveTopicDeletions,
    WriteAssignment,
)
from barnabas.controller.zookeeper.reading import Answerer, fence_of


async def _read_topic_deletions(store: ZooKeeperStore, _question: ReadTopicDeletions) -> frozenset[str]:
    return frozenset(await store.deletions.marked(watch=True))


async def _mark(store: ZooKeeperStore, question: MarkTopicDeletions) -> None:
    await store.deletions.mark(question.topics, fence_of(question.fence))


async def _unmark(store: ZooKeeperStore, question: RemoveTopicDeletions) -> None:
    await store.deletions.unmark(question.topics, fence_of(question.fence))


async def _delete(store: ZooKeeperStore, question: DeleteTopic) -> None:
    # Otherwise a topic that is created under the same name at once would look like a change of the old one.
    node = paths.topic(question.topic)
    store.session.unwatch(node)
    await store.deletions.delete_topic(question.topic, fence_of(question.fence))


async def _write_assignment(store: ZooKeeperStore, question: WriteAssignment) -> bool:
    standing = (await store.topics.read([question.topic])).get(question.topic)
    # On a thread, because a topic of 10,000 partitions takes 10 ms.
    if standing is None or not await asyncio.to_thread(eq, standing.partitions, dict(question.before)):
        return False
    after = TopicAssignment(dict(question.after), standing.topic_id, standing.version)
    try:
        await store.topics.set_partitions(question.topic, after, fence_of(question.fence))
    except NoNode:
        return False
    except BadVersion:
        # After a lost connection the conflict may be with our own write.
        standing = (await store.topics.read([question.topic])).get(question.topic)
        return standing is not None and standing.partitions == after.partitions
    return True


TOPICS: Mapping[type[Ask[Any]], Answerer] = {
    ReadTopicDeletions: _read_topic_deletions,
    MarkTopicDeletions: _mark,
    RemoveTopicDeletions: _unmark,
    DeleteTopic: _delete,
    WriteAssignment: _write_assignment,
}
"""The functions that answer these questions, by the kind of question."""
