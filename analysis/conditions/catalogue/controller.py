"""Conditions of the controller: its office, shutdowns, reassignments, topics.

Source: ``KafkaController.scala``, ``PartitionLeaderSelector.scala``, ``TopicDeletionManager.scala`` and
``ControllerChannelManager.scala`` of 0.8 to 3.8; ``AdminManager.scala``; ``QuorumController.java``.
"""

from __future__ import annotations

from barnabas.analysis.conditions.condition import Alarm, Condition, Shown, Sign
from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.kinds import OtherKind
from barnabas.cluster.model.statechange import Kind

_TP = r"(?P<tp>\S+?)"
_NODE = r".*?(?:id: ?|Node\()(?P<subject>\d+)\b.*"

CONTROLLER = (
    Condition(
        key="shutdown-cannot-move",
        headline="A controlled shutdown cannot move {partitions}: no other replica in sync is alive.",
        means="Only the stopping broker can lead the partition, so it goes offline when the broker ends.",
        source="KIP-3; ControlledShutdownLeaderSelector",
        advice="Start the other replicas' brokers, and wait until they are in sync before the stop.",
        alarm=Alarm.NOW,
        kinds=(Shown(OtherKind.ELECTION_FAILED, ("besides shutting down brokers",)),),
    ),
    Condition(
        key="shutdown-given-up",
        headline="{broker} stopped without the controller's consent: some of its leaders were not moved.",
        means="All attempts of the controlled shutdown failed, so its partitions waited for a new leader.",
        source="KafkaServer.controlledShutdown, BrokerLifecycleManager",
        advice="Look why the controller did not answer; raise controlled.shutdown.max.retries if it is slow.",
        alarm=Alarm.SOON,
        kinds=(Shown(BrokerKind.CONTROLLED_SHUTDOWN_FAILED),),
    ),
    Condition(
        key="shutdown-retried",
        headline="{broker} could not move all its leaders in one attempt of a controlled shutdown.",
        means="The controller left partitions behind or did not answer; the broker tries again.",
        source="KafkaServer.controlledShutdown, controlled.shutdown.max.retries",
        advice="Wait; if it is given up, see which partitions have no other replica in sync.",
        alarm=Alarm.SOON,
        signs=(
            Sign(r"Remaining partitions to move: (?P<error>\S.*)"),
            Sign(r"Retrying controlled shutdown.*"),
            Sign(r"Error during controlled shutdown, possibly because (?P<error>.*)"),
            Sign(r"Controlled shutdown request returned after \d+ms with (?P<error>.*)"),
        ),
    ),
    Condition(
        key="zombie-controller",
        headline="{broker} sent requests as controller although a newer controller was elected.",
        means="The former controller did not know yet that it lost its office; brokers refused its requests.",
        source="KAFKA-6082; ControllerMovedException, controller epoch",
        advice="Nothing if it ends at once; restart the broker if it goes on, and look why it stood still.",
        alarm=Alarm.SOON,
        kinds=(
            Shown(Kind.LEADER_AND_ISR_STALE_CONTROLLER, about="controller"),
            Shown(Kind.STOP_REPLICA_STALE_CONTROLLER, about="controller"),
            Shown(Kind.UPDATE_METADATA_STALE_CONTROLLER, about="controller"),
        ),
    ),
    Condition(
        key="controller-resigned",
        headline="{broker} was controller, lost its office, and resigned.",
        means="Another controller was elected, its session expired, or an operator forced it.",
        source="KAFKA-5642; ControllerMovedException, QuorumController.renounce",
        advice="Look for the cause before this time: a session that expired, a slow disk, a lost network.",
        alarm=Alarm.SOON,
        signs=(
            Sign(r"Controller (?:has already )?moved (?:to another broker )?when .*"),
            Sign(r"Forcing the controller to resign"),
            Sign(r"A (?:leader|controller) has been elected but just resigned, .*"),
            Sign(r"Renouncing the leadership due to .*"),
        ),
    ),
    Condition(
        key="broker-unreachable",
        headline="The controller cannot reach {broker}, which is still registered.",
        means="Its requests fail while the broker's session lives: a cut network, or a process that hangs.",
        source="RequestSendThread",
        advice="Look at that broker and the network between both; it does not learn of new leaders.",
        alarm=Alarm.NOW,
        signs=(
            Sign(rf"Controller \d+ epoch \d+ fails to send request .* to broker {_NODE}"),
            Sign(rf"Controller \d+'s connection to broker {_NODE}was unsuccessful"),
        ),
    ),
    Condition(
        key="deletion-stuck",
        headline="The deletion of {topics} is stuck.",
        means="A replica is on a dead broker or could not be deleted, so the topic stays half deleted.",
        source="TopicDeletionManager",
        advice="Start the dead replica's broker, or reassign the partition to live brokers.",
        alarm=Alarm.SOON,
        signs=(
            Sign(r"Halted deletion of topics (?P<topic>\S+?)(?: due to (?P<error>.*))?"),
            Sign(
                r"Not retrying deletion of topic (?P<topic>\S+) at this time since it is marked ineligible .*"
            ),
            Sign(
                r"Retrying delete topic for topic (?P<topic>\S+) since (?P<error>replicas .*) were not "
                r"successfully deleted"
            ),
        ),
    ),
    Condition(
        key="reassignment-running",
        headline="A reassignment of {partitions} was running.",
        means="Replicas move to other brokers: added ones join the ISR, removed ones leave it.",
        source="KIP-455; KafkaController.onPartitionReassignment",
        advice="Nothing; changes of leaders and ISRs of these partitions are planned.",
        alarm=Alarm.NOBODY,
        signs=(
            Sign(rf"Handling reassignment of partition {_TP} to new replicas .*"),
            Sign(rf"Successfully updated assignment of partition {_TP} to .*"),
            Sign(rf"Target replicas .* have all caught up with the leader for reassigning partition {_TP}"),
            Sign(
                r"Replayed partition assignment change "
                r"PartitionChangeRecord\(partitionId=(?P<partition>\d+), .* for topic (?P<topic>\S+)"
            ),
        ),
    ),
    Condition(
        key="reassignment-waiting",
        headline="A reassignment of {partitions} waits for new replicas that are not in sync.",
        means="The new replicas have not caught up with the leader yet, so the old ones stay.",
        source="KafkaController.onPartitionReassignment to 2.3",
        advice="Look at the new replicas' brokers and the replication throttle if it lasts.",
        alarm=Alarm.SOON,
        signs=(
            Sign(rf"New replicas \S+ for partition {_TP} being reassigned not yet caught up with the leader"),
            Sign(rf"Waiting for new replicas \S+ for partition {_TP} being reassigned to catch up .*"),
        ),
    ),
    Condition(
        key="reassignment-failed",
        headline="The reassignment of {partitions} failed or was skipped.",
        means="The topic is being deleted, a broker is missing, or the controller changed.",
        source="KafkaController, ReplicationControlManager.alterPartitionReassignments",
        advice="Start it again with kafka-reassign-partitions.sh when the brokers live.",
        alarm=Alarm.SOON,
        signs=(
            Sign(rf"Error completing reassignment of partition {_TP}"),
            Sign(rf"Failed completing reassignment of partition {_TP} because (?P<error>.*)"),
            Sign(
                rf"Skipping reassignment of (?:partition )?{_TP}(?: for topic \S+)? since (?P<error>the .*)"
            ),
            Sign(r"Failed reassignment through zk with the following errors: (?P<error>.*)"),
            Sign(r"Unable to alter partition reassignment for (?P<error>.*)"),
        ),
    ),
    Condition(
        key="preferred-election-failed",
        headline="{partitions} could not get the preferred leader.",
        means="The first assigned replica is not alive or not in sync, so another one goes on leading.",
        source="KIP-460; PreferredReplicaPartitionLeaderElectionStrategy",
        advice="Nothing at once; look why the preferred replica is out of sync if it repeats.",
        alarm=Alarm.SOON,
        signs=(
            Sign(rf"Partition {_TP} failed to complete preferred replica leader election.*"),
            Sign(r"Error completing (?:preferred )?replica leader election .*"),
        ),
    ),
    Condition(
        key="topic-creation-failed",
        headline="The creation of {topics} failed.",
        means="Too few brokers live for the replication factor, or the request or its settings are wrong.",
        source="AdminManager.createTopics, InvalidReplicationFactorException",
        advice="Start the missing brokers or lower the replication factor; the first consumer waits for it.",
        alarm=Alarm.SOON,
        signs=(
            Sign(r"Error processing create topic request .*?\(name='(?P<topic>[^']+)'.*"),
            Sign(
                r"Number of alive brokers '\d+' does not meet the required replication factor '\d+' for the "
                r"(?P<error>.*)"
            ),
            Sign(
                r"CreateTopics result\(s\): .*?CreatableTopic\(name='(?P<topic>[^']+)', [^']*\): (?!SUCCESS)"
                r"(?P<error>[A-Z_]{5}.*)"
            ),
        ),
    ),
)
"""The conditions that lines show."""

CONTROLLER_EPOCH_BACK = Condition(
    key="controller-epoch-back",
    headline="The controller epoch went back: {broker} became controller in a lower epoch than one before.",
    means="ZooKeeper lost /controller_epoch, the cluster was set up again, or the logs are of two clusters.",
    source="KafkaController, /controller_epoch",
    advice="Check that the logs are of one cluster; brokers refuse controllers whose epoch went back.",
    alarm=Alarm.NOW,
)
"""The condition that only several lines show (``analysis.derived.computed``)."""
