"""Addresses of clients as Java writes them, which is how ACLs, quotas and groups name them.

Source: ``java.net.InetAddress.getHostAddress`` (Java SE 17 API documentation).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv4Address, ip_address
from types import MappingProxyType

_GROUP_BYTES = 2


_LOCALHOST = {"localhost": "127.0.0.1"}


def is_address(text: str) -> bool:
    """Return whether a text is an address; names other than ``localhost`` are not looked up."""
    try:
        ip_address(text)
    except ValueError:
        return text in _LOCALHOST
    return True


@lru_cache(maxsize=16)
def numbers_by_address(text: str) -> Mapping[str, int]:
    """Parse ``max.connections.per.ip.overrides``: a list of ``address:number``; the last colon separates.

    Raises:
        ValueError: An item has another form.
    """
    numbers = {}
    for item in filter(None, (each.strip() for each in text.split(","))):
        name, _, number = item.rpartition(":")
        name = name.strip()
        if not is_address(name) or not re.fullmatch(r"\d{1,10}", number.strip(), re.ASCII):
            raise ValueError(f"{item} is not of the form address:number")
        numbers[host_address(_LOCALHOST.get(name, name))] = int(number)
    return MappingProxyType(numbers)


def are_numbers_by_address(text: object) -> bool:
    """Return whether `numbers_by_address` can parse a text."""
    try:
        numbers_by_address(str(text))
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1024)
def host_address(text: str) -> str:
    """Return an address in Java's form: all eight groups of IPv6, and IPv4 for an IPv6 address that maps it.

    A text that is no address, such as a host name, is returned as it is.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return text
    if isinstance(address, IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    packed = address.packed
    groups = (packed[at : at + _GROUP_BYTES] for at in range(0, len(packed), _GROUP_BYTES))
    scope = "" if address.scope_id is None else f"%{address.scope_id}"
    return ":".join(f"{int.from_bytes(group):x}" for group in groups) + scope
