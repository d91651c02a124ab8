"""The offset map of a cleaning: the last offset of each key in the dirty section, in memory of a fixed size.

Source: ``core/log/OffsetMap.scala`` (``SkimpyOffsetMap``) of Kafka 2.8. Keys are not kept, only their
hashes of 16 bytes; two keys with one hash would be taken for one. Kafka hashes with MD5, for which anybody
can construct two such keys. Here the hash is BLAKE2, for which no construction is known.
"""

from __future__ import annotations

from hashlib import blake2s
from mmap import mmap
from struct import Struct

HASH_SIZE = 16

ENTRY_SIZE = HASH_SIZE + 8
"""Bytes of a slot: the hash, and the offset plus one, so that a slot of zeros is free."""

UNKNOWN = -1
"""The offset of a key that the map does not hold."""

_FREE = bytes(HASH_SIZE)
_OFFSET = Struct(">q")
_LAST_START = HASH_SIZE - 4


class OffsetMap:
    """A hash table of keys and offsets.

    Args:
        memory: Zeros, which become the table; two slots at least.
        load_factor: The share of the slots that may be used (``log.cleaner.io.buffer.load.factor``).

    Attributes:
        latest_offset: The last offset that was taken into account, -1 before the first.
        capacity: How many keys the map takes.
    """

    def __init__(self, memory: bytearray | mmap, load_factor: float) -> None:
        self._table = memory
        self._slots = len(memory) // ENTRY_SIZE
        self._size = 0
        self.latest_offset = UNKNOWN
        # One slot stays free, or the search for a key that the map does not hold would never end.
        self.capacity = min(int(self._slots * load_factor), self._slots - 1)

    def __len__(self) -> int:
        return self._size

    @property
    def utilization(self) -> float:
        """The share of all slots that is in use."""
        return self._size / self._slots

    def put(self, key: bytes, offset: int) -> None:
        """Note that the record at ``offset`` has this key; a later call wins."""
        digest = blake2s(key, digest_size=HASH_SIZE).digest()
        position = self._find(digest)
        table = self._table
        if table[position : position + HASH_SIZE] != digest:
            self._size += 1
            table[position : position + HASH_SIZE] = digest
        _OFFSET.pack_into(table, position + HASH_SIZE, offset + 1)
        self.latest_offset = offset

    def get(self, key: bytes) -> int:
        """Return the offset of the key, or ``UNKNOWN``."""
        position = self._find(blake2s(key, digest_size=HASH_SIZE).digest())
        return int(_OFFSET.unpack_from(self._table, position + HASH_SIZE)[0]) - 1

    def _find(self, digest: bytes) -> int:
        """Return the position of the slot that holds the hash, or of the free one where it belongs.

        The first 13 probes go by the four bytes at 0, 1, 2 and so on of the hash, the others to the slots
        behind the last of these.
        """
        table, slots, attempt = self._table, self._slots, 0
        while True:
            at = min(attempt, _LAST_START)
            number = int.from_bytes(digest[at : at + 4], "big") + attempt - at
            position = number % slots * ENTRY_SIZE
            found = table[position : position + HASH_SIZE]
            if found in (digest, _FREE):
                return position
            attempt += 1
