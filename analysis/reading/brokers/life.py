"""Lines of a process about its own start, stop and troubles.

Source: ``KafkaServer.scala``, ``KafkaServerStartable.scala``, ``BrokerServer.scala``,
``DynamicConfigManager.scala``, ``ZkConfigManager.scala``, ``DynamicConfigPublisher.scala``,
``BrokerLifecycleManager.scala``, ``LogManager.scala``, ``KafkaZkClient.scala``, ``ZkUtils.scala`` and
``ReplicaManager.scala`` of 0.8 to 4.0; ``ClientCnxn`` of ZooKeeper.
"""

from __future__ import annotations

import re

from barnabas.analysis.reading.brokers.rule import Rule, Speaker, innermost_cause, rule, with_cause
from barnabas.analysis.reading.events.broker_kinds import OF_AUTHORIZER, SETTINGS_READ, BrokerKind
from barnabas.analysis.reading.events.entries import Row

_SETTING = re.compile(r"^\s+(?P<name>[\w.]+) = (?P<value>.*?)\s*$", re.MULTILINE)
_IDS = ("broker.id", "node.id")
_IN_SYNC = re.compile(
    r"Number of insync replicas for partition \S+ is \[(?P<count>\d+)\], below required minimum "
    r"\[(?P<minimum>\d+)\]"
    r"|The size of the current ISR (?P<isr>.*?) is insufficient to satisfy the min\.isr requirement of "
    r"(?P<needed>\d+) for partition"
)
_OWN_MINIMUM = re.compile(r"\bmin\.insync\.replicas ?(?:->|=) ?(?P<value>\d+)", re.ASCII)
_SERVER = ("KafkaServer",)
_BROKER = ("BrokerServer",)
_BOTH = (*_SERVER, *_BROKER)
_NO_CLEAN = "since no clean shutdown file was found"


def _settings(speaker: Speaker, _: re.Match[str], trace: str) -> Row:
    known = {found["name"]: found["value"] for found in _SETTING.finditer(trace)}
    return _as_settings(speaker, known)


def _overridden(speaker: Speaker, said: re.Match[str], _: str) -> Row | None:
    row = _as_settings(speaker, {said["_name"]: said["_value"]})
    return row if row["settings"] else None


def _of_topic_settings(_: Speaker, said: re.Match[str], __: str) -> Row:
    """Read a topic's own settings, all of which the line lists; no value stands for the brokers' one."""
    own = _OWN_MINIMUM.search(said["_settings"])
    return {"settings": (f"min.insync.replicas={own['value'] if own is not None else ''}",)}


def _as_settings(speaker: Speaker, known: dict[str, str]) -> Row:
    row: Row = {"settings": tuple(f"{name}={known[name]}" for name in sorted(known) if name in SETTINGS_READ)}
    own = next((int(known[name]) for name in _IDS if known.get(name, "").isdecimal()), speaker.broker)
    return row if own is None else row | {"subject": own}


def _refused_write(_: Speaker, said: re.Match[str], trace: str) -> Row | None:
    found = _IN_SYNC.search(trace)
    if found is None:
        return None
    topic, hyphen, partition = said["_partition"].strip("[]").replace(",", "-").rpartition("-")
    if not (hyphen and partition.isdecimal()):
        return None
    count = found["count"] or len(re.findall(r"\d+", found["isr"]))
    row = {"topic": topic, "partition": int(partition), "count": int(count)}
    return row | {"minimum": int(found["minimum"] or found["needed"])}


def _of_topic(_: Speaker, said: re.Match[str], __: str) -> Row | None:
    # Raft recovers its log at every start, also after a clean stop.
    return None if "__cluster_metadata-0" in said.string else {}


def _moving(_: Speaker, said: re.Match[str], __: str) -> Row:
    return {"count": len(re.findall(r"[^\s,\[\]]+[-,]\s?\d+", said["_list"]))}


