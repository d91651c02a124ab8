"""kafka-configs.sh: its flags, its layout and its complaints; the cluster is asked in tests/integration."""

from __future__ import annotations

from typing import Any, Self

import pytest

from barnabas.cluster.model.commands.configs import ConfigAlteration, ConfigOperation
from barnabas.cluster.model.configs.described import ConfigSource, ConfigSynonym
from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.clients.admin_client import AdminError
from barnabas.tools.clients.config_client import Described
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.configs import configs

SERVER = ("--bootstrap-server", "b:9092")


def described(name: str, value: str | None, source: ConfigSource) -> Described:
    synonyms = (ConfigSynonym(name, value, source), ConfigSynonym(name, "1", ConfigSource.DEFAULT_CONFIG))
    return Described(name, value, value is None, source, synonyms)


class Client:
    """A cluster that holds ``settings`` and takes down what is altered."""

    def __init__(self, *settings: Described) -> None:
        self.settings = list(settings)
        self.altered: list[Any] = []

    def __call__(self, servers: str) -> Client:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def topics(self) -> list[str]:
        return ["orders", "payments"]

    def brokers(self) -> list[int]:
        return [1, 2]

    def describe(self, resource: Any) -> list[Described]:
        return self.settings

    def alter_incrementally(self, resource: Any, steps: Any) -> None:
        self.altered.append((str(resource), list(steps)))

    def replace(self, resource: Any, settings: Any) -> None:
        self.altered.append((str(resource), dict(settings)))


OWN = described("flush.ms", "9", ConfigSource.DYNAMIC_TOPIC_CONFIG)
STATIC = described("retention.ms", "5", ConfigSource.STATIC_BROKER_CONFIG)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(client: Any, *flags: str) -> tuple[int, str, str]:
        monkeypatch.setattr(configs, "AdminClient", lambda servers, settings: client(servers))
        monkeypatch.setattr(configs, "ConfigClient", lambda admin: admin)
        code = configs.main([*SERVER, *flags])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_describe_tells_what_was_altered_at_run_time(run: Any) -> None:
    code, out, err = run(Client(OWN, STATIC), "--describe", "--topic", "orders")
    assert (code, err) == (0, "")
    synonyms = "DYNAMIC_TOPIC_CONFIG:flush.ms=9, DEFAULT_CONFIG:flush.ms=1"
    assert out.splitlines() == [
        "Dynamic configs for topic orders are:",
        f"  flush.ms=9 sensitive=false synonyms={{{synonyms}}}",
    ]


def test_describe_all_tells_the_rest_too(run: Any) -> None:
    code, out, _ = run(Client(OWN, STATIC), "--describe", "--all", "--topic", "orders")
    assert code == 0
    assert out.splitlines()[0] == "All configs for topic orders are:"
    assert [line.split("=")[0] for line in out.splitlines()[1:]] == ["  flush.ms", "  retention.ms"]


def test_all_entities_of_a_type_are_described(run: Any) -> None:
    _, out, _ = run(Client(), "--describe", "--entity-type", "brokers")
    assert out.splitlines() == [
        "Dynamic configs for broker 1 are:",
        "Dynamic configs for broker 2 are:",
        "Default configs for brokers in the cluster are:",
    ]
    _, out, _ = run(Client(), "--describe", "--entity-type", "topics")
    assert out.splitlines() == [f"Dynamic configs for topic {name} are:" for name in ("orders", "payments")]


def test_what_is_hidden_is_null() -> None:
    hidden = described("a.plugins.own", None, ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert configs.line_of(hidden).startswith("  a.plugins.own=null sensitive=true synonyms={")


def test_topics_are_altered_step_by_step(run: Any) -> None:
    client = Client(OWN)
    flags = ("--add-config", "retention.ms=5,cleanup.policy=[compact,delete]", "--delete-config", "flush.ms")
    assert run(client, "--alter", "--entity-type", "topics", "--entity-name", "orders", *flags) == (
        0,
        "Completed updating config for topic orders.\n",
        "",
    )
    assert client.altered == [
        (
            "ConfigResource(type=TOPIC, name='orders')",
            [
                ConfigAlteration("retention.ms", ConfigOperation.SET, "5"),
                ConfigAlteration("cleanup.policy", ConfigOperation.SET, "compact,delete"),
                ConfigAlteration("flush.ms", ConfigOperation.DELETE),
            ],
        )
    ]


def test_brokers_are_altered_as_a_whole(run: Any) -> None:
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    client = Client(described("flush.ms", "9", source), described("log.roll.ms", "7", source))
    flags = ("--broker-defaults", "--add-config", "message.max.bytes=5", "--delete-config", "flush.ms")
    assert run(client, "--alter", *flags) == (
        0,
        "Completed updating default config for brokers in the cluster.\n",
        "",
    )
    assert client.altered == [
        ("ConfigResource(type=BROKER, name='')", {"log.roll.ms": "7", "message.max.bytes": "5"})
    ]


def test_hidden_settings_of_a_broker_must_be_said_again(run: Any) -> None:
    client = Client(described("a.plugins.own", None, ConfigSource.DYNAMIC_BROKER_CONFIG))
    code, _, err = run(client, "--alter", "--broker", "1", "--add-config", "message.max.bytes=5")
    assert (code, client.altered) == (1, [])
    assert "missing entries: Set(a.plugins.own)" in err
    code, _, _ = run(client, "--alter", "--broker", "1", "--add-config", "a.plugins.own=x")
    assert client.altered == [("ConfigResource(type=BROKER, name='1')", {"a.plugins.own": "x"})]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--describe",), "At least one entity type must be specified"),
        (("--alter", "--topic", "t", "--add-config-file", "/gone"), "--add-config-file /gone cannot be read"),
        (("--alter", "--topic", "t", "--add-config", "a"), "'a' is not."),
        (("--alter", "--topic", "t", "--delete-config", "b,a"), "Invalid config(s): b,a"),
    ],
)
def test_what_makes_no_sense_is_said(run: Any, flags: tuple[str, ...], says: str) -> None:
    code, out, err = run(Client(), *flags)
    assert (code, out) == (1, "")
    assert says in err.splitlines()[-1]


def test_a_message_format_is_warned_of(run: Any) -> None:
    code, out, _ = run(Client(), "--alter", "--topic", "t", "--add-config", "message.format.version=2.6")
    warning, completed = out.splitlines()
    assert (code, completed) == (0, "Completed updating config for topic t.")
    assert warning.startswith("WARNING: The configuration message.format.version=2.6 is specified.")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            Refusal(ErrorCode.INVALID_CONFIG, "no colour"),
            "org.apache.kafka.common.errors.InvalidConfigurationException: no colour",
        ),
        (AdminError("nobody there"), "nobody there"),
        (ToolError("no such file"), "no such file"),
    ],
)
def test_an_error_of_the_cluster_is_printed(run: Any, error: Exception, told: str) -> None:
    def fail(_servers: str) -> Client:
        raise error

    code, _, err = run(fail, "--describe", "--topic", "t")
    assert code == 1
    assert err == f"kafka-configs.sh: Error while executing config command: {told}\n"
