import pytest

from barnabas.cluster.model.configs.declarations import (
    REQUIRED,
    Config,
    ConfigError,
    Type,
    at_least,
    between,
    list_of,
    not_empty,
    not_zero,
    one_of,
    parse_given,
    read,
    render,
    table,
    with_defaults,
)


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (Type.BOOLEAN, "true", True),
        (Type.BOOLEAN, " FALSE ", False),
        (Type.SHORT, "-32768", -32768),
        (Type.INT, " 7 ", 7),
        (Type.LONG, "9223372036854775807", 2**63 - 1),
        (Type.DOUBLE, "0.5", 0.5),
        (Type.STRING, " a b ", "a b"),
        (Type.LIST, "a, b", ("a", "b")),
        (Type.LIST, "", ()),
    ],
)
def test_text_is_read_by_type(type_, text, value):
    assert read(type_, text) == value


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (Type.BOOLEAN, "yes"),
        (Type.SHORT, "32768"),
        (Type.INT, "2147483648"),
        (Type.INT, "1_000"),
        (Type.INT, "1.0"),
        (Type.LONG, "9223372036854775808"),
        (Type.DOUBLE, "half"),
    ],
)
def test_text_of_another_type_is_refused(type_, text):
    with pytest.raises(ValueError, match=r"."):
        read(type_, text)


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (at_least(1), 1, 0),
        (between(0, 1), 0.5, 1.1),
        (not_zero(), -5, 0),
        (one_of("a", "b"), "a", "c"),
        (one_of("a", "b"), ("a", "b"), ("a", "c")),
        (one_of("a", "b"), ("a",), ()),
        (list_of("a", "b"), (), ("",)),
        (not_empty(), "a", ""),
        (not_empty(), ("a",), ("a", "")),
    ],
)
def test_rules(rule, good, bad):
    assert rule.holds(good)
    assert not rule.holds(bad)


def test_a_bad_value_is_named_with_its_key_and_with_what_is_allowed():
    config = Config("num.partitions", Type.INT, 1, "Partitions.", at_least(1))
    with pytest.raises(ConfigError) as error:
        config.parse("0")
    assert str(error.value) == (
        "Invalid configuration: num.partitions has the value '0'; "
        "it must be a whole number up to 2147483647, at least 1"
    )
    with pytest.raises(ConfigError, match=r"num\.partitions has the value 'many'"):
        config.parse("many")


def test_a_setting_without_a_rule_says_its_type():
    assert Config("c", Type.SHORT, 1, "").allowed == "a whole number from -32768 to 32767"


def test_a_text_setting_says_only_its_rule():
    assert Config("c", Type.STRING, "a", "", one_of("a", "b")).allowed == "one of a, b"


def test_unknown_names_are_returned_in_order():
    configs = table([Config("a", Type.INT, 1, "")])
    assert parse_given(configs, {"z": "1", "a": "2", "b": "3"}) == ({"a": 2}, ("z", "b"))


def test_defaults_fill_what_is_not_given():
    configs = table([Config("a", Type.INT, 1, ""), Config("b", Type.STRING, None, "")])
    assert with_defaults(configs, {"a": 2}) == {"a": 2, "b": None}


def test_a_required_setting_that_is_missing_is_named():
    configs = table([Config("a", Type.STRING, REQUIRED, "where it is")])
    with pytest.raises(ConfigError, match="a is not set; it must be given: where it is"):
        with_defaults(configs, {})


def test_a_name_may_be_declared_once():
    with pytest.raises(ValueError, match="a is declared twice"):
        table([Config("a", Type.INT, 1, "")], [Config("a", Type.INT, 2, "")])


@pytest.mark.parametrize(
    ("value", "text"), [(None, None), (True, "true"), (("a", "b"), "a,b"), (1, "1"), ("x", "x")]
)
def test_values_are_shown_as_kafka_shows_them(value, text):
    assert render(value) == text


def test_clients_get_kafkas_type_if_ours_accepts_more():
    assert Config("a", Type.LIST, (), "A.", declared_as=Type.STRING).kafka_type is Type.STRING
    assert Config("a", Type.LIST, (), "A.").kafka_type is Type.LIST


@pytest.mark.parametrize(("default", "text"), [(("a", "b"), "a,b"), ((), ""), (None, None), (REQUIRED, None)])
def test_the_text_of_a_default(default, text):
    assert Config("a", Type.LIST, default, "A.").default_text == text
