"""The options of ``kafka-configs.sh``, their valid combinations, and the entity that they name.

They are those of Kafka 2.8's ``kafka.admin.ConfigCommand``. Entity types that have no settings in Barnabas
are refused by name.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

from barnabas.cluster.model.commands.configs import ConfigResource, ConfigResourceType
from barnabas.cluster.model.configs.described import ConfigSource
from barnabas.tools.command_line.files import read_properties
from barnabas.tools.command_line.parser import Parser, UsageError, has, refuse_together
from barnabas.tools.zookeeper.zookeeper_client import add_tls_file

TOPICS, BROKERS, USERS = "topics", "brokers", "users"
_RESOURCE_TYPES = {TOPICS: ConfigResourceType.TOPIC, BROKERS: ConfigResourceType.BROKER}

QUOTAS = {USERS: "user", "clients": "client-id", "ips": "ip"}
"""The entity types that have quotas, with their names in the protocol."""

_ZOOKEEPER_KINDS = (USERS, BROKERS)
"""The entity types whose settings Kafka's tool changes in ZooKeeper; here brokers are refused."""

KINDS = (TOPICS, "clients", "users", BROKERS, "ips", "broker-loggers")
"""The entity types that have settings in Kafka."""

DEFAULT_ENTITY = ""
"""The name of the defaults of an entity type."""

_NAMED = {
    "topic": TOPICS,
    "client": "clients",
    "user": "users",
    "broker": BROKERS,
    "broker-logger": "broker-loggers",
    "ip": "ips",
}
_DEFAULTS = {
    "client-defaults": "clients",
    "user-defaults": "users",
    "broker-defaults": BROKERS,
    "ip-defaults": "ips",
}
"""The short options, which stand for an entity type and a name."""

_WITH_DEFAULTS = frozenset(_DEFAULTS.values())

_ADDING = ("add-config", "add-config-file", "delete-config")

_OUTSIDE_BRACKETS = r"(?=[^\]]*(?:\[|$))"
"""A pattern that follows a separator outside brackets."""

OPTIONS = Parser(
    "kafka-configs.sh",
    "This tool helps to manipulate and describe entity config for a topic, client, user, broker or ip",
)
OPTIONS.add_servers(is_required=False)
OPTIONS.add_argument(
    "--zookeeper",
    help="deprecated: the ZooKeeper, for SCRAM credentials before a user can log in to a broker",
)
add_tls_file(OPTIONS)
OPTIONS.add_actions(
    alter="alter the settings of the entity", describe="list the settings of the entity, or of all"
)
OPTIONS.add_switches(
    all="with --describe: static settings and defaults too", force="of no effect: the tool never prompts"
)
OPTIONS.add_lists(
    entity_type="topics, clients, users, brokers or ips",
    entity_name="the topic, client id, user, broker id or address",
    delete_config="settings to remove, k1,k2",
)
OPTIONS.add_argument(
    "--entity-default",
    dest="entity_name",
    action="append_const",
    const=DEFAULT_ENTITY,
    help="what all others share",
)
for _name, _kind in _NAMED.items():
    OPTIONS.add_argument(f"--{_name}", help=f"short for --entity-type {_kind} --entity-name NAME")
for _name, _kind in _DEFAULTS.items():
    OPTIONS.add_argument(
        f"--{_name}", action="store_true", help=f"short for --entity-type {_kind} --entity-default"
    )
OPTIONS.add_argument(
    "--add-config", help="settings to set, k1=v1,k2=[v1,v2]; a list stands in square brackets"
)
OPTIONS.add_argument("--add-config-file", help="a file of properties: the settings to set")


class InvalidArgument(UsageError):
    """An error for options that contradict each other or name something unknown."""


@dataclass(frozen=True, slots=True)
class Entity:
    """The entity that the options name.

    Attributes:
        kind: The type of entity.
        name: The entity's name; None for all of that type, empty for the defaults.
        others: The type and name of the client id if the entity is a user with a client id, or the reverse.
    """

    kind: str
    name: str | None
    others: tuple[tuple[str, str | None], ...] = ()

    @property
    def named(self) -> tuple[tuple[str, str | None], ...]:
        """Return all types and names of the entity."""
        return ((self.kind, self.name), *self.others)

    @property
    def resource(self) -> ConfigResource:
        """Return the entity as a resource of a request."""
        return ConfigResource(_RESOURCE_TYPES[self.kind], self.name or "")

    @property
    def dynamic_source(self) -> ConfigSource:
        """Return the source of settings that were altered at run time."""
        if self.kind == TOPICS:
            return ConfigSource.DYNAMIC_TOPIC_CONFIG
        if self.name == DEFAULT_ENTITY:
            return ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        return ConfigSource.DYNAMIC_BROKER_CONFIG


