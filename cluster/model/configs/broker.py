"""The declarations of broker settings, except those of logs (`cluster.model.configs.log`).

Source: ``kafka.server.KafkaConfig`` of release 2.8 (names, types, defaults, ranges), and ours at the end.
There are two deviations. Brokers use gRPC between each other on a listener ``GRPC``, so the defaults of
``listeners``, ``listener.security.protocol.map`` and ``inter.broker.listener.name`` include it (the last has
no other value). And ``inter.broker.protocol.version`` can only be 2.6.
"""

from __future__ import annotations

from barnabas.cluster.model.addresses import are_numbers_by_address
from barnabas.cluster.model.brokers import GRPC_LISTENER
from barnabas.cluster.model.configs.authorizer import AUTHORIZER_CONFIGS
from barnabas.cluster.model.configs.declarations import (
    UNLIMITED_INT,
    Config,
    Rule,
    Type,
    at_least,
    between,
    not_empty,
    one_of,
    table,
)
from barnabas.cluster.model.configs.log import LOG_CONFIGS
from barnabas.cluster.model.configs.quotas import QUOTA_CONFIGS
from barnabas.cluster.model.configs.security import SECURITY_CONFIGS
from barnabas.cluster.model.configs.zookeeper import ZOOKEEPER_CONFIGS

_BOOLEAN, _SHORT, _INT, _LONG = Type.BOOLEAN, Type.SHORT, Type.INT, Type.LONG
_STRING, _LIST = Type.STRING, Type.LIST

_IDENTITY = (
    Config("broker.id", _INT, -1, "The broker's id; -1 to generate one.", at_least(-1)),
    Config(
        "broker.id.generation.enable",
        _BOOLEAN,
        default=True,
        doc="Whether an id is generated for a broker without one.",
    ),
    Config("reserved.broker.max.id", _INT, 1000, "Generated ids are larger than this.", at_least(0)),
    Config("broker.rack", _STRING, None, "The broker's rack, for rack-aware assignment."),
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
        "The addresses that clients and brokers connect to; by default listeners.",
        not_empty(),
        declared_as=_STRING,
    ),
    Config(
        "listener.security.protocol.map",
        _LIST,
        (
            "PLAINTEXT:PLAINTEXT",
            "SSL:SSL",
            "SASL_PLAINTEXT:SASL_PLAINTEXT",
            "SASL_SSL:SASL_SSL",
            "GRPC:PLAINTEXT",
        ),
        "The security protocol of each listener name, NAME:PROTOCOL.",
        not_empty(),
        declared_as=_STRING,
    ),
    Config(
        "inter.broker.listener.name",
        _STRING,
        GRPC_LISTENER,
        "The name of the listener between brokers.",
        one_of(GRPC_LISTENER),
    ),
    Config(
        "security.inter.broker.protocol",
        _STRING,
        None,
        "The security protocol between brokers; that of their listener in listener.security.protocol.map.",
        one_of("PLAINTEXT", "SSL"),
    ),
    Config(
        "inter.broker.protocol.version",
        _STRING,
        "2.6",
        "The version of the protocol between brokers.",
        one_of("2.6"),
    ),
    Config("num.network.threads", _INT, 3, "Ignored; one event loop serves all connections.", at_least(1)),
    Config("num.io.threads", _INT, 8, "Ignored; one event loop serves all requests.", at_least(1)),
    Config("background.threads", _INT, 10, "Ignored; background work runs on the event loop.", at_least(1)),
    Config("queued.max.requests", _INT, 500, "The most requests in memory; no more are read.", at_least(1)),
    Config("queued.max.request.bytes", _LONG, -1, "The most bytes of requests in memory; no more are read."),
    Config("request.timeout.ms", _INT, 30000, "How long a broker waits for an answer, ms.", at_least(1)),
    Config("socket.request.max.bytes", _INT, 104857600, "The largest request, bytes.", at_least(1)),
    Config("socket.send.buffer.bytes", _INT, 102400, "SO_SNDBUF; -1 for the system's default.", at_least(-1)),
    Config(
        "socket.receive.buffer.bytes", _INT, 102400, "SO_RCVBUF; -1 for the system's default.", at_least(-1)
    ),
    Config(
        "max.connections.per.ip", _INT, UNLIMITED_INT, "The most connections from one address.", at_least(0)
    ),
    Config(
        "max.connections.per.ip.overrides",
        _STRING,
        "",
        "The most connections from some addresses.",
        Rule(are_numbers_by_address, "a list of address:number"),
    ),
    Config("max.connections", _INT, UNLIMITED_INT, "The most connections.", at_least(0)),
    Config(
        "max.connection.creation.rate",
        _INT,
        UNLIMITED_INT,
        "The most new connections per second.",
        at_least(0),
    ),
    Config(
        "connections.max.idle.ms",
        _LONG,
        600000,
        "The idle time after which a connection is closed, ms; negative for never.",
    ),
)

