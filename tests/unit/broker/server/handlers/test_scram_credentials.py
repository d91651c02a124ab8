"""DescribeUserScramCredentials and AlterUserScramCredentials."""

from __future__ import annotations

import dataclasses

import pytest

from barnabas.broker.server.handlers import alter_user_scram_credentials, describe_user_scram_credentials
from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.scram import ScramCredential, ScramMechanism, credentials_of
from barnabas.cluster.runtime import turn
from barnabas.cluster.zk.client.errors import BadVersion, ZooKeeperTimeout
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.configs import ResourceConfigs

E = ErrorCode
ALICE, BOB = QuotaEntity("alice"), QuotaEntity("bob")
TEXT = ScramCredential(b"salt", b"stored", b"server", 4096).text
SHA_256 = "SCRAM-SHA-256"


@pytest.fixture
def alter(broker, schema, request_of):
    async def build(deletions=(), upsertions=()):
        s = schema(51, 0)
        body = s.request(
            deletions=tuple(s.ScramCredentialDeletion(name=name, mechanism=m) for name, m in deletions),
            upsertions=tuple(
                s.ScramCredentialUpsertion(
                    name=name, mechanism=m, iterations=iterations, salt=b"salt", salted_password=b"salted"
                )
                for name, m, iterations in upsertions
            ),
        )
        answer = await alter_user_scram_credentials.handle(broker.context, request_of(51, 0, body))
        return [(each.user, each.error_code) for each in answer.results]

    broker.metadata.controller_changed(broker.context.broker_id)
    return build


@pytest.fixture
def describe(broker, schema, request_of):
    async def build(*names, everybody=False):
        s = schema(50, 0)
        body = s.request(users=None if everybody else tuple(s.UserName(name=name) for name in names))
        return await describe_user_scram_credentials.handle(broker.context, request_of(50, 0, body))

    return build


def shown(answer):
    return [
        (each.user, each.error_code, [(info.mechanism, info.iterations) for info in each.credential_infos])
        for each in answer.results
    ]


async def test_credentials_are_set_deleted_and_described(broker, alter, describe):
    broker.quota_store.settings[BOB] = ResourceConfigs({SHA_256: TEXT, "producer_byte_rate": "5"}, 3)
    assert await alter([("bob", 1)], [("alice", 1, 4096), ("alice", 2, 8192), ("bob", 2, 4096)]) == [
        ("alice", E.NONE),
        ("bob", E.NONE),
    ]
    own = broker.quota_store.settings[ALICE].settings
    assert {m: each.iterations for m, each in credentials_of(own).items()} == {
        ScramMechanism.SCRAM_SHA_256: 4096,
        ScramMechanism.SCRAM_SHA_512: 8192,
    }
    assert set(broker.quota_store.settings[BOB].settings) == {"SCRAM-SHA-512", "producer_byte_rate"}
    expected = [("alice", E.NONE, [(1, 4096), (2, 8192)]), ("bob", E.NONE, [(2, 4096)])]
    assert shown(await describe(everybody=True)) == expected
    assert shown(await describe()) == expected
    assert shown(await describe("bob", "alice")) == expected


async def test_a_bad_alteration_refuses_its_user_alone(broker, alter):
    assert await alter(
        [("alice", 1)], [("", 1, 4096), ("bob", 1, 1), ("carol", 1, 4096), ("eve", 9, 4096)]
    ) == [
        ("", E.UNACCEPTABLE_CREDENTIAL),
        ("alice", E.RESOURCE_NOT_FOUND),
        ("bob", E.UNACCEPTABLE_CREDENTIAL),
        ("carol", E.NONE),
        ("eve", E.UNSUPPORTED_SASL_MECHANISM),
    ]
    assert list(broker.quota_store.settings) == [QuotaEntity("carol")]


async def test_only_the_controller_alters(broker, alter):
    broker.metadata.controller_changed(BrokerId(9))
    assert await alter([("alice", 1)], [("bob", 1, 4096)]) == [
        ("alice", E.NOT_CONTROLLER),
        ("bob", E.NOT_CONTROLLER),
    ]
    assert not broker.quota_store.settings


async def test_the_settings_of_others_are_kept_after_a_conflict(broker, alter):
    broker.quota_store.conflicts = [BadVersion("/config/users/alice")]
    assert await alter([], [("alice", 1, 4096)]) == [("alice", E.NONE)]


