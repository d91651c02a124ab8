from __future__ import annotations

import pytest

from barnabas.broker.core.quotas.replication_quota import (
    QuotaWindows,
    ReplicationQuota,
    ReplicationThrottles,
    is_throttled,
)


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        ((), False),
        (("*",), True),
        (("0:1",), False),
        (("0:1", "3:7"), True),
        (("37",), False),
        (("7:3",), False),
    ],
)
def test_a_list_names_replicas_by_partition_and_broker(replicas, expected):
    assert is_throttled(frozenset(replicas), 3, 7) is expected


def test_without_a_limit_nothing_is_too_much():
    quota = ReplicationQuota()
    quota.rate.record(10**12, 0)
    assert not quota.is_exceeded(0)
    assert quota.wait_ms(0) == 50


def test_above_the_limit_nothing_more_goes_until_the_rate_has_fallen():
    quota = ReplicationQuota(limit=100)
    quota.rate.record(100, 0)
    assert not quota.is_exceeded(0)
    quota.rate.record(120, 0)
    assert (quota.is_exceeded(0), quota.wait_ms(0)) == (True, 1000)
    assert (quota.is_exceeded(2_100), quota.wait_ms(2_100)) == (True, 100)
    assert (quota.is_exceeded(2_200), quota.wait_ms(2_200)) == (False, 50)


def test_rates_are_measured_over_the_windows_of_the_settings():
    throttles = ReplicationThrottles()
    throttles.measure_over(QuotaWindows(2, 10, 3, 20))
    quotas = (throttles.leader, throttles.follower, throttles.log_dirs)
    for quota in quotas:
        quota.rate.record(1_000, 0)
    assert [quota.rate.measure(0).per_second for quota in quotas] == [100, 100, 50]
    assert [quota.rate.measure(20_000).per_second for quota in quotas] == [0, 0, 50]
    assert throttles.log_dirs.rate.measure(60_000).per_second == 0
