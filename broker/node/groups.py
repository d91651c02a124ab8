"""The group coordinator of a broker, opened in the second phase."""

from __future__ import annotations

import contextlib

from barnabas.broker.coordinator.coordinator import GroupCoordinator
from barnabas.broker.coordinator.metrics import show_groups
from barnabas.broker.coordinator.offsets_topic import OffsetsTopic
from barnabas.broker.core.group.settings import GroupSettings
from barnabas.broker.lifecycle.process import BrokerProcess
from barnabas.broker.replicas.service import ReplicaService
from barnabas.broker.replicas.system_timer import SystemTimer
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.broker.server.peers.any_controller import AnyController
from barnabas.cluster.model.configs.settings import settings_of


def open_groups(
    replicas: ReplicaService,
    any_controller: AnyController,
    purgatories: MetadataPurgatories,
    process: BrokerProcess,
    stack: contextlib.AsyncExitStack,
) -> GroupCoordinator:
    """Open the coordinator, which follows the leaderships of ``replicas`` from now on."""
    settings = settings_of(GroupSettings, process.config.values)
    supervisor, metrics = process.supervisor, process.metrics
    groups = GroupCoordinator(
        settings,
        OffsetsTopic(settings, replicas.metadata, any_controller, supervisor),
        replicas.hosted,
        appends=replicas.appends,
        timer=SystemTimer(),
        supervisor=supervisor,
        metrics=metrics,
    )
    replicas.hosted.on_leadership_changed = groups.leadership_changed
    purgatories.on_deleted = groups.partitions_deleted
    supervisor.spawn("offsets-expiration", groups.expire_offsets())
    show_groups(metrics, groups.partitions)
    stack.callback(groups.close)
    return groups
