import pytest

from barnabas.cluster.model.principal import ANONYMOUS, KafkaPrincipal, principal_of


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
