"""Lines about other brokers: lost contacts, and what controllers write about brokers and themselves.

Lines that a KRaft controller writes whenever it replays its log (``Replayed …``, and before 3.6 ``Registered
new broker …``) say nothing of the time of the change: a standby or a restarted controller writes them long
after it. Only a stop that others show at the same time has a rule. The line
about another leader, at DEBUG unless it was elected uncleanly, is read all the same, because no other line
shows that; only of the controller that was active then does it have the time of the change.

Source: ``ReplicaFetcherThread.scala``, ``ControllerChannelManager.scala`` and ``KafkaController.scala`` of
0.8 to 3.9; ``NetworkClient.java`` and ``FetchSessionHandler.java``; ``QuorumController.java``,
``ClusterControlManager.java`` and ``BrokerHeartbeatManager.java`` of 3.3 to 4.0.
"""

from __future__ import annotations

import re

from barnabas.analysis.reading.brokers.rule import Rule, Speaker, contact_of, innermost_cause, rule
from barnabas.analysis.reading.events.broker_kinds import BrokerKind, Contact
from barnabas.analysis.reading.events.entries import Row
from barnabas.analysis.reading.events.kinds import CompanionKind, Election

_NODE = re.compile(r"Node\((\d+),|\bid: ?(\d+)|^(\d+)$", re.ASCII)
_BY_CONTROLLER = r"Controller (?P<controller>\d+)"


_OWN_CLOSE = "Client was shutdown before response was read"
"""The writer closed the connection itself, because it stops or follows another leader."""


def _how(speaker: Speaker, said: re.Match[str], trace: str) -> Row | None:
    """Read how the contact was lost, from the trace or else the line.

    A line that names no peer is refused, and so is one about a connection that the writer closed itself.
    """
    if speaker.peer is None and said.groupdict().get("subject") is None:
        return None
    cause = innermost_cause(trace) or said.groupdict().get("error") or said.groupdict().get("_rest") or ""
    if _OWN_CLOSE in cause:
        return None
    return {"contact": contact_of(cause).value} | ({"error": cause} if cause else {})


def _how_of_node(_: Speaker, said: re.Match[str], trace: str) -> Row | None:
    found = _NODE.search(said["_node"])
    if found is None:
        return None
    cause = innermost_cause(trace)
    row: Row = {"subject": int(found[1] or found[2] or found[3]), "broker": int(said["controller"])}
    return row | {"contact": contact_of(cause).value} | ({"error": cause} if cause else {})


def _answering_node(_: Speaker, said: re.Match[str], __: str) -> Row | None:
    found = _NODE.search(said["_node"])
    if found is None:
        return None
    return {"subject": int(found[1] or found[2] or found[3]), "broker": int(said["controller"])}


def _how_of_call(_: Speaker, said: re.Match[str], __: str) -> Row | None:
    """Read how a call of a controller failed; one that it cancelled itself says nothing."""
    if said["_status"] == "CANCELLED":
        return None
    cause = f"{said['_status']}: {said['_details']}"
    return {"contact": contact_of(cause).value, "error": cause}


def _partition(said: re.Match[str]) -> Row:
    topic, _, partition = said["_tp"].strip("[]").replace(",", "-").rpartition("-")
    return {"topic": topic, "partition": int(partition)}


def _of_partition(_: Speaker, said: re.Match[str], __: str) -> Row:
    return _partition(said)


def _selected(_: Speaker, said: re.Match[str], __: str) -> Row:
    """Read the leader and the ISR that a controller writes; an election is always from no leader."""
    isr = tuple(int(each) for each in said["_isr"].split(",") if each.strip())
    is_election = said[0].startswith("Selected")
    return _partition(said) | {"isr": isr} | ({"from": "OfflinePartition"} if is_election else {})


def _failing(_: Speaker, said: re.Match[str], __: str) -> Row | None:
    """Read the brokers whose log directories failed, of which a controller handles several at once."""
    brokers = tuple(int(each) for each in re.findall(r"\d+", said["_brokers"]))
    if not brokers:
        return None
    return {"subject": brokers[0]} if len(brokers) == 1 else {"lost_brokers": brokers}


def _by(contact: Contact) -> Row:
    return {"contact": contact.value}


def _own_controller(speaker: Speaker, said: re.Match[str], _: str) -> Row:
    own = said.groupdict().get("controller")
    known = speaker.broker if own is None else int(own)
    return {} if known is None else {"controller": known, "broker": known, "subject": known}


