"""The lines that ``kafka-acls.sh`` prints, with the blanks of Kafka 2.8's ``AclCommand``.

2.8 prints ACLs in the order of a hash set; here they are sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from barnabas.cluster.model.acls import AccessControlEntry, ResourcePattern


def entry_text(entry: AccessControlEntry) -> str:
    """Format an ACL without its resource as ``AccessControlEntry`` of Kafka's clients does."""
    return (
        f"(principal={entry.principal}, host={entry.host}, operation={entry.operation.name}, "
        f"permissionType={entry.permission.name})"
    )


def added(resource: ResourcePattern, entries: Iterable[AccessControlEntry]) -> str:
    """Return the text that announces ACLs to add."""
    return f"Adding ACLs for resource `{resource}`: \n {_block(entries)} \n\n"


def question(resource: ResourcePattern, entries: Sequence[AccessControlEntry]) -> str:
    """Return the question before ACLs are deleted; no ACLs mean all of the resource."""
    if not entries:
        return f"Are you sure you want to delete all ACLs for resource filter `{resource}`? (y/n)\n"
    return (
        f"Are you sure you want to remove ACLs: \n {_block(entries)} \n "
        f"from resource filter `{resource}`? (y/n)\n"
    )


def listing(
    acls: Mapping[ResourcePattern, AbstractSet[AccessControlEntry]], principals: Sequence[str] = ()
) -> str:
    """Return the text of ``--list``: all ACLs by resource, or only those of the given principals."""
    if not principals:
        return "".join(
            f"Current ACLs for resource `{resource}`: \n {_block(acls[resource])} \n\n"
            for resource in sorted(acls)
        )
    text = ""
    for principal in principals:
        own = {
            resource: {entry for entry in entries if entry.principal == principal}
            for resource, entries in acls.items()
        }
        text += f"ACLs for principal `{principal}`\n"
        text += listing({resource: entries for resource, entries in own.items() if entries})
    return text


def _block(entries: Iterable[AccessControlEntry]) -> str:
    return "\n".join(f"\t{entry_text(entry)}" for entry in sorted(entries))
