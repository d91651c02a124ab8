"""The check that brokers know the settings that they are given, and take their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import parse_given
from barnabas.cluster.model.configs.security import LISTENER_PREFIX, OF_LISTENER, is_setting_of_listener


class UnknownSettingError(ValueError):
    """An error for a setting that brokers do not know; the message has the nearest name that they know."""


def check_known(names: Iterable[str]) -> None:
    """Refuse names of settings that brokers do not know, such as those with a typing error.

    Kafka warns of them in ``server.properties``, which may have settings of plugins and of other releases.
    What a person or a test sets by ``--override`` is meant to have an effect.

    Raises:
        UnknownSettingError: A name is not known.
    """
    for name in names:
        if name not in BROKER_CONFIGS and not _is_of_listener(name):
            near = get_close_matches(name, _candidates(name), n=1)
            hint = f": did you mean {near[0]}?" if near else ""
            raise UnknownSettingError(f"brokers have no setting {name!r}{hint}")


def check_settings(settings: Mapping[str, str]) -> None:
    """Refuse settings that brokers do not know, and values that no broker takes; an empty one is not set.

    Raises:
        UnknownSettingError: A name is not known.
        ConfigError: A value is not allowed.
    """
    check_known(settings)
    parse_given(BROKER_CONFIGS, {name: text for name, text in settings.items() if text.strip()})


def _is_of_listener(name: str) -> bool:
    if not name.startswith(LISTENER_PREFIX):
        return False
    parts = name.removeprefix(LISTENER_PREFIX).split(".")  # a listener's name may have dots
    return any(is_setting_of_listener(".".join(parts[behind:])) for behind in range(1, len(parts)))


def _candidates(name: str) -> Iterable[str]:
    if not name.startswith(LISTENER_PREFIX):
        return BROKER_CONFIGS
    listener = name.removeprefix(LISTENER_PREFIX).partition(".")[0]
    return [f"{LISTENER_PREFIX}{listener}.{each}" for each in sorted(OF_LISTENER)]
