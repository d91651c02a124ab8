"""The security of a client listener, as ``server.properties`` sets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from barnabas.broker.core.sasl.bearer_tokens import UnsecuredOptions
from barnabas.broker.server.signed_tokens import SignedOptions
from barnabas.cluster.model.jaas import JaasEntry


@dataclass(frozen=True, slots=True)
class MechanismSettings:
    """The settings of a SASL mechanism on a listener.

    Attributes:
        jaas: The entry of ``sasl.jaas.config``.
        max_reauth_ms: ``connections.max.reauth.ms``; 0 for sessions without end.
        tokens: What tokens of OAUTHBEARER must have; None for other mechanisms.
    """

    jaas: JaasEntry
    max_reauth_ms: int
    tokens: SignedOptions | UnsecuredOptions | None = None


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """The security of a listener.

    Attributes:
        protocol: Its protocol in ``listener.security.protocol.map``.
        mechanisms: The enabled SASL mechanisms by name; empty if it does not authenticate by SASL.
    """

    protocol: str = "PLAINTEXT"
    mechanisms: Mapping[str, MechanismSettings] = field(default_factory=lambda: MappingProxyType({}))
