"""The check that a certificate is for a host (RFC 6125, 6.4)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address


def is_named(host: str, names: Iterable[str]) -> bool:
    """Return whether one of the names of a certificate is that of ``host``.

    A name may begin with ``*.``, which stands for one label; an address is named by itself alone.
    """
    wanted = _plain(host)
    return any(_matches(wanted, _plain(name)) for name in names)


def _matches(host: str, name: str) -> bool:
    if host == name:
        return True
    label, dot, rest = host.partition(".")
    return name.startswith("*.") and bool(label and dot and "." in rest) and name[2:] == rest


@lru_cache(maxsize=1024)
def _plain(name: str) -> str:
    """Return a name in lower case without a last dot, or an address in its only form."""
    try:
        return f"[{ip_address(name)}]"
    except ValueError:
        return name.lower().removesuffix(".")
