"""TLS between brokers, from a broker's settings to its channels."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from barnabas.broker.authorizer.authorizer import AclAuthorizer
from barnabas.broker.config.broker_config import parse
from barnabas.broker.config.start_error import StartError
from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.core.replication.control_gate import ControlGate
from barnabas.broker.node.peer_tls import open_peer_tls, peer_access, warn_of_open_port
from barnabas.cluster.model.authorization import Rules
from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.controllership import Claim, Controllership, Owner
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.principal import ANONYMOUS
from barnabas.cluster.rpc.channels import current_credentials
from barnabas.cluster.runtime.supervisor import Supervisor
from tests.certificates import Authority

ROOT = Authority("root")


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "ca.pem").write_text(ROOT.text)
    own = ROOT.issue("CN=b1,O=us", ("here",)).write_pem(tmp_path / "own.pem")
    return {
        "zookeeper.connect": "z",
        "listeners": "PLAINTEXT://h:1,GRPC://h:2",
        "security.inter.broker.protocol": "SSL",
        "ssl.keystore.location": str(own),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": str(tmp_path / "ca.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.principal.mapping.rules": "RULE:^CN=(b[0-9]),.*$/$1/",
    }


@contextlib.asynccontextmanager
async def opened(settings):
    deaths = []
    supervisor = Supervisor(lambda *death: deaths.append(death))
    process = SimpleNamespace(config=parse(settings, hostname="here")[0], supervisor=supervisor)
    async with contextlib.AsyncExitStack() as stack:
        yield await open_peer_tls(process, stack), supervisor
    await supervisor.close(5)
    assert deaths == []


async def test_without_it_channels_are_not_encrypted(settings):
    del settings["security.inter.broker.protocol"]
    async with opened(settings) as (tls, supervisor):
        assert tls is None
        assert current_credentials() is None
        assert supervisor.names == []


async def test_with_it_they_are_as_long_as_the_broker_runs(settings):
    async with opened(settings) as (tls, supervisor):
        assert current_credentials() is tls.credentials.channel()
        assert supervisor.names == ["peer-credentials"]
    assert current_credentials() is None


async def test_a_store_that_cannot_be_read_ends_the_start(settings):
    settings["ssl.keystore.location"] = "/nowhere"
    with pytest.raises(StartError, match=r"ssl\.keystore\.location has the value '/nowhere'"):
        async with opened(settings):
            pass


class Stored:
    """ZooKeeper with one broker and a controller."""

    def __init__(self):
        self.brokers = self.controller = self
        self.claim = None

    async def live(self):
        return {BrokerId(2): Broker(BrokerId(2), BrokerEpoch(1), (Endpoint("GRPC", "b2", 1),))}

    async def read(self, ids):
        return {each: known for each, known in (await self.live()).items() if each in ids}

    async def look(self):
        return Controllership(self.claim)


@pytest.mark.parametrize("has_authorizer", [True, False])
async def test_callers_are_named_by_the_rules_and_checked_against_zookeeper(settings, has_authorizer):
    store = Stored()
    authorizer = AclAuthorizer(lambda: store, Rules(frozenset(), allow_if_none=False), int)
    storage = SimpleNamespace(
        membership=SimpleNamespace(store=store), authorizer=authorizer if has_authorizer else None
    )
    replicas = SimpleNamespace(metadata=MetadataCache(), gate=ControlGate())
    async with opened(settings) as (tls, _):
        access = tls.access(storage, replicas)
        identity = access._identify(ROOT.issue("CN=b2,O=us", ("b2",)).chain().encode())
        assert (str(identity.principal), identity.hosts) == ("User:b2", ("b2",))
        with pytest.raises(ValueError, match="No rule"):
            access._identify(ROOT.issue("CN=mallory").chain().encode())
        claims = access._certificates.claims
        assert await claims._broker_refusal(BrokerId(2), identity.hosts) is None
        assert await claims.stranger(identity.hosts) is None
        assert await claims._read_brokers([BrokerId(3)]) == {}
        assert await claims._read_controller() is None
        for owner, found in ((Owner.NAMED_BROKER, 2), (Owner.THIS_SESSION, 2), (Owner.NOBODY, None)):
            store.claim = Claim(BrokerId(2), owner, 0)
            assert await claims._read_controller() == found


def with_rules(**rules):
    return AclAuthorizer(lambda: None, Rules(**rules), int)


def warnings_of(settings, authorizer):
    with capture_logs() as lines:
        warn_of_open_port(parse(settings, hostname="here")[0], authorizer)
    return [(line["log_level"], line["event"]) for line in lines]


@pytest.mark.parametrize(
    "more",
    [
        {"listeners": "SSL://h:1,GRPC://h:2"},
        {
            "listeners": "SASL_PLAINTEXT://h:1,GRPC://h:2",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
                'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";'
            ),
        },
    ],
)
def test_a_port_without_tls_beside_secured_clients_is_told(settings, more):
    assert warnings_of(settings | more, with_rules()) == [], "it has TLS"
    del settings["security.inter.broker.protocol"]
    assert warnings_of(settings, None) == [], "nothing is secured"
    ((level, line),) = warnings_of(settings | more, None)
    assert level == "warning"
    assert "The listener GRPC between brokers has no TLS: everybody who reaches it" in line
    assert "set listener.security.protocol.map to GRPC:SSL" in line


def test_a_port_without_tls_beside_an_authorizer_is_told(settings):
    del settings["security.inter.broker.protocol"]
    ((level, line),) = warnings_of(settings, with_rules(super_users=frozenset({ANONYMOUS})))
    assert (level, "User:ANONYMOUS has ClusterAction: everybody who reaches it" in line) == ("warning", True)
    ((level, line),) = warnings_of(settings, with_rules())
    assert (level, "this broker refuses all others and the controller" in line) == ("error", True)


def test_without_tls_an_authorizer_alone_checks_callers():
    assert peer_access(None, SimpleNamespace(authorizer=None), None) is None
    assert peer_access(None, SimpleNamespace(authorizer=with_rules()), None).credentials is None
