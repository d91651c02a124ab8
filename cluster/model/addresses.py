"""Addresses of clients as Java writes them, which is how ACLs, quotas and groups name them.

Source: ``java.net.InetAddress.getHostAddress`` (Java SE 17 API documentation).
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, ip_address

_GROUP_BYTES = 2


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