def _learned(speaker: Speaker, said: re.Match[str], _: str) -> Row:
    known = {} if speaker.broker is None else {"broker": speaker.broker}
    return known | {"subject": int(said["controller"])}


_LOST = BrokerKind.CONTACT_LOST
_CONTACTS = (
    rule(_LOST, r"Error in fetch to broker (?P<subject>\d+), request (?P<_rest>.*)", is_own=False, read=_how),
    rule(_LOST, r"Error in response for fetch request (?P<_rest>.*)", is_own=False, read=_how),
    rule(_LOST, r"Error in fetch .*?(?:Possible cause: (?P<error>.*))?", is_own=False, read=_how),
    rule(_LOST, r"Error sending fetch request \(.*?\) to node "
    r"(?P<subject>\d+):(?P<_rest>.*)", is_own=False, read=_how),
    rule(
        _LOST,
        r"replication stream lost; trying again leader=(?P<subject>\d+) endpoint=\S+ error=(?P<error>.*)",
        is_own=False, read=_how,
    ),
    rule(
        BrokerKind.CONTACT_MADE,
        r"replication stream works again leader=(?P<subject>\d+) endpoint=\S+",
        is_own=False,
    ),
    rule(BrokerKind.CONTACT_MADE, r"follower opened a fetch session replica=(?P<subject>\d+)", is_own=False),
    rule(
        _LOST,
        r"broker does not answer; sending again until it does or is gone broker=(?P<subject>\d+) "
        r"request=\w+ status=(?P<_status>\w+) details=(?P<_details>.*)",
        role="controller", is_own=False, read=_how_of_call,
    ),
    rule(
        BrokerKind.CONTACT_MADE, r"broker answers again broker=(?P<subject>\d+) sendings=\d+",
        role="controller", is_own=False,
    ),
    rule(
        _LOST, r"Connection to node (?P<subject>\d+)(?: \(.*?\))? could not be established\. .*",
        is_own=False, read=lambda *_: _by(Contact.UNKNOWN),
    ),
    rule(
        _LOST, r"Disconnecting from node (?P<subject>\d+) due to .*timeout.*",
        is_own=False, read=lambda *_: _by(Contact.TIMED_OUT),
    ),
    # Either side may have closed the connection, but until then it was open.
    rule(
        BrokerKind.CONTACT_MADE,
        r"Cancelled in-flight .+ due to node (?P<subject>\d+) being disconnected "
        r"\(.*elapsed time since send: (?P<duration_ms>\d+)ms.*",
        is_own=False,
    ),
    # Each attempt to connect again that fails has the same line as the end of an open connection. That of a
    # fetcher is never idle.
    rule(
        _LOST, r"Node (?P<subject>\d+) disconnected\.", is_own=False,
        read=lambda by, *_: _by(Contact.CLOSED if by.peer is None else Contact.UNKNOWN),
    ),
    rule(
        BrokerKind.CONTACT_MADE,
        r"Node (?P<subject>\d+) was unable to process the fetch request with .*FETCH_SESSION.*",
        is_own=False,
    ),
    rule(
        _LOST, rf"{_BY_CONTROLLER} epoch (?P<controller_epoch>\d+) fails to send request .* to broker "
        rf"(?P<_node>.*)\. Reconnecting to broker\.",
        role="controller", is_own=False, read=_how_of_node,
    ),
    rule(
        _LOST, rf"{_BY_CONTROLLER}'s connection to broker (?P<_node>.*) was unsuccessful",
        role="controller", is_own=False, read=_how_of_node,
    ),
    rule(
        BrokerKind.CONTACT_MADE, rf"{_BY_CONTROLLER} connected to (?P<_node>.*) for sending state "
        rf"change requests",
        role="controller", is_own=False, read=_answering_node,
    ),
)  # fmt: skip

_IDS = r"[\d, ]*"
_SET = r"\w*\([\d, ]*\)"
_CHANGED = BrokerKind.BROKERS_CHANGED


def _controller_rule(kind: BrokerKind, pattern: str) -> Rule:
    return rule(kind, pattern, role="controller", is_own=False)


def _own_controller_rule(kind: BrokerKind, pattern: str) -> Rule:
    return rule(kind, pattern, role="controller", is_own=False, read=_own_controller)