def _uncaught(_: Speaker, __: re.Match[str], trace: str) -> Row | None:
    cause = innermost_cause(trace)
    return {"error": cause} if cause else None


_NODE = (
    rule(BrokerKind.NODE_STARTING, r"Registered `?kafka:type=kafka\.Log4jController`? MBean"),
    rule(BrokerKind.NODE_STARTING, r"Setting -D jdk\.tls\.rejectClientInitiatedRenegotiation=true .*"),
    rule(BrokerKind.NODE_STARTING, r"Registered signal handlers for TERM, INT, HUP"),
    rule(BrokerKind.NODE_STARTING, r"Starting controller", "ControllerServer"),
    rule(BrokerKind.NODE_STARTED, r"Kafka Server started", "KafkaRaftServer"),
    rule(BrokerKind.NODE_STOPPING, r"(?i:S)hutting down", "ControllerServer"),
    # 0.11 on, in the controller.log of every broker that stops (KafkaController.shutdown).
    rule(BrokerKind.NODE_STOPPING, r"Shutting down", "ControllerEventManager$ControllerEventThread"),
    rule(BrokerKind.NODE_STOPPED, r"App info kafka\.server for (?P<subject>\d+) unregistered"),
)

_START = (
    rule(BrokerKind.STARTING, r"(?i:S)tarting", *_SERVER),
    rule(BrokerKind.STARTING, r"Transition from SHUTDOWN to STARTING", *_BROKER),
    rule(BrokerKind.STARTED, r"(?i:S)tarted", *_SERVER),
    rule(BrokerKind.STARTED, r"Transition from STARTING to STARTED", *_BROKER),
    rule(
        BrokerKind.START_FAILED,
        r"Fatal error during (?:KafkaServer\w*|broker|controller) startup\. Prepare to shutdown",
        read=with_cause,
    ),
    rule(
        BrokerKind.START_FAILED,
        r"Exiting Kafka due to fatal exception(?: during startup)?\.?",
        read=with_cause,
    ),
    rule(
        BrokerKind.REGISTERED,
        r"Registered broker (?P<subject>\d+) at path /\S+ with address(?:es: .*?| \S+?)"
        r"(?:, czxid \(broker epoch\): (?P<broker_epoch>\d+))?\.?",
    ),
    rule(
        BrokerKind.REGISTERED,
        r"Successfully registered broker (?P<subject>\d+) with broker epoch (?P<broker_epoch>\d+)",
    ),
    rule(
        BrokerKind.REGISTRATION_REFUSED,
        r"Error while creating ephemeral at \S*/brokers/ids/(?P<subject>\d+), (?P<error>node already "
        r"exists.*)",
    ),
    rule(
        BrokerKind.REGISTRATION_REFUSED,
        r"conflict in \S*/brokers/ids/(?P<subject>\d+) (?P<error>data: .*)",
    ),
    rule(
        BrokerKind.REGISTRATION_REFUSED,
        r"Unable to register broker (?P<subject>\d+) because the controller returned error (?P<error>\w+)",
    ),
    rule(
        BrokerKind.PREVIOUS_STOP_CLEAN,
        r"Skipping recovery (?:for all logs in|of \d+ logs from) .+ since clean shutdown file was found",
    ),
    rule(BrokerKind.PREVIOUS_STOP_CLEAN, r"Found clean shutdown file\. Skipping recovery.*"),
    rule(BrokerKind.PREVIOUS_STOP_UNCLEAN, rf"Attempting recovery for all logs in .+ {_NO_CLEAN}"),
    rule(BrokerKind.PREVIOUS_STOP_UNCLEAN, rf"Recovering [1-9]\d* logs from .+ {_NO_CLEAN}"),
    rule(BrokerKind.PREVIOUS_STOP_UNCLEAN, r"Recovering (?:unflushed|log) segment .+", read=_of_topic),
    rule(BrokerKind.LOGS_NEW, r"Loaded 0 logs in .*"),
    rule(
        BrokerKind.DIRECTORY_FAILED,
        r"A log directory was not closed cleanly and will be recovered: (?P<error>.*)",
    ),
    rule(
        BrokerKind.CLUSTER_NAMED,
        r"Cluster ID = (?P<cluster_id>[\w-]+)(?:, broker\.id = (?P<subject>\d+))?",
    ),
    rule(
        BrokerKind.CLUSTER_NAMED,
        r"Incarnation (?P<incarnation>\S+) of broker (?P<subject>\d+) in cluster (?P<cluster_id>\S+) is now "
        r"STARTING\.",
    ),
    rule(BrokerKind.CONFIGURED, r"KafkaConfig values:\s*", read=_settings),
    rule(
        BrokerKind.CONFIGURED,
        r"Processing override for entityPath: topics/(?P<topic>\S+) with config: "
        r"(?P<_settings>.*)",
        is_own=False,
        read=_of_topic_settings,
    ),
    rule(
        BrokerKind.CONFIGURED,
        r"Updating topic (?P<topic>\S+) with new configuration : (?P<_settings>.*)",
        is_own=False,
        read=_of_topic_settings,
    ),
    rule(BrokerKind.CONFIGURED, r"Property (?P<_name>\S+) is overridden to (?P<_value>.*)", read=_overridden),
)