def entity_of(flags: Namespace) -> Entity:
    """Check the options in Kafka's order, and return the entity that they name.

    Raises:
        UsageError: An option does not apply to the action.
        InvalidArgument: The options contradict each other, or name something unknown.
    """
    refuse_together(flags, "describe", ("add-config", "delete-config"))
    kinds, names = _kinds(flags), list(_names(flags))
    kind = kinds[0]
    _check_servers(flags)
    for name in names:
        if kind == BROKERS and name != DEFAULT_ENTITY and not re.fullmatch("[+-]?[0-9]+", name):
            raise InvalidArgument(
                f"The entity name for brokers must be a valid integer broker id, but it is: {name}"
            )
    if flags.alter:
        _check_alter(flags, kinds, names)
    if kind == "broker-loggers":
        raise InvalidArgument("Brokers here have no settings of broker-loggers")
    if kind in QUOTAS and len(names) > len(kinds):
        raise InvalidArgument("More entity names specified than entity types")
    if kind == TOPICS and DEFAULT_ENTITY in names:
        raise InvalidArgument("--entity-default is not for topics: they have no default of their own")
    every = [*names, *(None for _ in kinds[len(names) :])]
    return Entity(kind, every[0], tuple(zip(kinds[1:], every[1 : len(kinds)], strict=True)))


def _kinds(flags: Namespace) -> list[str]:
    short = [kind for name, kind in (_NAMED | _DEFAULTS).items() if has(flags, name)]
    kinds = [*flags.entity_type, *short]
    twice = [kind for number, kind in enumerate(kinds) if kind in kinds[:number]]
    if twice:
        raise InvalidArgument(f"Duplicate entity type(s) specified: {','.join(twice)}")
    to_zookeeper = has(flags, "zookeeper") and not has(flags, "bootstrap-server")
    allowed, server = (_ZOOKEEPER_KINDS, "zookeeper") if to_zookeeper else (KINDS, "bootstrap-server")
    for kind in kinds:
        if kind not in allowed:
            raise InvalidArgument(
                f"Invalid entity type {kind}, the entity type must be one of {','.join(allowed)} with the "
                f"--{server} argument"
            )
    if not kinds:
        raise InvalidArgument("At least one entity type must be specified")
    if len(kinds) > 1 and set(kinds) != {"users", "clients"}:
        raise InvalidArgument("Only 'users' and 'clients' entity types may be specified together")
    if short and (flags.entity_type or flags.entity_name):
        raise InvalidArgument(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )
    return kinds


def _names(flags: Namespace) -> Iterator[str]:
    yield from flags.entity_name
    for name in _NAMED:
        if has(flags, name):
            yield getattr(flags, name.replace("-", "_"))
    yield from (DEFAULT_ENTITY for name in _DEFAULTS if has(flags, name))


def _check_servers(flags: Namespace) -> None:
    zookeeper = has(flags, "zookeeper")
    if has(flags, "bootstrap-server") == zookeeper:
        raise InvalidArgument(
            "Only one of --bootstrap-server or --zookeeper must be specified"
            if zookeeper
            else "One of the required --bootstrap-server or --zookeeper arguments must be specified"
        )
    if zookeeper and flags.all:
        raise InvalidArgument("--bootstrap-server must be specified for --all")
    if not zookeeper and has(flags, "zk-tls-config-file"):
        raise InvalidArgument("Only the --zookeeper option can be used with the --zk-tls-config-file option.")
    if zookeeper and BROKERS in _kinds(flags):
        raise InvalidArgument("--zookeeper is for users here: settings of brokers need --bootstrap-server")


def _check_alter(flags: Namespace, kinds: list[str], names: list[str]) -> None:
    kind = kinds[0]
    if kind in _WITH_DEFAULTS:
        if not names:
            raise InvalidArgument(
                "an entity-name or default entity must be specified with --alter of users, clients, brokers "
                "or ips"
            )
    elif not any(names):
        raise InvalidArgument(f"an entity name must be specified with --alter of {kind}")
    if has(flags, "add-config") and has(flags, "add-config-file"):
        raise InvalidArgument("Only one of --add-config or --add-config-file must be specified")
    if not any(has(flags, name) for name in _ADDING):
        raise InvalidArgument(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with "
            "--alter"
        )
    if len(names) != len(kinds):
        raise InvalidArgument("An entity name must be specified for every entity type")


def settings_to_delete(flags: Namespace) -> list[str]:
    """Return the names of ``--delete-config``."""
    return [name.strip() for text in flags.delete_config for name in text.split(",") if name]


def settings_to_add(flags: Namespace) -> dict[str, str]:
    """Parse the settings of ``--add-config`` or of the file of ``--add-config-file``.

    Raises:
        InvalidArgument: A part is not ``key=value``.
        ToolError: The file cannot be read.
    """
    if flags.add_config_file is not None:
        return read_properties(flags.add_config_file, "--add-config-file")
    return {} if flags.add_config is None else parse_settings(flags.add_config)


def parse_settings(text: str) -> dict[str, str]:
    """Parse ``k1=v1,k2=[v1,v2]`` as settings by name; the text may not end with a comma.

    Raises:
        InvalidArgument: A part is not ``key=value``.
    """
    parts = re.split("," + _OUTSIDE_BRACKETS, text.rstrip(",") or text)
    pairs = [re.split(r"\s*=\s*" + _OUTSIDE_BRACKETS, part) for part in parts]
    for part, pair in zip(parts, pairs, strict=True):
        if len(pair) != 2:
            raise InvalidArgument(
                "requirement failed: Invalid entity config: all configs to be added must be in the format "
                f'"key=val". {part!r} is not.'
            )
    return {name.strip(): re.sub(r"[\[\]]", "", value).strip() for name, value in pairs}
