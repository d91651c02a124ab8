"""The time that an authorizer takes for 1,000 decisions when the cluster has 10,000 ACLs.

The ACLs are those of a large cluster: grants of applications for topics, groups and prefixes of many lengths,
grants by host, and denials. Half of the decisions concern a resource and a user that have an ACL. The figure
is CPU time, so that load of other programs does not count.
"""

from __future__ import annotations

import gc
import random
import time
from collections import Counter
from collections.abc import Iterator

from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.cluster.model.acls import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.model.authorization import Acls, Action, Requester, Rules, authorize
from barnabas.cluster.model.principal import USER_TYPE, KafkaPrincipal

ACLS, DECISIONS = 10_000, 1_000

_APPLICATIONS = 500
_TYPES = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
_OPERATIONS = (AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALL)
_HOSTS = (WILDCARD, WILDCARD, WILDCARD, "10.0.0.1", "10.0.0.2")
_RULES = Rules(super_users=frozenset({KafkaPrincipal(USER_TYPE, "admin")}))


def made_acls(count: int) -> Acls:
    """Return ``count`` ACLs, the same ones at every call."""
    found: set[AclBinding] = set()
    for binding in _drawn_bindings(random.Random(count)):
        found.add(binding)
        if len(found) == count:
            break
    by_resource: dict[ResourcePattern, set[AccessControlEntry]] = {}
    for resource, entry in found:
        by_resource.setdefault(resource, set()).add(entry)
    acls = Acls()
    for resource, entries in by_resource.items():
        acls[resource] = entries
    return acls


def _drawn_bindings(dice: random.Random) -> Iterator[AclBinding]:
    while True:
        type_, name = dice.choice(_TYPES), _name(dice)
        is_for_all = dice.randrange(50) == 0
        match dice.randrange(100):
            case 0 if not is_for_all:
                resource = ResourcePattern(type_, WILDCARD)
            case number if number < 30:
                prefix = name[: dice.randrange(len("application-1"), len(name))]
                resource = ResourcePattern(type_, prefix, PatternType.PREFIXED)
            case _:
                resource = ResourcePattern(type_, name)
        principal = WILDCARD_PRINCIPAL if is_for_all else f"{USER_TYPE}:{_user(dice)}"
        permission = AclPermission.DENY if dice.randrange(10) == 0 else AclPermission.ALLOW
        entry = AccessControlEntry(principal, dice.choice(_HOSTS), dice.choice(_OPERATIONS), permission)
        yield AclBinding(resource, entry)


def asked(acls: Acls, count: int) -> list[tuple[Action, Requester]]:
    """Return ``count`` questions, the same ones at every call.

    Half of them concern a resource with an ACL.
    """
    dice = random.Random(count)
    resources = sorted(acls)
    found = []
    for number in range(count):
        type_, name, operation, user = dice.choice(_TYPES), _name(dice), dice.choice(_OPERATIONS), _user(dice)
        if number % 2:
            type_, prefix, pattern = resource = dice.choice(resources)
            name = f"{prefix}-1" if pattern is PatternType.PREFIXED else prefix
            entry = dice.choice(sorted(acls[resource]))
            operation, user = entry.operation, entry.principal.partition(":")[2]
        requester = Requester(KafkaPrincipal(USER_TYPE, user), dice.choice(_HOSTS[-2:]))
        found.append((Action(operation, type_, name), requester))
    return found


def _name(dice: random.Random) -> str:
    return (
        f"application-{dice.randrange(_APPLICATIONS)}.{'events' * dice.randrange(1, 9)}-{dice.randrange(20)}"
    )


def _user(dice: random.Random) -> str:
    return f"application-{dice.randrange(_APPLICATIONS)}"


def measure(acls: int, decisions: int) -> Run:
    """Measure the CPU milliseconds of the decisions."""
    known = made_acls(acls)
    questions = asked(known, decisions)
    gc.collect()
    begin = time.process_time()
    answers = [authorize(known, action, requester, _RULES) for action, requester in questions]
    spent_ms = (time.process_time() - begin) * 1_000
    counted = Counter(answers)
    return Run(spent_ms, {"allowed, decisions": counted[True], "denied, decisions": counted[False]})


BENCHES = (
    Bench(
        name="authorizer",
        question="How long do 1,000 decisions take with 10,000 ACLs?",
        unit="ms of CPU time",
        target=at_most(20.0),
        measure=measure,
        sizes={"acls": ACLS, "decisions": DECISIONS},
        scales_with="decisions",
    ),
)
