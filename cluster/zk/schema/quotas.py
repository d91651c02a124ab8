"""The paths of clients' quotas below ``/config`` and the names of their entities.

Source: ``AdminZkClient``, ``ConfigEntityName`` and ``org.apache.kafka.common.utils.Sanitizer`` of Kafka 2.8.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from barnabas.cluster.model.client_quotas import DEFAULT, QuotaEntity
from barnabas.cluster.zk.schema import paths

_USERS, _CLIENTS, _IPS = "users", "clients", "ips"


def sanitized(name: str) -> str:
    """Return an entity's name as a part of a path; ``<default>`` for the default entity."""
    if name == DEFAULT:
        return paths.DEFAULT_ENTITY
    # Java's URLEncoder escapes the tilde, which Python's quote never does.
    return quote(name, safe="").replace("~", "%7E")


def desanitized(part: str) -> str:
    """Return the name of an entity from a part of a path."""
    return DEFAULT if part == paths.DEFAULT_ENTITY else unquote(part)


def entity_path(entity: QuotaEntity) -> str:
    """Return the path of an entity's settings below ``/config``."""
    if entity.ip is not None:
        return f"{_IPS}/{sanitized(entity.ip)}"
    client = None if entity.client_id is None else f"{_CLIENTS}/{sanitized(entity.client_id)}"
    if entity.user is None:
        return client or ""
    user = f"{_USERS}/{sanitized(entity.user)}"
    return user if client is None else f"{user}/{client}"


def entity_at(path: str) -> QuotaEntity | None:
    """Return the entity whose settings lie at a path below ``/config``; None for another path."""
    match path.split("/"):
        case ["users", user, "clients", client] if user and client:
            return QuotaEntity(desanitized(user), desanitized(client))
        case ["users", user] if user:
            return QuotaEntity(desanitized(user))
        case ["clients", client] if client:
            return QuotaEntity(None, desanitized(client))
        case ["ips", ip] if ip:
            return QuotaEntity(None, None, desanitized(ip))
        case _:
            return None
