"""``kafka-acls.sh``: add, remove and list ACLs.

Options and output are those of ``kafka.admin.AclCommand`` of Kafka 2.8. Errors at
run time are printed on standard output, as there. Exit code 0, or 1 on any error.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Protocol

from barnabas.cluster.model.acls import (
    CLUSTER,
    WILDCARD,
    AccessControlEntry,
    AclFilter,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.model.authorized_operations import SUPPORTED
from barnabas.cluster.model.principal import principal_of
from barnabas.tools.acls.acl_client import AclClient, Acls
from barnabas.tools.acls.acl_lines import added, listing, question
from barnabas.tools.acls.zookeeper_acls import ZooKeeperAcls, connect_string, demand_known
from barnabas.tools.clients.admin_client import AdminClient
from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.command_line.parser import Parser, ToolError, UsageError, has, refuse_together
from barnabas.tools.zookeeper.zookeeper_client import add_tls_file, read_tls_file, security_by

_Op = AclOperation

_NAMED = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
    "delegation-token": ResourceType.DELEGATION_TOKEN,
}
"""The options that name resources."""

OPTIONS = Parser("kafka-acls.sh", "This tool helps to manage acls on kafka.")
OPTIONS.add_servers(is_required=False)
OPTIONS.add_argument("--authorizer", help="the class of the authorizer whose ACLs are in ZooKeeper")
add_tls_file(OPTIONS)
OPTIONS.add_actions(
    add="create ACLs",
    remove="delete ACLs; without a principal all of the resources",
    list="list the ACLs of the given resources, or all",
)
OPTIONS.add_lists(
    authorizer_properties="key=value: zookeeper.connect=HOST names the ZooKeeper whose ACLs are changed "
    "without a broker",
    topic="a topic, * for all",
    group="a consumer group, * for all",
    transactional_id="a transactional id, * for all",
    delegation_token="a delegation token, * for all",
    operation="an operation to allow or deny, All without it: "
    f"{', '.join(each.title for each in _Op if each is not _Op.ANY)}",
    allow_principal="principalType:name who is allowed, User:* for all",
    deny_principal="principalType:name who is denied, whatever else is allowed",
    allow_host="an address from which --allow-principal is allowed; * without it",
    deny_host="an address from which --deny-principal is denied; * without it",
)
OPTIONS.add_argument(
    "--principal",
    action="append",
    default=[],
    nargs="?",
    const="",
    help="with --list: only ACLs of this principalType:name; may be repeated",
)
OPTIONS.add_argument(
    "--resource-pattern-type",
    type=str.upper,
    choices=[each.name for each in PatternType],
    default=PatternType.LITERAL.name,
    help="how resources are named: LITERAL (by their names) or PREFIXED (by a prefix of their names). Also, "
    "for --list and --remove, ANY (both, with exactly this name) and MATCH (all ACLs that concern a resource "
    "of this name; take care with --remove)",
)
OPTIONS.add_switches(
    cluster="the cluster itself",
    producer="what producers need: Write, Describe and Create on topics, Write and Describe on transactional "
    "ids",
    consumer="what consumers need: Read and Describe on topics, Read on groups",
    idempotent="with --producer: IdempotentWrite on the cluster, too",
    force="do not ask before deleting",
)

Entries = Mapping[ResourcePattern, tuple[AccessControlEntry, ...]]
"""The ACLs by resource, or by filter of resources if the pattern is ``ANY`` or ``MATCH``."""


def check(flags: Namespace) -> None:
    """Check that the options fit together.

    Raises:
        UsageError: They do not.
    """
    if has(flags, "bootstrap-server"):
        refuse_together(flags, "bootstrap-server", ("authorizer", "authorizer-properties"))
    elif not flags.authorizer_properties:
        raise UsageError("one of --bootstrap-server, --authorizer-properties is required")
    else:
        refuse_together(flags, "authorizer-properties", ("command-config",))
    rights = ("allow-host", "allow-principal", "deny-host", "deny-principal")
    refuse_together(flags, "list", ("producer", "consumer", *rights))
    for role in ("producer", "consumer"):
        refuse_together(flags, role, ("operation", "deny-principal", "deny-host"))
    if has(flags, "principal") and not flags.list:
        raise UsageError("--principal is for --list")
    if flags.producer and not flags.topic:
        raise UsageError("--producer needs --topic")
    if flags.idempotent and not flags.producer:
        raise UsageError("--idempotent needs --producer")
    if flags.consumer:
        others = not flags.producer and (flags.cluster or flags.transactional_id)
        if others or not (flags.topic and flags.group):
            raise UsageError("--consumer needs --topic and --group, and no --cluster or --transactional-id")


def entries_to_add(flags: Namespace) -> Entries:
    """Return the ACLs of ``--add``.

    Raises:
        UsageError: There is no resource or principal, or an operation or pattern that ACLs cannot have.
    """
    pattern = PatternType[flags.resource_pattern_type]
    if pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise UsageError(f"--resource-pattern-type {pattern.name} is not for --add")
    found = entries_to_remove(flags)
    if not all(found.values()):
        raise UsageError("--add needs one of --allow-principal, --deny-principal")
    return found


def entries_to_remove(flags: Namespace) -> Entries:
    """Return the ACLs of ``--remove`` by resource or filter of resources; without ACLs all of it.

    Raises:
        UsageError: There is no resource, or an operation that ACLs of a resource cannot have.
    """
    resources = resources_of(flags)
    if not resources:
        names = ", ".join(f"--{name}" for name in ("cluster", *_NAMED))
        raise UsageError(f"a resource is required, one of {names}")
    found: dict[ResourcePattern, tuple[AccessControlEntry, ...]] = {}
    if flags.producer:
        found |= _producer(flags, resources)
    if flags.consumer:
        for resource, entries in _consumer(flags, resources).items():
            found[resource] = tuple(dict.fromkeys((*entries, *found.get(resource, ()))))
    if not flags.producer and not flags.consumer:
        operations = [_operation(text) for text in flags.operation] or [_Op.ALL]
        found = dict.fromkeys(resources, _entries(flags, operations))
    _check_operations(found)
    return found


def resources_of(flags: Namespace) -> list[ResourcePattern]:
    """Return the resources, or the filters of resources, that the options name, each once."""
    pattern = PatternType[flags.resource_pattern_type]

    def named(option: str) -> list[ResourcePattern]:
        # As in Kafka, blanks around a transactional id are kept.
        texts = _texts(flags, option)
        names = texts if option == "transactional-id" else [text.strip() for text in texts]
        return [ResourcePattern(_NAMED[option], name, pattern) for name in names]

    is_cluster = flags.cluster or flags.idempotent
    cluster = [CLUSTER] if pattern is PatternType.LITERAL and is_cluster else []
    found = [
        *named("topic"),
        *cluster,
        *named("group"),
        *named("transactional-id"),
        *named("delegation-token"),
    ]
    return list(dict.fromkeys(found))


def principals(flags: Namespace, option: str) -> list[str]:
    """Return the principals of an option, each once.

    Raises:
        UsageError: One of them is not ``principalType:name``.
    """
    texts = [text.strip() for text in _texts(flags, option) if text]
    try:
        return list(dict.fromkeys(str(principal_of(text)) for text in texts))
    except ValueError as error:
        raise UsageError(f"--{option}: {error}") from error


def _texts(flags: Namespace, option: str) -> list[str]:
    texts: list[str] = getattr(flags, option.replace("-", "_"))
    return texts


def _producer(flags: Namespace, resources: Iterable[ResourcePattern]) -> Entries:
    found = _of_types(
        resources,
        {
            ResourceType.TOPIC: _entries(flags, (_Op.WRITE, _Op.DESCRIBE, _Op.CREATE)),
            ResourceType.TRANSACTIONAL_ID: _entries(flags, (_Op.WRITE, _Op.DESCRIBE)),
        },
    )
    # The pattern type does not hold for the cluster, which has one name.
    return {**found, CLUSTER: _entries(flags, (_Op.IDEMPOTENT_WRITE,))} if flags.idempotent else found


def _consumer(flags: Namespace, resources: Iterable[ResourcePattern]) -> Entries:
    return _of_types(
        resources,
        {
            ResourceType.TOPIC: _entries(flags, (_Op.READ, _Op.DESCRIBE)),
            ResourceType.GROUP: _entries(flags, (_Op.READ,)),
        },
    )


def _of_types(
    resources: Iterable[ResourcePattern], entries: Mapping[ResourceType, tuple[AccessControlEntry, ...]]
) -> Entries:
    return {resource: entries[resource.type] for resource in resources if resource.type in entries}


def _entries(flags: Namespace, operations: Iterable[AclOperation]) -> tuple[AccessControlEntry, ...]:
    """Return an ACL for each principal, operation and host; none without a principal."""
    found = [
        AccessControlEntry(principal, host, operation, permission)
        for permission in (AclPermission.ALLOW, AclPermission.DENY)
        for principal, operation, host in product(
            principals(flags, f"{permission.name.lower()}-principal"),
            operations,
            [text.strip() for text in _texts(flags, f"{permission.name.lower()}-host")] or [WILDCARD],
        )
    ]
    return tuple(dict.fromkeys(found))


def _check_operations(found: Entries) -> None:
    for resource, entries in found.items():
        valid = SUPPORTED[resource.type] | {_Op.ALL}
        if not valid.issuperset(entry.operation for entry in entries):
            names = ", ".join(each.title for each in _Op if each in valid)
            raise UsageError(f"ResourceType {resource.type.name} only supports operations {names}")


def _operation(text: str) -> AclOperation:
    """Parse an operation such as ``ClusterAction``, in any case; an unknown one becomes ``ANY``.

    Like an unknown one, ``ANY`` is supported by no resource. Source: ``SecurityUtils.operation``.
    """
    name = text.strip().upper()
    return next((each for each in AclOperation if each.title.upper() == name), AclOperation.ANY)


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
