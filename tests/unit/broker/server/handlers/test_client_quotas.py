"""DescribeClientQuotas and AlterClientQuotas."""

from __future__ import annotations

import pytest

from barnabas.broker.server.handlers import alter_client_quotas, describe_client_quotas
from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime import turn
from barnabas.cluster.zk.client.errors import BadVersion, NodeExists, ZooKeeperTimeout
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.configs import ResourceConfigs

E = ErrorCode
ALICE = QuotaEntity("alice")
RATE, SCRAM = "producer_byte_rate", "SCRAM-SHA-256"


@pytest.fixture
def alter(broker, schema, request_of):
    async def build(*entries, version=1, validate_only=False):
        s = schema(49, version)
        body = s.request(
            entries=tuple(
                s.EntryData(
                    entity=tuple(s.EntityData(entity_type=kind, entity_name=name) for kind, name in parts),
                    ops=tuple(
                        s.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops
                    ),
                )
                for parts, ops in entries
            ),
            validate_only=validate_only,
        )
        answer = await alter_client_quotas.handle(broker.context, request_of(49, version, body))
        return [(entry.error_code, entry.error_message) for entry in answer.entries]

    return build


@pytest.fixture
def describe(broker, schema, request_of):
    async def build(*components, version=1, strict=False):
        s = schema(48, version)
        wanted = tuple(
            s.ComponentData(entity_type=kind, match_type=match, match=name)
            for kind, match, name in components
        )
        body = s.request(components=wanted, strict=strict)
        return await describe_client_quotas.handle(broker.context, request_of(48, version, body))

    return build


@pytest.mark.parametrize("version", [0, 1])
async def test_quotas_are_altered_and_described(broker, alter, describe, version):
    broker.quota_store.settings[ALICE] = ResourceConfigs({SCRAM: "salt", "consumer_byte_rate": "9"}, 4)
    ops = [(RATE, 1024.0), ("consumer_byte_rate", None)]
    assert await alter(([("user", "alice")], ops), version=version) == [(E.NONE, None)]
    assert broker.quota_store.settings[ALICE] == ResourceConfigs({SCRAM: "salt", RATE: "1024"}, 5)
    answer = await describe(("user", 2, None), version=version)
    (entry,) = answer.entries
    assert (answer.error_code, answer.error_message) == (E.NONE, None)
    assert [(part.entity_type, part.entity_name) for part in entry.entity] == [("user", "alice")]
    assert [(each.key, each.value) for each in entry.values] == [(RATE, 1024.0)]


async def test_each_entity_is_altered_for_itself(broker, alter):
    bad, good = ([("user", "")], [(RATE, 1.0)]), ([("client-id", None)], [(RATE, 1.0)])
    (refused, message), (written, _) = await alter(bad, good)
    assert (refused, message, written) == (E.INVALID_REQUEST, "Empty user not supported", E.NONE)
    assert list(broker.quota_store.settings) == [QuotaEntity(None, "")]


async def test_nothing_is_written_if_the_request_only_validates(broker, alter):
    assert await alter(([("user", "alice")], [(RATE, 1.0)]), validate_only=True) == [(E.NONE, None)]
    assert broker.quota_store.settings == {}


async def test_what_others_write_meanwhile_is_read_again(broker, alter):
    broker.quota_store.conflicts = [NodeExists("/config"), BadVersion("/config")]
    assert await alter(([("user", "alice")], [(RATE, 1.0)])) == [(E.NONE, None)]


async def test_settings_that_cannot_be_read_are_not_replaced(broker, alter):
    broken = ZnodeDecodeError("/config/users/alice", "what", "JSON")
    broker.quota_store.settings[ALICE] = ResourceConfigs(None, 4, broken)
    ((error, _),) = await alter(([("user", "alice")], [(RATE, 1.0)]))
    assert error == E.INVALID_CONFIG


async def test_a_zookeeper_that_is_silent_is_told(broker, alter, describe):
    broker.quota_store.error = ZooKeeperTimeout("no answer")
    ((error, _),) = await alter(([("user", "alice")], [(RATE, 1.0)]))
    described = await describe()
    assert (error, described.error_code, described.entries) == (
        E.REQUEST_TIMED_OUT,
        E.REQUEST_TIMED_OUT,
        None,
    )


async def test_a_filter_that_makes_no_sense_is_refused(broker, describe):
    broker.quota_store.error = AssertionError("nothing is read for it")
    assert (await describe(("group", 2, None))).error_code == E.UNSUPPORTED_VERSION


async def test_of_a_filter_with_many_components_few_are_looked_at(monkeypatch, describe):
    """100,000 of them blocked the event loop for 0.1 s, to be refused for the second one."""
    looked_at = []
    known = describe_client_quotas.FilterComponent
    monkeypatch.setattr(
        describe_client_quotas, "FilterComponent", lambda *parts: looked_at.append(parts) or known(*parts)
    )
    answer = await describe(*[("user", 2, None)] * 100)
    assert answer.error_code is E.INVALID_REQUEST
    assert answer.error_message == "Duplicate user filter component entity type"
    assert len(looked_at) == 4


async def test_an_entity_is_altered_by_so_many_operations(alter):
    """Operations on one entity are carried out in one turn; 100,000 of them took 50 ms."""
    most = alter_client_quotas.MOST_OPERATIONS
    assert await alter(([("user", "alice")], [(RATE, 1.0)] * most)) == [(E.NONE, None)]
    ((error, message),) = await alter(([("user", "alice")], [(RATE, 1.0)] * (most + 1)))
    assert error is E.INVALID_REQUEST
    assert message == f"An entity may be altered by {most} operations, not by {most + 1}"


async def test_an_entity_of_many_parts_is_not_answered_in_one_turn(
    schema, request_of, broker, turns, monkeypatch
):
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    s = schema(49, 1)
    parts = turns.elements(s.EntityData(entity_type="user", entity_name=f"u{n}") for n in range(100))
    body = s.request(entries=(s.EntryData(entity=parts, ops=()),), validate_only=True)
    answer = await alter_client_quotas.handle(broker.context, request_of(49, 1, body))
    assert answer.entries[0].error_code is E.INVALID_REQUEST
    assert len(answer.entries[0].entity) == 100
    assert turns.most_in_a_turn() < 10
