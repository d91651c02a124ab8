"""The settings that a broker starts with: ``server.properties`` and overrides, parsed and checked.

Sources: ``kafka.server.KafkaConfig`` (``validateValues``, listeners) and ``kafka.log.LogConfig`` of release
2.8.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from barnabas.broker.config.listeners import parse_listeners, parse_security_map
from barnabas.broker.config.peer_security import PeerSecurity, peer_security
from barnabas.broker.config.security import is_listener_setting, listener_security
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.server.security.listener_security import ListenerSecurity
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import ConfigError, Value, parse_given, with_defaults
from barnabas.cluster.model.configs.known import UnknownSettingError, check_known
from barnabas.cluster.model.configs.topic import parse_topic, resolve
from barnabas.cluster.model.configs.unserved import unserved
from barnabas.cluster.model.properties import parse_properties


class SettingsFileError(ValueError):
    """``server.properties`` cannot be read, or an override is not ``key=value`` or not known."""


MIN_DEDUPE_BYTES = 1024 * 1024
"""Each cleaner thread needs more bytes than this for its map of keys (checked by ``LogCleaner``)."""


_MAY_BE_EMPTY = ("log.cleanup.policy", "ssl.endpoint.identification.algorithm")
"""The ends of the names of settings to which an empty text means something: keep all, check no names."""


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """The settings of a broker.

    Attributes:
        values: Every setting of the table by its Kafka name, parsed, defaults filled in.
        given: The text of the settings that were given, also of unknown ones.
        listeners: The addresses to listen on; an empty host means all addresses, port 0 any free port.
        advertised: The address that others connect to, for each of ``listeners`` that is advertised.
        inter_broker_listener: The name of the listener between brokers.
        log_dirs: The log directories.
        metrics_address: Host and port of the metrics page, or None.
        topic_defaults: The log settings of a topic without overrides.
        security: The security of each client listener by its name.
        peer_security: The security of the listener between brokers; None if it has none.
    """

    values: Mapping[str, Value]
    given: Mapping[str, str]
    listeners: tuple[Endpoint, ...]
    advertised: tuple[Endpoint, ...]
    inter_broker_listener: str
    log_dirs: tuple[Path, ...]
    metrics_address: tuple[str, int] | None
    topic_defaults: LogConfig
    security: Mapping[str, ListenerSecurity]
    peer_security: PeerSecurity | None

    def integer(self, name: str, otherwise: str | None = None) -> int:
        """Return the value of the integer setting ``name``; if it is not set, that of ``otherwise``."""
        if otherwise is not None and self.values[name] is None:
            name = otherwise
        return _integer(self.values, name)

    def text(self, name: str) -> str | None:
        """Return the value of the text setting ``name``, or None if it is not set."""
        value = self.values[name]
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is not text but {value!r}")
        return value

    def flag(self, name: str) -> bool:
        """Return the value of the boolean setting ``name``."""
        value = self.values[name]
        if not isinstance(value, bool):
            raise TypeError(f"{name} is not true or false but {value!r}")
        return value

    @property
    def zookeeper_connect(self) -> str:
        """``zookeeper.connect``."""
        return str(self.values["zookeeper.connect"])

    @property
    def session_timeout_ms(self) -> int:
        """``zookeeper.session.timeout.ms``."""
        return self.integer("zookeeper.session.timeout.ms")

    @property
    def connection_timeout_ms(self) -> int:
        """``zookeeper.connection.timeout.ms``; the session timeout if it is not set."""
        value = self.values["zookeeper.connection.timeout.ms"]
        return self.session_timeout_ms if value is None else self.integer("zookeeper.connection.timeout.ms")

    @property
    def logs_dir(self) -> Path:
        """The directory of server.log and state-change.log (``kafka.logs.dir``)."""
        return Path(str(self.values["kafka.logs.dir"]))

    @property
    def pid_file(self) -> Path | None:
        """The file for the process id (``pid.file``), or None."""
        name = self.text("pid.file")
        return None if name is None else Path(name)

    def log_config(self, overrides: Mapping[str, str]) -> LogConfig:
        """Return the log settings of a topic with these overrides. Unknown settings are ignored.

        Raises:
            ConfigError: For the first bad value.
        """
        return resolve_log_config(self.values, overrides)


def read_settings(path: Path, overrides: Iterable[str] = ()) -> dict[str, str]:
    """Read the file at ``path`` and replace or add the settings of ``overrides`` (``key=value``).

    Raises:
        SettingsFileError: The file cannot be read, or an override is not of that form or unknown.
    """
    try:
        settings = parse_properties(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsFileError(f"Cannot read the settings file {path}: {error}") from error
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not key.strip():
            raise SettingsFileError(f"The override '{override}' must have the form key=value")
        try:
            check_known([key.strip()])
        except UnknownSettingError as error:
            raise SettingsFileError(f"The override '{override}' has no effect: {error}") from error
        settings[key.strip()] = value
    return settings


def parse(settings: Mapping[str, str], hostname: str | None = None) -> tuple[BrokerConfig, tuple[str, ...]]:
    """Parse and check ``settings``.

    Args:
        settings: Key to text.
        hostname: The host advertised for a listener without one; the machine's name if None.

    Returns:
        The settings, and the names of unknown ones.

    Raises:
        ConfigError: A value is bad, or contradicts another.
    """
    given = {key: text for key, text in settings.items() if text.strip() or key.endswith(_MAY_BE_EMPTY)}
    parsed, unknown = parse_given(BROKER_CONFIGS, given)
    values = with_defaults(BROKER_CONFIGS, parsed)
    inter_broker = str(values["inter.broker.listener.name"])
    security = _security_map(values, given, inter_broker)
    listeners = parse_listeners("listeners", _names(values, "listeners"), security)
    config = BrokerConfig(
        values=MappingProxyType(values),
        given=MappingProxyType(given),
        listeners=listeners,
        advertised=_advertised(values, listeners, security, hostname),
        inter_broker_listener=inter_broker,
        log_dirs=tuple(Path(name) for name in _names(values, "log.dirs") or (str(values["log.dir"]),)),
        metrics_address=_metrics_address(values["metrics.address"]),
        topic_defaults=resolve_log_config(values, {}),
        security=listener_security(
            (each for each in listeners if each.listener != inter_broker), given, values
        ),
        peer_security=next(
            (peer_security(each, given, values) for each in listeners if each.listener == inter_broker), None
        ),
    )
    _cross_check(config)
    return config, tuple(name for name in unknown if not is_listener_setting(name, listeners))


def _security_map(values: Mapping[str, Value], given: Mapping[str, str], inter_broker: str) -> dict[str, str]:
    """Return the security protocol of each listener name.

    ``security.inter.broker.protocol`` is another way to set that of the listener between brokers.
    """
    security = parse_security_map(_names(values, "listener.security.protocol.map"))
    chosen = values["security.inter.broker.protocol"]
    if chosen is not None:
        mapped = security.get(inter_broker, chosen) if "listener.security.protocol.map" in given else chosen
        if mapped != chosen:
            allowed = f"{mapped}, which listener.security.protocol.map has for {inter_broker}"
            raise ConfigError("security.inter.broker.protocol", str(chosen), allowed)
        security[inter_broker] = str(chosen)
    return security


def resolve_log_config(broker: Mapping[str, Value], overrides: Mapping[str, str]) -> LogConfig:
    """Resolve the log settings of a topic: its overrides over the broker's settings.

    Args:
        broker: All broker settings.
        overrides: The text of the topic's overrides, as in ``/config/topics/<t>``. Unknown ones are ignored,
            as they may be another release's.

    Raises:
        ConfigError: For the first bad value.
    """
    return LogConfig.of(resolve(broker, parse_topic(overrides)[0]))


def _integer(values: Mapping[str, Value], name: str) -> int:
    value = values[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is not a whole number but {value!r}")
    return value


def _names(values: Mapping[str, Value], name: str) -> tuple[str, ...]:
    value = values[name]
    return value if isinstance(value, tuple) else ()


def _advertised(
    values: Mapping[str, Value],
    listeners: tuple[Endpoint, ...],
    security: Mapping[str, str],
    hostname: str | None,
) -> tuple[Endpoint, ...]:
    """Resolve ``advertised.listeners``, else ``listeners``, adding the machine's name as host."""
    key = "advertised.listeners" if values["advertised.listeners"] is not None else "listeners"
    advertised = parse_listeners(key, _names(values, key), security)
    names = {listener.listener for listener in listeners}
    for endpoint in advertised:
        if endpoint.listener not in names:
            allowed = f"among the listeners of `listeners`: {', '.join(sorted(names))}"
            raise ConfigError(key, str(endpoint), allowed)
        if endpoint.host in {"0.0.0.0", "::"}:
            raise ConfigError(key, str(endpoint), "an address that others can dial")
    return tuple(
        endpoint
        if endpoint.host
        else Endpoint(
            endpoint.listener, hostname or socket.getfqdn(), endpoint.port, endpoint.security_protocol
        )
        for endpoint in advertised
    )


