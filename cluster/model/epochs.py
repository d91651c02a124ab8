"""The epochs and versions by which stale requests and writes are recognized, each a type of its own.

An epoch of one kind must never be compared with, or passed as, an epoch of another; the type checker enforces
that.
"""

from __future__ import annotations

from typing import NewType

ControllerEpoch = NewType("ControllerEpoch", int)
"""The controller epoch: the content of ``/controller_epoch``, 1 for the first controller (2.1+)."""

EpochVersion = NewType("EpochVersion", int)
"""The data version of ``/controller_epoch``, which every controller write checks (KAFKA-6082)."""

BrokerEpoch = NewType("BrokerEpoch", int)
"""The broker epoch: the czxid of ``/brokers/ids/<id>``, different for each incarnation (KIP-380)."""

LeaderEpoch = NewType("LeaderEpoch", int)
"""The leader epoch of a partition: raised by each election, stored in each batch (KIP-101)."""

PartitionVersion = NewType("PartitionVersion", int)
"""The data version of a partition's state znode (zkVersion; later Kafka: partition epoch)."""

Zxid = NewType("Zxid", int)
"""The id of a ZooKeeper transaction, which orders all writes. A broker epoch is one, too."""

NO_CONTROLLER_EPOCH = ControllerEpoch(0)
"""The controller epoch of a broker before the first controller request, and of a resigned controller."""

UNKNOWN_BROKER_EPOCH = BrokerEpoch(-1)
"""The broker epoch of a request that is not checked by it."""

UNKNOWN_LEADER_EPOCH = LeaderEpoch(-1)
"""The unknown leader epoch: a client that does not check, an empty log, a replica without a leader yet."""

EPOCH_DURING_DELETE = LeaderEpoch(-2)
"""The leader epoch of StopReplica for a topic being deleted, which passes every check (KIP-570)."""

INITIAL_LEADER_EPOCH = LeaderEpoch(0)
"""The leader epoch of a partition's first leader."""
