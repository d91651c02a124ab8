"""``kafka-configs.sh``: describe and alter settings of topics and brokers, quotas and SCRAM credentials.

Options and output are those of Kafka 2.8's ``kafka.admin.ConfigCommand``, for the entity types
that Barnabas serves. Exit code 0, or 1 on any error.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence

from barnabas.cluster.model.commands.configs import ConfigAlteration, ConfigOperation
from barnabas.tools.clients.admin_client import AdminClient
from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.clients.config_client import ConfigClient, Described, warnings
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.configs import zookeeper_configs
from barnabas.tools.configs.config_flags import (
    BROKERS,
    DEFAULT_ENTITY,
    OPTIONS,
    QUOTAS,
    TOPICS,
    USERS,
    Entity,
    InvalidArgument,
    entity_of,
    settings_to_add,
    settings_to_delete,
)
from barnabas.tools.configs.quota_configs import alter_quotas, describe_quotas
from barnabas.tools.configs.scram_configs import alter_credentials, are_scram, describe_credentials


def describe(client: ConfigClient, entity: Entity, *, everything: bool) -> list[str]:
    """Return the lines of ``--describe``."""
    lines = []
    for each in _expand(client, entity):
        lines.append(title(each, everything=everything))
        lines += [
            line_of(config)
            for config in client.describe(each.resource)
            if everything or config.source is each.dynamic_source
        ]
    return lines


def title(entity: Entity, *, everything: bool) -> str:
    """Return the title line above the settings of an entity."""
    if entity.name == DEFAULT_ENTITY:
        return f"Default configs for {entity.kind} in the cluster are:"
    return f"{'All' if everything else 'Dynamic'} configs for {entity.kind[:-1]} {entity.name} are:"


def line_of(config: Described) -> str:
    """Format a setting as the tool prints it; Java prints ``null`` for one that is hidden or not set."""
    synonyms = ", ".join(f"{each.source.name}:{each.name}={_null(each.value)}" for each in config.synonyms)
    sensitive = str(config.is_sensitive).lower()
    return f"  {config.name}={_null(config.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def alter(client: ConfigClient, entity: Entity, added: Mapping[str, str], deleted: Sequence[str]) -> str:
    """Alter the settings of an entity, and return the line to print.

    Raises:
        InvalidArgument: A setting is to be deleted that the entity does not set itself, or a hidden setting
            would be lost.
    """
    own = {
        config.name: config.value
        for config in client.describe(entity.resource)
        if config.source is entity.dynamic_source
    }
    missing = [name for name in deleted if name not in own]
    if missing:
        raise InvalidArgument(f"Invalid config(s): {','.join(missing)}")
    if entity.kind == TOPICS:
        steps = [ConfigAlteration(name, ConfigOperation.SET, value) for name, value in added.items()]
        steps += [ConfigAlteration(name, ConfigOperation.DELETE) for name in deleted]
        client.alter_incrementally(entity.resource, steps)
    else:
        client.replace(entity.resource, _whole(own, added, deleted))
    if entity.name == DEFAULT_ENTITY:
        return f"Completed updating default config for {entity.kind} in the cluster."
    return f"Completed updating config for {entity.kind[:-1]} {entity.name}."


def _whole(own: Mapping[str, str | None], added: Mapping[str, str], deleted: Iterable[str]) -> dict[str, str]:
    """Return all settings that a broker shall have; hidden ones must be given again."""
    whole = {name: value for name, value in {**own, **added}.items() if name not in set(deleted)}
    hidden = sorted(name for name, value in whole.items() if value is None)
    if hidden:
        raise InvalidArgument(
            "All sensitive broker config entries must be specified for --alter, missing entries: "
            f"Set({', '.join(hidden)})"
        )
    return {name: value for name, value in whole.items() if value is not None}


def _null(value: str | None) -> str:
    return "null" if value is None else value


def _expand(client: ConfigClient, entity: Entity) -> list[Entity]:
    """Return the entity, or all of its type in the tool's order."""
    if entity.name is not None:
        return [entity]
    if entity.kind == TOPICS:
        return [Entity(TOPICS, name) for name in client.topics()]
    return [*(Entity(BROKERS, str(id_)) for id_ in client.brokers()), Entity(BROKERS, DEFAULT_ENTITY)]


def run(flags: Namespace) -> list[str]:
    """Carry out the options, and return the lines to print.

    Raises:
        UsageError: The options do not fit together.
        AdminError: No broker answered.
        Refusal: The cluster refused.
        ToolError: ZooKeeper cannot be reached, or refused.
    """
    entity = entity_of(flags)
    if flags.zookeeper is not None:
        sys.stdout.writelines(f"{line}\n" for line in zookeeper_configs.WARNING)
        return zookeeper_configs.run(flags, entity)
    with AdminClient(flags.bootstrap_server, for_kafka_python(flags.command_config)) as admin:
        if entity.kind in QUOTAS:
            return _quotas_and_credentials(admin, entity, flags)
        client = ConfigClient(admin)
        if flags.describe:
            return describe(client, entity, everything=flags.all)
        added = settings_to_add(flags)
        sys.stdout.writelines(f"{line}\n" for line in warnings(added))
        return [alter(client, entity, added, settings_to_delete(flags))]


def _quotas_and_credentials(admin: AdminClient, entity: Entity, flags: Namespace) -> list[str]:
    """Describe or alter the quotas of an entity, or the SCRAM credentials of a user."""
    kinds, name = [kind for kind, _ in entity.named], entity.named[0][1]
    if flags.describe:
        lines = describe_quotas(admin, entity.named)
        if kinds == [USERS] and name != DEFAULT_ENTITY:
            lines += describe_credentials(admin, name)
        return lines
    added, deleted = settings_to_add(flags), settings_to_delete(flags)
    if kinds == [USERS] and name is not None and are_scram([*added, *deleted]):
        return [alter_credentials(admin, name, added, deleted)]
    return [alter_quotas(admin, entity.named, added, deleted)]


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Carry out the options, and return the exit code."""
    try:
        lines = run(flags)
    except ToolError as error:
        raise ToolError(f"Error while executing config command: {error}") from error
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
