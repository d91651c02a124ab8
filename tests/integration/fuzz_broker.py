"""Mutated requests over the wire, to a broker of its own.

Two frames of three are no request: the broker closes their connection before a handler sees them, and a new
connection costs more than all the rest. So frames are decoded here first, by the broker's own code, and of
those that it refuses only one in twenty is sent. So it is with requests that need ZooKeeper, most of which
the controller carries out one after the other. A quota of all clients or addresses is not sent at all. All
others are sent.

A hang is a turn of the broker's loop that took more than 100 ms of CPU time, as the broker's own metrics page
has it: load of other programs does not count. An error that no handler foresaw is in the broker's log.

With an authorizer, the client is a super user: each request is authorized and then carried out, also those
about ACLs.

Memory is compared after clients have deleted the topics, groups and ACLs that mutated requests created,
because a broker has to remember what it is asked to keep. The first comparison is after a warm-up: until
then code is loaded, and readers and writers of each version are made.
"""

from __future__ import annotations

import math
import random
import selectors
import socket
import struct
import tempfile
import time
from pathlib import Path

import psutil
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from barnabas.bench.cases.hostile import turns_of
from barnabas.broker.wire.apis import ApiKey
from barnabas.local.cluster import LocalCluster
from tests.integration.fuzz_decoder import decoded
from tests.integration.fuzz_report import HANG_S, REPORT_EVERY, Fuzz
from tests.integration.hostile_requests import PASSING, TOPIC, mutated

CONNECTIONS = 48
PIPELINED = 8
"""How many frames a connection sends at once, with a marker behind them."""

PATIENCE_S = 3.0
"""How long a connection waits for an answer: a mutated request may wait for days, as it asks."""

SENT_EVERY = 20
"""Of frames that are refused, and of those that need ZooKeeper, one in so many is sent."""

SLOW = frozenset(
    (
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
    )
)
WARM_UP = 300_000
TIDY_EVERY = 1_000_000
MARKER = 0x7A57_0000
"""The correlation id of a request that every broker answers; frames have those from 0 on."""

_LAST = struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, MARKER, -1)
AUTHORIZER = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
}
_ALL_ACLS = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)
_OURS = (TOPIC, PASSING, "__consumer_offsets")
_HANDLER_FAILED = "a request handler failed"
_SIZE_AND_ID = struct.Struct(">ii")


def slows_down(request):
    """Whether a request sets a quota of all clients or addresses; the broker obeys, and might let none in."""
    return (
        request.api.key == ApiKey.ALTER_CLIENT_QUOTAS
        and not request.body.validate_only
        and any(part.entity_type != "user" for entry in request.body.entries for part in entry.entity)
    )


class Exchange:
    """A connection, the frames sent over it that are not answered, and the answers so far."""

    def __init__(self, port, selector):
        self._port, self._selector = port, selector
        self._socket = None
        self._received = b""
        self._answered = -1
        self.frames = []
        self.deadline = math.inf

    def send(self, frames):
        """Send some frames at once, each with its number for a correlation id, and the marker."""
        self.frames, self._answered, self._received = frames, -1, b""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE_S)
            self._selector.register(self._socket, selectors.EVENT_READ, self)
        numbered = [
            struct.pack(">i", len(frame)) + frame[:4] + struct.pack(">i", number) + frame[8:]
            if len(frame) >= 8
            else struct.pack(">i", len(frame)) + frame
            for number, frame in enumerate(frames)
        ]
        self.deadline = time.monotonic() + PATIENCE_S
        try:
            self._socket.sendall(b"".join(numbered) + _LAST)
        except OSError:
            self.close()

    def receive(self):
        """Read what has come; the number of frames that are done with and that were refused, or None."""
        try:
            some = self._socket.recv(1_000_000)
        except OSError:
            some = b""
        if not some:
            self.close()
            return self.ended()
        self._received += some
        at = 0
        while at + 8 <= len(self._received):
            size, number = _SIZE_AND_ID.unpack_from(self._received, at)
            if at + 4 + size > len(self._received):
                break
            at += 4 + size
            if number == MARKER:
                return len(self.frames), 0
            self._answered = number
        self._received = self._received[at:]
        return None

    def ended(self):
        """The outcome where the connection is closed: the frame behind the last answer was refused.

        What is behind that was not seen, and is sent again.
        """
        return min(self._answered + 2, len(self.frames)), 1

    def close(self):
        if self._socket is not None:
            self._selector.unregister(self._socket)
            self._socket.close()
            self._socket = None

    @property
    def is_closed(self):
        return self._socket is None


