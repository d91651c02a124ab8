"""The lines of kafka-acls.sh, blank by blank."""

from __future__ import annotations

from barnabas.cluster.model.acls import (
    CLUSTER,
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.tools.acls.acl_lines import added, listing, question

T = ResourcePattern(ResourceType.TOPIC, "t", PatternType.PREFIXED)
READ = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
DENY = AccessControlEntry("User:b", "10.0.0.1", AclOperation.CLUSTER_ACTION, AclPermission.DENY)
T_TEXT = "ResourcePattern(resourceType=TOPIC, name=t, patternType=PREFIXED)"
READ_TEXT = "(principal=User:a, host=*, operation=READ, permissionType=ALLOW)"
DENY_TEXT = "(principal=User:b, host=10.0.0.1, operation=CLUSTER_ACTION, permissionType=DENY)"
OF_T = f"Current ACLs for resource `{T_TEXT}`: \n \t{READ_TEXT}\n\t{DENY_TEXT} \n\n"
OF_CLUSTER = (
    "Current ACLs for resource `ResourcePattern(resourceType=CLUSTER, name=kafka-cluster, "
    f"patternType=LITERAL)`: \n \t{DENY_TEXT} \n\n"
)


def test_acls_to_add() -> None:
    assert (
        added(T, [DENY, READ]) == f"Adding ACLs for resource `{T_TEXT}`: \n \t{READ_TEXT}\n\t{DENY_TEXT} \n\n"
    )


def test_questions() -> None:
    assert (
        question(T, ()) == f"Are you sure you want to delete all ACLs for resource filter `{T_TEXT}`? (y/n)\n"
    )
    assert question(T, [READ]) == (
        f"Are you sure you want to remove ACLs: \n \t{READ_TEXT} \n from resource filter `{T_TEXT}`? (y/n)\n"
    )


def test_a_list_is_in_order() -> None:
    acls = {CLUSTER: frozenset({DENY}), T: frozenset({READ, DENY})}
    assert listing(acls) == OF_T + OF_CLUSTER
    assert listing({}) == ""


def test_a_list_of_principals() -> None:
    acls = {CLUSTER: frozenset({DENY}), T: frozenset({READ, DENY})}
    assert listing(acls, ["User:a", "User:c"]) == (
        f"ACLs for principal `User:a`\nCurrent ACLs for resource `{T_TEXT}`: \n \t{READ_TEXT} \n\n"
        "ACLs for principal `User:c`\n"
    )
