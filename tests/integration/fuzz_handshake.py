"""Mutated frames of the handshake before authentication, to what a broker does with them.

Each session is a connection's: ApiVersions, SaslHandshake and the tokens of a mechanism, about half of them
mutated. The gate gets them as from a socket, until it would close the connection.
"""

from __future__ import annotations

import asyncio
import struct
import sys
import time
from base64 import b64encode
from types import SimpleNamespace

from barnabas.broker.core.sasl.authentication import SaslAuthentication
from barnabas.broker.core.sasl.bearer_tokens import UnsecuredOptions
from barnabas.broker.server.network.sasl_gate import FOR_THE_GATE, SaslGate
from barnabas.broker.server.request_meter import RequestMeter
from barnabas.broker.server.security.listener_security import MechanismSettings
from barnabas.broker.server.security.mechanisms import LOGIN_MODULES, OAUTHBEARER, PLAIN, mechanisms_of
from barnabas.broker.wire.apis import APIS
from barnabas.broker.wire.frames import UnreadableFrameError
from barnabas.cluster.model.jaas import JaasEntry
from barnabas.cluster.model.principal import ANONYMOUS
from barnabas.cluster.model.scram import ScramCredential, ScramMechanism
from barnabas.cluster.runtime.metrics import Metrics
from tests.integration.fuzz_report import HANG_S, Fuzz
from tests.integration.hostile_requests import mutated

SESSIONS_PER_TURN = 100
MAX_FRAME_BYTES = 524_288
MUTATION_RATE = 0.5

_CLAIMS = b64encode(b'{"sub":"alice","exp":9999999999}').rstrip(b"=")
TOKEN = b64encode(b'{"alg":"none"}').rstrip(b"=") + b"." + _CLAIMS + b"."
TOKENS = {
    PLAIN: (b"\0alice\0secret",),
    "SCRAM-SHA-256": (b"n,,n=alice,r=nonce", b"c=biws,r=nonceserver,p=" + b64encode(bytes(32))),
    "SCRAM-SHA-512": (b"n,a=alice,n=alice,r=nonce,x=y", b"c=biws,r=nonceserver,p=" + b64encode(bytes(64))),
    OAUTHBEARER: (b"n,,\x01auth=Bearer " + TOKEN + b"\x01\x01", b"\x01"),
    "NONE": (b"",),
}


FLEXIBLE_SINCE = {18: 3, 36: 2}
"""The first flexible version of an API (KIP-482); SaslHandshake has none."""

NO_TAGS = b"\0"


def request(key, version, body):
    """A request, whose header has no tags if it may have some."""
    tags = NO_TAGS if version >= FLEXIBLE_SINCE.get(key, version + 1) else b""
    return struct.pack(">hhih", key, version, 7, 1) + b"f" + tags + body


def compact(data):
    """Bytes or a string of a flexible version."""
    length, size = len(data) + 1, b""
    while length > 0x7F:
        size, length = size + bytes((length & 0x7F | 0x80,)), length >> 7
    return size + bytes((length,)) + data


def versions_request(version):
    """An ApiVersions request."""
    is_flexible = version >= FLEXIBLE_SINCE[18]
    return request(18, version, compact(b"fuzz") + compact(b"1.0") + NO_TAGS if is_flexible else b"")


def authenticate_request(version, token):
    """A SaslAuthenticate request."""
    is_flexible = version >= FLEXIBLE_SINCE[36]
    body = compact(token) + NO_TAGS if is_flexible else struct.pack(">i", len(token)) + token
    return request(36, version, body)


def template(rng):
    """The frames of a session that a client could mean."""
    mechanism = rng.choice(tuple(TOKENS))
    name = mechanism.encode()
    version = rng.randint(0, 1)
    frames = [versions_request(rng.randint(0, APIS[18].max_version))] if rng.random() < 0.7 else []
    frames.append(request(17, version, struct.pack(">h", len(name)) + name))
    for token in TOKENS[mechanism]:
        framed = authenticate_request(rng.randint(0, APIS[36].max_version), token)
        frames.append(framed if version else token)
    return frames


class Connection:
    """What the gate sees of its connection."""

    peer = "127.0.0.1:1"

    def __init__(self):
        self.principal = ANONYMOUS
        self.is_closed = False

    def answer(self, chunks):
        return bool(chunks)

    def close(self, _reason, **_details):
        self.is_closed = True

    def finish(self):
        self.is_closed = True


def mechanisms():
    """The mechanisms of a listener that has all of them."""
    credential = ScramCredential(b"salt", bytes(32), bytes(32), 4096)
    settings = {
        name: MechanismSettings(
            JaasEntry(module, {"user_alice": "secret"}),
            1000,
            UnsecuredOptions() if name == OAUTHBEARER else None,
        )
        for name, module in LOGIN_MODULES.items()
    }
    return mechanisms_of(settings, {each: {"alice": credential} for each in ScramMechanism}, {})


class Handshakes:
    """Feeds sessions to gates of their own, and remembers the slowest frame."""

    def __init__(self):
        self._mechanisms = mechanisms()
        self._context = SimpleNamespace(
            meter=RequestMeter(Metrics()), settings=SimpleNamespace(failed_authentication_delay_ms=100)
        )
        self.slowest_s, self.slowest = 0.0, b""

    def session(self, frames):
        """Feed the frames until the connection is closed; return how many were fed and whether it was."""
        connection = Connection()
        gate = SaslGate(connection, SaslAuthentication(self._mechanisms), self._context, "SASL")
        fed = 0
        try:
            for frame in frames:
                if connection.is_closed or gate.is_shut or len(frame) > MAX_FRAME_BYTES:
                    return fed, True
                fed += 1
                self._feed(gate, frame)
        finally:
            gate.cancel()
        return fed, connection.is_closed or gate.is_shut

    def _feed(self, gate, frame):
        began = time.thread_time()
        view = memoryview(frame).toreadonly()
        try:
            if gate.prefix_of(view) is FOR_THE_GATE:
                gate.receive(view)
        except UnreadableFrameError:
            pass  # the connection closes
        took = time.thread_time() - began
        if took > self.slowest_s:
            self.slowest_s, self.slowest = took, frame


def handshakes(frames, rng, _templates):
    """Fuzz without sockets; a thread's own time counts, so that a busy machine is no hang."""
    return asyncio.run(_handshakes(frames, rng))


async def _handshakes(frames, rng):
    fuzz, fed = Fuzz(None), Handshakes()
    is_warm = False
    while fuzz.frames < frames:
        for _ in range(SESSIONS_PER_TURN):
            sent = [mutated(rng, frame) if rng.random() < MUTATION_RATE else frame for frame in template(rng)]
            try:
                count, is_refused = fed.session(sent)
            except Exception:
                print(f"session {[frame.hex() for frame in sent]}", file=sys.stderr)
                raise
            if fuzz.count(count, is_refused):
                fuzz.look_at_memory()
                fuzz.report(f"slowest {fed.slowest_s * 1000:.1f} ms")
        # Gates that are shut have timers, which the loop forgets in its turn.
        await asyncio.sleep(0)
        if not is_warm and fuzz.frames > frames // 10:
            is_warm = True
            fuzz.look_at_memory()
            fed.slowest_s = 0.0
    fuzz.look_at_memory()
    fuzz.report(f"slowest {fed.slowest_s * 1000:.1f} ms")
    if fed.slowest_s > HANG_S:
        fuzz.fault(f"a hang of {fed.slowest_s:.3f} s by {fed.slowest.hex()}")
    return fuzz
