from __future__ import annotations

import asyncio

import pytest

from barnabas.broker.server import quotas as quotas_module
from barnabas.broker.server.quotas import ClientQuotas, DefaultRates, QuotaMetrics, Timed, TimeSpent
from barnabas.cluster.model.client_quotas import QuotaEntity


@pytest.fixture
def limits():
    own = {"producer_byte_rate": 100.0, "consumer_byte_rate": 100.0, "request_percentage": 10.0}
    return {QuotaEntity(None, "slow"): own}


@pytest.fixture
def quotas(limits, monkeypatch):
    monkeypatch.setattr(quotas_module, "monotonic_ms", lambda: 5_000)
    return ClientQuotas(limits, 11, 1)


def test_nobody_is_counted_while_there_is_no_quota():
    assert not ClientQuotas({}, 11, 1).are_set


def test_defaults_of_the_settings_hold_for_clients_without_a_quota(monkeypatch):
    monkeypatch.setattr(quotas_module, "monotonic_ms", lambda: 5_000)
    quotas = ClientQuotas({}, 11, 1, DefaultRates(produce=100.0, fetch=10.0))
    assert quotas.are_set
    assert quotas.produced("ANONYMOUS", "any", 1_500) == 5_000
    assert quotas.most_fetched("ANONYMOUS", "any", 10**6) == 100
    assert quotas.handled("ANONYMOUS", "any", 10**6) == 0


def test_each_kind_of_use_has_its_own_quota(quotas):
    assert quotas.are_set
    assert quotas.produced("ANONYMOUS", "slow", 1_500) == 5_000
    assert quotas.handled("ANONYMOUS", "slow", 1.5) == 1_000
    assert quotas.handled("ANONYMOUS", "slow", 0.0) == 1_000
    assert [
        quotas.produced("ANONYMOUS", None, 10**9),
        quotas.fetched("ANONYMOUS", "free", 10**9),
        quotas.handled("ANONYMOUS", "free", 9),
    ] == [0] * 3


def test_an_answer_that_is_too_much_is_not_given_and_not_counted(quotas):
    assert quotas.fetched("ANONYMOUS", "slow", 1_500) == 5_000
    assert quotas.fetched("ANONYMOUS", "slow", 900) == 0


def test_an_answer_is_never_more_than_the_quota_of_all_windows(quotas):
    assert quotas.most_fetched("ANONYMOUS", "slow", 10**6) == 1_000
    assert quotas.most_fetched("ANONYMOUS", "slow", 10) == 10
    assert quotas.most_fetched("ANONYMOUS", "free", 10**6) == 10**6


def test_the_metrics_name_those_who_have_quotas(quotas):
    quotas.produced("ANONYMOUS", "slow", 1_500)
    told = {
        (sample.name, sample.labels["user"], sample.labels["client_id"]): sample.value
        for family in QuotaMetrics(quotas).collect()[:-1]
        for sample in family.samples
        if "user" in sample.labels
    }
    assert told == {
        ("kafka_server_Produce_byte_rate", "", "slow"): 150,
        ("kafka_server_Produce_throttle_time", "", "slow"): 5_000,
    }


def test_a_response_is_delayed_by_the_quota_of_the_longer_throttle_time_only(quotas):
    busy_ms = quotas.handled("ANONYMOUS", "slow", 1.5)
    assert quotas.delay(quotas.produced("ANONYMOUS", "slow", 1_500), busy_ms) == 5_000
    assert quotas.delay(0, busy_ms) == 1_000
    assert quotas.delay(0, 0) == 0
    assert quotas.fetched("ANONYMOUS", "slow", 1_500) == 5_000
    sizes = {
        family.name: family.samples[0].value
        for family in QuotaMetrics(quotas).collect()
        if family.name.endswith("queue_size")
    }
    assert sizes == {
        "kafka_server_Produce_queue_size": 1,
        "kafka_server_Request_queue_size": 1,
        "kafka_server_Fetch_queue_size": 1,
    }


def test_time_for_requests_that_no_quota_throttles_has_a_metric_of_its_own(quotas):
    quotas.exempted(0.5)
    family = QuotaMetrics(quotas).collect()[-1]
    assert [(each.name, each.value) for each in family.samples] == [
        ("kafka_server_Request_exempt_request_time", 5)
    ]


def test_time_is_taken_once_also_while_a_step_runs(spent):
    assert spent.call(spent.decide) == 1
    assert spent.is_decided
    assert (spent.seconds, spent.take(), spent.take()) == (2, 1, 0)


@pytest.fixture
def spent(monkeypatch):
    """Each step takes a second by this clock, and waiting takes none."""
    ticks = iter(range(10**6))
    monkeypatch.setattr(quotas_module, "perf_counter", lambda: next(ticks))
    return TimeSpent()


async def two_steps(waited_for):
    try:
        return await waited_for
    except ValueError as error:
        return f"met {error}"


async def awaited(awaitable):
    return await awaitable


@pytest.mark.parametrize("outcome", ["done", ValueError("it")])
async def test_the_time_of_each_step_is_counted(spent, outcome):
    waited_for = asyncio.get_running_loop().create_future()
    timed = asyncio.ensure_future(awaited(Timed(two_steps(waited_for), spent)))
    await asyncio.sleep(0)
    if isinstance(outcome, str):
        waited_for.set_result(outcome)
    else:
        waited_for.set_exception(outcome)
    assert await timed == ("done" if isinstance(outcome, str) else "met it")
    assert spent.seconds == 2


async def test_a_cancellation_reaches_the_awaitable(spent):
    waited_for = asyncio.get_running_loop().create_future()
    timed = asyncio.ensure_future(awaited(Timed(two_steps(waited_for), spent)))
    await asyncio.sleep(0)
    timed.cancel()
    with pytest.raises(asyncio.CancelledError):
        await timed
    assert waited_for.cancelled()
