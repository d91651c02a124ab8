"""Prefixes name the writer and its peer, and the words of an error say how a contact was lost."""

from __future__ import annotations

import pytest

from barnabas.analysis.reading.brokers.rule import Speaker, contact_of, innermost_cause, speaker, split_prefix
from barnabas.analysis.reading.events.broker_kinds import Contact


@pytest.mark.parametrize(
    ("prefix", "broker", "peer"),
    [
        ("[Kafka Server 3], ", 3, None),
        ("[Controller 3]: ", 3, None),
        ("[Replica Manager on Broker 3]: ", 3, None),
        ("[SessionExpirationListener on 3], ", 3, None),
        ("[KafkaApi-3] ", 3, None),
        ("[broker-3-to-controller-heartbeat-channel-manager]: ", 3, None),
        ("[controller-3-to-controller-registration-channel-manager]: ", 3, None),
        ("[RaftManager nodeId=3] ", 3, None),
        ("[ReplicaFetcher replicaId=3, leaderId=4, fetcherId=0] ", 3, 4),
        ("[ReplicaFetcherThread-0-4], ", None, 4),
        ("[Controller-3-to-broker-4-send-thread], ", 3, 4),
        ("[ZooKeeperClient Kafka server] ", None, None),
        ("[t,0] ", None, None),
        ("x", None, None),
    ],
)
def test_a_prefix_names_its_writer(prefix: str, broker: int | None, peer: int | None) -> None:
    who, start = split_prefix(f"{prefix}text")
    assert speaker(who) == Speaker(broker, peer)
    assert start in (len(prefix), 0)


@pytest.mark.parametrize(
    ("error", "contact"),
    [
        ("java.net.ConnectException: Connection timed out", Contact.TIMED_OUT),
        ("java.net.ConnectException: Connexion refusée", Contact.REFUSED),
        ("java.net.NoRouteToHostException: No route to host", Contact.UNREACHABLE),
        ("java.io.EOFException", Contact.DISCONNECTED),
        ("UNAVAILABLE: Stream removed (Socket closed)", Contact.DISCONNECTED),
        ("UNAVAILABLE: failed to connect to all addresses; last error: Socket closed", Contact.UNKNOWN),
        ("UNAVAILABLE: failed to connect to all addresses; last error: Connection refused", Contact.REFUSED),
        ("", Contact.UNKNOWN),
    ],
)
def test_an_error_says_how_a_contact_was_lost(error: str, contact: Contact) -> None:
    assert contact_of(error) is contact


def test_the_last_cause_of_a_trace_is_the_innermost() -> None:
    assert innermost_cause("a.B: x\n\tat c\nCaused by: d.E: y\n\tat f\nCaused by: g.H: z") == "g.H: z"
    assert innermost_cause("a.B: x\n\tat c") == "a.B: x"
    assert innermost_cause("") == ""
