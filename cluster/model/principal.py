"""The identity of a client or broker, as ACLs and quotas name it (``KafkaPrincipal`` of Kafka 2.8)."""

from __future__ import annotations

from typing import NamedTuple

USER_TYPE = "User"
"""The only type of principal that Kafka's own authentication makes."""


class KafkaPrincipal(NamedTuple):
    """An authenticated identity; ``str`` gives Kafka's spelling ``type:name``.

    Attributes:
        type: The kind of identity, ``User``; it has no colon.
        name: The name, such as ``alice`` or ``CN=alice,O=example``.
    """

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = KafkaPrincipal(USER_TYPE, "ANONYMOUS")
"""The principal of a client that has not authenticated."""


def principal_of(text: str) -> KafkaPrincipal:
    """Parse ``type:name``, split at the first colon (``SecurityUtils.parseKafkaPrincipal``).

    Raises:
        ValueError: The text has no colon, no type or no name.
    """
    kind, _, name = text.partition(":")
    if not kind or not name:
        raise ValueError(f"expected a string in format principalType:principalName but got {text}")
    return KafkaPrincipal(kind, name)
