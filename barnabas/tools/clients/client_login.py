"""The login of Java's clients: ``sasl.jaas.config`` as user and password.

Sources: ``JaasContext``, ``PlainLoginModule`` and ``ScramLoginModule`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.cluster.model.jaas import PLAIN_MODULE, SCRAM_MODULE, JaasError, parse_jaas
from barnabas.cluster.model.scram import BY_NAME

_JAAS, _MECHANISM = "sasl.jaas.config", "sasl.mechanism"
_MODULES = {"PLAIN": PLAIN_MODULE, **dict.fromkeys(BY_NAME, SCRAM_MODULE)}
_DEFAULT_MECHANISM = "GSSAPI"


class ClientLoginError(Exception):
    """An error for a login that cannot be used; the message repeats no option of the JAAS entry."""


def with_login(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with ``sasl.username`` and ``sasl.password`` instead of a JAAS entry.

    Raises:
        ClientLoginError: The entry is bad, or not one of the mechanism, or the mechanism is not served.
    """
    settings = dict(properties)
    text = settings.pop(_JAAS, None)
    if text is None:
        return settings
    mechanism = settings.get(_MECHANISM, _DEFAULT_MECHANISM)
    if mechanism not in _MODULES:
        raise ClientLoginError(f"{_MECHANISM} is {mechanism}, expected one of {', '.join(_MODULES)}")
    try:
        entry = parse_jaas(text)
    except JaasError as error:
        raise ClientLoginError(f"{_JAAS} is no JAAS entry, expected {error}") from None
    if entry.module != _MODULES[mechanism]:
        raise ClientLoginError(f"{_JAAS} names {entry.module}, but {mechanism} needs {_MODULES[mechanism]}")
    for option in ("username", "password"):
        if option not in entry.options:
            raise ClientLoginError(f'{_JAAS} lacks the option {option}, expected {option}="..."')
        settings[f"sasl.{option}"] = entry.options[option]
    return settings
