"""The quotas of users, clients and addresses, as ``kafka-configs.sh`` describes and alters them.

Source: ``ConfigCommand.describeQuotaConfigs`` and ``alterQuotaConfigs`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from barnabas.tools.clients.admin_client import AdminClient
from barnabas.tools.clients.refusals import demand_success
from barnabas.tools.configs.config_flags import DEFAULT_ENTITY, QUOTAS, InvalidArgument

_IP_KEYS = frozenset({"connection_creation_rate"})
_CLIENT_KEYS = frozenset(
    {"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}
)
_TITLES = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}

_EXACT, _DEFAULT, _ANY = 0, 1, 2
"""The way in which the filter of a request matches names."""

Named = Sequence[tuple[str, str | None]]
"""The types of an entity with their names: empty for the default entity, None for all."""


def describe_quotas(admin: AdminClient, named: Named) -> list[str]:
    """Return the lines of ``--describe``.

    Raises:
        Refusal: The broker refused.
        AdminError: No broker answered.
    """
    return [
        f"Quota configs for {_title(entity)} are {', '.join(f'{k}={_java(v)}' for k, v in values.items())}"
        for entity, values in _read(admin, named)
    ]


def alter_quotas(admin: AdminClient, named: Named, added: Mapping[str, str], deleted: Sequence[str]) -> str:
    """Alter the quotas of an entity, and return the line to print.

    Raises:
        InvalidArgument: A setting is no quota, or a value is no number, or a quota to delete is not set.
        Refusal: The broker refused.
        AdminError: No broker answered.
    """
    kind = named[0][0]
    known = _IP_KEYS if kind == "ips" else _CLIENT_KEYS
    unknown = [name for name in (*added, *deleted) if name not in known]
    if unknown:
        what = "connection quota" if kind == "ips" else "quota"
        raise InvalidArgument(
            f"Only {what} configs can be added for '{kind}' using --bootstrap-server. "
            f"Unexpected config names: {','.join(unknown)}"
        )
    own = next((values for _, values in _read(admin, named)), {})
    missing = [name for name in deleted if name not in own]
    if missing:
        raise InvalidArgument(f"Invalid config(s): {','.join(missing)}")
    operations = [(name, _number(name, value), False) for name, value in added.items()]
    operations += [(name, 0.0, True) for name in deleted]
    entity = [(QUOTAS[each], name or None) for each, name in named]
    request = AlterClientQuotasRequest(entries=[(entity, operations)], validate_only=False)
    (result,) = admin.ask(request).entries
    demand_success(result)
    name = named[0][1]
    if name == DEFAULT_ENTITY:
        return f"Completed updating default config for {kind} in the cluster."
    return f"Completed updating config for {kind[:-1]} {name}."


def _read(admin: AdminClient, named: Named) -> list[tuple[dict[str, str | None], dict[str, float]]]:
    """Return the entities of exactly these types, with their quotas."""
    components = [
        (QUOTAS[kind], _ANY if name is None else _EXACT if name else _DEFAULT, name or None)
        for kind, name in named
    ]
    answer = admin.ask(DescribeClientQuotasRequest(components=components, strict=True))
    demand_success(answer)
    return [
        (
            {part.entity_type: part.entity_name for part in entry.entity},
            {each.key: each.value for each in entry.values},
        )
        for entry in answer.entries
    ]


def _title(entity: Mapping[str, str | None]) -> str:
    return ", ".join(
        f"the default {title}" if entity[kind] is None else f"{title} '{entity[kind]}'"
        for kind, title in _TITLES.items()
        if kind in entity
    )


def _java(value: float) -> str:
    """Return a number as Java prints a double."""
    if value == 0 or 1e-3 <= value < 1e7:
        return repr(float(value))
    _, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *others = map(str, digits)
    return f"{first}.{''.join(others) or '0'}E{int(exponent) + len(others)}"


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidArgument(f"Cannot parse quota configuration value for {name}: {text}") from None
