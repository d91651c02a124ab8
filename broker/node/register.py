"""The third phase of a broker: its registration in ZooKeeper, and with it the election of a controller."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from barnabas.broker.lifecycle.process import BrokerProcess
from barnabas.broker.lifecycle.sockets import port_of
from barnabas.broker.membership.registration import Registration, SessionListeners
from barnabas.broker.node.open import Storage
from barnabas.broker.node.replicate import Replication
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.zk.client.operations import WatchEvent
from barnabas.cluster.zk.schema.acls import ACL_CHANGES
from barnabas.cluster.zk.schema.paths import CONFIG_CHANGES
from barnabas.cluster.zk.store import ZooKeeperStore


async def register(
    storage: Storage, replication: Replication, process: BrokerProcess, stack: contextlib.AsyncExitStack
) -> None:
    """Register the broker, and stay registered from session to session.

    In each session the controller of this process takes part in the election.

    Raises:
        StartError: Another broker has the id or an address.
    """
    config, controller, authorizer = process.config, replication.controller, storage.authorizer
    ports = {name: port_of(bound) for name, bound in storage.sockets.items()}
    ports[config.inter_broker_listener] = replication.peer_port
    registration = Registration(
        storage.broker_id,
        with_bound_ports(config.advertised, ports),
        config.text("broker.rack"),
        storage.cluster_id,
        lambda: storage.logs.locks,
    )

    async def joined(store: ZooKeeperStore, epoch: BrokerEpoch) -> None:
        replication.replicas.gate.registered(epoch)
        storage.config_changes.session_began()
        if authorizer is not None:
            authorizer.session_began()
        await controller.start(store)

    def watched(event: WatchEvent) -> None:
        if event.path == CONFIG_CHANGES:
            storage.config_changes.noticed()
        elif authorizer is not None and event.path in ACL_CHANGES.values():
            authorizer.noticed()
        else:
            controller.on_zookeeper_event(event)

    await storage.membership.join(
        registration, SessionListeners(watched, controller.on_session_expired, joined)
    )
    staying = process.supervisor.spawn("membership", storage.membership.stay(registration))
    stack.callback(staying.cancel)


def with_bound_ports(endpoints: Iterable[Endpoint], ports: Mapping[str, int]) -> tuple[Endpoint, ...]:
    """Replace port 0 in each of ``endpoints`` by the port that its listener is bound to."""
    return tuple(each if each.port else replace(each, port=ports[each.listener]) for each in endpoints)
