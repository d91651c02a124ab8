from __future__ import annotations

import pytest

from barnabas.cluster.model.configs.authorizer import rules_of
from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import ConfigError, parse_given
from barnabas.cluster.model.principal import KafkaPrincipal


def test_super_users_are_separated_by_semicolons():
    rules = rules_of(" User:a; User:CN=b,OU=c ", allow_if_none=True)
    assert rules.super_users == {KafkaPrincipal("User", "a"), KafkaPrincipal("User", "CN=b,OU=c")}
    assert rules.allow_if_none
    assert rules_of("", allow_if_none=False).super_users == frozenset()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("super.users", "alice"),
        ("super.users", "User:a;"),
        ("authorizer.class.name", "org.example.Authorizer"),
        ("allow.everyone.if.no.acl.found", "yes"),
    ],
)
def test_a_wrong_setting_is_refused_by_its_name(name, value):
    with pytest.raises(ConfigError, match=name):
        parse_given(BROKER_CONFIGS, {name: value})
