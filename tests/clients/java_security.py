"""Apache Kafka's producer over TLS and SASL: as it is let in by each mechanism, and as it is refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.properties import parse_properties
from barnabas.local.cluster import LocalCluster
from barnabas.local.ports import any_free
from barnabas.local.secured import CLIENT, Secured, zookeeper_security
from tests.certificates import Authority, Issued, write_trusted_pkcs12
from tests.clients.running import MavenError, Result, checked, class_path_of, run

PASSWORD = "changeit"
USER, SECRET = "alice", "alice-secret"
DAY = dt.timedelta(days=1)
RECORDS = 9
PATIENCE_S = 90

LISTENERS = {
    "MUTUAL": "SSL",
    "SASL_SSL": "SASL_SSL",
    "EXPIRED": "SSL",
    "ELSEWHERE": "SSL",
}
"""The listeners beside PLAINTEXT: for certificates, for SASL, and two that no client may believe."""

SERVED = f'"sent":{RECORDS},"acked":{RECORDS}'
NO_TLS, NO_LOGIN = "SslAuthenticationException", "SaslAuthenticationException"

_MODULES = "org.apache.kafka.common.security"
PLAIN, SCRAM = f"{_MODULES}.plain.PlainLoginModule", f"{_MODULES}.scram.ScramLoginModule"
BEARER = f"{_MODULES}.oauthbearer.OAuthBearerLoginModule"


class Broker:
    """A broker with each listener, and the files of clients."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._root, other = Authority("root"), Authority("other")
        self._trusted = self._trust("trusted", self._root)
        self._others = self._trust("others", other)
        here = ("127.0.0.1",)
        self.cluster = LocalCluster(folder / "cluster", brokers=1)
        self._broker = self.cluster.brokers[BrokerId(1)]
        self._addresses = {name: f"127.0.0.1:{any_free(1).brokers[0].kafka}" for name in LISTENERS}
        shown = {
            "MUTUAL": self._root.issue("CN=broker", here),
            "SASL_SSL": self._root.issue("CN=broker", here),
            "EXPIRED": self._root.issue("CN=broker", here, begins=-2 * DAY, ends=-DAY),
            "ELSEWHERE": self._root.issue("CN=broker", ("elsewhere.example",)),
        }
        listening = "".join(f",{name}://{address}" for name, address in self._addresses.items())
        protocols = "".join(f",{name}:{protocol}" for name, protocol in LISTENERS.items())
        self._broker.own_settings |= {
            "listeners": f"PLAINTEXT://{self._broker.kafka},GRPC://{self._broker.grpc}{listening}",
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,GRPC:PLAINTEXT{protocols}",
            **parse_properties(self._trusted),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.sasl_ssl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN} required user_{USER}="{SECRET}";',
            "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
            "listener.name.sasl_ssl.oauthbearer.sasl.jaas.config": (
                f'{BEARER} required unsecuredLoginStringClaim_sub="broker";'
            ),
        }
        for name, identity in shown.items():
            self._broker.own_settings |= parse_properties(
                self._key(f"broker-{name}", identity, f"listener.name.{name.lower()}.")
            )

    def _trust(self, name: str, authority: Authority) -> str:
        path = write_trusted_pkcs12(self._folder / f"{name}.p12", PASSWORD, authority.certificate)
        return _store("truststore", path)

    def _key(self, name: str, identity: Issued, prefix: str = "") -> str:
        path = identity.write_pkcs12(self._folder / f"{name}.p12", PASSWORD)
        return _store("keystore", path, prefix)

    def add_user(self) -> None:
        """Give the user a credential of each mechanism of SCRAM."""
        admin = AdminClient({"bootstrap.servers": self._broker.kafka})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            info = ScramCredentialInfo(mechanism, 4096)
            upsertion = UserScramCredentialUpsertion(USER, info, SECRET.encode())
            admin.alter_user_scram_credentials([upsertion])[USER].result(PATIENCE_S)

    def clients(self) -> dict[str, tuple[str, str, str]]:
        """Return address and properties of each client by what it has, and what it must say."""
        mutual, expired = self._addresses["MUTUAL"], self._root.issue("CN=a", begins=-2 * DAY, ends=-DAY)
        key, old = self._key("client", self._root.issue("CN=a")), self._key("old", expired)
        tls = "security.protocol=SSL\n"
        found = {
            "with a certificate": (mutual, tls + self._trusted + key, SERVED),
            "without a certificate": (mutual, tls + self._trusted, NO_TLS),
            "with an expired certificate": (mutual, tls + self._trusted + old, NO_TLS),
            "with another authority": (mutual, tls + self._others + key, NO_TLS),
            "of a broker with an expired certificate": (
                *(self._addresses["EXPIRED"], tls + self._trusted),
                NO_TLS,
            ),
            "of a broker with another host's certificate": (
                *(self._addresses["ELSEWHERE"], tls + self._trusted),
                NO_TLS,
            ),
        }
        over = self._addresses["SASL_SSL"], f"security.protocol=SASL_SSL\n{self._trusted}"
        for mechanism, module in (("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", SCRAM)):
            for what, password, expected in (
                ("", SECRET, SERVED),
                (" and a wrong password", "wrong", NO_LOGIN),
            ):
                options = f'username="{USER}" password="{password}"'
                login = _login(mechanism, module, options)
                found[f"with {mechanism}{what}"] = (over[0], over[1] + login, expected)
        for what, options, expected in (
            ("", f'unsecuredLoginStringClaim_sub="{USER}"', SERVED),
            (
                " and a token that expires at once",
                f'unsecuredLoginStringClaim_sub="{USER}" unsecuredLoginLifetimeSeconds="-3600"',
                NO_LOGIN,
            ),
        ):
            login = _login("OAUTHBEARER", BEARER, options)
            found[f"with OAUTHBEARER{what}"] = (over[0], over[1] + login, expected)
        return found