_STOP = (
    rule(BrokerKind.STOP_SIGNALLED, r"Terminating process due to signal (?P<error>SIG\w+)"),
    *(rule(BrokerKind.STOP_SIGNALLED, rf"{name} came; stopping") for name in ("SIGTERM", "SIGINT")),
    rule(BrokerKind.STOPPING, r"(?i:S)hutting down", *_SERVER),
    rule(BrokerKind.STOPPING, r"Transition from STARTED to SHUTTING_DOWN", *_BROKER),
    rule(BrokerKind.CONTROLLED_SHUTDOWN_STARTED, r"Starting controlled shutdown"),
    rule(BrokerKind.CONTROLLED_SHUTDOWN_STARTED, r"Beginning controlled shutdown\."),
    rule(BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED, r"Controlled shutdown succeeded"),
    rule(
        BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED,
        r"Controlled shutdown request returned successfully after (?P<duration_ms>\d+)ms",
    ),
    rule(
        BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED, r"The controller has asked us to exit controlled shutdown\."
    ),
    rule(BrokerKind.CONTROLLED_SHUTDOWN_RETRIED, r"Remaining partitions to move: "
    r"(?P<_list>.*)", read=_moving),
    rule(BrokerKind.CONTROLLED_SHUTDOWN_RETRIED, r"Error (?:code )?from controller: (?P<error>.*)"),
    rule(BrokerKind.CONTROLLED_SHUTDOWN_RETRIED, r"Retrying controlled shutdown.*"),
    rule(
        BrokerKind.CONTROLLED_SHUTDOWN_RETRIED,
        r"The broker is in PENDING_CONTROLLED_SHUTDOWN state, still waiting for the active controller\.",
    ),
    rule(
        BrokerKind.CONTROLLED_SHUTDOWN_RETRIED,
        r"Controlled shutdown request returned after (?P<duration_ms>\d+)ms with "
        r"(?:(?P<count>\d+) partitions remaining to move|error (?P<error>.*))",
    ),
    rule(
        BrokerKind.CONTROLLED_SHUTDOWN_RETRIED, r"Error during controlled shutdown, possibly because "
        r"(?P<error>.*)"
    ),
    rule(
        BrokerKind.CONTROLLED_SHUTDOWN_FAILED,
        r"Proceeding to do an unclean shutdown as all the controlled shutdown attempts failed",
    ),
    rule(
        BrokerKind.CONTROLLED_SHUTDOWN_FAILED,
        r"Timed out waiting for the controller to approve controlled shutdown",
    ),
    rule(
        BrokerKind.CONTROLLED_SHUTDOWN_FAILED,
        r"Skipping controlled shutdown because we are in state (?P<error>\w+)\.",
    ),
    rule(BrokerKind.STOPPED, r"(?i:S)hut down completed", *_BOTH),
    rule(BrokerKind.STOPPED, r"Transition from SHUTTING_DOWN to SHUTDOWN", *_BROKER),
    rule(BrokerKind.DIED, r"Halting Kafka\.?"),
    rule(BrokerKind.DIED, r"Halting broker because (?P<error>dir .* is offline)"),
    rule(BrokerKind.DIED, r"Halting (?P<error>(?:due to unrecoverable|because log truncation) "
    r".*)", read=with_cause),
    rule(BrokerKind.DIED, r"Exiting because (?P<error>log truncation is not allowed for .*)"),
    rule(BrokerKind.DIED, r"Shutdown broker because (?P<error>.*)"),
    rule(BrokerKind.DIED, r"Shutting down because (?P<error>we were unable to register|couldn't "
    r"communicate).*"),
    rule(BrokerKind.DIED, r"Encountered fatal fault: (?P<error>.*)"),
)  # fmt: skip


