from __future__ import annotations

import pytest

from barnabas.cluster.model.client_quotas import (
    FilterComponent,
    Match,
    QuotaEntity,
    QuotaError,
    QuotaOperation,
    altered,
    connection_rate_of,
    described,
    entity_of,
    quotas_of,
)
from barnabas.cluster.model.errors import ErrorCode

ALICE, APP, HOST = QuotaEntity("alice"), QuotaEntity(None, "app"), QuotaEntity(None, None, "10.0.0.1")
BOTH, ALL_USERS = QuotaEntity("alice", "app"), QuotaEntity("")


@pytest.mark.parametrize(
    ("parts", "entity"),
    [
        ([("user", "alice")], ALICE),
        ([("client-id", "app"), ("user", "alice")], BOTH),
        ([("user", None)], ALL_USERS),
        ([("ip", "10.0.0.1")], HOST),
    ],
)
def test_entities_are_named_by_their_parts(parts, entity):
    assert entity_of(parts) == entity
    assert sorted(entity.parts) == sorted(parts)


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [("user", "")],
        [("group", "g")],
        [("user", "a"), ("user", "b")],
        [("ip", "10.0.0.1"), ("user", "a")],
        [("ip", "example.org")],
    ],
)
def test_other_entities_are_refused(parts):
    with pytest.raises(QuotaError) as refused:
        entity_of(parts)
    assert refused.value.error is ErrorCode.INVALID_REQUEST


def test_operations_change_some_settings_and_keep_the_others():
    before = {"SCRAM-SHA-256": "salt=...", "consumer_byte_rate": "5", "producer_byte_rate": "7"}
    operations = [
        QuotaOperation("consumer_byte_rate", None),
        QuotaOperation("producer_byte_rate", 1024.0),
        QuotaOperation("request_percentage", 12.5),
    ]
    assert altered(ALICE, before, operations) == {
        "SCRAM-SHA-256": "salt=...",
        "producer_byte_rate": "1024",
        "request_percentage": "12.5",
    }


@pytest.mark.parametrize(
    ("entity", "key", "value"),
    [
        (ALICE, "producer_byte_rate", 1.5),
        (ALICE, "producer_byte_rate", -1.0),
        (ALICE, "request_percentage", float("nan")),
        (ALICE, "connection_creation_rate", 5.0),
        (HOST, "producer_byte_rate", 5.0),
        (ALICE, "retention.ms", 5.0),
        (ALICE, "SCRAM-SHA-256", None),
        (HOST, "producer_byte_rate", None),
    ],
)
def test_other_settings_and_values_are_refused(entity, key, value):
    with pytest.raises(QuotaError, match=key):
        altered(entity, {}, [QuotaOperation(key, value)])


def test_only_quotas_are_read():
    settings = {"producer_byte_rate": "5", "consumer_byte_rate": "much", "SCRAM-SHA-256": "salt"}
    assert quotas_of(ALICE, settings) == {"producer_byte_rate": 5.0}


QUOTAS = {entity: {"k": 1.0} for entity in (ALICE, APP, BOTH, ALL_USERS, HOST)} | {QuotaEntity("none"): {}}


@pytest.mark.parametrize(
    ("components", "strict", "expected"),
    [
        ([], False, {ALICE, APP, BOTH, ALL_USERS, HOST}),
        ([], True, set()),
        ([("user", Match.ANY, None)], False, {ALICE, BOTH, ALL_USERS}),
        ([("user", Match.ANY, None)], True, {ALICE, ALL_USERS}),
        ([("user", Match.DEFAULT, None)], False, {ALL_USERS}),
        ([("user", Match.EXACT, "alice")], False, {ALICE, BOTH}),
        ([("user", Match.EXACT, "alice")], True, {ALICE}),
        ([("user", Match.EXACT, "alice"), ("client-id", Match.ANY, None)], True, {BOTH}),
        ([("client-id", Match.EXACT, "app")], True, {APP}),
        ([("ip", Match.ANY, None)], True, {HOST}),
        ([("ip", Match.EXACT, "10.0.0.2")], False, set()),
    ],
)
def test_a_filter_finds_entities(components, strict, expected):
    wanted = [FilterComponent(*each) for each in components]
    assert set(described(QUOTAS, wanted, strict=strict)) == expected


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([("user", 2, None), ("user", 2, None)], ErrorCode.INVALID_REQUEST),
        ([("", 2, None)], ErrorCode.INVALID_REQUEST),
        ([("user", 3, None)], ErrorCode.INVALID_REQUEST),
        ([("user", 2, None), ("ip", 2, None)], ErrorCode.INVALID_REQUEST),
        ([("group", 2, None)], ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(components, error):
    with pytest.raises(QuotaError) as refused:
        described(QUOTAS, [FilterComponent(*each) for each in components], strict=False)
    assert refused.value.error is error


def test_an_address_has_a_rate_of_its_own_or_that_of_all():
    key = "connection_creation_rate"
    quotas = {QuotaEntity(ip="1.2.3.4"): {key: 5.0}, QuotaEntity(ip=""): {key: 7.0}, ALICE: {}}
    assert connection_rate_of(quotas, "1.2.3.4") == 5.0
    assert connection_rate_of(quotas, "1.2.3.5") == 7.0
    assert connection_rate_of({}, "1.2.3.4") is None
