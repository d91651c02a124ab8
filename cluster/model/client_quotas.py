"""The quotas of clients: entities, settings, and the rules of DescribeClientQuotas and AlterClientQuotas.

Sources: ``ClientQuotaEntity``, ``QuotaConfigs`` and ``ZkAdminManager.describeClientQuotas`` and
``alterClientQuotas`` of Kafka 2.8; KIP-55, KIP-124, KIP-546.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum, unique
from math import isfinite
from types import MappingProxyType
from typing import NamedTuple

from barnabas.cluster.model.addresses import is_address
from barnabas.cluster.model.errors import ErrorCode

USER, CLIENT_ID, IP = "user", "client-id", "ip"
"""The types of entity in the protocol."""

DEFAULT = ""
"""The name of the default entity; no other entity has an empty name."""

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"

_CLIENT_KEYS: Mapping[str, bool] = MappingProxyType(
    {
        PRODUCER_BYTE_RATE: True,
        CONSUMER_BYTE_RATE: True,
        REQUEST_PERCENTAGE: False,
        "controller_mutation_rate": False,
    }
)
"""The settings of users and clients, and whether each is a whole number."""

CONNECTION_CREATION_RATE = "connection_creation_rate"

_IP_KEYS: Mapping[str, bool] = MappingProxyType({CONNECTION_CREATION_RATE: True})

_EPSILON = 1e-6


class QuotaError(Exception):
    """A request about quotas that is refused.

    Attributes:
        error: The error code.
    """

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error


def _invalid(message: str) -> QuotaError:
    return QuotaError(ErrorCode.INVALID_REQUEST, message)


class QuotaEntity(NamedTuple):
    """The owner of a quota: a user, a client id or both, or an address.

    Attributes:
        user: The user, ``DEFAULT`` for all others, or None.
        client_id: The client id, ``DEFAULT`` for all others, or None.
        ip: The address, ``DEFAULT`` for all others, or None; never with a user or client id.
    """

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None

    @property
    def keys(self) -> Mapping[str, bool]:
        """The settings that it may have, and whether each is a whole number."""
        return _CLIENT_KEYS if self.ip is None else _IP_KEYS

    @property
    def parts(self) -> list[tuple[str, str | None]]:
        """The types and names of the protocol; None names the default entity."""
        named = ((USER, self.user), (CLIENT_ID, self.client_id), (IP, self.ip))
        return [(kind, name or None) for kind, name in named if name is not None]


class QuotaOperation(NamedTuple):
    """A change of one setting.

    Attributes:
        key: The setting.
        value: Its value, or None to remove it.
    """

    key: str
    value: float | None


@unique
class Match(IntEnum):
    """The ways in which a filter matches names, with the numbers of the protocol."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


class FilterComponent(NamedTuple):
    """The condition of a filter on one type of entity.

    Attributes:
        kind: The type.
        match: How its name is matched.
        name: The name, for ``Match.EXACT``.
    """

    kind: str
    match: int
    name: str | None


