"""Conditions of KRaft: the quorum of controllers, their log, and brokers' heartbeats.

Source: ``KafkaRaftClient.java``, ``LeaderState.java``, ``QuorumController.java``,
``ClusterControlManager.java``, ``LoggingFaultHandler.java`` and ``BrokerLifecycleManager.scala`` of 2.8 to
4.0; ``KafkaController.scala``.
"""

from __future__ import annotations

from barnabas.analysis.conditions.condition import Alarm, Condition, Shown, Sign
from barnabas.analysis.reading.events.broker_kinds import BrokerKind

KRAFT = (
    Condition(
        key="endless-elections",
        headline="{broker} cannot win an election of the controllers' quorum, nor find a leader.",
        means="Three attempts or more failed: no majority of the voters is alive and reachable.",
        source="KIP-595, KIP-996 (pre-vote, 4.0); KafkaRaftClient",
        advice="Start the other voters, and check that all name the same controller.quorum.voters.",
        alarm=Alarm.NOW,
        least=3,
        signs=(
            Sign(r"Re-elect as candidate after election backoff has completed"),
            Sign(r"Transition to prospective after election backoff has completed"),
            Sign(r"Election has timed out, backing off for \d+ms before becoming a candidate again"),
            Sign(r"Election timed out before receiving sufficient vote responses .*"),
            Sign(r"Insufficient remaining votes to become leader .*"),
        ),
    ),
    Condition(
        key="quorum-leader-silent",
        headline="{broker} had no contact with the leader of the controllers' quorum, and began an election.",
        means="No fetch succeeded for controller.quorum.fetch.timeout.ms (2 s).",
        source="KIP-595; KafkaRaftClient.pollFollower",
        advice="Nothing if the leader was stopped; else look at its disk, GC and network.",
        alarm=Alarm.SOON,
        signs=(
            Sign(r"Become candidate due to fetch timeout"),
            Sign(r"Transitioning to Prospective state due to fetch timeout"),
        ),
    ),
    Condition(
        key="quorum-without-majority",
        headline="{broker} led the controllers' quorum, but the majority of the voters did not fetch.",
        means="The leader is cut off or alone, so it resigns and no metadata changes.",
        source="KIP-835, KAFKA-15489 (3.7); LeaderState",
        advice="Bring the other voters back, or cure the network between them.",
        alarm=Alarm.NOW,
        signs=(Sign(r"Did not receive fetch request from the majority of the voters within \d+ms\..*"),),
    ),
    Condition(
        key="broker-fenced",
        headline="{broker} was fenced: its heartbeats did not reach the controller in time.",
        means="The controller moved its leaderships; it may lead and be in sync only when it is back.",
        source="KIP-631; broker.session.timeout.ms (9 s)",
        advice="Look whether the process ended, stood still, or lost its network before this time.",
        alarm=Alarm.SOON,
        kinds=(Shown(BrokerKind.BROKER_FENCED, ("timed out",)),),
    ),
    Condition(
        key="controller-overloaded",
        headline="The active controller is overloaded or its disk is slow.",
        means="Its events wait so long that heartbeats time out, and brokers that live are fenced.",
        source="KAFKA-15155; QuorumController, EventPerformanceMonitor",
        advice="Give controllers disks and processors of their own, and look at the slow events.",
        alarm=Alarm.NOW,
        signs=(
            Sign(
                r"processExpiredBrokerHeartbeat: controller event queue overloaded\. Timed out heartbeat .*"
            ),
            Sign(r"Exceptionally slow controller event (?P<error>.*)"),
        ),
    ),
    Condition(
        key="heartbeats-fail",
        headline="{broker} could not send heartbeats to the controller.",
        means="No controller was active or reachable, so the broker is fenced if it lasts.",
        source="KIP-631; BrokerLifecycleManager",
        advice="Look at the quorum first, then at the network to the controllers' listener.",
        alarm=Alarm.SOON,
        signs=(
            Sign(r"Unable to send a heartbeat because the RPC got timed out before it could be sent\."),
            Sign(r"Unable to send broker heartbeat for (?P<subject>\d+)\. Retrying\."),
            Sign(r"Broker (?P<subject>\d+) sent a heartbeat request but received error (?P<error>\w+)\."),
        ),
    ),
    Condition(
        key="controllers-unreachable",
        headline="{broker} could not register: it reaches no active controller.",
        means="The request got no answer; the broker ends after initial.broker.registration.timeout.ms.",
        source="KIP-631; BrokerLifecycleManager",
        advice="Check controller.quorum.voters or bootstrap servers, and that a majority of them runs.",
        alarm=Alarm.NOW,
        signs=(
            Sign(r"Unable to register broker (?P<subject>\d+)\."),
            Sign(r"Unable to register the broker because the RPC got timed out before it could be sent\."),
            Sign(r"Shutting down because we were unable to register with the controller quorum\."),
        ),
    ),
    Condition(
        key="metadata-fault",
        headline="{broker} found a fault in the cluster's metadata.",
        means="A record or snapshot of the metadata log could not be read, applied or written.",
        source="KIP-859; LoggingFaultHandler, ProcessTerminatingFaultHandler",
        advice="Read the fault; restart the node, and report it if no known issue has it.",
        alarm=Alarm.NOW,
        signs=(
            Sign(r"Encountered .*?fault: (?P<error>.*)"),
            Sign(r"Clearing local quorum state store after error loading state .*"),
        ),
    ),
    Condition(
        key="quorum-disagrees",
        headline="{broker} and another voter disagree about the controllers' quorum.",
        means="A request between voters was refused: other voters, another cluster or another release.",
        source="KIP-595; KafkaRaftClient.handleUnexpectedError",
        advice="Compare controller.quorum.voters, cluster ids and releases of all nodes.",
        alarm=Alarm.NOW,
        signs=(Sign(r"Unexpected error (?P<error>[A-Z_]+) in [A-Z_]+ response: .*"),),
    ),
    Condition(
        key="version-mismatch",
        headline="{broker} may not join: its release does not fit the cluster's features.",
        means="The cluster's metadata.version or a finalized feature is outside what the broker supports.",
        source="KIP-584, KIP-778; UnsupportedVersionException",
        advice="Upgrade the broker, or downgrade the feature with kafka-features.sh where that is allowed.",
        alarm=Alarm.NOW,
        signs=(
            Sign(r"Unable to (?:register|send broker heartbeat for) .* because of an API version problem\."),
            Sign(
                r"Ignoring registration of (?:new|bounced) brokers due to incompatibilities with finalized "
                r"features: (?P<subject>\d+).*"
            ),
            Sign(r"Request .* failed due to unsupported version error", ("KafkaNetworkChannel",)),
        ),
        kinds=(Shown(BrokerKind.REGISTRATION_REFUSED, ("UNSUPPORTED_VERSION", "FEATURE")),),
    ),
    Condition(
        key="listener-mismatch",
        headline="{broker} misses a listener that another broker or a client needs.",
        means="A listener's name is not among those that the other broker advertises.",
        source="KIP-103; BrokerEndPointNotAvailableException, LISTENER_NOT_FOUND",
        advice="Give all brokers the same listener names, and inter.broker.listener.name among them.",
        alarm=Alarm.NOW,
        signs=(
            Sign(
                anywhere=r"BrokerEndPointNotAvailableException|LISTENER_NOT_FOUND|ListenerNotFoundException"
            ),
            Sign(anywhere=r"No security protocol defined for listener \S+"),
            Sign(anywhere=r"must be a listener name defined in advertised\.listeners"),
        ),
    ),
)
