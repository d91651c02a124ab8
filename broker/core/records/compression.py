"""The compression codecs in the framings that Kafka's clients read and write.

Sources: ``CompressionType.java``, ``KafkaLZ4BlockOutputStream.java`` of Kafka 2.8; ``SnappyOutputStream`` of
xerial's snappy-java; the LZ4 frame format. Java's consumer refuses LZ4 frames whose blocks depend on each
other, so LZ4 frames are assembled here from independent blocks; the library cramjam does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any, assert_never

import cramjam

from barnabas.broker.core.records.record_batch import Buffer, Codec

MAX_DECOMPRESSED_SIZE = 64 * 1024 * 1024
"""The most bytes that a compressed batch may unpack to if it is opened.

Kafka unpacks a batch in a stream; we unpack it in one piece, and a few bytes of zstd may unpack to
gigabytes.
"""

_GUESSED_RATIO = 8
"""The ratio of the first decompression buffer's size to the compressed bytes."""

_SMALLEST_ROOM = 64 * 1024
_NO_ROOM = "write whole buffer"
"""The text of cramjam's error when the content does not fit into the buffer."""

_XERIAL_HEADER = b"\x82SNAPPY\x00" + Struct(">ii").pack(1, 1)
_XERIAL_MAGIC_SIZE = 8
_XERIAL_BLOCK = 32 * 1024
_BIG_ENDIAN = Struct(">i")

_LZ4_FRAME_HEADER = bytes.fromhex("04224d18604082")
"""Magic, flags (version 1, independent blocks), blocks of at most 64 KB, and the checksum of these two."""

_LZ4_BLOCK = 64 * 1024
_LZ4_STORED = 0x80000000
_LZ4_END = bytes(4)
_LITTLE_ENDIAN = Struct("<I")


class CorruptStreamError(Exception):
    """Bytes that are not a stream of their codec, or that hold more than is allowed."""


def compress(codec: Codec, data: Buffer) -> bytes:
    """Compress ``data`` to one stream of ``codec``."""
    match codec:
        case Codec.UNCOMPRESSED:
            return bytes(data)
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(data))
        case Codec.SNAPPY:
            return b"".join(_snappy_frame(memoryview(data)))
        case Codec.LZ4:
            return b"".join(_lz4_frame(memoryview(data)))
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data))
        case unknown:
            assert_never(unknown)


def decompress(codec: Codec, data: Buffer, limit: int = MAX_DECOMPRESSED_SIZE) -> bytes | memoryview:
    """Decompress the stream ``data`` of ``codec``, whose content may have at most ``limit`` bytes.

    Raises:
        CorruptStreamError: ``data`` is no such stream, or its content is larger.
    """
    match codec:
        case Codec.UNCOMPRESSED:
            return bytes(data)
        case Codec.GZIP:
            return _decompress_into(cramjam.gzip.decompress_into, data, limit)
        case Codec.SNAPPY:
            return _decompress_snappy(bytes(data), limit)
        case Codec.LZ4:
            return _decompress_into(cramjam.lz4.decompress_into, data, limit)
        case Codec.ZSTD:
            return _decompress_into(cramjam.zstd.decompress_into, data, limit)
        case unknown:
            assert_never(unknown)


def _decompress_into(
    decompress_into: Callable[[Any, Any], int], data: Buffer, limit: int
) -> bytes | memoryview:
    """Decompress into a buffer that grows until the content fits or ``limit`` bytes are exceeded."""
    size = max(_SMALLEST_ROOM, len(data))
    while True:
        size = min(size * _GUESSED_RATIO, limit)
        room = bytearray(size)
        try:
            return memoryview(room)[: decompress_into(data, room)].toreadonly()
        except cramjam.DecompressionError as error:
            if size == limit or _NO_ROOM not in str(error):
                raise CorruptStreamError(f"cannot be decompressed into {limit} bytes: {error}") from error


def _snappy_frame(data: memoryview) -> Iterator[bytes]:
    yield _XERIAL_HEADER
    for at in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + _XERIAL_BLOCK]))
        yield _BIG_ENDIAN.pack(len(block))
        yield block


def _decompress_snappy(data: bytes, limit: int) -> bytes:
    """Decompress snappy blocks in xerial's framing, or one block without it, as some clients write."""
    blocks = _snappy_blocks(data) if data.startswith(_XERIAL_HEADER[:_XERIAL_MAGIC_SIZE]) else [data]
    parts, size = [], 0
    try:
        for block in blocks:
            size += cramjam.snappy.decompress_raw_len(block)
            if size > limit:
                raise CorruptStreamError(f"cannot be decompressed into {limit} bytes: it says it is larger")
            parts.append(bytes(cramjam.snappy.decompress_raw(block)))
    except cramjam.DecompressionError as error:
        raise CorruptStreamError(f"cannot be decompressed: {error}") from error
    return b"".join(parts)


def _snappy_blocks(data: bytes) -> Iterator[bytes]:
    position = len(_XERIAL_HEADER)
    while position + _BIG_ENDIAN.size <= len(data):
        (size,) = _BIG_ENDIAN.unpack_from(data, position)
        position += _BIG_ENDIAN.size
        if size < 0:
            raise CorruptStreamError(f"cannot be decompressed: a block of {size} bytes")
        yield data[position : position + size]
        position += size


def _lz4_frame(data: memoryview) -> Iterator[bytes]:
    yield _LZ4_FRAME_HEADER
    for at in range(0, len(data), _LZ4_BLOCK):
        plain = data[at : at + _LZ4_BLOCK]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            yield _LITTLE_ENDIAN.pack(len(block))
            yield block
        else:
            yield _LITTLE_ENDIAN.pack(len(plain) | _LZ4_STORED)
            yield bytes(plain)
    yield _LZ4_END
