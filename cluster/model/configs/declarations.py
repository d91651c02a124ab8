"""Declarations of settings, and the parsing of their text into checked values.

The tables themselves are `cluster.model.configs.broker`, `log` and `topic`. Types, ranges and
the rule "null means not set" are those of Kafka's ``ConfigDef`` (release 2.8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import assert_never

HIDDEN = "[hidden]"
"""The text that stands for a secret."""


@dataclass(frozen=True, slots=True)
class Password:
    """A secret; it shows itself as ``[hidden]``, as Kafka's ``Password`` does.

    Attributes:
        value: The secret.
    """

    value: str

    def __str__(self) -> str:
        return HIDDEN

    def __repr__(self) -> str:
        return HIDDEN


Value = bool | int | float | str | Password | tuple[str, ...] | None
"""The value of a parsed setting: a tuple of names for a list, None if it is not set."""

UNLIMITED_LONG = 2**63 - 1
"""The largest long, which Kafka uses for "no limit"."""

UNLIMITED_INT = 2**31 - 1
"""The largest int, which Kafka uses for "no limit"."""


class ConfigError(ValueError):
    """An error for a setting with a forbidden or missing value.

    Attributes:
        name: The setting.
        value: The text that was given; None if it is missing.
        allowed: The allowed values, as the end of the sentence "must be ...".
    """

    def __init__(self, name: str, value: str | None, allowed: str) -> None:
        given = "is not set" if value is None else f"has the value '{value}'"
        super().__init__(f"Invalid configuration: {name} {given}; it must be {allowed}")
        self.name = name
        self.value = value
        self.allowed = allowed

    @property
    def for_clients(self) -> str:
        """Return the message for clients, which begins as Kafka's (``ConfigException.java``)."""
        return f"Invalid value {self.value} for configuration {self.name}: Value must be {self.allowed}"


class Type(Enum):
    """The types of settings, which `read` parses.

    Attributes:
        described: The type's description in errors, as the end of "must be ...".
    """

    described: str

    BOOLEAN = "true or false"
    SHORT = "a whole number from -32768 to 32767"
    INT = "a whole number from -2147483648 to 2147483647"
    LONG = "a whole number from -9223372036854775808 to 9223372036854775807"
    DOUBLE = "a number"
    STRING = "text"
    PASSWORD = "a secret"
    LIST = "a list of names separated by commas"

    def __init__(self, described: str) -> None:
        self.described = described


_BITS = {Type.SHORT: 16, Type.INT: 32, Type.LONG: 64}


def _whole_number(text: str, bits: int) -> int:
    number = int(text)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1) or "_" in text:
        raise ValueError(text)
    return number


def read(type_: Type, text: str) -> Value:
    """Parse ``text`` as a value of ``type_``, ignoring surrounding blanks.

    Raises:
        ValueError: The text is not such a value.
    """
    text = text.strip()
    match type_:
        case Type.BOOLEAN:
            return (
                {"true": True, "false": False}[text.lower()]
                if text.lower() in {"true", "false"}
                else _refuse(text)
            )
        case Type.SHORT | Type.INT | Type.LONG:
            return _whole_number(text, _BITS[type_])
        case Type.DOUBLE:
            return float(text)
        case Type.STRING:
            return text
        case Type.PASSWORD:
            return Password(text)
        case Type.LIST:
            return tuple(item.strip() for item in text.split(",")) if text else ()
        case unknown:
            assert_never(unknown)


