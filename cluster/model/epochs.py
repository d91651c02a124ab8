"""The five counters that decide whose word is old, each a type of its own.

An epoch of one kind must never be compared with, or passed as, an epoch of another; the type checker sees to
it.
"""

from __future__ import annotations

from typing import NewType

ControllerEpoch = NewType("ControllerEpoch", int)
"""The number of the controller's reign: the content of ``/controller_epoch``, first reign 1 (2.1+)."""

EpochVersion = NewType("EpochVersion", int)
"""ZooKeeper's version of ``/controller_epoch``: the fence that every controller write checks (KAFKA-6082)."""

BrokerEpoch = NewType("BrokerEpoch", int)
"""The czxid of a broker's registration ``/brokers/ids/<id>``: tells its lives apart (KIP-380)."""

LeaderEpoch = NewType("LeaderEpoch", int)
"""The number of a partition's leadership, raised at each election, stored in each batch (KIP-101)."""

PartitionVersion = NewType("PartitionVersion", int)
"""ZooKeeper's data version of a partition's state znode (zkVersion; later Kafka says partition epoch)."""

Zxid = NewType("Zxid", int)
"""The number of a ZooKeeper transaction: it orders all writes. A broker epoch is one, too."""

NO_CONTROLLER_EPOCH = ControllerEpoch(0)
"""What a broker remembers before any controller has spoken to it, and what a resigned controller holds."""

UNKNOWN_BROKER_EPOCH = BrokerEpoch(-1)
"""A request that carries no broker epoch: not judged by it."""

UNKNOWN_LEADER_EPOCH = LeaderEpoch(-1)
"""No epoch known: a client that does not check, an empty log, or a replica before its first leader."""

EPOCH_DURING_DELETE = LeaderEpoch(-2)
"""StopReplica's leader epoch when the topic is being deleted: passes every check (KIP-570)."""

INITIAL_LEADER_EPOCH = LeaderEpoch(0)
"""The leader epoch of a partition's first leader."""
