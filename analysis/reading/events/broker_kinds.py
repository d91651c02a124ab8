"""The lines about brokers: starts, stops, sessions, contacts, controllers; not about one partition.

``BrokerKind`` is the contract between the readers of server.log, controller.log, KRaft's logs and
``__cluster_metadata``, which fill these rows of ``events``, and the incident model, which names victims and
causes from them. A kind means the same in every release. A row has these columns:

- ``time``, ``source``, ``block``, ``line``, ``raw``: as in every row. A record of ``__cluster_metadata`` is
  an entry too: ``raw`` is the record as JSON, ``line`` its offset plus one.
- ``kind``: a value of ``BrokerKind``.
- ``broker``: the process that wrote the line, so the witness. ``role`` is ``controller`` if it wrote it as
  (ZooKeeper or KRaft) controller, else ``broker``.
- ``subject``: the broker that the line is about. Lines of a broker about itself have their own id here, so
  that a reader of the table needs no rule about who is meant. Null if the owner of the file is unknown.
- ``added_brokers``, ``lost_brokers``, ``bounced_brokers``, ``live_brokers``: for lines that list several
  brokers, with null for a list that the line does not contain. ``lost_brokers`` are also those whose log
  directories failed, if a line of that kind names several.
- ``error``: the error's or exception's name or text, in a line that says why; of a failure that has a trace
  the first line of the innermost cause.
- ``contact``: for lines about a lost contact, a value of ``Contact``.
- ``broker_epoch``, ``incarnation``, ``cluster_id``, ``controller``, ``controller_epoch`` (KRaft: the raft
  epoch), ``duration_ms``, ``count``: where the line contains them.
- ``settings``: texts ``name=value``, only those of ``SETTINGS_READ``.

A line that fits no kind stays null in ``kind``; a kind is never guessed. Lines that a standby controller
writes when it replays its log have no kind of this table, because their times are not those of the change.
"""

from __future__ import annotations

from enum import StrEnum


