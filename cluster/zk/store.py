"""The typed operations of brokers and the controller in ZooKeeper, without policy, by subject."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import admin, paths
from barnabas.cluster.zk.stores.acls import AclStore
from barnabas.cluster.zk.stores.brokers import BrokerStore
from barnabas.cluster.zk.stores.cluster import ClusterStore
from barnabas.cluster.zk.stores.configs import ConfigStore
from barnabas.cluster.zk.stores.consumer_offsets import ConsumerOffsetStore
from barnabas.cluster.zk.stores.controller import ControllerStore
from barnabas.cluster.zk.stores.deletions import DeletionStore
from barnabas.cluster.zk.stores.elections import ElectionStore
from barnabas.cluster.zk.stores.notifications import NotificationQueue
from barnabas.cluster.zk.stores.partitions import PartitionStore
from barnabas.cluster.zk.stores.quotas import QuotaStore
from barnabas.cluster.zk.stores.reassignments import ReassignmentStore
from barnabas.cluster.zk.stores.topics import TopicStore


class ZooKeeperStore:
    """The stores of a session; a new session needs a new object.

    Every method of every store may raise ``SessionExpired`` and ``ZooKeeperTimeout``, and reads may raise
    ``ZnodeDecodeError``; their docstrings name only further errors. A ``watch=True`` leads to one
    ``WatchEvent``.

    Attributes:
        session: The session itself, for ``unwatch``, ``close`` and everything that no store does.
        cluster: Persistent parents, cluster id, features and producer id blocks.
        brokers: ``/brokers/ids``.
        controller: ``/controller`` and ``/controller_epoch``.
        topics: ``/brokers/topics/<t>`` and the topics' settings.
        partitions: The partitions' states.
        deletions: ``/admin/delete_topics``, and the deletion of a topic's nodes.
        configs: ``/config`` and ``/config/changes``.
        quotas: ``/config/users``, ``/config/clients`` and ``/config/ips``.
        consumer_offsets: ``/consumers/<group>/offsets``.
        acls: ``/kafka-acl``, ``/kafka-acl-extended`` and their notifications.
        elections: ``/admin/preferred_replica_election``.
        reassignments: ``/admin/reassign_partitions``.
        isr_changes: The notifications of ISR changes from leaders to the controller.
        log_dir_events: The notifications of failed log directories from brokers to the controller.
    """

    def __init__(self, session: ZooKeeperSession) -> None:
        self.session = session
        self.cluster = ClusterStore(session)
        self.brokers = BrokerStore(session)
        self.controller = ControllerStore(session)
        self.topics = TopicStore(session)
        self.partitions = PartitionStore(session)
        self.deletions = DeletionStore(session)
        self.elections = ElectionStore(session)
        self.reassignments = ReassignmentStore(session)
        self.configs = ConfigStore(session)
        self.quotas = QuotaStore(session)
        self.consumer_offsets = ConsumerOffsetStore(session)
        self.acls = AclStore(session)
        self.isr_changes: NotificationQueue[Iterable[TopicPartition], tuple[TopicPartition, ...]]
        self.isr_changes = NotificationQueue(
            session, paths.ISR_CHANGE_PREFIX, admin.encode_partitions, admin.decode_isr_change
        )
        self.log_dir_events: NotificationQueue[admin.LogDirEvent, admin.LogDirEvent]
        self.log_dir_events = NotificationQueue(
            session, paths.LOG_DIR_EVENT_PREFIX, admin.encode_log_dir_event, admin.decode_log_dir_event
        )