def _store(kind: str, path: Path, prefix: str = "") -> str:
    names = {"type": "PKCS12", "location": str(path), "password": PASSWORD}
    return "".join(f"{prefix}ssl.{kind}.{name}={value}\n" for name, value in names.items())


def _login(mechanism: str, module: str, options: str) -> str:
    return f"sasl.mechanism={mechanism}\nsasl.jaas.config={module} required {options};\n"


def java_over_tls(release: str, scratch: Path) -> Result:
    """Run Apache Kafka's verifiable producer over TLS and by each mechanism, as it is let in and refused."""
    name = f"Apache Kafka {release} over TLS"
    try:
        class_path = class_path_of(release, scratch)
    except MavenError as error:
        return Result(name, 0, (str(error),))
    broker = Broker(scratch / f"tls-{release}")
    file = scratch / "client.properties"

    def sent(address: str, client: str) -> str:
        file.write_text(client + "max.block.ms=60000\n")
        main = "org.apache.kafka.tools.VerifiableProducer"
        command = ("java", "-Xmx256m", "-cp", class_path, main, "--bootstrap-server", address)
        return run(*command, "--topic", "tls", "--max-messages", str(RECORDS), "--producer.config", str(file))

    with broker.cluster:
        broker.add_user()
        holds = {
            f"kafka-verifiable-producer {what}": expected in sent(address, client)
            for what, (address, client, expected) in broker.clients().items()
        }
    return checked(name, holds)


def java_of_up(releases: tuple[str, ...], scratch: Path) -> Result:
    """Compile and run the program that ``up --secure`` writes, with the clients of each release."""
    directory = scratch / "up"
    directory.mkdir()
    secured = Secured(directory, 1)
    cluster = LocalCluster(
        directory, brokers=1, overrides=secured.settings, zookeeper_security=secured.zookeeper
    )
    secured.apply(cluster)
    cluster.restart_zookeeper()
    secured.provision(cluster.zookeeper_connect, zookeeper_security(cluster))
    program = str(secured.folder / "WithJava.java")
    holds: dict[str, bool] = {}
    with cluster:
        for number, release in enumerate(releases):
            try:
                class_path = class_path_of(release, scratch)
            except MavenError as error:
                return Result(f"WithJava.java with {release}", 0, (str(error),))
            printed = run("java", "-Xmx256m", "-cp", class_path, program)
            holds[f"WithJava.java as {CLIENT} with {release}"] = str(number) in printed.split()
    return checked("WithJava.java of `up --secure`", holds)