def entity_of(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """Return the entity that a request names.

    Raises:
        QuotaError: There is no part, an unknown type, a type twice, an empty name, an address and more, or an
            address that is none. Unlike in 2.8, names of hosts are not looked up.
    """
    named: dict[str, str] = {}
    for kind, name in parts:
        if kind not in {USER, CLIENT_ID, IP}:
            raise _invalid(f"Unhandled client quota entity type: '{kind}'; expected user, client-id or ip")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
        if kind in named:
            raise _invalid(f"The entity names {kind} twice; expected once")
        named[kind] = DEFAULT if name is None else name
    if not named:
        raise _invalid("Invalid empty client quota entity")
    if IP in named and len(named) > 1:
        raise _invalid(
            "Invalid quota entity combination, IP entity should not be used with user/client ID entity."
        )
    if named.get(IP) and not is_address(named[IP]):
        raise _invalid(f"{named[IP]} is not a valid IP or resolvable host.")
    return QuotaEntity(named.get(USER), named.get(CLIENT_ID), named.get(IP))


def altered(
    entity: QuotaEntity, settings: Mapping[str, str], operations: Iterable[QuotaOperation]
) -> dict[str, str]:
    """Return the settings of an entity after some operations; others, such as credentials, are kept.

    Unlike 2.8, which removes any setting, a removal may name quotas alone: a user's node has its SCRAM
    credentials, too.

    Raises:
        QuotaError: A setting is unknown, or a value is no number of its type.
    """
    own = dict(settings)
    for key, value in operations:
        if key not in entity.keys:
            raise _invalid(f"Invalid configuration key {key}")
        if value is None:
            own.pop(key, None)
            continue
        if not isfinite(value) or value < 0:
            raise _invalid(f"Configuration {key} has the value {value}; expected a number of at least 0")
        if not entity.keys[key]:
            own[key] = repr(float(value))
            continue
        whole = int(value + _EPSILON)
        if abs(whole - value) > _EPSILON:
            raise _invalid(f"Configuration {key} must be a LONG value")
        own[key] = str(whole)
    return own


def quotas_of(entity: QuotaEntity, settings: Mapping[str, str]) -> dict[str, float]:
    """Return the quotas among the settings of an entity; those that are no numbers are left out."""
    found = {}
    for key in entity.keys:
        try:
            found[key] = float(settings[key])
        except (KeyError, ValueError):
            continue
    return found


def connection_rate_of(quotas: Mapping[QuotaEntity, Mapping[str, float]], host: str) -> float | None:
    """Return the most new connections per second of an address; None for no limit (KIP-612)."""
    own, default = quotas.get(QuotaEntity(ip=host), {}), quotas.get(QuotaEntity(ip=DEFAULT), {})
    return own.get(CONNECTION_CREATION_RATE, default.get(CONNECTION_CREATION_RATE))


def described(
    quotas: Mapping[QuotaEntity, Mapping[str, float]], components: Sequence[FilterComponent], *, strict: bool
) -> dict[QuotaEntity, Mapping[str, float]]:
    """Return the entities that match a filter; with ``strict`` they have no other types than it names.

    Raises:
        QuotaError: A component is repeated or contradicts another (``INVALID_REQUEST``), or its type is not
            known (``UNSUPPORTED_VERSION``).
    """
    wanted: dict[str, FilterComponent] = {}
    for component in components:
        if not component.kind:
            raise _invalid("Unexpected empty filter component entity type")
        if component.kind not in {USER, CLIENT_ID, IP}:
            message = f"Custom entity type '{component.kind}' not supported"
            raise QuotaError(ErrorCode.UNSUPPORTED_VERSION, message)
        if component.kind in wanted:
            raise _invalid(f"Duplicate {component.kind} filter component entity type")
        if component.match not in set(Match):
            raise _invalid(f"Unknown match type {component.match}; expected 0 to 2")
        wanted[component.kind] = component
    if IP in wanted and len(wanted) > 1:
        raise _invalid(
            "Invalid entity filter component combination, IP filter component should not be used with "
            "user or clientId filter component."
        )
    return {
        entity: values
        for entity, values in quotas.items()
        if values and _matches(entity, wanted, strict=strict)
    }


def _matches(entity: QuotaEntity, wanted: Mapping[str, FilterComponent], *, strict: bool) -> bool:
    # A filter for users or clients excludes addresses, and a filter for addresses excludes users and
    # clients.
    if wanted and (entity.ip is not None) != (IP in wanted):
        return False
    named = ((USER, entity.user), (CLIENT_ID, entity.client_id), (IP, entity.ip))
    return all(_is_as_wanted(name, wanted.get(kind), strict=strict) for kind, name in named)


def _is_as_wanted(name: str | None, component: FilterComponent | None, *, strict: bool) -> bool:
    if component is None:
        return name is None or not strict
    if name is None:
        return False
    match component.match:
        case Match.EXACT:
            return name == component.name
        case Match.DEFAULT:
            return name == DEFAULT
        case _:
            return True
