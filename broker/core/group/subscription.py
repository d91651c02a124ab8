"""The topics in the metadata of a consumer (``ConsumerProtocolSubscription.json`` of Kafka 2.8).

Every version begins as version 0 does: int16 version, then an array of topic names. The rest is the
assignor's.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from struct import error as StructError  # noqa: N812  (it is a class)

from barnabas.cluster.model.steps import Steps

STRETCH_TOPICS = 500
"""The topics that are read in one go."""

_INT16 = Struct(">h")
_HEAD = Struct(">hi")
"""The version and the number of topics."""


def subscribed_topics(subscriptions: Iterable[bytes]) -> Steps[frozenset[str] | None]:
    """Read the topics of all subscriptions; None if one of them does not follow the layout."""
    topics, read = set[str](), 0
    for metadata in subscriptions:
        try:
            version, count = _HEAD.unpack_from(metadata)
            if version < 0 or count < 0:
                return None
            position = _HEAD.size
            for _ in range(count):
                (length,) = _INT16.unpack_from(metadata, position)
                position += _INT16.size
                end = position + length
                if length < 0 or end > len(metadata):
                    return None
                topics.add(metadata[position:end].decode())
                position = end
                read += 1
                if read % STRETCH_TOPICS == 0:
                    yield None
        except (StructError, UnicodeDecodeError):
            return None
    return frozenset(topics)
