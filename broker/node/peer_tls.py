"""The security between brokers: the certificates of this process, and the check of the other brokers.

Source of the check without TLS: ``KafkaApis.authorizeClusterOperation`` of release 2.8.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from barnabas.broker.authorizer.authorizer import AclAuthorizer, requester_of
from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.start_error import StartError
from barnabas.broker.lifecycle.process import BrokerProcess
from barnabas.broker.node.open import Storage
from barnabas.broker.replicas.service import ReplicaService
from barnabas.broker.server.peers.peer_access import CLUSTER_ACTION, Certificates, PeerAccess, PeerIdentity
from barnabas.broker.server.peers.peer_claims import PeerClaims
from barnabas.cluster.model.acls import CLUSTER_NAME
from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.model.controllership import Owner
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.principal import ANONYMOUS, USER_TYPE, KafkaPrincipal
from barnabas.cluster.model.principal_mapping import PrincipalMapping
from barnabas.cluster.rpc.channels import take_credentials

if TYPE_CHECKING:
    from barnabas.broker.server.peers.peer_credentials import PeerCredentials

_log = structlog.get_logger("kafka.server.KafkaServer")

_ELECTED = (Owner.THIS_SESSION, Owner.NAMED_BROKER)


@dataclass(frozen=True, slots=True)
class PeerTls:
    """TLS of the listener between brokers.

    Attributes:
        credentials: The certificates of this process.
        mapping: ``ssl.principal.mapping.rules``.
    """

    credentials: PeerCredentials
    mapping: PrincipalMapping

    def access(self, storage: Storage, replicas: ReplicaService) -> PeerAccess:
        """Return the check of other brokers' calls."""
        from barnabas.cluster.tls.certificates import owner_of  # noqa: PLC0415

        membership = storage.membership

        def identify(certificate: bytes) -> PeerIdentity:
            owner = owner_of(certificate)
            return PeerIdentity(KafkaPrincipal(USER_TYPE, self.mapping.user_of(owner.subject)), owner.hosts)

        async def read_brokers(ids: Collection[BrokerId] | None) -> Mapping[BrokerId, Broker]:
            brokers = membership.store.brokers
            return await brokers.live() if ids is None else await brokers.read(ids)

        async def read_controller() -> BrokerId | None:
            claim = (await membership.store.controller.look()).claim
            return None if claim is None or claim.owner not in _ELECTED else claim.named

        claims = PeerClaims(replicas.metadata, replicas.gate, read_brokers, read_controller)
        return PeerAccess(Certificates(self.credentials.server(), identify, claims), storage.authorizer)


async def open_peer_tls(process: BrokerProcess, stack: contextlib.AsyncExitStack) -> PeerTls | None:
    """Read the stores of the listener between brokers, and use them for all channels of this process.

    Returns:
        None if that listener has no TLS.

    Raises:
        StartError: A store is missing or cannot be read.
    """
    security = process.config.peer_security
    if security is None:
        return None
    # The library behind it takes 7 MB, which a broker without TLS does not spend.
    from barnabas.broker.server.peers.peer_credentials import PeerCredentials  # noqa: PLC0415

    try:
        credentials = await asyncio.to_thread(PeerCredentials, security.load)
    except ConfigError as error:
        raise StartError(str(error)) from error
    take_credentials(credentials.channel)
    stack.callback(take_credentials, None)
    process.supervisor.spawn("peer-credentials", credentials.watch())
    return PeerTls(credentials, security.mapping)


def peer_access(tls: PeerTls | None, storage: Storage, replicas: ReplicaService) -> PeerAccess | None:
    """Return the check of other brokers' calls; None if everybody may call who can connect."""
    if tls is not None:
        return tls.access(storage, replicas)
    return None if storage.authorizer is None else PeerAccess(None, storage.authorizer)


def warn_of_open_port(config: BrokerConfig, authorizer: AclAuthorizer | None) -> None:
    """Log whether the port for other brokers is the hole of a broker that is secured otherwise.

    With an authorizer brokers without TLS are ``User:ANONYMOUS`` to each other, as in Kafka.
    """
    is_secured = any(each.mechanisms or each.ssl for each in config.security.values())
    if config.peer_security is not None or not (is_secured or authorizer):
        return
    listener = config.inter_broker_listener
    remedy = f"set listener.security.protocol.map to {listener}:SSL, or keep it in a network of its own"
    if authorizer is None:
        _log.warning(
            f"The listener {listener} between brokers has no TLS: everybody who reaches it can read and "
            f"write all records, and pose as the controller; {remedy}"
        )
        return
    requester = requester_of(ANONYMOUS, "127.0.0.1")
    if authorizer.is_authorized(requester, CLUSTER_ACTION, "start", log_allowed=False, log_denied=False):
        _log.warning(
            f"The listener {listener} between brokers has no TLS, and {ANONYMOUS} has ClusterAction: "
            f"everybody who reaches it can read and write all records, and pose as the controller; {remedy}"
        )
        return
    _log.error(
        f"The listener {listener} between brokers has no TLS, and {ANONYMOUS} has no ClusterAction on "
        f"Cluster:{CLUSTER_NAME}: this broker refuses all others and the controller; {remedy} and add "
        f"{ANONYMOUS} to super.users"
    )
