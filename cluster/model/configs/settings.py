"""Typed settings objects: every field names a row of `BROKER_CONFIGS`, and takes its default from there.

A part of the servers that reads settings declares those that it uses as a dataclass::

    @dataclass(frozen=True, slots=True)
    class ReplicaSettings:
        lag_time_max_ms: int = setting("replica.lag.time.max.ms")

and its process makes the object from the values in force with `settings_of`. Type, default, range, unit and
meaning of the setting are in the row alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import Value

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ROW = "row"

_S = TypeVar("_S", bound="DataclassInstance")


def setting(name: str) -> Any:
    """Declare a dataclass field that holds the broker setting ``name`` and has its default.

    Raises:
        KeyError: No row has this name.
    """
    return field(default=BROKER_CONFIGS[name].default, metadata={_ROW: name})


def setting_names(kind: type[DataclassInstance]) -> dict[str, str]:
    """Return the name of the broker setting of each field of ``kind`` that was declared with `setting`."""
    return {each.name: each.metadata[_ROW] for each in fields(kind) if _ROW in each.metadata}


def settings_of(kind: type[_S], values: Mapping[str, Value], **given: object) -> _S:
    """Make a settings object.

    Args:
        kind: A dataclass with fields declared by `setting`.
        values: The broker settings in force, by name.
        given: The fields of ``kind`` that are no broker settings.
    """
    return kind(**{field: values[name] for field, name in setting_names(kind).items()}, **given)
