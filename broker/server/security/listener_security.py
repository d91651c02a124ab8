"""The security of a client listener, as ``server.properties`` sets it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from barnabas.broker.core.sasl.bearer_tokens import UnsecuredOptions
from barnabas.broker.server.security.signed_tokens import SignedOptions
from barnabas.cluster.model.configs.declarations import Value
from barnabas.cluster.model.jaas import JaasEntry
from barnabas.cluster.model.principal_mapping import PrincipalMapping
from barnabas.cluster.tls.terms import Terms


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
class SslSettings:
    """The settings of TLS on a listener.

    Attributes:
        stores: The values of the settings of its key store and trust store, by names without a prefix.
        named: Returns the full name of a setting: with the listener's prefix if it was given with it.
        terms: What it accepts.
        mapping: ``ssl.principal.mapping.rules``; None with SASL, which says itself who a client is.
    """

    stores: Mapping[str, Value]
    named: Callable[[str], str]
    terms: Terms
    mapping: PrincipalMapping | None


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """The security of a listener.

    Attributes:
        protocol: Its protocol in ``listener.security.protocol.map``.
        mechanisms: The enabled SASL mechanisms by name; empty if it does not authenticate by SASL.
        ssl: The settings of TLS; None if it does not use it.
    """

    protocol: str = "PLAINTEXT"
    mechanisms: Mapping[str, MechanismSettings] = field(default_factory=lambda: MappingProxyType({}))
    ssl: SslSettings | None = None
