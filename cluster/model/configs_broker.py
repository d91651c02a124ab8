"""The declarations of broker settings, except those of logs (`cluster.model.configs_log`).

Source: ``kafka.server.KafkaConfig`` of release 2.8 (names, types, defaults, ranges), and ours at the end.
There are two deviations. Brokers use gRPC between each other on a listener ``GRPC``, so the defaults of
``listeners``, ``listener.security.protocol.map`` and ``inter.broker.listener.name`` include it (the last has
no other value). And ``inter.broker.protocol.version`` can only be 2.6.
"""

from __future__ import annotations

from barnabas.cluster.model.brokers import GRPC_LISTENER
from barnabas.cluster.model.configs import (
    REQUIRED,
    UNLIMITED_INT,
    Config,
    Type,
    at_least,
    between,
    not_empty,
    one_of,
    table,
)
from barnabas.cluster.model.configs_log import LOG_CONFIGS

_BOOLEAN, _SHORT, _INT, _LONG = Type.BOOLEAN, Type.SHORT, Type.INT, Type.LONG
_STRING, _LIST = Type.STRING, Type.LIST

_IDENTITY = (
    Config("broker.id", _INT, -1, "The broker's number; -1 has one generated.", at_least(-1)),
    Config(
        "broker.id.generation.enable",
        _BOOLEAN,
        default=True,
        doc="Whether a broker without a number is given one.",
    ),
    Config("reserved.broker.max.id", _INT, 1000, "Generated numbers are larger than this.", at_least(0)),
    Config("broker.rack", _STRING, None, "The rack the broker stands in, for rack-aware assignment."),
)

_ZOOKEEPER = (
    Config(
        "zookeeper.connect", _STRING, REQUIRED, "host:port[,host:port...][/chroot] of ZooKeeper.", not_empty()
    ),
    Config(
        "zookeeper.session.timeout.ms",
        _INT,
        18000,
        "How long ZooKeeper waits for a silent broker, ms.",
        at_least(1),
    ),
    Config(
        "zookeeper.connection.timeout.ms",
        _INT,
        None,
        "How long to wait for ZooKeeper at start, ms; as zookeeper.session.timeout.ms where not set.",
        at_least(1),
    ),
    Config(
        "zookeeper.max.in.flight.requests",
        _INT,
        10,
        "Requests sent to ZooKeeper before an answer.",
        at_least(1),
    ),
)

_NETWORK = (
    Config(
        "listeners",
        _LIST,
        ("PLAINTEXT://:9092", "GRPC://:19092"),
        "NAME://host:port to listen on.",
        not_empty(),
        declared_as=_STRING,
    ),
    Config(
        "advertised.listeners",
        _LIST,
        None,
        "What others shall dial; as listeners where not set.",
        not_empty(),
        declared_as=_STRING,
    ),
    Config(
        "listener.security.protocol.map",
        _LIST,
        ("PLAINTEXT:PLAINTEXT", "GRPC:PLAINTEXT"),
        "The security protocol of each listener name, NAME:PROTOCOL.",
        not_empty(),
        declared_as=_STRING,
    ),
    Config(
        "inter.broker.listener.name",
        _STRING,
        GRPC_LISTENER,
        "The listener on which brokers speak to each other.",
        one_of(GRPC_LISTENER),
    ),
    Config(
        "inter.broker.protocol.version", _STRING, "2.6", "What brokers speak to each other.", one_of("2.6")
    ),
    Config("num.network.threads", _INT, 3, "Accepted; one event loop serves all connections.", at_least(1)),
    Config("num.io.threads", _INT, 8, "Accepted; one event loop serves all requests.", at_least(1)),
    Config("background.threads", _INT, 10, "Accepted; background work runs on the event loop.", at_least(1)),
    Config("queued.max.requests", _INT, 500, "Requests held before no more are read.", at_least(1)),
    Config("queued.max.request.bytes", _LONG, -1, "Bytes of requests held before no more are read."),
    Config("request.timeout.ms", _INT, 30000, "How long a broker waits for an answer, ms.", at_least(1)),
    Config("socket.request.max.bytes", _INT, 104857600, "The largest request, bytes.", at_least(1)),
    Config("socket.send.buffer.bytes", _INT, 102400, "SO_SNDBUF, -1 leaves the system's.", at_least(-1)),
    Config("socket.receive.buffer.bytes", _INT, 102400, "SO_RCVBUF, -1 leaves the system's.", at_least(-1)),
    Config("max.connections.per.ip", _INT, UNLIMITED_INT, "Connections from one address.", at_least(0)),
    Config("max.connections", _INT, UNLIMITED_INT, "Connections in all.", at_least(0)),
    Config("max.connection.creation.rate", _INT, UNLIMITED_INT, "New connections per second.", at_least(0)),
    Config(
        "connections.max.idle.ms",
        _LONG,
        600000,
        "An idle connection is closed after this, ms; -1 never.",
        at_least(-1),
    ),
)

