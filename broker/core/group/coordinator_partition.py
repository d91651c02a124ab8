"""The partition of ``__consumer_offsets`` that holds a group; its leader is the group's coordinator."""

from __future__ import annotations

OFFSETS_TOPIC = "__consumer_offsets"
"""The topic of all groups (``Topic.GROUP_METADATA_TOPIC_NAME``)."""

_MASK = 0xFFFFFFFF
_SIGN = 0x80000000


def java_hash(text: str) -> int:
    """Return ``String.hashCode`` of Java: over UTF-16 units, 32 bits, signed."""
    value, units = 0, text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & _MASK
    return value - (1 << 32) if value & _SIGN else value


def partition_of(group_id: str, partitions: int) -> int:
    """Return the partition of a group among ``partitions`` (``GroupMetadataManager.partitionFor``)."""
    hashed = java_hash(group_id)
    # Utils.abs: the one number whose absolute value is no int counts as 0.
    return (0 if hashed == -(1 << 31) else abs(hashed)) % partitions
