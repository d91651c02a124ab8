"""``kafka-configs.sh``: describe and alter the settings of topics and brokers.

Flags and output are those of Kafka 2.8's ``kafka.admin.ConfigCommand``, for the entity types that there are
here. Exit code 0, or 1 on any error.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.tools.admin_client import AdminClient, AdminError
from barnabas.tools.command_config import CommandConfigError, admin_flags, for_kafka_python
from barnabas.tools.config_client import ConfigClient, Described, Refusal
from barnabas.tools.entry import run_tool
from cluster.model.commands_configs import (
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
)
from cluster.model.configs_described import ConfigSource
from cluster.model.properties import parse_properties

TOPICS, BROKERS = "topics", "brokers"
_RESOURCE_TYPES = {TOPICS: ConfigResourceType.TOPIC, BROKERS: ConfigResourceType.BROKER}

DEFAULT_ENTITY = "<default>"
"""How the settings of all brokers are called."""

_OUTSIDE_BRACKETS = r"(?=[^\]]*(?:\[|$))"
"""What follows a separator that does not stand between brackets."""


class UsageError(Exception):
    """The flags contradict each other, or name what is not there; its text is all that is printed."""


@dataclass(frozen=True, slots=True)
class Entity:
    """What the flags name.

    Attributes:
        kind: ``topics`` or ``brokers``.
        name: Its name, None for all of that kind, ``<default>`` for what all brokers share.
    """

    kind: str
    name: str | None

    @property
    def resource(self) -> ConfigResource:
        """What a request names."""
        name = "" if self.name is None or self.name == DEFAULT_ENTITY else self.name
        return ConfigResource(_RESOURCE_TYPES[self.kind], name)

    @property
    def dynamic_source(self) -> ConfigSource:
        """Where the settings come from that were altered at run time."""
        if self.kind == TOPICS:
            return ConfigSource.DYNAMIC_TOPIC_CONFIG
        if self.name == DEFAULT_ENTITY:
            return ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        return ConfigSource.DYNAMIC_BROKER_CONFIG


def parser() -> argparse.ArgumentParser:
    """The flags, those of Kafka's tool that we serve."""
    flags = admin_flags("kafka-configs.sh", "Describe and alter the settings of topics and brokers.")
    action = flags.add_mutually_exclusive_group(required=True)
    action.add_argument("--alter", action="store_true", help="alter the settings of the entity")
    action.add_argument("--describe", action="store_true", help="list the settings of the entity, or of all")
    flags.add_argument("--all", action="store_true", help="with --describe: static settings and defaults too")
    flags.add_argument("--entity-type", choices=(TOPICS, BROKERS), help="topics or brokers")
    flags.add_argument("--entity-name", metavar="NAME", help="the topic's name or the broker's id")
    flags.add_argument("--entity-default", action="store_true", help="what all brokers share")
    flags.add_argument("--topic", help="short for --entity-type topics --entity-name TOPIC")
    flags.add_argument("--broker", help="short for --entity-type brokers --entity-name BROKER")
    flags.add_argument(
        "--broker-defaults", action="store_true", help="short for --entity-type brokers --entity-default"
    )
    flags.add_argument(
        "--add-config", metavar="K1=V1,K2=[V1,V2]", help="settings to set; a list stands in square brackets"
    )
    flags.add_argument(
        "--add-config-file", type=Path, metavar="FILE", help="a file of properties: the settings to set"
    )
    flags.add_argument("--delete-config", metavar="K1,K2", help="settings to remove")
    flags.add_argument("--force", action="store_true", help="of no effect: nothing is asked here")
    return flags


def entity_of(flags: argparse.Namespace) -> Entity:
    """What the flags name.

    Raises:
        UsageError: They name nothing, or several things.
    """
    named = [
        entity
        for given, entity in (
            (flags.topic is not None, Entity(TOPICS, flags.topic)),
            (flags.broker is not None, Entity(BROKERS, flags.broker)),
            (flags.broker_defaults, Entity(BROKERS, DEFAULT_ENTITY)),
            (flags.entity_type is not None, _by_type(flags)),
        )
        if given
    ]
    if not named:
        raise UsageError("At least one entity type must be specified")
    if len(named) != 1:
        raise UsageError(
            "Exactly one of --entity-type, --topic, --broker, --broker-defaults must be specified"
        )
    (entity,) = named
    if entity.kind == BROKERS and entity.name not in (None, DEFAULT_ENTITY) and not _is_id(entity.name):
        raise UsageError(
            f"The entity name for brokers must be a valid integer broker id, found: {entity.name}"
        )
    if entity.kind == TOPICS and entity.name == DEFAULT_ENTITY:
        raise UsageError("--entity-default is for brokers; topics have no default of their own")
    return entity


