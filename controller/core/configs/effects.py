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
        settings: The text of each setting; None where the node cannot be read as settings.
        version: The data version of its node, None where it has none.
    """

    settings: Mapping[str, str] | None
    version: int | None


@dataclass(frozen=True, slots=True)
class ReadConfigs(Ask[Mapping[ConfigResource, StoredConfigs]]):
    """Read the settings that these resources override; each is in the answer."""

    resources: tuple[ConfigResource, ...]


@dataclass(frozen=True, slots=True)
class WriteConfigs(Ask[bool]):
    """Write the settings of a resource and the notification of the brokers, both or neither.

    The answer is False where the node no longer stands under ``version``.

    Attributes:
        resource: Whose.
        settings: All that it sets itself from now on.
        version: The version that its node had when it was read; None where there was none.
        fence: The fence.
    """

    resource: ConfigResource
    settings: Mapping[str, str]
    version: int | None
    fence: ControllerFence
