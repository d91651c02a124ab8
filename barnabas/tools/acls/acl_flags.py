"""The options of ``kafka-acls.sh``, and the resources and ACLs that they name.

They are those of ``kafka.admin.AclCommand`` of Kafka 2.8. The options with which Kafka's tool connects to
ZooKeeper are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from barnabas.cluster.model.acls import (
    CLUSTER,
    WILDCARD,
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.model.authorized_operations import SUPPORTED
from barnabas.cluster.model.principal import principal_of
from barnabas.tools.command_line.options import (
    COMMAND_CONFIG,
    Given,
    JavaError,
    Option,
    OptionError,
    Options,
    UsageError,
    bootstrap_server,
)
from barnabas.tools.command_line.usage import refuse_together, require
from barnabas.tools.zookeeper.zookeeper_client import TLS_FILE

PURPOSE = "This tool helps to manage acls on kafka."

_Op = AclOperation

_PATTERN_TYPE = "resource-pattern-type"

_NAMED = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
    "delegation-token": ResourceType.DELEGATION_TOKEN,
}
"""The options that name resources."""

OPTIONS = Options(
    bootstrap_server(
        "the servers to connect to, separated by commas; required without --authorizer-properties"
    ),
    COMMAND_CONFIG,
    Option("authorizer", "the class of the authorizer whose ACLs are in ZooKeeper", "authorizer"),
    Option(
        "authorizer-properties",
        "key=value: zookeeper.connect=HOST names the ZooKeeper whose ACLs are changed without a broker",
        "authorizer-properties",
        repeated=True,
    ),
    TLS_FILE,
    Option("add", "create ACLs"),
    Option("remove", "delete ACLs; without a principal all of the resources"),
    Option("list", "list the ACLs of the given resources, or all"),
    Option("topic", "a topic, * for all; may be repeated", "topic", repeated=True),
    Option("cluster", "the cluster itself"),
    Option("group", "a consumer group, * for all; may be repeated", "group", repeated=True),
    Option(
        "transactional-id",
        "a transactional id, * for all; may be repeated",
        "transactional-id",
        repeated=True,
    ),
    Option(
        "delegation-token",
        "a delegation token, * for all; may be repeated",
        "delegation-token",
        repeated=True,
    ),
    Option(
        _PATTERN_TYPE,
        "how resources are named: literal (by their names) or prefixed (by a prefix of their names). Also, "
        "for --list and --remove, any (both, with exactly this name) and match (all ACLs that concern a "
        "resource of this name; take care with --remove)",
        "ANY|MATCH|LITERAL|PREFIXED",
        default=PatternType.LITERAL.name,
    ),
    Option(
        "operation",
        f"an operation to allow or deny: {', '.join(each.title for each in _Op if each is not _Op.ANY)}; "
        "may be repeated (default: All)",
        "",
        repeated=True,
    ),
    Option(
        "allow-principal",
        "principalType:name who is allowed, User:* for all; may be repeated",
        "allow-principal",
        repeated=True,
    ),
    Option(
        "deny-principal",
        "principalType:name who is denied, whatever else is allowed; may be repeated",
        "deny-principal",
        repeated=True,
    ),
    Option(
        "allow-host",
        "an address from which --allow-principal is allowed; * without it",
        "allow-host",
        repeated=True,
    ),
    Option(
        "deny-host",
        "an address from which --deny-principal is denied; * without it",
        "deny-host",
        repeated=True,
    ),
    Option(
        "principal",
        "with --list: only ACLs of this principalType:name; may be repeated",
        "principal",
        repeated=True,
        is_optional=True,
    ),
    Option(
        "producer",
        "what producers need: Write, Describe and Create on topics, Write and Describe on transactional ids",
    ),
    Option("consumer", "what consumers need: Read and Describe on topics, Read on groups"),
    Option("idempotent", "with --producer: IdempotentWrite on the cluster, too"),
    Option("force", "do not ask before deleting"),
)

Entries = Mapping[ResourcePattern, tuple[AccessControlEntry, ...]]
"""The ACLs by resource, or by filter of resources if the pattern is ``ANY`` or ``MATCH``."""


def check(given: Given) -> None:
    """Check that the options fit together, in the order of Kafka's checks.

    Raises:
        UsageError: They do not.
    """
    to_broker = given.has("bootstrap-server")
    if to_broker and given.has("authorizer"):
        raise UsageError("Only one of --bootstrap-server or --authorizer must be specified")
    if not to_broker:
        require(given, "authorizer-properties")
    if given.has("command-config") and not to_broker:
        raise UsageError("The --command-config option can only be used with --bootstrap-server option")
    if given.has("authorizer-properties") and to_broker:
        raise UsageError("The --authorizer-properties option can only be used with --authorizer option")
    if sum(map(given.has, ("add", "remove", "list"))) != 1:
        raise UsageError("Command must include exactly one action: --list, --add, --remove. ")
    rights = ("allow-host", "allow-principal", "deny-host", "deny-principal")
    refuse_together(given, "list", ("producer", "consumer", *rights))
    for role in ("producer", "consumer"):
        refuse_together(given, role, ("operation", "deny-principal", "deny-host"))
    if given.has("principal") and not given.has("list"):
        raise UsageError("The --principal option is only available if --list is set")
    if given.has("producer") and not given.has("topic"):
        raise UsageError("With --producer you must specify a --topic")
    if given.has("idempotent") and not given.has("producer"):
        raise UsageError("The --idempotent option is only available if --producer is set")
    if given.has("consumer"):
        others = not given.has("producer") and (given.has("cluster") or given.has("transactional-id"))
        if others or not (given.has("topic") and given.has("group")):
            raise UsageError(
                "With --consumer you must specify a --topic and a --group and no --cluster or "
                "--transactional-id option should be specified."
            )


def entries_to_add(given: Given) -> Entries:
    """Return the ACLs of ``--add``.

    Raises:
        UsageError: There is no resource or principal, or an operation or pattern that ACLs cannot have.
        JavaError: A principal is malformed.
    """
    pattern = _pattern_type(given)
    if pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise UsageError(f"A '--{_PATTERN_TYPE}' value of '{pattern.name}' is not valid when adding acls.")
    found = entries_to_remove(given)
    if not all(found.values()):
        raise UsageError(
            "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
        )
    return found


def entries_to_remove(given: Given) -> Entries:
    """Return the ACLs of ``--remove`` by resource or filter of resources; without ACLs all of it.

    Raises:
        UsageError: There is no resource, or an operation that ACLs of a resource cannot have.
        JavaError: A principal is malformed.
    """
    resources = resources_of(given)
    if not resources:
        raise UsageError(
            "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
            "--delegation-token <Delegation Token ID>"
        )
    found: dict[ResourcePattern, tuple[AccessControlEntry, ...]] = {}
    if given.has("producer"):
        found |= _producer(given, resources)
    if given.has("consumer"):
        for resource, entries in _consumer(given, resources).items():
            found[resource] = tuple(dict.fromkeys((*entries, *found.get(resource, ()))))
    if not given.has("producer") and not given.has("consumer"):
        operations = [_operation(text) for text in given.texts("operation")] or [_Op.ALL]
        found = dict.fromkeys(resources, _entries(given, operations))
    _check_operations(found)
    return found


def resources_of(given: Given) -> list[ResourcePattern]:
    """Return the resources, or the filters of resources, that the options name, each once; there may be none.

    Raises:
        OptionError: The pattern type is unknown.
    """
    pattern = _pattern_type(given)

    def named(option: str) -> list[ResourcePattern]:
        # As in Kafka, blanks around a transactional id are kept.
        texts = given.texts(option)
        names = texts if option == "transactional-id" else [text.strip() for text in texts]
        return [ResourcePattern(_NAMED[option], name, pattern) for name in names]

    is_cluster = given.has("cluster") or given.has("idempotent")
    cluster = [CLUSTER] if pattern is PatternType.LITERAL and is_cluster else []
    found = [
        *named("topic"),
        *cluster,
        *named("group"),
        *named("transactional-id"),
        *named("delegation-token"),
    ]
    return list(dict.fromkeys(found))


def principals(given: Given, option: str) -> list[str]:
    """Return the principals of an option, each once.

    Raises:
        JavaError: One of them is not ``principalType:name``.
    """
    try:
        return list(dict.fromkeys(str(principal_of(text.strip())) for text in given.texts(option)))
    except ValueError as error:
        raise JavaError("java.lang.IllegalArgumentException", str(error)) from error


def _producer(given: Given, resources: Iterable[ResourcePattern]) -> Entries:
    found = _of_types(
        resources,
        {
            ResourceType.TOPIC: _entries(given, (_Op.WRITE, _Op.DESCRIBE, _Op.CREATE)),
            ResourceType.TRANSACTIONAL_ID: _entries(given, (_Op.WRITE, _Op.DESCRIBE)),
        },
    )
    # The pattern type does not hold for the cluster, which has one name.
    return {**found, CLUSTER: _entries(given, (_Op.IDEMPOTENT_WRITE,))} if given.has("idempotent") else found


def _consumer(given: Given, resources: Iterable[ResourcePattern]) -> Entries:
    return _of_types(
        resources,
        {
            ResourceType.TOPIC: _entries(given, (_Op.READ, _Op.DESCRIBE)),
            ResourceType.GROUP: _entries(given, (_Op.READ,)),
        },
    )


def _of_types(
    resources: Iterable[ResourcePattern], entries: Mapping[ResourceType, tuple[AccessControlEntry, ...]]
) -> Entries:
    return {resource: entries[resource.type] for resource in resources if resource.type in entries}


def _entries(given: Given, operations: Iterable[AclOperation]) -> tuple[AccessControlEntry, ...]:
    """Return an ACL for each principal, operation and host; none without a principal."""
    found = [
        AccessControlEntry(principal, host, operation, permission)
        for permission in (AclPermission.ALLOW, AclPermission.DENY)
        for principal, operation, host in product(
            principals(given, f"{permission.name.lower()}-principal"),
            operations,
            [text.strip() for text in given.texts(f"{permission.name.lower()}-host")] or [WILDCARD],
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


def _pattern_type(given: Given) -> PatternType:
    text = given.values().resource_pattern_type
    try:
        return PatternType[text.upper()]
    except KeyError as error:
        raise OptionError(
            "OptionArgumentConversionException", f"Cannot parse argument '{text}' of option {_PATTERN_TYPE}"
        ) from error