_TP = r"(?P<_tp>\[\S+,\d+\]|\S+-\d+)"
_LEADER_AND_ISR = (
    r"(?:\{|LeaderAndIsr\()\"?leader\"?[:=] ?(?P<leader>-?\d+), ?\"?leader_?[eE]poch\"?[:=] ?"
    r"(?P<leader_epoch>\d+), ?\"?isr\"?[:=] ?(?:List\(|\[)(?P<_isr>[\d, ]*)[)\]].*"
)
"""The leader and the ISR as JSON, or from 1.0 on as a value of Scala."""

_ZOOKEEPER = (
    # 0.8 to 1.0: controller.log has elections of which state-change.log, at INFO, has nothing.
    rule(
        BrokerKind.UNCLEAN_CHOICE,
        rf"No broker in ISR is alive for {_TP}\. Elect leader (?P<subject>\d+) from live brokers "
        rf"[\d, ]*\. There's potential data loss\.",
        role="controller", is_own=False, read=_of_partition,
    ),
    rule(
        CompanionKind.LEADER_SELECTED,
        rf"Selected new leader and ISR {_LEADER_AND_ISR.removesuffix('.*')}[^ ]* for offline "
        rf"partition {_TP}",
        role="controller", is_own=False, read=_selected,
    ),
    rule(
        CompanionKind.REPLICA_REMOVED,
        rf"New leader and ISR for partition {_TP} is {_LEADER_AND_ISR}",
        role="controller", is_own=False, read=_selected,
    ),
    _controller_rule(
        _CHANGED,
        rf"Newly added brokers: (?P<added_brokers>{_IDS}), deleted brokers: (?P<lost_brokers>{_IDS})"
        rf"(?:, bounced brokers: (?P<bounced_brokers>{_IDS}))?, all live brokers: (?P<live_brokers>{_IDS})",
    ),
    _controller_rule(_CHANGED, rf"New broker startup callback for (?P<added_brokers>{_IDS})"),
    _controller_rule(_CHANGED, rf"Broker failure callback for (?P<lost_brokers>{_IDS})"),
    _controller_rule(_CHANGED, rf"Currently active brokers in the cluster: (?P<live_brokers>{_SET})"),
    _controller_rule(
        _CHANGED,
        rf"Broker change listener fired for path /brokers/ids with children (?P<live_brokers>{_IDS})",
    ),
    _controller_rule(BrokerKind.BROKER_STOP_ASKED, r"Shutting down broker (?P<subject>\d+)"),
    _controller_rule(BrokerKind.BROKER_STOP_ASKED, r"broker (?P<subject>\d+) is about to stop: .*"),
    rule(
        BrokerKind.DIRECTORY_FAILED, rf"Handling log directory failure for brokers? (?P<_brokers>{_IDS})",
        role="controller", is_own=False, read=_failing,
    ),
    rule(
        BrokerKind.DIRECTORY_FAILED, rf"log directories failed on brokers: (?P<_brokers>{_IDS})",
        role="controller", is_own=False, read=_failing,
    ),
    _own_controller_rule(
        BrokerKind.CONTROLLER_ACTIVE,
        r"Broker (?P<controller>\d+) is ready to serve as the new controller with epoch "
        r"(?P<controller_epoch>\d+)",
    ),
    _own_controller_rule(
        BrokerKind.CONTROLLER_ACTIVE, r"Ready to serve as the new controller with epoch "
        r"(?P<controller_epoch>\d+)"
    ),
    _own_controller_rule(
        BrokerKind.CONTROLLER_ACTIVE,
        r"Controller (?P<controller>\d+) incremented epoch to (?P<controller_epoch>\d+)",
    ),
    _own_controller_rule(BrokerKind.CONTROLLER_ACTIVE, r"Incremented epoch to (?P<controller_epoch>\d+)"),
    _own_controller_rule(BrokerKind.CONTROLLER_ACTIVE, r"Epoch incremented to (?P<controller_epoch>\d+)"),
    _own_controller_rule(
        BrokerKind.CONTROLLER_RESIGNED, r"Broker (?P<controller>\d+) resigned as the controller"
    ),
    _own_controller_rule(BrokerKind.CONTROLLER_RESIGNED, r"Resigned"),
    # Ours, which name nobody.
    _controller_rule(
        _CHANGED,
        rf"new brokers: (?:none|(?P<added_brokers>{_IDS})); bounced: (?:none|(?P<bounced_brokers>{_IDS})); "
        rf"dead: (?:none|(?P<lost_brokers>{_IDS})); all live brokers: (?:none|(?P<live_brokers>{_IDS}))",
    ),
    _controller_rule(
        BrokerKind.BOUNCED_UNSEEN, r"broker (?P<subject>\d+) bounced unseen, and leaves the ISR of .*"
    ),
    _own_controller_rule(
        BrokerKind.CONTROLLER_ACTIVE, r"elected controller with epoch (?P<controller_epoch>\d+)"
    ),
    _own_controller_rule(
        BrokerKind.CONTROLLER_RESIGNED,
        r"resigned as the controller with epoch (?P<controller_epoch>\d+), because .*",
    ),
    _own_controller_rule(
        BrokerKind.CONTROLLER_RESIGNED, r"Controller moved to another broker when processing .*"
    ),
    rule(BrokerKind.CONTROLLER_KNOWN, r"New leader is (?P<controller>\d+)", is_own=False, read=_learned),
)  # fmt: skip

