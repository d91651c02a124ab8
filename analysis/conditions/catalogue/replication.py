"""Conditions of leaders, followers and ISRs.

Source: ``Partition.scala``, ``AbstractFetcherThread.scala`` and ``ReplicaFetcherThread.scala`` of 0.8 to 3.8;
``PartitionLeaderSelector.scala`` to 1.0; ``ReplicationControlManager.java`` and
``PartitionChangeBuilder.java`` of KRaft.
"""

from __future__ import annotations

from barnabas.analysis.conditions.condition import Alarm, Condition, Shown, Sign
from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.kinds import CompanionKind
from barnabas.cluster.model.statechange import Kind

_TP = r"(?P<tp>\S+?)"
_FETCHERS = ("ReplicaFetcherThread", "ReplicaAlterLogDirsThread")

UNCLEAN_ELECTION = Condition(
    key="unclean-election",
    headline="{broker} was elected leader of {partitions}, although it was not in sync: records may be lost.",
    means="No replica in sync was alive, and unclean.leader.election.enable allowed another leader.",
    source="KIP-106; UncleanLeaderElection",
    advice="Compare the topic's data with its producers' sources; set unclean.leader.election.enable=false.",
    alarm=Alarm.NOW,
    signs=(
        Sign(rf"Triggering unclean leader election for offline partition {_TP}\."),
        Sign(rf"UNCLEAN partition change for {_TP} with topic ID .*RECOVERED -> RECOVERING.*"),
        Sign(r"Setting new leader for topicId \S+, partition \d+ to \d+ using an unclean election.*"),
    ),
    kinds=(Shown(BrokerKind.UNCLEAN_CHOICE),),
)
REPLICATION = (
    UNCLEAN_ELECTION,
    Condition(
        key="stale-leader",
        headline="{broker} acts as leader of {partitions} with a stale version: its ISR changes are refused.",
        means="The state in ZooKeeper is newer than the broker's, so the cluster may follow another leader.",
        source="KAFKA-2729, cured in 1.1; Partition.updateIsr",
        advice="Restart the broker, and upgrade to 1.1 or later; writes with acks=1 may be lost.",
        alarm=Alarm.NOW,
        kinds=(Shown(CompanionKind.ISR_NOT_UPDATED),),
    ),
    Condition(
        key="alter-partition-refused",
        headline="The controller refuses ISR changes of {broker} for {partitions}.",
        means="The leader's state is older than the controller's, or a replica may not join the ISR.",
        source="KIP-497, KIP-841; ReplicationControlManager.validateAlterPartitionData",
        advice="Restart the leader if it repeats; INELIGIBLE_REPLICA ends when the follower is unfenced.",
        alarm=Alarm.SOON,
        signs=(
            Sign(
                r"Failed to (?:update ISR|alter partition) to .* due to unexpected (?P<error>\w+)\. "
                r"Retrying\."
            ),
            Sign(
                r"Failed to alter partition to .* since the controller rejected the request with "
                r"(?P<error>\w+)\. .*"
            ),
            Sign(
                rf"Rejecting AlterPartition request from node (?P<subject>\d+) for {_TP} because "
                r"(?P<error>.*)"
            ),
            Sign(r"Ignoring AlterIsr due to (?P<error>(?:stale broker epoch|unknown broker) .*)"),
        ),
    ),
    Condition(
        key="below-min-isr",
        headline="{partitions} had fewer replicas in sync than min.insync.replicas: acks=all writes fail.",
        means="The leader refuses writes with acks=all until enough replicas are in sync again.",
        source="KAFKA-1555, KIP-966; min.insync.replicas",
        advice="Bring the missing replicas' brokers back; do not lower min.insync.replicas in haste.",
        alarm=Alarm.NOW,
        signs=(Sign(r"ISR updated (?:from AlterIsr )?to .* \(under-min-isr\) and version updated to .*"),),
        kinds=(Shown(BrokerKind.WRITES_REFUSED),),
    ),
    Condition(
        key="fetcher-died",
        headline="A fetcher thread of {broker} died: some of its replicas follow nobody.",
        means="An error ended the thread, and nothing starts it again while the broker runs.",
        source="KIP-461, cured in 2.3; AbstractFetcherThread",
        advice="Restart the broker after the cause is cured, and upgrade to 2.3 or later.",
        alarm=Alarm.NOW,
        signs=(Sign(r"Error due to.*", _FETCHERS),),
    ),
    Condition(
        key="replica-failed",
        headline="{broker} stopped to follow {partitions} after an error of that replica.",
        means="The fetcher gave up this partition and goes on with the others.",
        source="KIP-461; AbstractFetcherThread.markPartitionFailed",
        advice="Cure the error and restart the broker; delete the replica's folder if its log is damaged.",
        alarm=Alarm.NOW,
        signs=(
            Sign(rf"Partition {_TP} marked as failed"),
            Sign(rf"Error while processing data for partition {_TP}(?: at offset \d+)?"),
            Sign(rf"Unexpected error occurred while processing data for partition {_TP} at offset \d+"),
            Sign(rf"Unexpected error occurred during truncation for {_TP} at offset \d+"),
        ),
    ),
    Condition(
        key="committed-truncated",
        headline="{broker} dropped committed records of {partitions} to agree with the leader.",
        means="The follower truncated below its high watermark: the new leader lacked committed records.",
        source="KIP-101, KIP-279; ReplicaFetcherThread.truncate",
        advice="Look for an unclean election or a lost disk before; read the dropped records' source again.",
        alarm=Alarm.NOW,
        kinds=(Shown(CompanionKind.COMMITTED_TRUNCATED),),
    ),
    Condition(
        key="truncation-forbidden",
        headline="{broker} halted itself: its log is ahead of the leader's and may not be truncated.",
        means="The leader's log ends before the follower's, and truncation is not allowed for the topic.",
        source="KAFKA-1211, KIP-101; ReplicaFetcherThread.handleOffsetOutOfRange to 1.1",
        advice="Find out which replica has the true log before the broker is started again.",
        alarm=Alarm.NOW,
        kinds=(Shown(BrokerKind.DIED, ("log truncation is not allowed",)),),
    ),
    Condition(
        key="out-of-range-fetch",
        headline="{broker} asked for offsets that the leader of {partitions} does not have.",
        means="The follower's log ends outside the leader's: it was away long, or the leader lost records.",
        source="AbstractFetcherThread.fetchOffsetAndTruncate",
        advice="If the leader's end was lower, look for an unclean election; else wait for the copy.",
        alarm=Alarm.SOON,
        signs=(
            Sign(rf"Reset fetch offset for partition {_TP} from \d+ to (?:the )?current leader's .*"),
            Sign(rf"Truncate fully and reset fetch offset for partition {_TP} from \d+ to .*"),
            Sign(
                rf"Replica \d+ for partition {_TP} reset its fetch offset from \d+ to current leader \d+'s .*"
            ),
            Sign(rf"Current offset \d+ for partition {_TP} (?:is )?out of range[;,] .*"),
        ),
    ),
    Condition(
        key="record-too-large-to-follow",
        headline="{broker} cannot follow {partitions}: a record is larger than replica.fetch.max.bytes.",
        means="The follower's fetches return nothing, so it falls out of sync.",
        source="KIP-74, cured in 0.10.1; ReplicaFetcherThread.warnIfMessageOversized",
        advice="Set replica.fetch.max.bytes to at least message.max.bytes on all brokers.",
        alarm=Alarm.NOW,
        signs=(
            Sign(
                r"Replication is failing due to a message that is greater than replica\.fetch\.max\.bytes "
                rf"for partition {_TP}\. .*"
            ),
        ),
    ),
    Condition(
        key="leader-absent",
        headline="{broker} was absent, although it was the leader of {partitions}.",
        means="A broker was sent a leader that is not alive, so nobody can use the partition.",
        source="ReplicaManager.makeFollowers",
        advice="Start the absent broker; the partition waits for it or for another replica in sync.",
        alarm=Alarm.NOW,
        kinds=(Shown(Kind.NEW_LEADER_UNAVAILABLE, about="leader"),),
    ),
)
"""The conditions that lines show."""

