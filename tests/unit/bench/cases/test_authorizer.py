from barnabas.bench.cases.authorizer import asked, made_acls, measure
from barnabas.cluster.model.acls import WILDCARD, AclPermission, PatternType
from barnabas.cluster.model.authorization import Rules, authorize


def test_there_are_as_many_acls_as_it_says_of_all_kinds():
    acls = made_acls(2_000)
    entries = [entry for resource in acls for entry in acls[resource]]
    assert len(entries) == 2_000
    assert {resource.pattern for resource in acls} == {PatternType.LITERAL, PatternType.PREFIXED}
    assert WILDCARD in {resource.name for resource in acls}
    assert len({len(resource.name) for resource in acls if resource.pattern is PatternType.PREFIXED}) > 20
    assert {entry.permission for entry in entries} == {AclPermission.ALLOW, AclPermission.DENY}
    assert {entry.host == WILDCARD for entry in entries} == {True, False}


def test_the_decisions_go_both_ways_and_are_the_same_in_each_run():
    acls = made_acls(500)
    decided = [authorize(acls, *question, Rules()) for question in asked(acls, 200)]
    assert len(decided) == 200
    assert decided.count(True) > 40 < decided.count(False)
    assert asked(made_acls(500), 200) == asked(acls, 200)


def test_a_run_makes_all_decisions():
    run = measure(acls=500, decisions=200)
    assert run.figure > 0
    assert sum(run.details.values()) == 200
