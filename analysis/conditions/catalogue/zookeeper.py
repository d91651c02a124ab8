"""Conditions of sessions with ZooKeeper.

Source: ``ZkUtils.scala`` to 1.0, ``KafkaZkClient.scala`` and ``ZooKeeperClient.scala`` of 1.1 to 3.9;
``ClientCnxn`` and ``ZooKeeperSaslClient`` of ZooKeeper 3.4 to 3.8.
"""

from __future__ import annotations

from barnabas.analysis.conditions.condition import Alarm, Condition, Shown, Sign
from barnabas.analysis.reading.events.broker_kinds import BrokerKind

ZOOKEEPER = (
    Condition(
        key="duplicate-broker-id",
        headline="{broker} may not register: another process with its id is registered.",
        means="The former process is not fenced yet, or two processes have the same node.id.",
        source="DuplicateBrokerRegistrationException, KIP-631",
        advice="If it lasts longer than broker.session.timeout.ms (9 s), stop the second process.",
        alarm=Alarm.NOW,
        kinds=(Shown(BrokerKind.REGISTRATION_REFUSED, ("DUPLICATE_BROKER_REGISTRATION",)),),
    ),
    Condition(
        key="registration-refused",
        headline="{broker} is not registered: its id is still held by another session or process.",
        means="The node below /brokers/ids is another session's, so the cluster does not see this process.",
        source="KAFKA-7165, cured in 2.2: after an expiry a broker registers again until it succeeds",
        advice="Stop a second process with this id; else restart the broker, and upgrade to 2.2 or later.",
        alarm=Alarm.NOW,
        signs=(
            Sign(anywhere=r"A broker is already registered on the path /\S*brokers/ids/(?P<subject>\d+)"),
        ),
        kinds=(Shown(BrokerKind.REGISTRATION_REFUSED, ("node already exists", "data:")),),
    ),
    Condition(
        key="session-expired",
        headline="{broker} lost its session with ZooKeeper: the cluster took it for dead.",
        means="ZooKeeper ended the session, so its leaderships moved, and it was controller no longer.",
        source="zookeeper.session.timeout.ms (KIP-537: 18 s from 2.5, before 6 s)",
        advice="Look for a pause of the process (GC, disk, VM) or of the network before this time.",
        alarm=Alarm.SOON,
        kinds=(Shown(BrokerKind.SESSION_EXPIRED),),
    ),
    Condition(
        key="stood-still",
        headline="{broker} had no answer from ZooKeeper: its process, a host or the network stood still.",
        means="The client waited two thirds of its session timeout, or longer if it stood still itself.",
        source="ClientCnxn.SendThread",
        advice="If it was far longer than the timeout, look at GC, swap and the VM; else at the network.",
        alarm=Alarm.SOON,
        signs=(
            Sign(
                r"Client session timed out, have not heard from server in (?P<duration_ms>\d+)ms for "
                r"session ?id .*"
            ),
        ),
    ),
    Condition(
        key="zookeeper-unreachable",
        headline="{broker} had no connection to ZooKeeper.",
        means="ZooKeeper's servers closed or refused connections, or did not answer.",
        source="ClientCnxn, ZooKeeperClientTimeoutException",
        advice="Look at ZooKeeper's ensemble first: nothing of Kafka works for long without it.",
        alarm=Alarm.SOON,
        signs=(
            Sign(anywhere=r"Timed out waiting for connection while in state: \w+"),
            Sign(anywhere=r"Unable to connect to zookeeper server (?:within timeout|'.*' with timeout).*"),
            Sign(
                r"Unable to read additional data from server sessionid \S+, likely server has closed socket.*"
            ),
            Sign(
                r"Session 0x\w+ for se(?:r)?ver .*, (?:unexpected error, closing|Closing) socket connection.*"
            ),
            Sign(r"zookeeper state changed \(Disconnected\)"),
            Sign(r"The connection to ZooKeeper at \S+ was lost; .*"),
        ),
    ),
    Condition(
        key="zookeeper-login-refused",
        headline="ZooKeeper refuses the login or the rights of {broker}.",
        means="The SASL login failed, or the nodes' ACLs do not allow the broker's change.",
        source="ZooKeeperClientAuthFailedException, zookeeper.set.acl",
        advice="Check the JAAS section Client and the ACLs of the nodes (zookeeper-security-migration.sh).",
        alarm=Alarm.NOW,
        signs=(
            Sign(anywhere=r"KeeperErrorCode = (?:NoAuth|AuthFailed)\b.*"),
            Sign(r"Auth failed.*", ("ZooKeeperClient",)),
            Sign(r"zookeeper state changed \((?:AuthFailed|SaslAuthenticationFailed)\)"),
            Sign(r"SASL authentication with Zookeeper Quorum member failed: (?P<error>.*)"),
        ),
    ),
)
