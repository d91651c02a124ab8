"""Which connections are taken, and when; by a slow twin, too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.quotas import connection_quotas
from barnabas.broker.core.quotas.connection_quotas import (
    Admission,
    ConnectionCounter,
    ConnectionLimits,
    ListenerLimits,
    Verdict,
)

SERVED = Admission(Verdict.SERVE)


def counter(rates=None, **limits):
    return ConnectionCounter(lambda: ConnectionLimits(**limits), (rates or {}).get)


def test_nothing_is_limited_by_default():
    quotas = counter()
    for now_ms in range(1000):
        assert quotas.full("L") is None
        assert quotas.wait_ms("L", now_ms) == 0
        assert quotas.admit("L", "h", now_ms) == SERVED
    assert (quotas.count, quotas.excess) == (1000, 0)


def test_the_broker_and_each_listener_have_a_maximum():
    quotas = counter(maximum=3, listeners={"OWN": ListenerLimits(maximum=1)})
    assert quotas.full("OWN") is None
    quotas.admit("OWN", "h", 0)
    assert quotas.full("OWN") == "listener.name.own.max.connections allows no more than 1; raise it"
    assert quotas.full("L") is None
    quotas.admit("L", "h", 0)
    quotas.admit("L", "h", 0)
    assert quotas.full("L") == "max.connections allows no more than 3; raise it"
    quotas.closed("OWN", "h")
    assert quotas.full("OWN") is None
    assert quotas.full("L") is None


def test_a_maximum_that_was_lowered_is_exceeded():
    limits = [ConnectionLimits()]
    quotas = ConnectionCounter(lambda: limits[0])
    for _ in range(3):
        quotas.admit("L", "h", 0)
    limits[0] = ConnectionLimits(maximum=1)
    assert quotas.excess == 2


def test_an_address_has_a_maximum_over_all_listeners():
    quotas = counter(per_ip=2, per_ip_overrides={"few": 0, "many": 3})
    assert [quotas.admit(name, "h", 0) for name in "AB"] == [SERVED, SERVED]
    assert quotas.admit("A", "h", 0) == (Verdict.CLOSE, 2)
    assert quotas.admit("A", "few", 0) == (Verdict.CLOSE, 0)
    assert [quotas.admit("A", "many", 0).verdict for _ in range(4)] == [*[Verdict.SERVE] * 3, Verdict.CLOSE]
    assert quotas.count == 5
    quotas.closed("A", "h")
    assert quotas.admit("A", "h", 0) == SERVED


@pytest.mark.parametrize(
    "limits",
    [
        {"rate": 2},
        {"listeners": {"L": ListenerLimits(rate=2)}},
        {"rate": 9, "listeners": {"L": ListenerLimits(rate=2)}},
    ],
)
def test_a_rate_makes_connections_wait(limits):
    # 11 windows of a second: 20 connections are 2 per second, each further one waits half a second more.
    quotas = counter(**limits)
    assert [quotas.wait_ms("L", 0) for _ in range(20)] == [0] * 20
    assert [quotas.wait_ms("L", 0) for _ in range(3)] == [500, 1000, 1000]
    assert quotas.wait_ms("OTHER", 0) == (0 if "listeners" in limits else 1000)
    assert quotas.wait_ms("L", 11_000) == 0


def test_an_address_above_its_rate_is_closed_later_and_counts_nowhere():
    quotas = counter({"h": 1.0, "none": 0.0}, rate=100, listeners={"L": ListenerLimits(rate=100)})
    for _ in range(10):
        assert quotas.wait_ms("L", 0) == 0
        assert quotas.admit("L", "h", 0) == SERVED
    for _ in range(5_000):
        assert quotas.wait_ms("L", 0) == 0
        assert quotas.admit("L", "h", 0) == (Verdict.CLOSE_LATER, 1000)
    assert quotas.admit("L", "none", 0) == (Verdict.CLOSE_LATER, 1000)
    assert quotas.admit("L", "other", 0) == SERVED
    assert quotas.count == 11


def test_an_address_above_its_rate_does_not_count_in_rates_that_are_not_limited():
    quotas = counter({"h": 0.0})
    assert quotas.admit("L", "h", 0).verdict is Verdict.CLOSE_LATER


def test_the_rates_of_the_longest_silent_addresses_are_forgotten(monkeypatch):
    monkeypatch.setattr(connection_quotas, "MAX_ADDRESSES", 2)
    quotas = ConnectionCounter(ConnectionLimits, lambda _: 0.1)
    for host in "abac":
        quotas.admit("L", host, 0)
    assert list(quotas._address_rates) == ["a", "c"]


@given(
    st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("xyz"), st.booleans()), max_size=60),
    st.integers(0, 6),
    st.integers(0, 3),
)
def test_the_counts_are_those_of_a_list(events, maximum, per_ip):
    quotas = counter(maximum=maximum, per_ip=per_ip, listeners={"A": ListenerLimits(maximum=2)})
    open_now = []
    for listener, host, is_open in events:
        if not is_open:
            if (listener, host) in open_now:
                open_now.remove((listener, host))
                quotas.closed(listener, host)
            continue
        own = sum(each == listener for each, _ in open_now)
        is_full = len(open_now) >= maximum or (listener == "A" and own >= 2)
        assert (quotas.full(listener) is not None) is is_full
        if is_full:
            continue
        too_many = sum(each == host for _, each in open_now) >= per_ip
        assert quotas.admit(listener, host, 0) == ((Verdict.CLOSE, per_ip) if too_many else SERVED)
        if not too_many:
            open_now.append((listener, host))
    assert quotas.count == len(open_now)
    assert sorted(quotas._of_address.elements()) == sorted(host for _, host in open_now)