async def test_an_unreadable_user_is_not_written(broker, alter, describe):
    error = ZnodeDecodeError("/config/users/alice", b"secret", "JSON")
    broker.quota_store.settings[ALICE] = ResourceConfigs(None, 1, error)
    assert await alter([], [("alice", 1, 4096)]) == [("alice", E.INVALID_CONFIG)]
    assert "secret" not in str(error)
    assert shown(await describe("alice")) == [("alice", E.RESOURCE_NOT_FOUND, [])]


async def test_silence_of_zookeeper_is_an_answer(broker, alter, describe):
    broker.quota_store.error = ZooKeeperTimeout("late")
    assert await alter([], [("alice", 1, 4096)]) == [("alice", E.REQUEST_TIMED_OUT)]
    broker.quota_store.error = ZooKeeperTimeout("late")
    assert (await describe("alice")).error_code == E.REQUEST_TIMED_OUT


async def test_missing_and_repeated_users_are_told_apart(broker, describe):
    broker.quota_store.settings[ALICE] = ResourceConfigs({SHA_256: TEXT}, 1)
    broker.quota_store.settings[BOB] = ResourceConfigs({"producer_byte_rate": "1"}, 1)
    answer = await describe("alice", "alice", "bob", "", "carol")
    assert shown(answer) == [
        ("", E.RESOURCE_NOT_FOUND, []),
        ("alice", E.DUPLICATE_RESOURCE, []),
        ("bob", E.RESOURCE_NOT_FOUND, []),
        ("carol", E.RESOURCE_NOT_FOUND, []),
    ]
    assert [each.user for each in (await describe(everybody=True)).results] == ["alice"]


@pytest.mark.parametrize("is_controller", [True, False])
async def test_many_users_are_not_judged_in_one_turn(
    broker, schema, request_of, turns, monkeypatch, *, is_controller
):
    """100,000 of them took 120 ms."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    broker.metadata.controller_changed(broker.context.broker_id if is_controller else None)
    s = schema(51, 0)
    deletions = turns.elements(s.ScramCredentialDeletion(name=f"u{n}", mechanism=0) for n in range(100))
    turns.count(monkeypatch, alter_user_scram_credentials, "refusal_of")
    body = s.request(deletions=deletions, upsertions=())
    answer = await alter_user_scram_credentials.handle(broker.context, request_of(51, 0, body))
    expected = E.UNSUPPORTED_SASL_MECHANISM if is_controller else E.NOT_CONTROLLER
    assert [each.error_code for each in answer.results] == [expected] * 100
    assert turns.most_in_a_turn() < 5


async def test_many_users_are_not_described_in_one_turn(broker, schema, request_of, turns, monkeypatch):
    """100,000 of them took 200 ms."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)

    async def nobody(entities):
        assert len(list(entities)) == 100
        return {}

    monkeypatch.setattr(broker.quota_store, "read", nobody)
    s = schema(50, 0)
    users = turns.elements(s.UserName(name=name) for name in turns.names(100))
    answer = await describe_user_scram_credentials.handle(
        broker.context, request_of(50, 0, s.request(users=users))
    )
    assert [each.error_code for each in answer.results] == [E.RESOURCE_NOT_FOUND] * 100
    assert turns.all >= 300
    assert turns.most_in_a_turn() < 10


async def test_many_alterations_are_not_freed_in_one_turn(broker, schema, request_of, turns, monkeypatch):
    """100,000 of them took 22 ms."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    monkeypatch.setattr(turn, "_FREED_PER_STEP", 1)
    freed = []

    @dataclasses.dataclass
    class Alteration:
        user: str
        mechanism: int

        def __del__(self):
            turns.add()
            freed.append(self.user)

    monkeypatch.setattr(alter_user_scram_credentials, "Deletion", Alteration)
    s = schema(51, 0)
    deletions = tuple(s.ScramCredentialDeletion(name=f"u{n}", mechanism=0) for n in range(100))
    body = s.request(deletions=deletions, upsertions=())
    answer = await alter_user_scram_credentials.handle(broker.context, request_of(51, 0, body))
    assert len(answer.results) == len(freed) == 100
    assert turns.most_in_a_turn() < 5
