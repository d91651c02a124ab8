"""Principals: their text, and the rules that map certificates to them."""

import pytest

from barnabas.cluster.model.principal import ANONYMOUS, KafkaPrincipal, principal_of
from barnabas.cluster.model.principal_mapping import BadRuleError, NoMatchingRuleError, PrincipalMapping


def test_a_principal_is_written_as_type_and_name():
    assert str(ANONYMOUS) == "User:ANONYMOUS"
    assert str(KafkaPrincipal("User", "CN=a,OU=b")) == "User:CN=a,OU=b"


@pytest.mark.parametrize("text", ["User:a", "User:CN=a,OU=b:c", "Service:User:a"])
def test_a_principal_is_split_at_its_first_colon(text):
    parsed = principal_of(text)
    assert str(parsed) == text
    assert ":" not in parsed.type


@pytest.mark.parametrize("text", ["", "User", ":a", "User:"])
def test_a_text_without_type_or_name_is_refused_by_name(text):
    with pytest.raises(ValueError, match=r"principalType:principalName but got"):
        principal_of(text)


DUKE = "CN=Duke,OU=ServiceUsers,O=Org,C=US"
ADMIN = "CN=Admin,OU=Admin Unit,O=Org,C=DE"


@pytest.mark.parametrize(
    ("rules", "name", "user"),
    [
        ("DEFAULT", DUKE, DUKE),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", DUKE, "Duke"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L", DUKE, "duke"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/U", DUKE, "DUKE"),
        ("RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/L, DEFAULT", ADMIN, "admin@admin unit"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT", ADMIN, ADMIN),
        # Commas within a rule, blanks around it, and empty rules.
        (" , RULE:^CN=(Duke|Admin),.*$/$1/ ,, DEFAULT ", ADMIN, "Admin"),
        (r"RULE:^CN=(.*?),.*$/a\/b\$$1/", DUKE, "a/b$Duke"),
        (r"RULE:^CN=a\/(.*)$/$1/", "CN=a/b", "b"),
        # A number above that of the groups is a lower one with digits behind it, or no reference.
        ("RULE:^CN=(.*?),.*$/$12/", DUKE, "Duke2"),
        ("RULE:^CN=(.*?),.*$/$5x/", DUKE, "$5x"),
        ("RULE:^CN=.*$/$0!/", "CN=a", "CN=a!"),
        ("RULE:^CN=(a)?(.*)$/[$1]$2/", "CN=b", "[]b"),
        # The pattern must match the whole name; then each place that it finds is replaced, shortest first.
        ("RULE:^CN=(.*?)/$1/", "CN=abc", "abc"),
        ("RULE:(.*)/x$1/", "abc", "xabcx"),
    ],
)
def test_the_first_rule_that_matches_names_the_user(rules, name, user):
    assert PrincipalMapping(rules).user_of(name) == user


@pytest.mark.parametrize(
    ("rules", "name"),
    [("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", ADMIN), ("RULE:CN=(\\w+)/$1/", DUKE), ("", DUKE)],
)
def test_a_name_without_a_rule_is_refused(rules, name):
    with pytest.raises(
        NoMatchingRuleError, match=f"No rule of ssl.principal.mapping.rules applies to {name}"
    ):
        PrincipalMapping(rules).user_of(name)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("default", "the rule 'default' must be DEFAULT or RULE:pattern/replacement/"),
        ("DEFAULT/L", "the rule 'DEFAULT/L' must be"),
        ("RULE:^CN=(.*?)$/$1", "must be DEFAULT or RULE"),
        ("RULE:^CN=(.*?)$/$1/LU", "the rule .*LU' must be"),
        ("RULE:^CN=(.*$/$1/", "the pattern of the rule .* is no regular expression"),
        ("RULE:^CN=[a-z&&[b]]$/x/", "is no regular expression"),
        ("RULE:^CN=(.*)$/${name}/", r"must have the number of a group after each \$"),
    ],
)
def test_a_bad_rule_is_named(rules, message):
    with pytest.raises(BadRuleError, match=message):
        PrincipalMapping(rules)
