"""Effects that read and write settings in ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.cluster.model.commands.configs import ConfigResource
from barnabas.controller.core.protocol.effects import Ask, ControllerFence


@dataclass(frozen=True, slots=True)
class StoredConfigs:
    """The settings of one resource in ``/config``.

    Attributes:
        settings: The text of each setting; None if the node cannot be decoded.
        version: The data version of the node; None if there is no node.
    """

    settings: Mapping[str, str] | None
    version: int | None


@dataclass(frozen=True, slots=True)
class ReadConfigs(Ask[Mapping[ConfigResource, StoredConfigs]]):
    """Read the settings that these resources override; the answer has an entry for each resource."""

    resources: tuple[ConfigResource, ...]


@dataclass(frozen=True, slots=True)
class WriteConfigs(Ask[bool]):
    """Write the settings of a resource and the notification for the brokers in one transaction.

    The answer is False if the node has no longer this ``version``.

    Attributes:
        resource: The topic or broker.
        settings: All settings that it overrides from now on.
        version: The version of its node when it was read; None if there was no node.
        fence: The fence.
    """

    resource: ConfigResource
    settings: Mapping[str, str]
    version: int | None
    fence: ControllerFence
