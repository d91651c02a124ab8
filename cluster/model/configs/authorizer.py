"""The settings of the authorizer (``AclAuthorizer`` of Kafka 2.8)."""

from __future__ import annotations

from barnabas.cluster.model.authorization import Rules
from barnabas.cluster.model.configs.declarations import Config, Rule, Type, Value, one_of
from barnabas.cluster.model.principal import KafkaPrincipal, principal_of

ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
"""The only authorizer there is."""

LOG_LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")


def super_users_of(text: str) -> frozenset[KafkaPrincipal]:
    """Parse ``super.users``: principals separated by semicolons, because names may have commas.

    Raises:
        ValueError: A part is not ``type:name``.
    """
    return frozenset(principal_of(part.strip()) for part in text.split(";")) if text.strip() else frozenset()


def _are_principals(value: Value) -> bool:
    try:
        super_users_of(str(value))
    except ValueError:
        return False
    return True


AUTHORIZER_CONFIGS = (
    Config(
        "authorizer.class.name",
        Type.STRING,
        "",
        "The authorizer that decides what clients may do; empty if they may do everything.",
        one_of("", ACL_AUTHORIZER),
    ),
    Config(
        "super.users",
        Type.STRING,
        "",
        "The principals that may do everything, such as User:admin;User:CN=broker,O=example.",
        Rule(_are_principals, "principals in format principalType:principalName, separated by semicolons"),
    ),
    Config(
        "allow.everyone.if.no.acl.found",
        Type.BOOLEAN,
        default=False,
        doc="Whether everybody may do everything with a resource that no ACL concerns.",
    ),
    Config(
        "authorizer.log.level",
        Type.STRING,
        "INFO",
        "The lowest level in kafka-authorizer.log: denied actions are at INFO, allowed ones at DEBUG.",
        one_of(*LOG_LEVELS),
        ours=True,
    ),
)


def rules_of(super_users: str, *, allow_if_none: bool) -> Rules:
    """Return the rules that the settings state.

    Args:
        super_users: The value of ``super.users``.
        allow_if_none: The value of ``allow.everyone.if.no.acl.found``.
    """
    return Rules(super_users_of(super_users), allow_if_none)