class Source:
    """Mutated frames for a broker; counts those that are only decoded here.

    Args:
        fuzz: Where they are counted.
        rng: The source of all chance.
        templates: The well-formed frames.
    """

    def __init__(self, fuzz, rng, templates):
        self._fuzz, self._rng, self._templates = fuzz, rng, templates
        self._seldom = 0

    def next(self):
        """Return the next frame to send."""
        while True:
            frame = mutated(self._rng, self._templates[self._rng.randrange(len(self._templates))])
            request = decoded(frame)
            if request is not None and slows_down(request):
                self._fuzz.count(1, refused=False)
                continue
            if request is not None and request.api.key not in SLOW:
                return frame
            self._seldom += 1
            if self._seldom % SENT_EVERY == 0:
                return frame
            self._fuzz.count(1, request is None)


def send_frames(port, fuzz, end, source):
    """Go on until there have been ``end`` frames; yields now and then, for others to look at the broker."""
    selector = selectors.DefaultSelector()
    exchanges = [Exchange(port, selector) for _ in range(CONNECTIONS)]
    reported = fuzz.frames // REPORT_EVERY

    def go_on(exchange, done, refused):
        rest = exchange.frames[done:]
        fuzz.count(done, refused, sent=done)
        exchange.send([*rest, *(source.next() for _ in range(PIPELINED - len(rest)))])

    for exchange in exchanges:
        go_on(exchange, 0, 0)
    while fuzz.frames < end:
        for key, _ in selector.select(PATIENCE_S):
            outcome = key.data.receive()
            if outcome is not None:
                go_on(key.data, *outcome)
        now = time.monotonic()
        for exchange in exchanges:
            if exchange.is_closed or now > exchange.deadline:
                exchange.close()
                go_on(exchange, *exchange.ended())
        if fuzz.frames // REPORT_EVERY > reported:
            reported = fuzz.frames // REPORT_EVERY
            yield
    for exchange in exchanges:
        exchange.close()


def long_turns(metrics):
    """How many turns of the broker's loop have taken more than ``HANG_S`` of CPU time since its start."""
    counted = turns_of(metrics)
    return counted[math.inf] - counted[HANG_S]


def tidy_up(admin, authorizer):
    """Delete the topics, groups and ACLs that mutated requests have created; how many there were."""
    groups = [group.group_id for group in admin.list_consumer_groups().result().valid]
    topics = [name for name in admin.list_topics(timeout=60).topics if name not in _OURS]
    deleted = len(admin.delete_acls([_ALL_ACLS])[_ALL_ACLS].result(60)) if authorizer else 0
    for begun in (
        admin.delete_consumer_groups(groups) if groups else {},
        admin.delete_topics(topics) if topics else {},
    ):
        for each in begun.values():
            try:
                each.result(60)
                deleted += 1
            except KafkaException as error:
                print(f"not tidied up: {error}", flush=True)
    return deleted


def over_the_wire(broker, admin, frames, rng, templates, *, authorizer):
    """Fuzz a broker, which may have an authorizer."""
    fuzz, deleted, peak = Fuzz(broker.pid), 0, 0
    port, source = int(broker.kafka.rpartition(":")[2]), Source(fuzz, rng, templates)
    hangs = None
    while fuzz.frames < frames:
        end = min(frames, WARM_UP if fuzz.frames == 0 else fuzz.frames + TIDY_EVERY)
        for _ in send_frames(port, fuzz, end, source):
            peak = max(peak, fuzz.rss)
            fuzz.report(f"{peak / 1e6:.0f} MB at most")
        deleted += tidy_up(admin, authorizer)
        fuzz.look_at_memory()
        hangs = long_turns(broker.metrics) if hangs is None else hangs
        fuzz.report(
            f"{long_turns(broker.metrics) - hangs} turns over {HANG_S} s, "
            f"{deleted} topics, groups and ACLs deleted, {peak / 1e6:.0f} MB at most"
        )
    if long_turns(broker.metrics) > hangs:
        fuzz.fault(f"{long_turns(broker.metrics) - hangs} turns of more than {HANG_S} s of CPU time")
    return fuzz


def against_a_broker(frames, rng, templates, *, authorizer=False):
    """Start a broker, fuzz it, and see that it is the same process, serves, and has met no surprise."""
    overrides = {"auto.create.topics.enable": "false", **(AUTHORIZER if authorizer else {})}
    with (
        tempfile.TemporaryDirectory(prefix="fuzz-frames-") as directory,
        LocalCluster(Path(directory), brokers=1, overrides=overrides) as cluster,
    ):
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
        for made in admin.create_topics([NewTopic(name, 1, 1) for name in (TOPIC, PASSING)]).values():
            made.result(60)
        broker = cluster.brokers[1]
        pid = broker.pid
        fuzz = over_the_wire(
            broker, admin, frames, random.Random(rng.random()), templates, authorizer=authorizer
        )
        if not psutil.pid_exists(pid):
            fuzz.fault("the broker is gone")
        lines = [
            line
            for path in broker.directory.rglob("server.log*")
            for line in path.read_text(errors="replace").splitlines()
            if _HANDLER_FAILED in line
        ]
        if lines:
            fuzz.fault(f"{len(lines)} lines say that a request handler failed, the first: {lines[0]}")
        return fuzz
