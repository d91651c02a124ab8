from __future__ import annotations

from dataclasses import dataclass

import pytest

from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import with_defaults
from barnabas.cluster.model.configs.settings import setting, setting_names, settings_of


@dataclass(frozen=True, slots=True)
class Some:
    number: int
    max_bytes: int = setting("fetch.max.bytes")
    may_delete: bool = setting("delete.topic.enable")


def test_a_field_has_the_default_of_its_row():
    assert Some(3).max_bytes == BROKER_CONFIGS["fetch.max.bytes"].default
    assert setting_names(Some) == {"max_bytes": "fetch.max.bytes", "may_delete": "delete.topic.enable"}


def test_the_values_in_force_arrive_with_what_is_no_setting():
    values = with_defaults(BROKER_CONFIGS, {"zookeeper.connect": "z", "delete.topic.enable": False})
    assert settings_of(Some, values, number=7) == Some(7, may_delete=False)


def test_a_name_without_a_row_is_refused_when_the_class_is_declared():
    with pytest.raises(KeyError):
        setting("fetch.max.bites")
