"""The metrics of a broker under Kafka's names, all of which are created here.

A name is Kafka's JMX name with underscores:
``kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions`` is
``kafka_server_ReplicaManager_UnderReplicatedPartitions``. Rates are exported as counters, from which the
monitoring system derives them. Source of the names: the "Monitoring" chapter of Kafka 2.8's documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, GCCollector, Histogram, ProcessCollector

from barnabas.cluster.runtime.traffic import Traffic

_MILLISECONDS = (0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000)
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


class BrokerState(IntEnum):
    """The values of ``kafka.server:type=KafkaServer,name=BrokerState`` (``kafka.server.BrokerStates``)."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERING_FROM_UNCLEAN_SHUTDOWN = 2
    RUNNING_AS_BROKER = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics of a broker process, in a separate registry.

    A gauge of a value that is known elsewhere gets a function (``set_function``), which the metrics page
    calls on its own thread. The function may only read a number or a length, so that concurrent changes are
    harmless.

    Attributes:
        registry: The registry of the metrics.
        traffic: The counts of ``BrokerTopicMetrics``.
    """

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    traffic: Traffic = field(default_factory=Traffic)
    broker_state: Gauge = field(init=False)
    active_controller_count: Gauge = field(init=False)
    offline_partitions_count: Gauge = field(init=False)
    global_topic_count: Gauge = field(init=False)
    global_partition_count: Gauge = field(init=False)
    preferred_replica_imbalance_count: Gauge = field(init=False)
    topics_to_delete_count: Gauge = field(init=False)
    replicas_to_delete_count: Gauge = field(init=False)
    topics_ineligible_to_delete_count: Gauge = field(init=False)
    replicas_ineligible_to_delete_count: Gauge = field(init=False)
    controller_state: Gauge = field(init=False)
    event_queue_size: Gauge = field(init=False)
    event_queue_time_ms: Histogram = field(init=False)
    event_times_ms: Mapping[str, Histogram] = field(init=False)
    unclean_leader_elections: Counter = field(init=False)
    leader_elections: Counter = field(init=False)
    under_replicated_partitions: Gauge = field(init=False)
    under_min_isr_partition_count: Gauge = field(init=False)
    leader_count: Gauge = field(init=False)
    partition_count: Gauge = field(init=False)
    at_min_isr_partition_count: Gauge = field(init=False)
    offline_replica_count: Gauge = field(init=False)
    max_lag: Gauge = field(init=False)
    log_flush_time_ms: Histogram = field(init=False)
    isr_shrinks: Counter = field(init=False)
    isr_expands: Counter = field(init=False)
    purgatory_size: Gauge = field(init=False)
    delayed_operations: Gauge = field(init=False)
    produce_expirations: Counter = field(init=False)
    fetch_expirations: Counter = field(init=False)
    offline_log_directory_count: Gauge = field(init=False)
    damaged_replica_count: Gauge = field(init=False)
    damaged_segments: Counter = field(init=False)
    request_bytes: Counter = field(init=False)
    response_bytes: Counter = field(init=False)
    requests: Counter = field(init=False)
    request_time_ms: Histogram = field(init=False)
    request_queue_time_ms: Histogram = field(init=False)
    request_local_time_ms: Histogram = field(init=False)
    request_remote_time_ms: Histogram = field(init=False)
    response_queue_time_ms: Histogram = field(init=False)
    response_send_time_ms: Histogram = field(init=False)
    offset_count: Gauge = field(init=False)
    group_count: Gauge = field(init=False)
    groups_in_state: Mapping[str, Gauge] = field(init=False)
    offset_commits: Counter = field(init=False)
    offset_expirations: Counter = field(init=False)
    offset_deletions: Counter = field(init=False)
    completed_rebalances: Counter = field(init=False)
    partition_load_time_max: Gauge = field(init=False)
    partition_load_time_avg: Gauge = field(init=False)
    connection_count: Gauge = field(init=False)
    connection_creations: Counter = field(init=False)
    successful_authentications: Counter = field(init=False)
    failed_authentications: Counter = field(init=False)
    successful_reauthentications: Counter = field(init=False)
    failed_reauthentications: Counter = field(init=False)
    expired_connections: Counter = field(init=False)
    memory_pool_available: Gauge = field(init=False)
    memory_pool_used: Gauge = field(init=False)
    answer_bytes: Gauge = field(init=False)
    leader_replication_rate: Gauge = field(init=False)
    follower_replication_rate: Gauge = field(init=False)
    log_dir_replication_rate: Gauge = field(init=False)
    log_dir_move_lag: Gauge = field(init=False)
    fetch_sessions: Gauge = field(init=False)
    fetch_session_partitions: Gauge = field(init=False)
    fetch_session_evictions: Counter = field(init=False)
    live_brokers: Gauge = field(init=False)
    zookeeper_connected: Gauge = field(init=False)
    loop_lag_seconds: Histogram = field(init=False)
    loop_cpu_seconds: Histogram = field(init=False)
    request_handler_idle: Gauge = field(init=False)
    network_processor_idle: Gauge = field(init=False)
    longest_turn_seconds: Gauge = field(init=False)
    recent_longest_turn_seconds: Gauge = field(init=False)

    def __post_init__(self) -> None:
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.registry.register(self.traffic)
        for name, make in _METRICS.items():
            object.__setattr__(self, name, make(self.registry))

    def watch(self, gauge: Gauge, read: Callable[[], float], **labels: str) -> None:
        """Make ``gauge`` show the result of ``read`` at each request of the page."""
        (gauge.labels(**labels) if labels else gauge).set_function(read)


TIMED_EVENTS = (
    "Idle",
    "ControllerChange",
    "LeaderElection",
    "TopicChange",
    "TopicDeletion",
    "PartitionReassignment",
    "AutoLeaderBalance",
    "ManualLeaderBalance",
    "ControlledShutdown",
    "IsrChange",
    "LeaderAndIsrResponseReceived",
    "LogDirChange",
    "ControllerShutdown",
    "UncleanLeaderElectionEnable",
    "TopicUncleanLeaderElectionEnable",
    "ListPartitionReassignment",
    "UpdateMetadataResponseReceived",
)
"""The names of controller events in ``ControllerStats``; ``<name>RateAndTimeMs`` is the time of each."""

GROUP_STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")
"""The states of groups in ``GroupMetadataManager``; ``NumGroups<state>`` counts the groups in each."""

_Metric = Gauge | Counter | Histogram | Mapping[str, Histogram] | Mapping[str, Gauge]
_Make = Callable[[CollectorRegistry], _Metric]


def _gauge(name: str, doc: str, *labels: str) -> Callable[[CollectorRegistry], Gauge]:
    return lambda registry: Gauge(name, doc, labels, registry=registry)


def _counter(name: str, doc: str, *labels: str) -> _Make:
    return lambda registry: Counter(name, doc, labels, registry=registry)


def _histogram(
    name: str, doc: str, *labels: str, buckets: tuple[float, ...] = _MILLISECONDS
) -> Callable[[CollectorRegistry], Histogram]:
    return lambda registry: Histogram(name, doc, labels, buckets=buckets, registry=registry)


_CONTROLLER = "kafka_controller_KafkaController_"
_EVENTS = "kafka_controller_ControllerEventManager_"
_STATS = "kafka_controller_ControllerStats_"
_REPLICAS = "kafka_server_ReplicaManager_"
_PURGATORY = "kafka_server_DelayedOperationPurgatory_"
_REQUESTS = "kafka_network_RequestMetrics_"
_SOCKETS = "kafka_server_socket_server_metrics_"
_GROUPS = "kafka_coordinator_group_GroupMetadataManager_"
_COORDINATOR = "kafka_server_group_coordinator_metrics_"

_EVENT_TIMES = {
    name: _histogram(f"{_STATS}{name}RateAndTimeMs", "The time to handle an event, ms", "event")
    for name in TIMED_EVENTS
}

_GROUPS_IN_STATE = {
    state: _gauge(f"{_GROUPS}NumGroups{state}", f"Groups coordinated here in state {state}")
    for state in GROUP_STATES
}

_METRICS: dict[str, _Make] = {
    "broker_state": _gauge("kafka_server_KafkaServer_BrokerState", "3 is running as broker"),
    "active_controller_count": _gauge(_CONTROLLER + "ActiveControllerCount", "1 on the active controller"),
    "offline_partitions_count": _gauge(_CONTROLLER + "OfflinePartitionsCount", "Partitions without a leader"),
    "global_topic_count": _gauge(_CONTROLLER + "GlobalTopicCount", "Topics in the controller's context"),
    "global_partition_count": _gauge(
        _CONTROLLER + "GlobalPartitionCount", "Partitions in the controller's context"
    ),
    "preferred_replica_imbalance_count": _gauge(
        _CONTROLLER + "PreferredReplicaImbalanceCount", "Partitions not led by their preferred replica"
    ),
    "topics_to_delete_count": _gauge(_CONTROLLER + "TopicsToDeleteCount", "Topics queued for deletion"),
    "replicas_to_delete_count": _gauge(
        _CONTROLLER + "ReplicasToDeleteCount", "Replicas of topics queued for deletion, not deleted yet"
    ),
    "topics_ineligible_to_delete_count": _gauge(
        _CONTROLLER + "TopicsIneligibleToDeleteCount", "Topics queued for deletion that cannot be deleted now"
    ),
    "replicas_ineligible_to_delete_count": _gauge(
        _CONTROLLER + "ReplicasIneligibleToDeleteCount", "Replicas that cannot be deleted now"
    ),
    "controller_state": _gauge(_CONTROLLER + "ControllerState", "The number of the controller's state"),
    "event_queue_size": _gauge(_EVENTS + "EventQueueSize", "Events in the controller's queue"),
    "event_queue_time_ms": _histogram(_EVENTS + "EventQueueTimeMs", "The time of an event in the queue, ms"),
    "event_times_ms": lambda registry: {name: make(registry) for name, make in _EVENT_TIMES.items()},
    "unclean_leader_elections": _counter(
        _STATS + "UncleanLeaderElectionsPerSec", "Leaders from outside the ISR"
    ),
    "leader_elections": _counter(_STATS + "LeaderElectionsPerSec", "Leaders elected"),
    "under_replicated_partitions": _gauge(
        _REPLICAS + "UnderReplicatedPartitions", "Partitions led here with a replica outside the ISR"
    ),
    "under_min_isr_partition_count": _gauge(
        _REPLICAS + "UnderMinIsrPartitionCount", "Partitions led here with an ISR below min.insync.replicas"
    ),
    "at_min_isr_partition_count": _gauge(
        _REPLICAS + "AtMinIsrPartitionCount", "Partitions led here with an ISR of exactly min.insync.replicas"
    ),
    "leader_count": _gauge(_REPLICAS + "LeaderCount", "Partitions led here"),
    "partition_count": _gauge(_REPLICAS + "PartitionCount", "Partitions with a replica here"),
    "offline_replica_count": _gauge(_REPLICAS + "OfflineReplicaCount", "Replicas in failed log directories"),
    "max_lag": _gauge(
        "kafka_server_ReplicaFetcherManager_MaxLag",
        "The most records that a replica here is behind its leader's high watermark",
        "clientId",
    ),
    "log_flush_time_ms": _histogram(
        "kafka_log_LogFlushStats_LogFlushRateAndTimeMs", "The time to flush a log to the disk, ms"
    ),
    "isr_shrinks": _counter(_REPLICAS + "IsrShrinksPerSec", "Shrinks of an ISR led here"),
    "isr_expands": _counter(_REPLICAS + "IsrExpandsPerSec", "Expansions of an ISR led here"),
    "purgatory_size": _gauge(
        _PURGATORY + "PurgatorySize", "Watched keys of waiting requests", "delayedOperation"
    ),
    "delayed_operations": _gauge(_PURGATORY + "NumDelayedOperations", "Waiting requests", "delayedOperation"),
    "produce_expirations": _counter(
        "kafka_server_DelayedProduceMetrics_ExpiresPerSec",
        "Partitions whose produce with acks=all timed out",
        "topic",
        "partition",
    ),
    "fetch_expirations": _counter(
        "kafka_server_DelayedFetchMetrics_ExpiresPerSec",
        "Fetches answered because their timeout expired",
        "fetcherType",
    ),
    "offline_log_directory_count": _gauge(
        "kafka_log_LogManager_OfflineLogDirectoryCount", "Failed log directories"
    ),
    "damaged_replica_count": _gauge(
        "kafka_log_LogManager_DamagedReplicaCount", "Replicas of which a range of the log is damaged"
    ),
    "damaged_segments": _counter("kafka_log_LogManager_DamagedSegmentsPerSec", "Segments found damaged"),
    "request_bytes": _counter(_REQUESTS + "RequestBytes", "Bytes of clients' requests", "request"),
    "response_bytes": _counter(_REQUESTS + "ResponseBytes", "Bytes of answers to clients", "request"),
    "requests": _counter(_REQUESTS + "RequestsPerSec", "Requests from clients", "request"),
    "request_time_ms": _histogram(
        _REQUESTS + "TotalTimeMs", "The time from a request's last bytes to its sent answer, ms", "request"
    ),
    "request_queue_time_ms": _histogram(
        _REQUESTS + "RequestQueueTimeMs",
        "The time from a request's last bytes to the start of its handling, ms",
        "request",
    ),
    "request_local_time_ms": _histogram(
        _REQUESTS + "LocalTimeMs", "The time for which a request was handled before it waited, ms", "request"
    ),
    "request_remote_time_ms": _histogram(
        _REQUESTS + "RemoteTimeMs", "The time from a request's first wait to its answer, ms", "request"
    ),
    "response_queue_time_ms": _histogram(
        _REQUESTS + "ResponseQueueTimeMs",
        "The time for which an answer waited for those before it on its connection, ms",
        "request",
    ),
    "response_send_time_ms": _histogram(
        _REQUESTS + "ResponseSendTimeMs", "The time until the socket took an answer, ms", "request"
    ),
    "offset_count": _gauge(_GROUPS + "NumOffsets", "Committed offsets of the groups coordinated here"),
    "group_count": _gauge(_GROUPS + "NumGroups", "Groups coordinated here"),
    "groups_in_state": lambda registry: {name: make(registry) for name, make in _GROUPS_IN_STATE.items()},
    "offset_commits": _counter(_COORDINATOR + "offset_commit_count", "Offsets committed"),
    "offset_expirations": _counter(_COORDINATOR + "offset_expiration_count", "Offsets expired"),
    "offset_deletions": _counter(_COORDINATOR + "offset_deletion_count", "Offsets deleted by OffsetDelete"),
    "completed_rebalances": _counter(
        _COORDINATOR + "group_completed_rebalance_count", "Assignments received from leaders"
    ),
    "partition_load_time_max": _gauge(
        _COORDINATOR + "partition_load_time_max", "The longest recent load of __consumer_offsets, ms"
    ),
    "partition_load_time_avg": _gauge(
        _COORDINATOR + "partition_load_time_avg", "The mean of recent loads of __consumer_offsets, ms"
    ),
    "connection_count": _gauge(_SOCKETS + "connection_count", "Open client connections"),
    "connection_creations": _counter(
        _SOCKETS + "connection_creation", "Client connections accepted", "listener"
    ),
    "successful_authentications": _counter(
        _SOCKETS + "successful_authentication", "Clients that authenticated", "listener"
    ),
    "failed_authentications": _counter(
        _SOCKETS + "failed_authentication", "Clients that failed to authenticate", "listener"
    ),
    "successful_reauthentications": _counter(
        _SOCKETS + "successful_reauthentication", "Clients that authenticated again", "listener"
    ),
    "failed_reauthentications": _counter(
        _SOCKETS + "failed_reauthentication", "Clients that failed to authenticate again", "listener"
    ),
    "expired_connections": _counter(
        _SOCKETS + "expired_connections_killed_count",
        "Connections closed because the client did not authenticate again in time",
        "listener",
    ),
    "memory_pool_available": _gauge(
        "kafka_network_SocketServer_MemoryPoolAvailable", "Unused bytes of queued.max.request.bytes"
    ),
    "memory_pool_used": _gauge(
        "kafka_network_SocketServer_MemoryPoolUsed", "Used bytes of queued.max.request.bytes"
    ),
    "answer_bytes": _gauge("barnabas_answers_held_bytes", "Answers that clients have not read, bytes"),
    "leader_replication_rate": _gauge(
        "kafka_server_LeaderReplication_byte_rate", "Bytes of throttled replicas sent to followers per second"
    ),
    "follower_replication_rate": _gauge(
        "kafka_server_FollowerReplication_byte_rate", "Bytes of throttled replicas fetched per second"
    ),
    "log_dir_replication_rate": _gauge(
        "kafka_server_AlterLogDirsReplication_byte_rate", "Bytes moved between log directories per second"
    ),
    "log_dir_move_lag": _gauge(
        "kafka_server_ReplicaAlterLogDirsManager_MaxLag",
        "Largest lag of a replica that moves between log directories, in offsets",
    ),
    "fetch_sessions": _gauge(
        "kafka_server_FetchSessionCache_NumIncrementalFetchSessions", "Incremental fetch sessions of clients"
    ),
    "fetch_session_partitions": _gauge(
        "kafka_server_FetchSessionCache_NumIncrementalFetchPartitionsCached",
        "Partitions in the incremental fetch sessions of clients",
    ),
    "fetch_session_evictions": _counter(
        "kafka_server_FetchSessionCache_IncrementalFetchSessionEvictionsPerSec",
        "Incremental fetch sessions that were evicted for another one",
    ),
    "live_brokers": _gauge("barnabas_live_brokers", "Live brokers in the metadata cache"),
    "zookeeper_connected": _gauge("barnabas_zookeeper_connected", "1 while connected to ZooKeeper"),
    "loop_lag_seconds": _histogram(
        "barnabas_event_loop_lag_seconds",
        "How late the event loop was for its heartbeat, s",
        buckets=_SECONDS,
    ),
    "loop_cpu_seconds": _histogram(
        "barnabas_event_loop_cpu_seconds",
        "CPU time of the event loop's thread in its lag, s",
        buckets=_SECONDS,
    ),
    "request_handler_idle": _gauge(
        "kafka_server_KafkaRequestHandlerPool_RequestHandlerAvgIdlePercent",
        "Share of the last minute, 0 to 1, in which the event loop that handles requests waited for work",
    ),
    "network_processor_idle": _gauge(
        "kafka_network_SocketServer_NetworkProcessorAvgIdlePercent",
        "The same as RequestHandlerAvgIdlePercent: the loop that handles requests also reads the sockets",
    ),
    "longest_turn_seconds": _gauge(
        "barnabas_event_loop_longest_turn_seconds", "Longest turn of the event loop since the start, s"
    ),
    "recent_longest_turn_seconds": _gauge(
        "barnabas_event_loop_recent_longest_turn_seconds",
        "Longest turn of the event loop in the last one to two minutes, s",
    ),
}