_TOPICS = (
    Config("num.partitions", _INT, 1, "Partitions of a topic created without a number.", at_least(1)),
    Config(
        "default.replication.factor", _INT, 1, "Replicas of a topic created without a number.", at_least(1)
    ),
    Config(
        "auto.create.topics.enable",
        _BOOLEAN,
        default=True,
        doc="Whether asking for an unknown topic creates it.",
    ),
    Config("delete.topic.enable", _BOOLEAN, default=True, doc="Whether topics may be deleted."),
)

_REPLICATION = (
    Config(
        "replica.lag.time.max.ms",
        _LONG,
        30000,
        "A follower that lags longer leaves the ISR, ms.",
        at_least(1),
    ),
    Config(
        "replica.fetch.min.bytes", _INT, 1, "A follower's fetch is answered with at least this.", at_least(0)
    ),
    Config(
        "replica.fetch.wait.max.ms",
        _INT,
        500,
        "A follower's fetch is held at most this long, ms.",
        at_least(0),
    ),
    Config(
        "replica.fetch.max.bytes", _INT, 1048576, "Bytes per partition in a follower's fetch.", at_least(0)
    ),
    Config("replica.fetch.response.max.bytes", _INT, 10485760, "Bytes in a follower's fetch.", at_least(0)),
    Config(
        "replica.fetch.backoff.ms", _INT, 1000, "A follower's pause after a failed fetch, ms.", at_least(0)
    ),
    Config(
        "replica.socket.timeout.ms", _INT, 30000, "How long a follower waits for its leader, ms.", at_least(1)
    ),
    Config(
        "replica.socket.receive.buffer.bytes",
        _INT,
        65536,
        "Accepted; gRPC sizes its own buffers.",
        at_least(-1),
    ),
    Config("num.replica.fetchers", _INT, 1, "Accepted; one stream per leader fetches.", at_least(1)),
    Config(
        "replica.high.watermark.checkpoint.interval.ms",
        _LONG,
        5000,
        "How often high watermarks are written to disk, ms.",
        at_least(1),
    ),
    Config(
        "fetch.purgatory.purge.interval.requests",
        _INT,
        1000,
        "Completed fetches kept in the purgatory.",
        at_least(1),
    ),
    Config(
        "producer.purgatory.purge.interval.requests",
        _INT,
        1000,
        "Completed produces kept in the purgatory.",
        at_least(1),
    ),
    Config(
        "delete.records.purgatory.purge.interval.requests",
        _INT,
        1,
        "Completed deletes kept in the purgatory.",
        at_least(1),
    ),
    Config("fetch.max.bytes", _INT, 57671680, "The most bytes a fetch returns.", at_least(1024)),
    Config(
        "max.incremental.fetch.session.cache.slots",
        _INT,
        1000,
        "Incremental fetch sessions kept.",
        at_least(0),
    ),
)

_CONTROLLER = (
    Config(
        "auto.leader.rebalance.enable",
        _BOOLEAN,
        default=True,
        doc="Whether leadership returns to preferred replicas.",
    ),
    Config(
        "leader.imbalance.per.broker.percentage",
        _INT,
        10,
        "Imbalance that is tolerated, percent.",
        at_least(0),
    ),
    Config(
        "leader.imbalance.check.interval.seconds",
        _LONG,
        300,
        "How often imbalance is looked at, s.",
        at_least(1),
    ),
    Config(
        "controller.socket.timeout.ms",
        _INT,
        30000,
        "How long the controller waits for a broker, ms.",
        at_least(1),
    ),
    Config(
        "controlled.shutdown.enable",
        _BOOLEAN,
        default=True,
        doc="Whether a stopping broker hands its leaderships over first.",
    ),
    Config("controlled.shutdown.max.retries", _INT, 3, "Tries to hand leaderships over.", at_least(0)),
    Config(
        "controlled.shutdown.retry.backoff.ms", _LONG, 5000, "Pause between those tries, ms.", at_least(0)
    ),
)

