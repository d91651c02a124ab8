"""Answers to the questions of decisions, from one ZooKeeper session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.controllership import Claim
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.zk.client import errors
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.cluster.zk.stores.partitions import WriteResult
from barnabas.controller.core.election.effects import (
    ContestController,
    GiveUpController,
    Lost,
    ReadController,
    RecordBrokers,
    RecordEpoch,
)
from barnabas.controller.core.partitions.effects import (
    CreatePartitionStates,
    ReadPartitionStates,
    ReadTopicConfigs,
    StatesWritten,
    WritePartitionStates,
)
from barnabas.controller.core.protocol.broker_znodes import (
    DeleteIsrChanges,
    IsrChanges,
    ReadBrokers,
    ReadIsrChanges,
)
from barnabas.controller.core.protocol.effects import Ask, ControllerFence
from barnabas.controller.core.topics.effects import CreateTopic, ReadAssignments, ReadTopics, TopicRead
from barnabas.controller.zookeeper.candidacy import Candidacy
from barnabas.controller.zookeeper.configs import CONFIGS
from barnabas.controller.zookeeper.leader_elections import ELECTIONS
from barnabas.controller.zookeeper.reading import Answerer, fence_of, read_readable
from barnabas.controller.zookeeper.reassignment import REASSIGNMENT
from barnabas.controller.zookeeper.topics import TOPICS
from barnabas.controller.zookeeper.watches import is_watched_by_active_controller_only

_log = structlog.stdlib.get_logger("kafka.controller.KafkaController")

BY_SUBJECT: Mapping[type[Ask[Any]], Answerer] = {**CONFIGS, **ELECTIONS, **REASSIGNMENT, **TOPICS}
"""The functions that answer all questions, by the kind of question, from the modules by subject."""


class ZooKeeperAnswers:
    """The answers to the questions of decisions, in one session; most reads set a watch.

    Args:
        store: The session's stores.
        broker_id: This broker, the candidate in elections.
    """

    def __init__(self, store: ZooKeeperStore, broker_id: BrokerId) -> None:
        self._store = store
        self._candidacy = Candidacy(store.controller, broker_id)
        self._registration = paths.broker(broker_id)

    def stop_watching(self) -> None:
        """Remove all watches but those of ``/controller`` and of this broker's registration."""
        session = self._store.session
        watched = (path for path in session.watched() if path != self._registration)
        session.unwatch(*filter(is_watched_by_active_controller_only, watched))

    async def answer(self, question: Ask[Any]) -> object:
        """Return the answer to ``question``; errors of the stores are raised as they are."""
        answerer = BY_SUBJECT.get(type(question))
        if answerer is not None:
            return await answerer(self._store, question)
        match question:
            case ReadController():
                return await self._candidacy.read()
            case ContestController(seen, above):
                return await self._contest(seen, above)
            case GiveUpController():
                await self._candidacy.give_up()
                return None
            case ReadBrokers():
                return await self._read_brokers()
            case ReadTopics():
                return frozenset(await self._store.topics.names(watch=True))
            case ReadAssignments(topics):
                return await self._read_assignments(topics)
            case ReadPartitionStates(partitions):
                return await read_readable(self._store.partitions.read, partitions)
            case ReadTopicConfigs(topics):
                return await self._read_topic_configs(topics)
            case ReadIsrChanges():
                return await self._read_isr_changes()
        return await self._write(question)

    async def _contest(self, seen: Claim | None, above: ControllerEpoch) -> ControllerFence | Lost:
        """Try to be elected; as in Kafka, the new controller first disables feature versioning."""
        outcome = await self._candidacy.contest(seen, above)
        if isinstance(outcome, ControllerFence):
            replaced = await self._store.cluster.disable_features()
            if replaced is not None:
                _log.warning("replaced features, which are not versioned here", content=replaced[:200])
        return outcome

    async def _write(self, question: Ask[Any]) -> object:
        match question:
            case WritePartitionStates(states, fence):
                return _written(await self._store.partitions.update(_leaderships(states), fence_of(fence)))
            case CreatePartitionStates(states, fence):
                results = await self._store.partitions.create(_leaderships(states), fence_of(fence))
                return {tp: _cause(result) for tp, result in results.items()}
            case CreateTopic(name, assignments, configs, fence):
                try:
                    await self._store.topics.create(name, assignments, configs, fence_of(fence))
                except errors.NodeExists:
                    return False
                return True
            case RecordEpoch(fence):
                return await self._store.controller.record_epoch(fence_of(fence))
            case RecordBrokers(broker_epochs, fence):
                await self._store.controller.record_brokers(broker_epochs, fence_of(fence))
                return None
            case DeleteIsrChanges(notes, fence):
                await self._store.isr_changes.delete(notes, fence_of(fence))
                return None
        raise TypeError(f"cannot answer {question!r}: no effect that asks is of this kind")

    async def _read_brokers(self) -> Mapping[BrokerId, Broker]:
        ids = tuple(await self._store.brokers.ids(watch=True))
        return await read_readable(lambda some: self._store.brokers.read(some, watch=True), ids)

    async def _read_assignments(self, topics: tuple[str, ...]) -> Mapping[str, TopicRead]:
        tree = await self._store.topics.tree() if topics else None
        found = await read_readable(lambda some: self._store.topics.read(some, watch=True), topics)
        return {
            topic: TopicRead(known.partitions, None if tree is None else TopicIdentity(tree, known.czxid))
            for topic, known in found.items()
        }

    async def _read_topic_configs(self, topics: tuple[str, ...]) -> Mapping[str, Mapping[str, str]]:
        """Read the settings that topics override: none without a node; unreadable nodes are left out."""
        found = await self._store.topics.configs(topics)
        for error in found.unreadable.values():
            _log.error("skipped a node that cannot be read", error=str(error))
        return {topic: found.settings.get(topic, {}) for topic in topics if topic not in found.unreadable}

    async def _read_isr_changes(self) -> IsrChanges:
        notes = await self._store.isr_changes.pending(watch=True)
        # An unreadable notification names no partition; it is deleted with the others.
        named = [tp for note in notes.values() if isinstance(note, tuple) for tp in note]
        return IsrChanges(tuple(notes), tuple(dict.fromkeys(named)))


def _leaderships(states: Mapping[TopicPartition, PartitionState]) -> dict[TopicPartition, LeaderAndIsr]:
    """Return the states without their controller epoch, which the fence carries."""
    return {tp: state.leader_and_isr for tp, state in states.items()}


def _written(results: Mapping[TopicPartition, WriteResult]) -> StatesWritten:
    return StatesWritten(
        {tp: result.version for tp, result in results.items() if isinstance(result, LeaderAndIsr)},
        frozenset(tp for tp, result in results.items() if isinstance(result, errors.BadVersion)),
        {
            tp: cause
            for tp, result in results.items()
            if not isinstance(result, errors.BadVersion) and (cause := _cause(result)) is not None
        },
    )


def _cause(result: WriteResult) -> str | None:
    """Return an error as Kafka's ZooKeeper client words it; None for a success."""
    if isinstance(result, LeaderAndIsr):
        return None
    code = type(result).__name__
    return f"org.apache.zookeeper.KeeperException${code}Exception: KeeperErrorCode = {code} for {result.path}"
