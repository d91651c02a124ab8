"""A raw client of a listener on loopback."""

from __future__ import annotations

import datetime as dt
import io
import struct

from kio.serial import entity_writer


def framed(body, correlation_id):
    out = io.BytesIO()
    header = body.__header_schema__(
        request_api_key=body.__api_key__,
        request_api_version=body.__version__,
        correlation_id=correlation_id,
        client_id="test",
    )
    entity_writer(type(header))(out, header)
    entity_writer(type(body))(out, body)
    return sized(out.getvalue())


def sized(frame):
    return struct.pack(">i", len(frame)) + frame


class Client:
    """A raw client of a listener."""

    def __init__(self, schema, reader, writer):
        self._schema, self.reader, self.writer = schema, reader, writer

    def send(self, *frames):
        self.writer.write(b"".join(frames))

    def produce(self, correlation_id, records=b"r", acks=-1):
        s = self._schema(0, 9)
        data = (s.PartitionProduceData(index=0, records=records),)
        return framed(
            s.request(
                transactional_id=None,
                acks=acks,
                timeout=dt.timedelta(seconds=30),
                topic_data=(s.TopicProduceData(name="orders", partition_data=data),),
            ),
            correlation_id,
        )

    def api_versions(self, correlation_id):
        return framed(self._schema(18, 0).request(), correlation_id)

    def end_offsets(self, correlation_id, partitions):
        """A request for the ends of a leader epoch of so many partitions."""
        s = self._schema(23, 4)
        asked = tuple(
            s.OffsetForLeaderPartition(partition=n, current_leader_epoch=0, leader_epoch=n)
            for n in range(partitions)
        )
        topic = s.OffsetForLeaderTopic(topic="orders", partitions=asked)
        return framed(s.request(replica_id=-2, topics=(topic,)), correlation_id)

    def fetch(self, correlation_id, replica_id=-1):
        s = self._schema(1, 4)
        partition = s.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=10**8)
        return framed(
            s.request(
                replica_id=replica_id,
                max_wait=dt.timedelta(seconds=30),
                min_bytes=1,
                max_bytes=10**8,
                isolation_level=0,
                topics=(s.FetchTopic(topic="orders", partitions=(partition,)),),
            ),
            correlation_id,
        )

    async def answer(self):
        size = struct.unpack(">i", await self.reader.readexactly(4))[0]
        return await self.reader.readexactly(size)

    async def correlation_ids(self, count):
        return [struct.unpack_from(">i", await self.answer())[0] for _ in range(count)]

    async def is_closed(self):
        try:
            return await self.reader.read(1) == b""
        except ConnectionResetError:
            return True