_DIFF = re.compile(r"(?P<name>\w+): (?:\[[\d, ]*\]|[\w-]+) -> (?P<value>\[[\d, ]*\]|[\w-]+)", re.ASCII)
_NO_LEADER = -1
_WAS_UNLED = re.compile(r"\bleader: -1 -> ")


def _changed(_: Speaker, said: re.Match[str], __: str) -> Row | None:
    """Read the state after a change of the leader (``PartitionRegistration.maybeLogPartitionChange``).

    The line has only what changed. A leader from the eligible leader replicas (KIP-966) is outside the ISR,
    too, but not recovering.
    """
    values = {found["name"]: found["value"] for found in _DIFF.finditer(said["_diff"])}
    is_unclean = said[0].startswith("UNCLEAN ")
    needed = ("leader", "leaderEpoch", "partitionEpoch", *(("isr",) if is_unclean else ()))
    if any(name not in values for name in needed):
        return None
    if is_unclean and values.get("leaderRecoveryState") != "RECOVERING":
        return None
    row: Row = {
        "leader": int(values["leader"]),
        "leader_epoch": int(values["leaderEpoch"]),
        "version": int(values["partitionEpoch"]),
        "topic_id": said["_topic_id"],
    }
    if "isr" in values:
        row["isr"] = tuple(int(each) for each in re.findall(r"\d+", values["isr"]))
    if int(values["leader"]) == _NO_LEADER:
        return row
    row["from"] = "OfflinePartition" if _WAS_UNLED.search(said["_diff"]) else "OnlinePartition"
    return row | {"election": (Election.UNCLEAN if is_unclean else Election.CLEAN).value}


_CHANGE = (
    r"partition change for (?P<topic>\S+)-(?P<partition>\d+) with topic ID (?P<_topic_id>[\w-]+): "
    r"(?P<_diff>.*)"
)

_WRITES = (
    "alterPartition", "alterPartitionReassignments", "allocateProducerIds", "createPartitions",
    "createTopics", "deleteTopics", "electLeaders", "electPreferred", "electUnclean",
    "incrementalAlterConfigs", "maybeBalancePartitionLeaders", "maybeFenceReplicas", "maybeFenceStaleBroker",
    "processBrokerHeartbeat", "registerBroker", "unregisterBroker", "writeNoOpRecord",
)  # fmt: skip
"""The events of a controller of KRaft that write: one that fails shows it that it is none any more."""