def _metrics_address(value: Value) -> tuple[str, int] | None:
    if value is None:
        return None
    host, colon, port = str(value).rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ConfigError("metrics.address", str(value), "host:port")
    return host.strip("[]") or "0.0.0.0", int(port)


def _cross_check(config: BrokerConfig) -> None:
    """Refuse settings that contradict each other (Kafka: ``validateValues``) or are not supported."""
    fault = unserved(config.values)
    if fault is not None:
        raise fault
    wait = config.integer("replica.fetch.wait.max.ms")
    for limit in ("replica.socket.timeout.ms", "replica.lag.time.max.ms"):
        if wait > config.integer(limit):
            allowed = f"at most {limit}, which is {config.integer(limit)}"
            raise ConfigError("replica.fetch.wait.max.ms", str(wait), allowed)
    if config.integer("max.connections.per.ip") == 0 and not config.text("max.connections.per.ip.overrides"):
        raise ConfigError("max.connections.per.ip", "0", "above 0 without max.connections.per.ip.overrides")
    queued, longest = config.integer("queued.max.request.bytes"), config.integer("socket.request.max.bytes")
    if 0 < queued < longest:
        allowed = f"at least socket.request.max.bytes, which is {longest}, or at most 0 for no bound"
        raise ConfigError("queued.max.request.bytes", str(queued), allowed)
    threads, buffer = config.integer("log.cleaner.threads"), config.integer("log.cleaner.dedupe.buffer.size")
    if threads and buffer // threads <= MIN_DEDUPE_BYTES:
        allowed = f"more than {MIN_DEDUPE_BYTES} bytes for each of log.cleaner.threads, which is {threads}"
        raise ConfigError("log.cleaner.dedupe.buffer.size", str(buffer), allowed)
    acks, replicas = config.integer("offsets.commit.required.acks"), "offsets.topic.replication.factor"
    if acks > config.integer(replicas):
        allowed = f"-1, or at most {replicas}, which is {config.integer(replicas)}"
        raise ConfigError("offsets.commit.required.acks", str(acks), allowed)
    _check_security(config)
    advertised = {endpoint.listener for endpoint in config.advertised}
    if config.inter_broker_listener not in advertised:
        raise ConfigError(
            "inter.broker.listener.name",
            config.inter_broker_listener,
            f"one of the advertised listeners: {', '.join(sorted(advertised))}",
        )
    if advertised == {config.inter_broker_listener}:
        raise ConfigError(
            "listeners", ",".join(map(str, config.listeners)), "two at least, one of them for clients"
        )
    broker_id, largest = config.integer("broker.id"), config.integer("reserved.broker.max.id")
    if config.flag("broker.id.generation.enable") and broker_id > largest:
        allowed = f"at most reserved.broker.max.id, which is {largest}"
        raise ConfigError("broker.id", str(broker_id), allowed)
    if broker_id < 0 and not config.flag("broker.id.generation.enable"):
        raise ConfigError(
            "broker.id", str(broker_id), "at least 0 where broker.id.generation.enable is false"
        )


def _check_security(config: BrokerConfig) -> None:
    """Refuse a delay as long as the idle time."""
    delay, idle = "connection.failed.authentication.delay.ms", config.integer("connections.max.idle.ms")
    uses_sasl = any(each.mechanisms for each in config.security.values())
    if uses_sasl and 0 <= idle <= config.integer(delay):
        allowed = f"less than connections.max.idle.ms, which is {idle}"
        raise ConfigError(delay, str(config.integer(delay)), allowed)