def settings_to_add(text: str | None) -> dict[str, str]:
    """What ``--add-config`` holds: settings by name.

    Raises:
        UsageError: A part of it is no ``key=value``.
    """
    if text is None or not text.strip():
        return {}
    pairs = [
        re.split(r"\s*=\s*" + _OUTSIDE_BRACKETS, part) for part in re.split("," + _OUTSIDE_BRACKETS, text)
    ]
    if any(len(pair) != 2 for pair in pairs):
        raise UsageError('Invalid entity config: all configs to be added must be in the format "key=val".')
    return {name.strip(): re.sub(r"[\[\]]", "", value).strip() for name, value in pairs}


def settings_in(path: Path | None) -> dict[str, str]:
    """What the file of ``--add-config-file`` holds.

    Raises:
        UsageError: It cannot be read.
    """
    if path is None:
        return {}
    try:
        return parse_properties(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--add-config-file {path} cannot be read: {error}") from error


def names_to_delete(text: str | None) -> list[str]:
    """What ``--delete-config`` holds."""
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def describe(client: ConfigClient, entity: Entity, *, everything: bool) -> list[str]:
    """The lines of ``--describe``."""
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
    """The line above the settings of an entity."""
    if entity.name == DEFAULT_ENTITY:
        return f"Default configs for {entity.kind} in the cluster are:"
    return f"{'All' if everything else 'Dynamic'} configs for {entity.kind[:-1]} {entity.name} are:"


def line_of(config: Described) -> str:
    """One setting as the tool prints it; Java prints ``null`` for what is hidden or not set."""
    synonyms = ", ".join(f"{each.source.name}:{each.name}={_null(each.value)}" for each in config.synonyms)
    sensitive = str(config.is_sensitive).lower()
    return f"  {config.name}={_null(config.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def alter(client: ConfigClient, entity: Entity, added: Mapping[str, str], deleted: Sequence[str]) -> str:
    """Alter the settings of an entity; the line to print.

    Raises:
        UsageError: A setting is to be deleted that the entity does not set itself, or a hidden setting would
            be lost.
    """
    own = {
        config.name: config.value
        for config in client.describe(entity.resource)
        if config.source is entity.dynamic_source
    }
    missing = [name for name in deleted if name not in own]
    if missing:
        raise UsageError(f"Invalid config(s): {','.join(missing)}")
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
    """All that a broker shall set itself: what is hidden must be said again."""
    whole = {name: value for name, value in {**own, **added}.items() if name not in set(deleted)}
    hidden = sorted(name for name, value in whole.items() if value is None)
    if hidden:
        raise UsageError(
            "All sensitive broker config entries must be specified for --alter, missing entries: "
            f"{', '.join(hidden)}"
        )
    return {name: value for name, value in whole.items() if value is not None}


def _by_type(flags: argparse.Namespace) -> Entity:
    name = DEFAULT_ENTITY if flags.entity_default else flags.entity_name
    return Entity(flags.entity_type or TOPICS, name)


def _is_id(name: str | None) -> bool:
    return name is not None and name.isdecimal()


def _null(value: str | None) -> str:
    return "null" if value is None else value


def _expand(client: ConfigClient, entity: Entity) -> list[Entity]:
    """The entity, or all of its kind in the order in which the tool tells of them."""
    if entity.name is not None:
        return [entity]
    if entity.kind == TOPICS:
        return [Entity(TOPICS, name) for name in client.topics()]
    return [*(Entity(BROKERS, str(id_)) for id_ in client.brokers()), Entity(BROKERS, DEFAULT_ENTITY)]


def run(flags: argparse.Namespace) -> list[str]:
    """Do what the flags say; the lines to print.

    Raises:
        UsageError: They make no sense.
        AdminError: No broker answered.
        Refusal: The cluster refused.
        CommandConfigError: The client cannot be made as ``--command-config`` says.
    """
    entity = entity_of(flags)
    if flags.add_config is not None and flags.add_config_file is not None:
        raise UsageError("Only one of --add-config or --add-config-file must be specified")
    added = settings_to_add(flags.add_config) | settings_in(flags.add_config_file)
    deleted = names_to_delete(flags.delete_config)
    if flags.describe:
        _refuse_with_describe(flags)
    else:
        if entity.name is None:
            raise UsageError(f"An entity name must be specified with --alter of {entity.kind}")
        if not added and not deleted:
            raise UsageError(
                "At least one of --add-config, --add-config-file, or --delete-config must be specified with "
                "--alter"
            )
    with AdminClient(flags.bootstrap_server, for_kafka_python(flags.command_config)) as admin:
        client = ConfigClient(admin)
        if flags.alter:
            return [alter(client, entity, added, deleted)]
        return describe(client, entity, everything=flags.all)


def _refuse_with_describe(flags: argparse.Namespace) -> None:
    """Refuse what only ``--alter`` takes, as joptsimple words it in Kafka."""
    for name in ("add_config", "add_config_file", "delete_config"):
        if getattr(flags, name) is not None:
            raise UsageError(f'Option "[{name.replace("_", "-")}]" can\'t be used with option "[describe]"')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    flags = parser().parse_args(given)
    try:
        lines = run(flags)
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (AdminError, Refusal, CommandConfigError) as error:
        sys.stderr.write(f"Error while executing config command with args '{' '.join(given)}'\n{error}\n")
        return 1
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