_TOPICS = (
    Config(
        "num.partitions", _INT, 1, "The partitions of a topic created without a number of them.", at_least(1)
    ),
    Config(
        "default.replication.factor",
        _INT,
        1,
        "The replicas of a topic created without a number of them.",
        at_least(1),
    ),
    Config(
        "auto.create.topics.enable",
        _BOOLEAN,
        default=True,
        doc="Whether a metadata request for an unknown topic creates it.",
    ),
    Config("delete.topic.enable", _BOOLEAN, default=True, doc="Whether topics may be deleted."),
)

_REPLICATION = (
    Config(
        "replica.lag.time.max.ms",
        _LONG,
        30000,
        "How long a follower may lag before it leaves the ISR, ms.",
        at_least(1),
    ),
    Config(
        "replica.fetch.min.bytes",
        _INT,
        1,
        "The fewest bytes that answer a follower's fetch at once.",
        at_least(0),
    ),
    Config(
        "replica.fetch.wait.max.ms",
        _INT,
        500,
        "How long a follower's fetch may be held, ms.",
        at_least(0),
    ),
    Config(
        "replica.fetch.max.bytes",
        _INT,
        1048576,
        "The most bytes per partition in an answer to a follower.",
        at_least(0),
    ),
    Config(
        "replica.fetch.response.max.bytes",
        _INT,
        10485760,
        "The most bytes in an answer to a follower.",
        at_least(0),
    ),
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
        "Ignored; gRPC sizes its own buffers.",
        at_least(-1),
    ),
    Config(
        "num.replica.alter.log.dirs.threads",
        _INT,
        None,
        "How many replicas are moved between log directories at a time; by default one per log directory.",
    ),
    Config("num.replica.fetchers", _INT, 1, "Ignored; there is one fetch stream per leader.", at_least(1)),
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
        "The most completed fetches in the purgatory.",
        at_least(1),
    ),
    Config(
        "producer.purgatory.purge.interval.requests",
        _INT,
        1000,
        "The most completed produces in the purgatory.",
        at_least(1),
    ),
    Config(
        "delete.records.purgatory.purge.interval.requests",
        _INT,
        1,
        "The most completed deletions in the purgatory.",
        at_least(1),
    ),
    Config(
        "replica.selector.class",
        _STRING,
        None,
        "The class that chooses the replica a consumer reads from; the leader serves all if it is not set.",
        one_of(
            "org.apache.kafka.common.replica.LeaderSelector",
            "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        ),
    ),
    Config("fetch.max.bytes", _INT, 57671680, "The most bytes a fetch returns.", at_least(1024)),
    Config(
        "max.incremental.fetch.session.cache.slots",
        _INT,
        1000,
        "The most incremental fetch sessions.",
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
        "The tolerated imbalance, percent.",
        at_least(0),
    ),
    Config(
        "leader.imbalance.check.interval.seconds",
        _LONG,
        300,
        "How often the imbalance is checked, s.",
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
        doc="Whether a broker requests a controlled shutdown before it stops.",
    ),
    Config(
        "controlled.shutdown.max.retries",
        _INT,
        3,
        "How often a controlled shutdown is tried again.",
        at_least(0),
    ),
    Config(
        "controlled.shutdown.retry.backoff.ms",
        _LONG,
        5000,
        "The pause between two tries of a controlled shutdown, ms.",
        at_least(0),
    ),
)

_GROUPS = (
    Config(
        "group.min.session.timeout.ms",
        _INT,
        6000,
        "The shortest session timeout of a group member, ms.",
        at_least(0),
    ),
    Config(
        "group.max.session.timeout.ms",
        _INT,
        1800000,
        "The longest session timeout of a group member, ms.",
        at_least(0),
    ),
    Config(
        "group.initial.rebalance.delay.ms",
        _INT,
        3000,
        "How long an empty group waits for members, ms.",
        at_least(0),
    ),
    Config("group.max.size", _INT, UNLIMITED_INT, "The most members of a group.", at_least(1)),
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
        "The idle time after which a producer id is forgotten, ms, unless producer.id.expiration.ms is set.",
        at_least(1),
    ),
    Config(
        "producer.id.expiration.ms",
        _INT,
        None,
        "The idle time after which a producer id is forgotten, ms; a setting of Kafka 3.4 and later.",
        at_least(1),
        ours=True,
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
    Config(
        "server.log.level", _STRING, "INFO", "The lowest level in server.log.", one_of(*LEVELS), ours=True
    ),
    Config(
        "state.change.log.level",
        _STRING,
        "INFO",
        "The lowest level in state-change.log.",
        one_of(*LEVELS),
        ours=True,
    ),
    Config(
        "metrics.address",
        _STRING,
        None,
        "host:port of the metrics page; none if not set.",
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
    Config(
        "inter.broker.detours",
        _LIST,
        (),
        "Brokers that are reached by another address, host:port=host:port, for tests that cut links.",
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
    _IDENTITY,
    ZOOKEEPER_CONFIGS,
    _NETWORK,
    SECURITY_CONFIGS,
    AUTHORIZER_CONFIGS,
    _TOPICS,
    LOG_CONFIGS,
    _REPLICATION,
    QUOTA_CONFIGS,
    _CONTROLLER,
    _GROUPS,
    _OURS,
)
"""The declarations of all settings of ``server.properties`` by name."""
