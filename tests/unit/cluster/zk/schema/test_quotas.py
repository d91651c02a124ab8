"""The paths of quotas: each entity has one, and each path gives its entity back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.client_quotas import DEFAULT, QuotaEntity
from barnabas.cluster.zk.schema.quotas import desanitized, entity_at, entity_path, sanitized

NAMES = st.one_of(st.just(DEFAULT), st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
ENTITIES = st.one_of(
    NAMES.map(QuotaEntity),
    st.tuples(NAMES, NAMES).map(lambda names: QuotaEntity(*names)),
    NAMES.map(lambda client: QuotaEntity(None, client)),
    NAMES.map(lambda ip: QuotaEntity(None, None, ip)),
)


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        (QuotaEntity("alice"), "users/alice"),
        (QuotaEntity("a/b c~d*"), "users/a%2Fb%20c%7Ed%2A"),
        (QuotaEntity("alice", "app"), "users/alice/clients/app"),
        (QuotaEntity(DEFAULT, DEFAULT), "users/<default>/clients/<default>"),
        (QuotaEntity(None, "app"), "clients/app"),
        (QuotaEntity(None, None, "10.0.0.1"), "ips/10.0.0.1"),
        (QuotaEntity(), ""),
    ],
)
def test_an_entity_has_kafkas_path(entity, path):
    assert entity_path(entity) == path


@given(ENTITIES)
def test_a_path_gives_its_entity_back(entity):
    assert entity_at(entity_path(entity)) == entity


@given(NAMES)
def test_a_name_is_one_part_of_a_path(name):
    assert "/" not in sanitized(name)
    assert desanitized(sanitized(name)) == name


@pytest.mark.parametrize(
    "path", ["", "users", "users/", "users/a/clients/", "users//clients/a", "clients/", "ips/", "topics/t"]
)
def test_another_path_has_no_entity(path):
    assert entity_at(path) is None
