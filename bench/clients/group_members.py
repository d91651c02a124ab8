"""Members of consumer groups that do nothing but belong: a thousand of them cost little themselves."""

from __future__ import annotations

import asyncio
import io
import struct
import time
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v2.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v2.response import FindCoordinatorResponse
from kio.schema.heartbeat.v3.request import HeartbeatRequest
from kio.schema.heartbeat.v3.response import HeartbeatResponse
from kio.schema.join_group.v5.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.join_group.v5.response import JoinGroupResponse
from kio.schema.leave_group.v1.request import LeaveGroupRequest
from kio.schema.leave_group.v1.response import LeaveGroupResponse
from kio.schema.offset_commit.v7.request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kio.schema.offset_commit.v7.response import OffsetCommitResponse
from kio.schema.request_header.v1.header import RequestHeader
from kio.schema.sync_group.v3.request import SyncGroupRequest, SyncGroupRequestAssignment
from kio.schema.sync_group.v3.response import SyncGroupResponse
from kio.schema.types import GroupId, TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i8, i32, i32Timedelta, i64

SESSION_S = 10.0
_REBALANCE_S = 60.0
_RETRY_S = 0.1
_SUBSCRIPTION = struct.pack(">hih5si", 1, 1, 5, b"topic", -1)
"""A consumer's metadata: version 1, the topic ``topic``, no data of its assignor."""

_LENGTH = struct.Struct(">i")
_CORRELATION_BYTES = 4
_RETRIABLE = {
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.not_coordinator,
}


class Connection:
    """A connection to one broker; requests wait for the answer to the one before."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, host: str, port: int) -> Connection:
        """Connect to a broker."""
        return cls(*await asyncio.open_connection(host, port))

    async def call(self, request: Any, response: type[Any]) -> Any:
        """Send a request and return its answer, which is of the class ``response``."""
        body = io.BytesIO()
        header = RequestHeader(
            request_api_key=request.__api_key__,
            request_api_version=request.__version__,
            correlation_id=i32(0),
            client_id="bench",
        )
        entity_writer(RequestHeader)(body, header)
        entity_writer(type(request))(body, request)
        async with self._turn:
            self._writer.write(_LENGTH.pack(body.tell()) + body.getvalue())
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            answer = await self._reader.readexactly(length)
        return entity_reader(response)(answer, _CORRELATION_BYTES)[0]

    def close(self) -> None:
        """Close the connection at once."""
        self._writer.close()


async def find_coordinator(bootstrap: str, group: str) -> tuple[str, int]:
    """Ask a broker for the coordinator of a group until there is one."""
    host, _, port = bootstrap.split(",", maxsplit=1)[0].rpartition(":")
    connection = await Connection.open(host, int(port))
    try:
        while True:
            request = FindCoordinatorRequest(key=group, key_type=i8(0))
            found = await connection.call(request, FindCoordinatorResponse)
            if found.error_code is ErrorCode.none:
                return found.host, found.port
            await asyncio.sleep(_RETRY_S)
    finally:
        connection.close()


class Member:
    """A member of a group; it rejoins whenever a heartbeat says that the group rebalances.

    Attributes:
        generation: The generation in which it last got an assignment, -1 before.
        assigned_at: When that was, on the clock of `time.perf_counter`.
        heartbeat_at: When its last heartbeat was sent.
        assigned: Set while it has an assignment of the generation that it knows.

    Args:
        group: The group.
        heartbeat_s: Seconds between heartbeats.
    """

    def __init__(self, group: str, heartbeat_s: float) -> None:
        self.generation = -1
        self.assigned_at = self.heartbeat_at = 0.0
        self.assigned = asyncio.Event()
        self._group = GroupId(group)
        self._heartbeat_s = heartbeat_s
        self._id = ""
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, bootstrap: str) -> None:
        """Connect to the coordinator and begin to join."""
        self._connection = await Connection.open(*await find_coordinator(bootstrap, self._group))
        self._task = asyncio.create_task(self._belong(self._connection))

    async def commit(self) -> ErrorCode:
        """Commit an offset, and return the error of the answer."""
        assert self._connection is not None
        partition = OffsetCommitRequestPartition(
            partition_index=i32(0), committed_offset=i64(7), committed_metadata=""
        )
        request = OffsetCommitRequest(
            group_id=self._group,
            generation_id_or_member_epoch=i32(self.generation),
            member_id=self._id,
            topics=(OffsetCommitRequestTopic(name=TopicName("topic"), partitions=(partition,)),),
        )
        answer = await self._connection.call(request, OffsetCommitResponse)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    async def die(self) -> None:
        """Be silent from now on."""
        assert self._task is not None
        assert self._connection is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._connection.close()

    async def leave(self, bootstrap: str) -> None:
        """Leave the group, over a connection of its own."""
        await self.die()
        connection = await Connection.open(*await find_coordinator(bootstrap, self._group))
        await connection.call(LeaveGroupRequest(group_id=self._group, member_id=self._id), LeaveGroupResponse)
        connection.close()

    async def _belong(self, connection: Connection) -> None:
        while True:
            await self._join(connection)
            error = ErrorCode.none
            while error is ErrorCode.none:
                await asyncio.sleep(self._heartbeat_s)
                self.heartbeat_at = time.perf_counter()
                request = HeartbeatRequest(
                    group_id=self._group, generation_id=i32(self.generation), member_id=self._id
                )
                error = (await connection.call(request, HeartbeatResponse)).error_code
            self.assigned.clear()

    async def _join(self, connection: Connection) -> None:
        while True:
            request = JoinGroupRequest(
                group_id=self._group,
                session_timeout=i32Timedelta.parse(timedelta(seconds=SESSION_S)),
                rebalance_timeout=i32Timedelta.parse(timedelta(seconds=_REBALANCE_S)),
                member_id=self._id,
                protocol_type="consumer",
                protocols=(JoinGroupRequestProtocol(name="range", metadata=_SUBSCRIPTION),),
            )
            joined = await connection.call(request, JoinGroupResponse)
            self._id = joined.member_id
            if joined.error_code in _RETRIABLE:
                await asyncio.sleep(_RETRY_S)
            if joined.error_code is not ErrorCode.none:
                continue
            given = tuple(
                SyncGroupRequestAssignment(member_id=each.member_id, assignment=bytes(50))
                for each in joined.members
            )
            sync = SyncGroupRequest(
                group_id=self._group,
                generation_id=joined.generation_id,
                member_id=self._id,
                assignments=given,
            )
            synced = await connection.call(sync, SyncGroupResponse)
            if synced.error_code is ErrorCode.none:
                self.generation, self.assigned_at = int(joined.generation_id), time.perf_counter()
                self.assigned.set()
                return
