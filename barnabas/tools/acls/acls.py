"""``kafka-acls.sh``: add, remove and list ACLs.

Options and output are those of ``kafka.admin.AclCommand`` of Kafka 2.8. Errors at
run time are printed on standard output, as there. Exit code 0, or 1 on any error.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from barnabas.cluster.model.acls import AccessControlEntry, AclFilter, ResourcePattern
from barnabas.tools.acls.acl_client import AclClient, Acls
from barnabas.tools.acls.acl_flags import (
    OPTIONS,
    Entries,
    check,
    entries_to_add,
    entries_to_remove,
    principals,
    resources_of,
)
from barnabas.tools.acls.acl_lines import added, listing, question
from barnabas.tools.acls.zookeeper_acls import ZooKeeperAcls, connect_string, demand_known
from barnabas.tools.clients.admin_client import AdminClient
from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.zookeeper.zookeeper_client import read_tls_file, security_by


class Client(Protocol):
    """The ACLs of a cluster, through a broker or in ZooKeeper."""

    def describe(self, filters: Iterable[AclFilter]) -> Acls:
        """Return the ACLs that match one filter or more."""
        ...

    def create(self, resource: ResourcePattern, entries: Iterable[AccessControlEntry]) -> None:
        """Create ACLs of a resource."""
        ...

    def delete(self, filters: Iterable[AclFilter]) -> None:
        """Delete the ACLs that match one filter or more."""
        ...


def add(client: Client, found: Entries) -> None:
    """Announce and create ACLs, one resource after the other."""
    for resource, entries in found.items():
        sys.stdout.write(added(resource, entries))
        client.create(resource, entries)


def remove(client: Client, found: Entries, *, is_forced: bool) -> None:
    """Delete ACLs, each resource's after a question unless ``is_forced``; the end of the input means no."""
    for resource, entries in found.items():
        if is_forced or _is_confirmed(question(resource, entries)):
            client.delete(filters_of(resource, entries))


def filters_of(resource: ResourcePattern, entries: Sequence[AccessControlEntry] = ()) -> list[AclFilter]:
    """Return the filters that find the given ACLs of a resource; without ACLs, one that finds all of them."""
    return [
        AclFilter(*resource, each.principal, each.host, each.operation, each.permission) for each in entries
    ] or [AclFilter(*resource)]


def _is_confirmed(text: str) -> bool:
    sys.stdout.write(text)
    sys.stdout.flush()
    return sys.stdin.readline().rstrip("\r\n").lower() == "y"


def run(flags: Namespace) -> None:
    """Carry out the options, and list the ACLs of their resources, or without one all ACLs.

    Raises:
        UsageError: The options do not fit together.
        ToolError: An option's value is invalid.
        AdminError: No broker answered.
        Refusal: The cluster refused.
    """
    resources, named = resources_of(flags), principals(flags, "principal")
    # Wrong options are reported before the first connection.
    found = entries_to_add(flags) if flags.add else entries_to_remove(flags) if flags.remove else {}
    with client_of(flags) as client:
        if flags.add:
            add(client, found)
        else:
            remove(client, found, is_forced=flags.force)
        shown = [each for resource in resources for each in filters_of(resource)] or [AclFilter()]
        sys.stdout.write(listing(client.describe(shown), named))


@contextmanager
def client_of(flags: Namespace) -> Iterator[Client]:
    """Give the client of the servers that the options name.

    Raises:
        ToolError: The options name no ZooKeeper, or another authorizer than Kafka's.
        AdminError: No broker answered.
    """
    if flags.bootstrap_server is not None:
        with AdminClient(flags.bootstrap_server, for_kafka_python(flags.command_config)) as admin:
            yield AclClient(admin)
        return
    demand_known(flags.authorizer)
    connect = connect_string(flags.authorizer_properties)
    security = security_by(read_tls_file(flags.zk_tls_config_file), os.environ)
    yield ZooKeeperAcls(connect, security)


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Check and carry out the options, and return the exit code."""
    check(flags)
    try:
        run(flags)
    except ToolError as error:
        sys.stdout.write(f"Error while executing ACL command: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
