"""The store of partition states: leader, ISR and epochs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from barnabas.cluster.model.epochs import ControllerEpoch, PartitionVersion
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.zk.client.errors import BadVersion, NodeExists, RequestFailed
from barnabas.cluster.zk.client.operations import (
    MAXIMUM_REQUEST_BYTES,
    Answer,
    Create,
    Operation,
    Set,
    Stat,
    request_bytes,
)
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths, topics
from barnabas.cluster.zk.stores.fence import Fence, write_many

_OPERATIONS_PER_TRANSACTION = 200
"""The most operations in a transaction: more are not faster, and delay other requests."""

WriteResult = LeaderAndIsr | RequestFailed
"""The result of a partition's write: the leadership with its new version, or ZooKeeper's refusal."""


_READ_AT_ONCE = 10_000
"""The number of states that are read together, in a few requests."""

_WRITTEN_IN_A_TURN = 1000
"""The number of states that are written in a few transactions before the event loop may do other work."""

_DECODED_IN_A_TURN = 500
"""The number of states that are decoded, in a few ms, before the event loop may do other work."""


class PartitionStore:
    """The store of partition states."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def read(
        self, partitions: Iterable[TopicPartition], *, watch: bool = False
    ) -> dict[TopicPartition, PartitionState]:
        """Return the states of those partitions that have one.

        The watch on each node reports the next write.
        """
        rest = iter(partitions)
        states: dict[TopicPartition, PartitionState] = {}
        # Most of tens of thousands of states are equal, so decode equal ones once and share the object.
        decoded: dict[tuple[bytes, int], PartitionState] = {}
        while wanted := list(islice(rest, _READ_AT_ONCE)):
            nodes = await self._session.get_many([paths.partition_state(tp) for tp in wanted], watch=watch)
            for start in range(0, len(wanted), _DECODED_IN_A_TURN):
                turn = slice(start, start + _DECODED_IN_A_TURN)
                for tp, node in zip(wanted[turn], nodes[turn], strict=True):
                    if node is None:
                        continue
                    content = node.data, node.stat.version
                    state = decoded.get(content)
                    if state is None:
                        state = decoded[content] = topics.decode_state(tp, *content)
                    states[tp] = state
                await asyncio.sleep(0)
        return states

    async def create(
        self, states: Mapping[TopicPartition, LeaderAndIsr], fence: Fence
    ) -> dict[TopicPartition, WriteResult]:
        """Create the first states of new partitions, with their parents, many in one transaction.

        A partition with an existing state is not changed, and its result is ``NodeExists``.

        Raises:
            ControllerMoved: The fence refused; some may have been created.
        """
        parents = {tp.topic: [Create(paths.topic_partitions(tp.topic))] for tp in states}
        await write_many(self._session, fence, parents.values())  # an existing parent is no error
        results: dict[TopicPartition, WriteResult] = {}
        rest = iter(states.items())
        while some := dict(islice(rest, _WRITTEN_IN_A_TURN)):
            results |= await self._create_some(some, fence)
        return results

    async def _create_some(
        self, states: Mapping[TopicPartition, LeaderAndIsr], fence: Fence
    ) -> dict[TopicPartition, WriteResult]:
        creations = {
            tp: (Create(paths.partition(tp)), self._creation(tp, state, fence))
            for tp, state in states.items()
        }
        results: dict[TopicPartition, WriteResult] = {}
        done, again = await self._write_together(creations, fence)
        results.update((tp, states[tp].written_as(PartitionVersion(0))) for tp in done)
        results.update(await self._create_each({tp: states[tp] for tp in again}, fence))
        return {tp: results[tp] for tp in states}

    async def update(
        self, states: Mapping[TopicPartition, LeaderAndIsr], fence: Fence
    ) -> dict[TopicPartition, WriteResult]:
        """Write states that still have the versions with which they were read, independently of each other.

        The result ``BadVersion`` means that the leader or an earlier controller wrote meanwhile; read the
        state again.

        Raises:
            ControllerMoved: The fence refused; some may have been written.
        """
        results: dict[TopicPartition, WriteResult] = {}
        rest = iter(states.items())
        while some := dict(islice(rest, _WRITTEN_IN_A_TURN)):
            results |= await self._update_some(some, fence)
        return results

    async def _update_some(
        self, states: Mapping[TopicPartition, LeaderAndIsr], fence: Fence
    ) -> dict[TopicPartition, WriteResult]:
        writes = {tp: (self._set(tp, state, fence.controller_epoch),) for tp, state in states.items()}
        done, again = await self._write_together(writes, fence)
        results = {tp: _result(states[tp], answers) for tp, answers in done.items()}
        outcomes = await write_many(self._session, fence, [writes[tp] for tp in again])
        results.update(
            (tp, _result(states[tp], outcome)) for tp, outcome in zip(again, outcomes, strict=True)
        )
        results = await self._recognize(results, states, fence.controller_epoch, BadVersion)
        return {tp: results[tp] for tp in states}

    async def update_as_leader(
        self, tp: TopicPartition, state: LeaderAndIsr, controller_epoch: ControllerEpoch
    ) -> LeaderAndIsr:
        """Write the state of a partition that this broker leads, when its ISR changed (IBP before 2.7).

        Args:
            tp: The partition.
            state: The leader and leader epoch from the controller, the new ISR, and the version that was
                read.
            controller_epoch: The controller epoch of the LeaderAndIsr request that made this broker leader.

        Returns:
            The state with its new version.

        Raises:
            BadVersion: The controller wrote something else meanwhile.
            NoNode: The topic is gone.
        """
        outcomes = await write_many(self._session, None, [[self._set(tp, state, controller_epoch)]])
        results = {tp: _result(state, outcomes[0])}
        result = (await self._recognize(results, {tp: state}, controller_epoch, BadVersion))[tp]
        if isinstance(result, RequestFailed):
            raise result
        return result

    async def _write_together(
        self, operations: Mapping[TopicPartition, Sequence[Operation]], fence: Fence
    ) -> tuple[dict[TopicPartition, list[Answer]], list[TopicPartition]]:
        """Write many partitions in one transaction, because single requests cost many times as much.

        Returns:
            The results of those that were written, and the partitions that were not written because an
            operation in their transaction was refused; the caller writes these one by one.
        """
        chunks = list(_chunks(operations))
        outcomes = await write_many(self._session, fence, [_operations(chunk) for chunk in chunks])
        done: dict[TopicPartition, list[Answer]] = {}
        refused: list[TopicPartition] = []
        for chunk, outcome in zip(chunks, outcomes, strict=True):
            if isinstance(outcome, RequestFailed):
                refused += chunk
                continue
            answers = iter(outcome)
            done.update((tp, list(islice(answers, len(some)))) for tp, some in chunk.items())
        return done, refused

    async def _create_each(
        self, states: Mapping[TopicPartition, LeaderAndIsr], fence: Fence
    ) -> dict[TopicPartition, WriteResult]:
        """Create states one by one after a transaction failed because some nodes existed."""
        parents = [[Create(paths.partition(tp))] for tp in states]
        await write_many(self._session, fence, parents)
        outcomes = await write_many(
            self._session, fence, [[self._creation(tp, state, fence)] for tp, state in states.items()]
        )
        results = {tp: _result(states[tp], outcome) for tp, outcome in zip(states, outcomes, strict=True)}
        return await self._recognize(results, states, fence.controller_epoch, NodeExists)

    async def _recognize(
        self,
        results: dict[TopicPartition, WriteResult],
        states: Mapping[TopicPartition, LeaderAndIsr],
        controller_epoch: ControllerEpoch,
        refusal: type[RequestFailed],
    ) -> dict[TopicPartition, WriteResult]:
        """Turn a refusal into success if the node holds what was to be written: only the response was lost.

        Bytes are compared instead of states, so that only our own write matches.
        """
        doubtful = [tp for tp, result in results.items() if isinstance(result, refusal)]
        nodes = await self._session.get_many([paths.partition_state(tp) for tp in doubtful])
        for tp, node in zip(doubtful, nodes, strict=True):
            if node is not None and node.data == topics.encode_state(states[tp], controller_epoch):
                results[tp] = states[tp].written_as(PartitionVersion(node.stat.version))
        return results

    def _creation(self, tp: TopicPartition, state: LeaderAndIsr, fence: Fence) -> Create:
        return Create(paths.partition_state(tp), topics.encode_state(state, fence.controller_epoch))

    def _set(self, tp: TopicPartition, state: LeaderAndIsr, controller_epoch: ControllerEpoch) -> Set:
        return Set(paths.partition_state(tp), topics.encode_state(state, controller_epoch), state.version)


def _chunks(
    operations: Mapping[TopicPartition, Sequence[Operation]],
) -> Iterator[dict[TopicPartition, Sequence[Operation]]]:
    """Group as many partitions as fit into one transaction."""
    chunk: dict[TopicPartition, Sequence[Operation]] = {}
    count = size = 0
    for tp, some in operations.items():
        more = request_bytes(*some)
        if chunk and (size + more > MAXIMUM_REQUEST_BYTES // 2 or count >= _OPERATIONS_PER_TRANSACTION):
            yield chunk
            chunk, count, size = {}, 0, 0
        chunk[tp] = some
        count += len(some)
        size += more
    if chunk:
        yield chunk


def _operations(chunk: Mapping[TopicPartition, Sequence[Operation]]) -> list[Operation]:
    return [operation for some in chunk.values() for operation in some]


def _result(state: LeaderAndIsr, outcome: list[Answer] | RequestFailed) -> WriteResult:
    if isinstance(outcome, RequestFailed):
        return outcome
    stat = outcome[0]
    return state.written_as(PartitionVersion(stat.version if isinstance(stat, Stat) else 0))