PARTITION_OFFLINE = Condition(
    key="partition-offline",
    headline="{partitions} had no leader when the logs end; {broker}, in sync last, would bring it back.",
    means="No replica in sync is alive, so nobody may lead.",
    source="OfflinePartitionLeaderElectionStrategy",
    advice="Start that broker with its disk; an unclean election would lose what only it has.",
    alarm=Alarm.NOW,
)
NO_REPLICA_IN_SYNC = Condition(
    key="no-replica-in-sync",
    headline="For a time nobody could lead {partitions}: no replica in sync was alive.",
    means="Elections failed until a replica of the ISR was back.",
    source="NoReplicaOnlineException, StateChangeFailedException",
    advice="Raise the replication factor or min.insync.replicas, and stop brokers one at a time.",
    alarm=Alarm.SOON,
)
REPLICA_NEVER_THERE = Condition(
    key="replica-never-there",
    headline="{broker} has replicas of {partitions}, but no such broker appears in these logs.",
    means="The controller lists the live brokers, and this id is never among them, nor in an ISR.",
    source="meta.properties, broker.id.generation.enable (KAFKA-1070)",
    advice="If a disk was lost, start a broker with this id, or move the replicas to a broker that lives.",
    alarm=Alarm.SOON,
)
ISR_SHRUNK_BY_ONE = Condition(
    key="isr-shrunk-by-one-leader",
    headline="{broker} removed several followers from ISRs of {partitions} within a minute.",
    means="If these followers live, the leader or its network is at fault, not they.",
    source="Partition.maybeShrinkIsr, replica.lag.time.max.ms",
    advice="Look at this leader's network, disk and GC if its followers lived on; else at theirs.",
    alarm=Alarm.SOON,
)
ISR_FLAPPING = Condition(
    key="isr-flapping",
    headline="{broker} keeps leaving and joining the ISR of {partitions}.",
    means="The follower fell out of sync at least three times within half an hour.",
    source="replica.lag.time.max.ms (KIP-537: 30 s from 2.5)",
    advice="Look at its disk, network and load; more num.replica.fetchers or a longer lag time may help.",
    alarm=Alarm.SOON,
)
COMPUTED = (PARTITION_OFFLINE, NO_REPLICA_IN_SYNC, REPLICA_NEVER_THERE, ISR_SHRUNK_BY_ONE, ISR_FLAPPING)
"""The conditions that only several lines show (``analysis.derived.computed``)."""
