"""The questions about more partitions and deleted topics, put to ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.cluster.zk.errors import BadVersion, NoNode
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
    # Otherwise a topic created again at once under that name would look like a change of the old one.
    node = paths.topic(question.topic)
    store.session.unwatch(node)
    await store.deletions.delete_topic(question.topic, fence_of(question.fence))


async def _write_assignment(store: ZooKeeperStore, question: WriteAssignment) -> bool:
    standing = (await store.topics.read([question.topic])).get(question.topic)
    if standing is None or standing.partitions != dict(question.before):
        return False
    after = TopicAssignment(dict(question.after), standing.topic_id, standing.version)
    try:
        await store.topics.set_partitions(question.topic, after, fence_of(question.fence))
    except NoNode:
        return False
    except BadVersion:
        # Over a lost connection it may be our own write that is in the way.
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
"""The function that answers each kind of question."""