class BrokerKind(StrEnum):
    """The kinds of line about brokers, by their value in the column ``kind``."""

    # A process about its own start and end, whether it is a broker, a controller of KRaft, or both.
    NODE_STARTING = "node-starting"
    """The first lines of a process (2.1 on): its loggers, its signal handlers, its controller."""
    NODE_STARTED = "node-started"
    """KRaft: all roles of the process serve (``Kafka Server started``)."""
    NODE_STOPPING = "node-stopping"
    """The controller in the process stops, elected or not, which only a stop of the process does."""
    NODE_STOPPED = "node-stopped"
    """``App info kafka.server for 1 unregistered`` (2.7 on), one of the last lines of an orderly end."""

    # A broker about its own start.
    STARTING = "broker-starting"
    """The process logs its first line (``starting``; KRaft: ``Transition from SHUTDOWN to STARTING``)."""
    STARTED = "broker-started"
    """The process serves clients (``started``; KRaft: ``Transition from STARTING to STARTED``)."""
    START_FAILED = "broker-start-failed"
    """``Fatal error during KafkaServer startup``; ``error`` is the exception, such as NodeExists."""
    REGISTERED = "broker-registered"
    """The process registered itself, with ``broker_epoch``.

    Without ``STARTING`` before, a session had expired.
    """
    REGISTRATION_REFUSED = "broker-registration-refused"
    """The id is still registered by another session or incarnation; ``error`` says so."""
    PREVIOUS_STOP_CLEAN = "broker-previous-stop-clean"
    """The process found a clean shutdown file, so the process before ended in an orderly way."""
    PREVIOUS_STOP_UNCLEAN = "broker-previous-stop-unclean"
    """The process found no clean shutdown file, or recovered segments: the one before ended otherwise."""
    LOGS_NEW = "broker-logs-new"
    """The process loaded no logs: its disks are new or empty, and nobody closed logs on them before."""
    CLUSTER_NAMED = "broker-cluster-named"
    """``Cluster ID = x``, or the cluster of an incarnation, in ``cluster_id``."""
    CONFIGURED = "broker-configured"
    """``KafkaConfig values`` or ``Property x is overridden to y``, in ``settings``. No proof of a start.

    With a ``topic``: all settings of its own; ``min.insync.replicas=`` if that is not among them."""

    DESCRIBED = "settings-described"
    """Topics' settings as kafka-configs.sh or zookeeper-shell.sh print them, without a time.

    ``settings`` has texts such as ``topics/orders/min.insync.replicas=2``, with an empty value for the
    brokers' setting."""

    # A process about its own end.
    STOP_SIGNALLED = "broker-stop-signalled"
    """``Terminating process due to signal SIGTERM``; ``error`` is the signal's name."""
    STOPPING = "broker-stopping"
    """``shutting down``; KRaft: ``Transition from STARTED to SHUTTING_DOWN``."""
    CONTROLLED_SHUTDOWN_STARTED = "broker-controlled-shutdown-started"
    """The process asks the controller to move its leaders."""
    CONTROLLED_SHUTDOWN_SUCCEEDED = "broker-controlled-shutdown-succeeded"
    """All leaders were moved, or (KRaft) the controller asked the process to exit."""
    CONTROLLED_SHUTDOWN_RETRIED = "broker-controlled-shutdown-retried"
    """An attempt to move leaders failed or left ``count`` partitions; another attempt follows.

    KRaft: the broker still waits for the controller to grant its stop."""
    CONTROLLED_SHUTDOWN_FAILED = "broker-controlled-shutdown-failed"
    """``Proceeding to do an unclean shutdown``, or no approval in time: some leaders may not be moved."""
    STOPPED = "broker-stopped"
    """``shut down completed``: the process ended in an orderly way."""
    DIED = "broker-died"
    """The process halts at once (``Halting Kafka``, all log directories failed, fatal fault).

    See ``error``.
    """

    ENDED_AT_ONCE = "broker-ended-at-once"
    """The Java VM or the kernel ended the process at once; ``error`` says why.

    The line has no time. Its own is that of the entry above it, so the process ended then or later.
    """

    # A process about trouble that it survives, at least for now.
    DIRECTORY_FAILED = "broker-directory-failed"
    """A log directory failed; ``error`` names it."""
    THREAD_DIED = "broker-thread-died"
    """An uncaught exception ended a thread, such as OutOfMemoryError in ``error``."""
    SESSION_SILENT = "broker-session-silent"
    """The broker had no contact with ZooKeeper for ``duration_ms``, or did not reach the controller."""
    SESSION_EXPIRED = "broker-session-expired"
    """ZooKeeper ended the session while the process lived on; its authorizer's where ``error`` says so."""
    WRITES_REFUSED = "broker-writes-refused"
    """NotEnoughReplicas for ``topic`` and ``partition``: ``count`` in sync; required ones in ``minimum``."""

    # A broker or controller about another broker (``subject``) that it lost or reached.
    CONTACT_LOST = "broker-contact-lost"
    """The writer's fetches from ``subject``, its stream or its connection failed; ``contact`` says how."""
    CONTACT_MADE = "broker-contact-made"
    """The ``subject`` answered, or a connection to it was open.

    If the line has a ``duration_ms``, that was so much earlier. ``Node n disconnected`` has no opposite."""

    # A controller about other brokers.
    BROKERS_CHANGED = "controller-brokers-changed"
    """The list of brokers changed (``Newly added brokers: ...``, ``Broker failure callback for ...``)."""
    BOUNCED_UNSEEN = "controller-broker-bounced-unseen"
    """Ours: a new controller found ``subject`` registered again, and treats it like one that was lost."""
    UNCLEAN_CHOICE = "controller-unclean-choice"
    """0.8 to 1.0: ``subject``, which is not in sync, is to lead the partition: nobody of its ISR is alive."""
    BROKER_STOP_ASKED = "controller-broker-stop-asked"
    """``subject`` asked for a controlled shutdown (``Shutting down broker 1``)."""
    BROKER_STOP_REPLAYED = "controller-broker-stop-replayed"
    """KRaft: a controller replays the record by which ``subject`` asked to stop, perhaps long after.

    The only witness of which process a signal ended, where lines do not say whose it is."""
    BROKER_STOP_GRANTED = "controller-broker-stop-granted"
    """KRaft: ``subject`` may exit."""
    BROKER_STOP_REFUSED = "controller-broker-stop-refused"
    """KRaft: ``subject`` may not exit yet; ``error`` says why."""
    BROKER_FENCED = "controller-broker-fenced"
    """KRaft: ``subject`` was fenced; ``error`` is ``session timed out`` if that is why."""
    BROKER_UNFENCED = "controller-broker-unfenced"
    """KRaft: ``subject`` was unfenced, so it may lead again."""
    BROKER_REGISTERED = "controller-broker-registered"
    """KRaft: the active controller registered a new process of ``subject``, named by ``incarnation``.

    In a record, ``error`` says that the incarnation before had not asked to stop. Lines of controller.log,
    which may lack the request to stop, never have it."""
    BROKER_UNREGISTERED = "controller-broker-unregistered"
    """KRaft: ``subject`` was removed from the cluster."""
    RECORDS_MISSING = "controller-records-missing"
    """Records of ``__cluster_metadata`` are missing; the last one before them is ``duration_ms`` older.

    The entry is no record; it stands in the place of the first that is missing."""

    # Who is controller. ``CompanionKind.CONTROLLER_ELECTED`` and these are all of them.
    CONTROLLER_ACTIVE = "controller-active"
    """``controller`` began to act in ``controller_epoch``, of which another line gives the election."""
    CONTROLLER_STARTING = "controller-starting"
    """A process of KRaft starts its part as a controller."""
    CONTROLLER_RESIGNED = "controller-resigned"
    """The writer stopped acting; no proof of a handover unless it was elected in the same process."""
    CONTROLLER_KNOWN = "controller-known"
    """A broker learned that ``controller`` acts, in ``controller_epoch`` if the line has it."""
    NO_CONTROLLER = "controller-none"
    """The voters have no leader, or lost their majority."""


class Contact(StrEnum):
    """The ways in which a contact is lost, by their value in the column ``contact``."""

    REFUSED = "refused"
    """The host answered that nobody listens: the process is gone, and the host is up."""
    TIMED_OUT = "timed out"
    """There was no answer: the host is down, the network is cut, or the process stands still."""
    DISCONNECTED = "disconnected"
    """A connection that was open ended; that happens when a process dies, and when one stops."""
    CLOSED = "closed"
    """A connection that was open ended, perhaps because it was idle; the broker may live on."""
    UNREACHABLE = "unreachable"
    """There is no route, or no address for the name."""
    UNKNOWN = "unknown"
    """The line does not say how, or not whether a connection was open."""


OF_AUTHORIZER = "ACL authorizer"
"""The column ``error`` of the end of a session that is not the broker's own, but its authorizer's."""

SETTINGS_READ = frozenset(
    (
        "broker.id",
        "node.id",
        "process.roles",
        "min.insync.replicas",
        "unclean.leader.election.enable",
        "replica.lag.time.max.ms",
        "zookeeper.session.timeout.ms",
        "broker.session.timeout.ms",
        "controlled.shutdown.enable",
        "log.dirs",
    )
)
"""The settings that bound a time or decide whether a write is accepted; no other one is kept."""