_GROUPS = (
    Config(
        "group.min.session.timeout.ms",
        _INT,
        6000,
        "The shortest session a member may ask for, ms.",
        at_least(0),
    ),
    Config(
        "group.max.session.timeout.ms",
        _INT,
        1800000,
        "The longest session a member may ask for, ms.",
        at_least(0),
    ),
    Config(
        "group.initial.rebalance.delay.ms",
        _INT,
        3000,
        "How long an empty group waits for members, ms.",
        at_least(0),
    ),
    Config("group.max.size", _INT, UNLIMITED_INT, "Members of one group.", at_least(1)),
    Config("offsets.topic.num.partitions", _INT, 50, "Partitions of __consumer_offsets.", at_least(1)),
    Config("offsets.topic.replication.factor", _SHORT, 3, "Replicas of __consumer_offsets.", at_least(1)),
    Config(
        "offsets.topic.segment.bytes",
        _INT,
        104857600,
        "Segment size of __consumer_offsets, bytes.",
        at_least(1),
    ),
    Config("offsets.topic.compression.codec", _INT, 0, "Codec of __consumer_offsets.", between(0, 4)),
    Config(
        "offsets.retention.minutes",
        _INT,
        10080,
        "How long offsets outlive their group, minutes.",
        at_least(1),
    ),
    Config(
        "offsets.retention.check.interval.ms",
        _LONG,
        600000,
        "How often old offsets are removed, ms.",
        at_least(1),
    ),
    Config("offsets.commit.timeout.ms", _INT, 5000, "How long a commit waits for replicas, ms.", at_least(1)),
    Config("offsets.commit.required.acks", _SHORT, -1, "The acks of an offset commit.", at_least(-1)),
    Config(
        "offset.metadata.max.bytes", _INT, 4096, "The most metadata of an offset commit, bytes.", at_least(0)
    ),
    Config(
        "offsets.load.buffer.size",
        _INT,
        5242880,
        "Bytes read at a time when offsets are loaded.",
        at_least(1),
    ),
    Config(
        "transactional.id.expiration.ms",
        _INT,
        604800000,
        "Idle producer ids are forgotten after this, ms.",
        at_least(1),
    ),
    Config("transaction.max.timeout.ms", _INT, 900000, "The longest transaction timeout, ms.", at_least(1)),
    Config(
        "transaction.state.log.num.partitions", _INT, 50, "Partitions of __transaction_state.", at_least(1)
    ),
    Config(
        "transaction.state.log.replication.factor", _SHORT, 3, "Replicas of __transaction_state.", at_least(1)
    ),
    Config(
        "transaction.state.log.min.isr", _INT, 2, "min.insync.replicas of __transaction_state.", at_least(1)
    ),
    Config(
        "transaction.state.log.segment.bytes",
        _INT,
        104857600,
        "Segment size of __transaction_state.",
        at_least(1),
    ),
)

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR")
"""The levels of log4j, least important first."""

_OURS = (
    Config(
        "kafka.logs.dir",
        _STRING,
        "logs",
        "The directory of server.log and state-change.log.",
        not_empty(),
        ours=True,
    ),
    Config("server.log.level", _STRING, "INFO", "The least level in server.log.", one_of(*LEVELS), ours=True),
    Config(
        "state.change.log.level",
        _STRING,
        "INFO",
        "The least level in state-change.log.",
        one_of(*LEVELS),
        ours=True,
    ),
    Config(
        "metrics.address",
        _STRING,
        None,
        "host:port of the metrics page; none where not set.",
        not_empty(),
        ours=True,
    ),
    Config(
        "pid.file",
        _STRING,
        None,
        "A file that holds the process id while the broker runs.",
        not_empty(),
        ours=True,
    ),
    Config("failpoints", _LIST, (), "Faults to arm at start, name=action.", ours=True),
    Config(
        "failpoints.over.http",
        _BOOLEAN,
        default=False,
        doc="Whether POST /failpoints/<name> on metrics.address arms faults, which may end the broker.",
        ours=True,
    ),
)

BROKER_CONFIGS = table(
    _IDENTITY, _ZOOKEEPER, _NETWORK, _TOPICS, LOG_CONFIGS, _REPLICATION, _CONTROLLER, _GROUPS, _OURS
)
"""The declarations of all settings of ``server.properties`` by name."""