def _expired(speaker: Speaker, _: re.Match[str], __: str) -> Row:
    return {"error": OF_AUTHORIZER} if speaker.is_authorizer else {}


_TROUBLE = (
    rule(BrokerKind.DIRECTORY_FAILED, r"Stopping serving (?:replicas|logs) in dir (?P<error>\S+).*"),
    rule(BrokerKind.DIRECTORY_FAILED, r"log directory taken offline directory=(?P<error>\S+).*"),
    rule(
        BrokerKind.DIRECTORY_FAILED, r"The log directory (?P<error>.+) cannot be used; the broker "
        r"serves without it.*"
    ),
    rule(BrokerKind.THREAD_DIED, r"Uncaught exception in (?!scheduled task ).*", read=_uncaught),
    rule(BrokerKind.THREAD_DIED, r"Error due to.*", read=_uncaught),
    rule(
        BrokerKind.SESSION_SILENT,
        r"Client session timed out, have not heard from server in (?P<duration_ms>\d+)ms for session ?id .*",
    ),
    rule(BrokerKind.SESSION_SILENT, r"The connection to ZooKeeper at \S+ was lost; the session is kept "
    r"for .*"),
    rule(BrokerKind.SESSION_SILENT, r"Unable to send a heartbeat because the RPC got timed out before it .*"),
    rule(BrokerKind.SESSION_SILENT, r"Unable to send broker heartbeat for (?P<subject>\d+)\. Retrying\."),
    rule(
        BrokerKind.SESSION_SILENT,
        r"Broker (?P<subject>\d+) sent a heartbeat request but received error (?P<error>\w+)\.",
    ),
    rule(
        BrokerKind.SESSION_EXPIRED,
        r"Unable to reconnect to ZooKeeper service, session 0x\w+ has expired.*",
    ),
    rule(BrokerKind.SESSION_EXPIRED, r"zookeeper state changed \(Expired\)"),
    rule(BrokerKind.SESSION_EXPIRED, r"Session expired\.", "ZooKeeperClient", read=_expired),
    rule(BrokerKind.SESSION_EXPIRED, r"ZK expired; shut down all controller components and try to re-elect"),
    rule(BrokerKind.SESSION_EXPIRED, r"re-registering broker info in ZK for broker (?P<subject>\d+)"),
    rule(BrokerKind.SESSION_EXPIRED, r"The session with ZooKeeper at \S+ is over; opening a new one"),
    rule(BrokerKind.WRITES_REFUSED, r"Error processing append operation on partition "
    r"(?P<_partition>\S+)\s*", read=_refused_write),
)  # fmt: skip

LIFE_RULES: tuple[Rule, ...] = (*_NODE, *_START, *_STOP, *_TROUBLE)
"""The rules. If two of them match a text, the right one comes first."""