_KRAFT = (
    *(
        rule(CompanionKind.KRAFT_CHANGE, pattern, role="controller", is_own=False, read=_changed)
        for pattern in (_CHANGE, f"UNCLEAN {_CHANGE}")
    ),
    _own_controller_rule(
        BrokerKind.CONTROLLER_STARTING, r"Creating new QuorumController with clusterId .*"
    ),
    _own_controller_rule(
        BrokerKind.CONTROLLER_ACTIVE, r"Becoming the active controller at epoch (?P<controller_epoch>\d+), .*"
    ),
    _own_controller_rule(
        BrokerKind.CONTROLLER_RESIGNED,
        r"Renouncing the leadership .*?[Ww]e were the leader at epoch (?P<controller_epoch>\d+).*",
    ),
    *(
        _own_controller_rule(
            BrokerKind.CONTROLLER_RESIGNED,
            rf"{event}: (?:event )?failed with .* at epoch (?P<controller_epoch>\d+) in .*"
            r"Renouncing leadership .*",
        )
        for event in _WRITES
    ),
    rule(
        BrokerKind.CONTROLLER_KNOWN,
        r"In the new epoch (?P<controller_epoch>\d+), the leader is (?P<controller>\d+)\.",
        is_own=False, read=_learned,
    ),
    rule(
        BrokerKind.CONTROLLER_KNOWN,
        r"Recorded new (?:KRaft )?controller, from now on will use (?:node|broker) \S+ \(id: "
        r"(?P<controller>\d+) .*",
        is_own=False, read=_learned,
    ),
    rule(
        BrokerKind.CONTROLLER_KNOWN,
        r"Completed transition to FollowerState\(.*?\bepoch=(?P<controller_epoch>\d+), leader(?:Id)?="
        r"(?P<controller>\d+).*",
        is_own=False, read=_learned,
    ),
    _own_controller_rule(
        BrokerKind.CONTROLLER_KNOWN, r"Completed transition to "
        r"Leader\(.*?\bepoch=(?P<controller_epoch>\d+), .*"
    ),
    _controller_rule(
        BrokerKind.NO_CONTROLLER, r"In the new epoch (?P<controller_epoch>\d+), the leader is \(none\)\."
    ),
    _controller_rule(
        BrokerKind.NO_CONTROLLER, r"Did not receive fetch request from the majority of the voters within .*"
    ),
    _controller_rule(
        BrokerKind.BROKER_FENCED,
        r"Fencing broker (?P<subject>\d+)(?: at epoch (?P<broker_epoch>\d+))? because its "
        r"(?P<error>session has timed out)\.",
    ),
    _controller_rule(
        BrokerKind.BROKER_UNFENCED,
        r"The request from broker (?P<subject>\d+) to unfence has been granted because it has caught up with "
        r"the offset of it'?s register broker record (?P<broker_epoch>\d+)\.",
    ),
    _controller_rule(
        BrokerKind.BROKER_STOP_ASKED,
        r"Unfenced broker (?P<subject>\d+) has requested and been granted a controlled shutdown\.",
    ),
    _controller_rule(
        BrokerKind.BROKER_STOP_REPLAYED,
        r"Replayed BrokerRegistrationChangeRecord modifying the registration for broker (?P<subject>\d+): "
        r".*\binControlledShutdown=1\b.*",
    ),
    _controller_rule(
        BrokerKind.BROKER_STOP_GRANTED,
        r"The request from broker (?P<subject>\d+) to shut down has been granted since .*",
    ),
    _controller_rule(
        BrokerKind.BROKER_STOP_GRANTED,
        r"Fenced broker (?P<subject>\d+) has requested and been granted an immediate shutdown\.",
    ),
    _controller_rule(
        BrokerKind.BROKER_STOP_GRANTED,
        r"Unfenced broker (?P<subject>\d+) has requested and been granted an immediate shutdown\.",
    ),
    _controller_rule(
        BrokerKind.BROKER_STOP_REFUSED,
        r"The request from broker (?P<subject>\d+) to shut down can not yet be granted because "
        r"(?P<error>the lowest active offset .*)\.",
    ),
    _controller_rule(
        BrokerKind.DIRECTORY_FAILED,
        r"Directories (?P<error>\[[\w, -]*\]) in broker (?P<subject>\d+) marked offline, remaining "
        r"directories: \[[\w, -]*\]",
    ),
    _controller_rule(
        BrokerKind.BROKER_REGISTERED,
        r"No previous registration found for broker (?P<subject>\d+)\. New incarnation ID is "
        r"(?P<incarnation>[\w-]+)\..*",
    ),
    _controller_rule(
        BrokerKind.BROKER_REGISTERED,
        r"Registering a new incarnation of broker (?P<subject>\d+)\. Previous incarnation ID was \S+; new "
        r"incarnation ID is (?P<incarnation>[\w-]+)\..*",
    ),
)  # fmt: skip

_FOLLOWERS = (
    rule(
        CompanionKind.COMMITTED_TRUNCATED,
        rf"Truncating {_TP} to offset (?P<offset>\d+) below high watermark (?P<high_watermark>\d+)",
        read=_of_partition,
    ),
)

OTHERS_RULES: tuple[Rule, ...] = (*_CONTACTS, *_ZOOKEEPER, *_KRAFT, *_FOLLOWERS)
"""The rules. If two of them match a text, the right one comes first."""
