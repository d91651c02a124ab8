"""The number of SCRAM log-ins a second that a core of a broker serves.

A log-in is a new connection, SaslHandshake, two SaslAuthenticate and their answers. The client derives the
salted password once: that work is a client's. The figure is log-ins per second of the broker's CPU time, so
that load of other programs does not count.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
import struct
import tempfile
from base64 import b64decode, b64encode
from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas.bench.harness.processes import CpuMeter
from barnabas.bench.harness.registry import Bench, Run, at_least
from barnabas.local.cluster import LocalCluster
from barnabas.local.ports import any_free
from barnabas.local.waiting import wait_until

PATIENCE_S = 60.0
WARM_UP = 50

_USER, _PASSWORD, _ITERATIONS = "bench", b"bench", 4096
_MECHANISM = "SCRAM-SHA-256"
_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_HANDSHAKE, _AUTHENTICATE = 17, 36
_SIZE = struct.Struct(">i")
_HEADER = struct.Struct(">hhih")


class ScramClient:
    """A client that authenticates by SCRAM-SHA-256 on new connections, and asks for nothing else.

    Args:
        address: ``host:port`` of a listener.
        user: The user, without a comma or an equals sign.
        password: Its password.
    """

    def __init__(self, address: str, user: str = _USER, password: bytes = _PASSWORD) -> None:
        host, _, port = address.rpartition(":")
        self._user, self._password = user, password
        self._address = (host, int(port))
        self._salted: dict[tuple[bytes, int], bytes] = {}

    def log_in(self) -> None:
        """Open a connection, authenticate and close it.

        Raises:
            ConnectionError: The broker refuses, or closes the connection.
        """
        with socket.create_connection(self._address, timeout=PATIENCE_S) as connection:
            name = _MECHANISM.encode()
            answer = _asked(connection, _HANDSHAKE, struct.pack(">h", len(name)) + name)
            if answer[:2] != b"\0\0":
                raise ConnectionError(f"the broker refuses the mechanism: {answer!r}")
            bare = f"n={self._user},r=bench"
            server_first = _token(connection, f"n,,{bare}").decode()
            fields = dict(part.split("=", 1) for part in server_first.split(","))
            unproven = f"c=biws,r={fields['r']}"
            signed = f"{bare},{server_first},{unproven}".encode()
            client_key = hmac.digest(self._salted_password(fields), b"Client Key", "sha256")
            signature = hmac.digest(hashlib.sha256(client_key).digest(), signed, "sha256")
            proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
            _token(connection, f"{unproven},p={b64encode(proof).decode()}")

    def can_log_in(self) -> bool:
        """Return whether the broker knows the user by now."""
        try:
            self.log_in()
        except ConnectionError:
            return False
        return True

    def _salted_password(self, fields: dict[str, str]) -> bytes:
        salt, iterations = b64decode(fields["s"]), int(fields["i"])
        known = self._salted.get((salt, iterations))
        if known is None:
            known = hashlib.pbkdf2_hmac("sha256", self._password, salt, iterations)
            self._salted[salt, iterations] = known
        return known


def _token(connection: socket.socket, text: str) -> bytes:
    """Send a token, and return the one that answers it."""
    token = text.encode()
    answer = _asked(connection, _AUTHENTICATE, _SIZE.pack(len(token)) + token)
    error, message_bytes = struct.unpack_from(">hh", answer)
    if error:
        raise ConnectionError(f"the broker refuses the log-in: {answer[4 : 4 + message_bytes].decode()}")
    at = 4 + max(0, message_bytes)
    return answer[at + 4 : at + 4 + _SIZE.unpack_from(answer, at)[0]]


def _asked(connection: socket.socket, api_key: int, body: bytes) -> bytes:
    """Send a request of version 1, and return the body of its answer."""
    request = _HEADER.pack(api_key, 1, 0, -1) + body
    connection.sendall(_SIZE.pack(len(request)) + request)
    (size,) = _SIZE.unpack(_received(connection, _SIZE.size))
    return _received(connection, size)[4:]


def _received(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError(f"the broker closed the connection after {len(data)} of {size} bytes")
        data += piece
    return data


def measure(logins: int) -> Run:
    """Measure the broker's CPU time of log-ins, one after the other."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory:
        cluster = LocalCluster(Path(directory), brokers=1)
        (broker,) = cluster.brokers.values()
        sasl = f"127.0.0.1:{any_free(1).brokers[0].kafka}"
        broker.own_settings |= {
            "listeners": f"PLAINTEXT://{broker.kafka},GRPC://{broker.grpc},SASL://{sasl}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GRPC:PLAINTEXT,SASL:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": _MECHANISM,
            "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{_MODULE} required;",
        }
        with cluster:
            assert broker.pid is not None
            credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, _ITERATIONS)
            upsertion = UserScramCredentialUpsertion(_USER, credential, _PASSWORD)
            admin = AdminClient({"bootstrap.servers": broker.kafka})
            admin.alter_user_scram_credentials([upsertion])[_USER].result(PATIENCE_S)
            client = ScramClient(sasl)
            wait_until(client.can_log_in, "the broker knows the user")
            for _ in range(WARM_UP):
                client.log_in()
            meter = CpuMeter({"broker": broker.pid})
            for _ in range(logins):
                client.log_in()
            spent = meter.spent()
    return Run(logins / sum(spent.values()), spent)


BENCHES = (
    Bench(
        name="scram-logins",
        question="How many SCRAM log-ins does a broker serve per second of CPU time?",
        unit="log-ins/s",
        target=at_least(200.0),
        measure=measure,
        sizes={"logins": 2_000},
    ),
)