def _refuse(text: str) -> Value:
    raise ValueError(text)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for values in addition to their type.

    Attributes:
        holds: Returns whether a value satisfies the rule; never called with None.
        described: The rule as the end of the sentence "must be ...".
        has_maximum: Whether it bounds numbers from above.
    """

    holds: Callable[[Value], bool]
    described: str
    has_maximum: bool = False


def at_least(minimum: float) -> Rule:
    """Return the rule for numbers not below ``minimum``."""
    return Rule(lambda v: isinstance(v, (int, float)) and v >= minimum, f"at least {minimum}")


def between(minimum: float, maximum: float) -> Rule:
    """Return the rule for numbers from ``minimum`` to ``maximum``, both included."""
    return Rule(
        lambda v: isinstance(v, (int, float)) and minimum <= v <= maximum,
        f"between {minimum} and {maximum}",
        has_maximum=True,
    )


def not_zero() -> Rule:
    """Return the rule for limits, of which a negative one means no limit."""
    return Rule(lambda v: v != 0, "at least 1, or negative for no limit")


def one_of(*names: str) -> Rule:
    """Return the rule for one of these names; for lists, for at least one of them and no others."""
    return Rule(
        lambda v: set(v) <= set(names) and bool(v) if isinstance(v, tuple) else v in names,
        "one of " + ", ".join(names),
    )


def list_of(*names: str) -> Rule:
    """Return the rule for lists of these names, which may be empty (``ConfigDef.ValidList``)."""
    return Rule(
        lambda v: isinstance(v, tuple) and set(v) <= set(names),
        f"any of {', '.join(names)}, separated by commas",
    )


def not_empty() -> Rule:
    """Return the rule for text that is not empty, and for lists without empty names that are not empty."""
    return Rule(lambda v: bool(v) and (not isinstance(v, tuple) or all(v)), "not empty")


class _Required(Enum):
    REQUIRED = "required"


REQUIRED = _Required.REQUIRED
"""The default of a setting that must be given."""


@dataclass(frozen=True, slots=True)
class Config:
    """The declaration of a setting.

    Attributes:
        name: Kafka's key.
        type: The type of its value.
        default: The default value; None means not set, `REQUIRED` that the setting must be given.
        doc: A sentence about its meaning and unit.
        rule: The rule for its value in addition to the type.
        topic: The topic setting that overrides it; None if there is none.
        ours: Whether Kafka lacks the setting.
        declared_as: The type that Kafka declares, if ours parses more of the text; else None.
    """

    name: str
    type: Type
    default: Value | _Required
    doc: str
    rule: Rule | None = None
    topic: str | None = None
    ours: bool = False
    declared_as: Type | None = None

    @property
    def kafka_type(self) -> Type:
        """Return the type that clients see, which is Kafka's."""
        return self.type if self.declared_as is None else self.declared_as

    @property
    def default_text(self) -> str | None:
        """Return the text of the default; None if there is none."""
        return None if isinstance(self.default, _Required) else render(self.default)

    @property
    def allowed(self) -> str:
        """Return the allowed values, as the end of the sentence "must be ..."."""
        if self.rule is None:
            return self.type.described
        if self.type in {Type.STRING, Type.LIST}:
            return self.rule.described
        # Of the type's bounds, name only those that the rule does not narrow.
        kind, _, bounds = self.type.described.partition(" from ")
        _, _, highest = bounds.partition(" to ")
        limit = f" up to {highest}" if highest and not self.rule.has_maximum else ""
        return f"{kind}{limit}, {self.rule.described}"

    def parse(self, text: str) -> Value:
        """Parse ``text`` and check the rule.

        Raises:
            ConfigError: The text is not of the type, or breaks the rule.
        """
        try:
            value = read(self.type, text)
        except ValueError:
            raise ConfigError(self.name, text, self.allowed) from None
        if self.rule is not None and not self.rule.holds(value):
            raise ConfigError(self.name, text, self.allowed)
        return value


def table(*parts: Iterable[Config]) -> Mapping[str, Config]:
    """Index declarations by name.

    Raises:
        ValueError: A name is declared twice.
    """
    configs: dict[str, Config] = {}
    for config in (config for part in parts for config in part):
        if config.name in configs:
            raise ValueError(f"{config.name} is declared twice")
        configs[config.name] = config
    return MappingProxyType(configs)


def parse_given(
    configs: Mapping[str, Config], given: Mapping[str, str]
) -> tuple[dict[str, Value], tuple[str, ...]]:
    """Parse the given settings without adding defaults.

    Returns:
        The values of the declared settings, and the names of the others in the given order.

    Raises:
        ConfigError: A value is invalid; the first one is named.
    """
    values = {name: configs[name].parse(text) for name, text in given.items() if name in configs}
    return values, tuple(name for name in given if name not in configs)


def with_defaults(configs: Mapping[str, Config], values: Mapping[str, Value]) -> dict[str, Value]:
    """Return all settings of the table, with defaults for those that ``values`` lacks.

    Raises:
        ConfigError: A required setting is missing.
    """
    complete: dict[str, Value] = {}
    for name, config in configs.items():
        if name in values:
            complete[name] = values[name]
        elif isinstance(config.default, _Required):
            raise ConfigError(name, None, f"given: {config.doc}")
        else:
            complete[name] = config.default
    return complete


def render(value: Value) -> str | None:
    """Format a value as Kafka's tools show it: lists joined by commas, booleans in lower case."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case tuple():
            return ",".join(value)
        case _:
            return str(value)
