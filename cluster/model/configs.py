"""What a setting is: its declaration, and how text becomes a checked value.

The tables themselves are `cluster.model.configs_broker`, `configs_log` and `configs_topic`. Types, ranges and
the rule "null means not set" are those of Kafka's ``ConfigDef`` (release 2.8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

Value = bool | int | float | str | tuple[str, ...] | None
"""A parsed setting: bool, int, float, str, a tuple of names for a list, or None where it is not set."""

UNLIMITED_LONG = 2**63 - 1
"""Kafka's way to say "no limit" for a long."""

UNLIMITED_INT = 2**31 - 1
"""Kafka's way to say "no limit" for an int."""


class ConfigError(ValueError):
    """A setting that may not be.

    Attributes:
        name: The setting.
        value: The text that was given, or None where it is missing.
        allowed: What would have been right, as the end of the sentence "must be ...".
    """

    def __init__(self, name: str, value: str | None, allowed: str) -> None:
        given = "is not set" if value is None else f"has the value '{value}'"
        super().__init__(f"Invalid configuration: {name} {given}; it must be {allowed}")
        self.name = name
        self.value = value
        self.allowed = allowed

    @property
    def for_clients(self) -> str:
        """What a client gets, which begins as Kafka's does (``ConfigException.java``)."""
        return f"Invalid value {self.value} for configuration {self.name}: Value must be {self.allowed}"


class Type(Enum):
    """The type of a setting; each is read from text by `read`.

    Attributes:
        described: How it is called in an error, as the end of "must be ...".
    """

    described: str

    BOOLEAN = "true or false"
    SHORT = "a whole number from -32768 to 32767"
    INT = "a whole number from -2147483648 to 2147483647"
    LONG = "a whole number from -9223372036854775808 to 9223372036854775807"
    DOUBLE = "a number"
    STRING = "text"
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
    """Read ``text`` as a value of ``type_``; surrounding blanks do not count.

    Raises:
        ValueError: It is none.
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
        case Type.LIST:
            return tuple(item.strip() for item in text.split(",")) if text else ()


def _refuse(text: str) -> Value:
    raise ValueError(text)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a value must satisfy beyond its type.

    Attributes:
        holds: Whether it does; never asked about None.
        described: The rule as the end of the sentence "must be ...".
        has_maximum: Whether it bounds numbers from above.
    """

    holds: Callable[[Value], bool]
    described: str
    has_maximum: bool = False


def at_least(minimum: float) -> Rule:
    """A number that is not below ``minimum``."""
    return Rule(lambda v: isinstance(v, (int, float)) and v >= minimum, f"at least {minimum}")


def between(minimum: float, maximum: float) -> Rule:
    """A number from ``minimum`` to ``maximum``, both included."""
    return Rule(
        lambda v: isinstance(v, (int, float)) and minimum <= v <= maximum,
        f"between {minimum} and {maximum}",
        has_maximum=True,
    )


def at_least_or_minus_one(minimum: int) -> Rule:
    """A number that is not below ``minimum``, or -1, which means unlimited."""
    return Rule(
        lambda v: isinstance(v, int) and (v >= minimum or v == -1), f"at least {minimum}, or -1 for no limit"
    )


def one_of(*names: str) -> Rule:
    """One of these names, or for a list: all of its names among these, and at least one."""
    return Rule(
        lambda v: set(v) <= set(names) and bool(v) if isinstance(v, tuple) else v in names,
        "one of " + ", ".join(names),
    )


def not_empty() -> Rule:
    """Text or a list that holds something, and no empty name."""
    return Rule(lambda v: bool(v) and (not isinstance(v, tuple) or all(v)), "not empty")


class _Required(Enum):
    REQUIRED = "required"


REQUIRED = _Required.REQUIRED
"""The default of a setting that has none."""


@dataclass(frozen=True, slots=True)
class Config:
    """The declaration of one setting.

    Attributes:
        name: Kafka's key.
        type: How its text is read.
        default: Its value where it is not given; None means not set, `REQUIRED` that it must be given.
        doc: One sentence: what it does, its unit.
        rule: What its value must satisfy beyond the type.
        topic: The topic setting that overrides it, if there is one.
        ours: True for a setting that Kafka does not have.
        told_as: The type that Kafka declares, where ours reads more out of the text; else None.
    """

    name: str
    type: Type
    default: Value | _Required
    doc: str
    rule: Rule | None = None
    topic: str | None = None
    ours: bool = False
    told_as: Type | None = None

    @property
    def kafka_type(self) -> Type:
        """The type that clients are told."""
        return self.type if self.told_as is None else self.told_as

    @property
    def default_text(self) -> str | None:
        """The text of the default, or None where there is none."""
        return None if isinstance(self.default, _Required) else render(self.default)

    @property
    def allowed(self) -> str:
        """What a value may be, as the end of the sentence "must be ..."."""
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
        """The value that ``text`` stands for.

        Raises:
            ConfigError: It is not of the type, or breaks the rule.
        """
        try:
            value = read(self.type, text)
        except ValueError:
            raise ConfigError(self.name, text, self.allowed) from None
        if self.rule is not None and not self.rule.holds(value):
            raise ConfigError(self.name, text, self.allowed)
        return value


def table(*parts: Iterable[Config]) -> Mapping[str, Config]:
    """The declarations by name.

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
    """Parse what was given, adding no defaults.

    Returns:
        The values of the known settings, and the names that no declaration knows, in the order given.

    Raises:
        ConfigError: For the first bad value.
    """
    values = {name: configs[name].parse(text) for name, text in given.items() if name in configs}
    return values, tuple(name for name in given if name not in configs)


def with_defaults(configs: Mapping[str, Config], values: Mapping[str, Value]) -> dict[str, Value]:
    """All settings of the table: those in ``values``, and the default of each other one.

    Raises:
        ConfigError: A required one is missing.
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
    """The text of a value as Kafka's tools show it: lists joined by commas, booleans in lower case."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case tuple():
            return ",".join(value)
        case _:
            return str(value)
