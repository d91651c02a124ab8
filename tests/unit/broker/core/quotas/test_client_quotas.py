from __future__ import annotations

import itertools

import pytest

from barnabas.broker.core.quotas import client_quotas
from barnabas.broker.core.quotas.client_quotas import IDLE_MS, DelayQueue, QuotaUse, Tags, limit_of
from barnabas.cluster.model.client_quotas import QuotaEntity

KEY = "producer_byte_rate"
ORDER = [
    (QuotaEntity("u", "c"), Tags("u", "c")),
    (QuotaEntity("u", ""), Tags("u", "c")),
    (QuotaEntity("u"), Tags("u", "")),
    (QuotaEntity("", "c"), Tags("u", "c")),
    (QuotaEntity("", ""), Tags("u", "c")),
    (QuotaEntity(""), Tags("u", "")),
    (QuotaEntity(None, "c"), Tags("", "c")),
    (QuotaEntity(None, ""), Tags("", "c")),
]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_most_specific_quota_holds(first):
    quotas = {entity: {KEY: float(place)} for place, (entity, _) in enumerate(ORDER) if place >= first}
    for entity, _ in ORDER[:first]:
        quotas[entity] = {"another": 5.0}
    assert limit_of(quotas, KEY, "u", "c") == (float(first), ORDER[first][1])


def test_others_quotas_do_not_hold():
    quotas = {QuotaEntity("x", "c"): {KEY: 1.0}, QuotaEntity(None, "x"): {KEY: 1.0}}
    assert limit_of(quotas, KEY, "u", "c") is None


@pytest.fixture
def quotas():
    return {QuotaEntity(None, "c"): {KEY: 100.0}, QuotaEntity(None, "d"): {KEY: 100.0}}


@pytest.fixture
def use(quotas):
    return QuotaUse(KEY, quotas, 11, 1000)


def test_who_uses_more_waits(use):
    assert use.record("u", "c", 1000, 0) == 0
    assert use.record("u", "c", 100, 0) == 1000
    assert use.record("u", "d", 1000, 0) == 0
    assert use.record("u", "free", 10**9, 0) == 0
    assert [tags.client_id for tags in use.counters] == ["c", "d"]
    assert use.counters[Tags("", "c")].throttle_ms == 1000


def test_what_was_not_given_is_taken_back(use):
    assert use.record("u", "c", 2000, 0) == 10_000
    use.take_back("u", "c", 2000, 0)
    use.take_back("u", "free", 2000, 0)
    assert use.record("u", "c", 1, 0) == 0


def test_a_wait_may_be_bounded(quotas):
    assert QuotaUse(KEY, quotas, 11, 1000, most_ms=700).record("u", "c", 2000, 0) == 700


def test_so_much_may_be_had_at_once(use):
    assert use.most_at_once("u", "c") == 1000
    assert use.most_at_once("u", "free") is None


def test_a_quota_that_changes_holds_at_once(use, quotas):
    use.record("u", "c", 1000, 0)
    quotas[QuotaEntity(None, "c")] = {KEY: 50.0}
    assert use.record("u", "c", 0, 0) == 10_000


def test_idle_counters_go(use):
    use.record("u", "c", 1000, 0)
    use.record("u", "d", 1000, IDLE_MS + 1)
    assert list(use.counters) == [Tags("", "d")]


def test_there_are_so_many_counters_at_most(quotas, monkeypatch):
    monkeypatch.setattr(client_quotas, "MAX_COUNTERS", 3)
    quotas[QuotaEntity(None, "")] = {KEY: 1.0}
    use = QuotaUse(KEY, quotas, 11, 1000)
    for number in itertools.islice(itertools.count(), 9):
        use.record("u", f"made-up-{number}", 1, 0)
    assert [tags.client_id for tags in use.counters] == ["made-up-6", "made-up-7", "made-up-8"]


def test_the_default_of_the_settings_comes_last_and_holds_for_each_client_id(quotas):
    own = QuotaUse(KEY, quotas, 11, 1000, default=10.0)
    assert limit_of(quotas, KEY, "u", "c", 10.0) == (100.0, Tags("", "c"))
    assert limit_of(quotas, KEY, "u", "free", 10.0) == (10.0, Tags("", "free"))
    assert own.record("u", "free", 200, 0) == 10_000
    assert own.record("v", "other", 100, 0) == 0
    assert own.most_at_once("v", "other") == 100


def test_a_response_is_delayed_until_its_time_is_over():
    delayed = DelayQueue()
    delayed.add(300, 0)
    delayed.add(100, 0)
    assert [delayed.size(now_ms) for now_ms in (0, 99, 100, 299, 300)] == [2, 2, 1, 1, 0]
    delayed.add(50, 100)
    assert [delayed.size(now_ms) for now_ms in (100, 149, 150, 300)] == [2, 2, 1, 0]
    delayed.add(10, 1_000)
    assert delayed.size(1_000) == 1
