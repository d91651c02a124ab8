"""A raw client of a listener on which clients must authenticate by PLAIN."""

from __future__ import annotations

import asyncio
import struct

from kio.serial import entity_reader

from barnabas.broker.wire.schemas import RESPONSE, load_schema
from tests.unit.broker.server.raw_client import Client, framed

GOOD, BAD = b"\0alice\0secret", b"\0alice\0wrong"


class Raw:
    """A raw client that reads answers."""

    def __init__(self, schema, reader, writer):
        self.schema, self.reader, self.writer = schema, reader, writer
        self.plain = Client(schema, reader, writer)

    def send(self, *frames):
        self.writer.write(b"".join(frames))

    async def frame(self):
        async with asyncio.timeout(60):
            (size,) = struct.unpack(">i", await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def answer(self, key, version):
        schema = load_schema(key, version, RESPONSE)
        data = memoryview(await self.frame())
        _, at = entity_reader(schema.__header_schema__)(data, 0)
        return entity_reader(schema)(data, at)[0]

    async def is_closed(self):
        async with asyncio.timeout(60):
            return await self.reader.read() == b""

    def handshake(self, version=1, mechanism="PLAIN"):
        self.send(framed(self.schema(17, version).request(mechanism=mechanism), 1))

    def token(self, token, version=2):
        self.send(framed(self.schema(36, version).request(auth_bytes=token), 2))

    async def log_in(self):
        self.handshake()
        await self.answer(17, 1)
        self.token(GOOD)
        return await self.answer(36, 2)
