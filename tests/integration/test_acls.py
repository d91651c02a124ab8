"""ACLs on a real cluster: hosts tell clients apart, as no client has a name here."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from kazoo.client import KazooClient
from kio.schema.create_topics.v7 import request as create_v7
from kio.schema.fetch.v12 import request as fetch_v12
from kio.schema.list_groups.v4.request import ListGroupsRequest
from kio.schema.metadata.v9.request import MetadataRequest, MetadataRequestTopic
from kio.static.primitive import i32Timedelta

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.waiting import wait_until
from tests.integration.records import delivery_error
from tests.logged import logged

SCRIPT = Path(__file__).parents[2] / "scripts" / "kafka-acls.sh"
OVERRIDES = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    # Until the first ACL of a resource exists, this host may create it.
    "allow.everyone.if.no.acl.found": "true",
    "authorizer.log.level": "DEBUG",
    "auto.create.topics.enable": "true",
}
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.BROKER
OTHER_HOST = "127.0.0.2"
DENIED = 29


def acl(
    kind, name, operation, host="127.0.0.1", *, permission=ALLOW, pattern=LITERAL, principal="User:ANONYMOUS"
):
    return AclBinding(kind, name, pattern, principal, host, operation, permission)


def create(admin, *acls):
    for future in admin.create_acls(list(acls)).values():
        future.result(60)


def delete(admin, *acls):
    filters = [
        AclBindingFilter(
            each.restype,
            each.name,
            each.resource_pattern_type,
            each.principal,
            each.host,
            each.operation,
            each.permission_type,
        )
        for each in acls
    ]
    return [future.result(60) for future in admin.delete_acls(filters).values()]


def described(admin):
    anything = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    return admin.describe_acls(anything).result(60)


@pytest.fixture
def stranger(cluster, answered):
    """A client from another address: asks broker ``number`` by ``stranger[number](request)``."""
    return {
        number: partial(answered, broker, source=OTHER_HOST) for number, broker in cluster.brokers.items()
    }


@pytest.fixture(scope="module")
def owner(cluster):
    """The admin of the host that may do everything; nobody else may do anything from here on."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    kinds = ((TOPIC, "*"), (GROUP, "*"), (CLUSTER, "kafka-cluster"))
    # The cluster comes last: until then everybody may change ACLs.
    create(admin, *(acl(kind, name, AclOperation.ALL) for kind, name in kinds))
    admin.create_topics([NewTopic("orders", 1, 3)])["orders"].result(90)
    wait_until(lambda: "orders" in admin.list_topics(timeout=10).topics, "orders in the metadata")
    assert produce(cluster, "orders") is None
    return admin


def produce(cluster, topic):
    return delivery_error(cluster.bootstrap, topic, retries=0)


def metadata_of(stranger, *names):
    topics = tuple(MetadataRequestTopic(name=name) for name in names) if names else None
    request = MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=True,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    answer = stranger(request)
    return answer, {topic.name: int(topic.error_code) for topic in answer.topics}


def fetch_of(stranger, topic, session=0, epoch=0):
    partition = fetch_v12.FetchPartition(
        partition=0, fetch_offset=0, last_fetched_epoch=-1, partition_max_bytes=1 << 20
    )
    named = () if session else (fetch_v12.FetchTopic(topic=topic, partitions=(partition,)),)
    return stranger(
        fetch_v12.FetchRequest(
            replica_id=-1,
            max_wait=i32Timedelta.parse(dt.timedelta(0)),
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=0,
            session_id=session,
            session_epoch=epoch,
            topics=named,
            forgotten_topics_data=(),
            rack_id="",
        )
    )


def fetched(answer):
    return [
        (int(p.error_code), len(p.records or b"")) for topic in answer.responses for p in topic.partitions
    ]


def test_brokers_without_tls_are_anonymous_to_each_other_and_it_is_told(owner, cluster):
    log = logged(cluster.brokers[BrokerId(1)].directory / "logs" / "server.log")
    assert "between brokers has no TLS, and User:ANONYMOUS has ClusterAction" in log
    audited = logged(cluster.brokers[BrokerId(1)].directory / "logs" / "kafka-authorizer.log")
    assert "Principal = User:ANONYMOUS is Allowed Operation = ClusterAction from host = 127.0.0.1" in audited


def test_a_stranger_sees_no_topic_and_creates_none(owner, stranger):
    answer, topics = metadata_of(stranger[1])
    assert topics == {}
    assert answer.brokers
    assert answer.cluster_authorized_operations == 0
    _, topics = metadata_of(stranger[1], "orders", "no-such-topic")
    assert topics == {"orders": DENIED, "no-such-topic": DENIED}
    assert "no-such-topic" not in owner.list_topics(timeout=60).topics
    assert stranger[1](ListGroupsRequest(states_filter=())).groups == ()


def test_a_grant_takes_effect_on_every_broker_and_so_does_its_end(owner, stranger):
    grant = acl(TOPIC, "ord", AclOperation.READ, OTHER_HOST, pattern=PREFIXED)
    leader = owner.list_topics(timeout=60).topics["orders"].partitions[0].leader
    assert fetched(fetch_of(stranger[leader], "orders")) == [(DENIED, 0)]
    create(owner, grant)
    for each in stranger.values():
        wait_until(lambda each=each: metadata_of(each, "orders")[1] == {"orders": 0}, "the grant in force")
        operations = {t.name: t.topic_authorized_operations for t in metadata_of(each, "orders")[0].topics}
        assert operations == {"orders": 1 << AclOperation.READ.value | 1 << AclOperation.DESCRIBE.value}
    ((error, size),) = fetched(fetch_of(stranger[leader], "orders"))
    assert (error, size > 0) == (0, True)
    assert delete(owner, grant) == [[grant]]
    for each in stranger.values():
        wait_until(lambda each=each: metadata_of(each, "orders")[1] == {"orders": DENIED}, "the grant gone")


def test_a_fetch_session_ends_no_later_than_its_grant(owner, stranger):
    grant = acl(TOPIC, "orders", AclOperation.READ, OTHER_HOST)
    create(owner, grant)
    leader = stranger[owner.list_topics(timeout=60).topics["orders"].partitions[0].leader]
    wait_until(lambda: fetched(fetch_of(leader, "orders"))[0][0] == 0, "the grant in force")
    first = fetch_of(leader, "orders")
    assert first.session_id
    delete(owner, grant)
    wait_until(lambda: metadata_of(leader, "orders")[1] == {"orders": DENIED}, "the grant gone")
    for epoch in (1, 2):
        later = fetch_of(leader, "orders", first.session_id, epoch)
        assert fetched(later) == [(DENIED, 0)]


def test_a_denial_overrules_the_owners_grant(cluster, owner):
    denial = acl(TOPIC, "orders", AclOperation.WRITE, "*", permission=DENY, principal="User:*")
    create(owner, denial)
    assert denial in described(owner)
    wait_until(lambda: produce(cluster, "orders") == "TOPIC_AUTHORIZATION_FAILED", "the denial in force")
    delete(owner, denial)
    wait_until(lambda: produce(cluster, "orders") is None, "the denial gone")


def test_a_stranger_creates_topics_only_with_a_grant(owner, stranger, cluster):
    topic = create_v7.CreatableTopic(
        name="new", num_partitions=1, replication_factor=3, assignments=(), configs=()
    )
    request = create_v7.CreateTopicsRequest(
        topics=(topic,),
        timeout=i32Timedelta.parse(dt.timedelta(seconds=60)),
        validate_only=True,
    )
    controller = stranger[metadata_of(stranger[1])[0].controller_id]
    (result,) = controller(request).topics
    assert int(result.error_code) == DENIED
    grant = acl(TOPIC, "new", AclOperation.CREATE, OTHER_HOST)
    create(owner, grant)
    wait_until(lambda: int(controller(request).topics[0].error_code) == 0, "the grant in force")
    (result,) = controller(request).topics
    assert (int(result.topic_config_error_code), result.num_partitions) == (DENIED, -1)
    delete(owner, grant)


def test_znodes_are_those_of_kafka(owner, cluster):
    created = [
        acl(TOPIC, "bytes", AclOperation.DESCRIBE_CONFIGS, "10.0.0.1"),
        acl(
            GROUP,
            "bytes",
            AclOperation.READ,
            "*",
            permission=DENY,
            pattern=PREFIXED,
            principal="User:CN=a,OU=b",
        ),
    ]
    create(owner, *created)
    client = KazooClient(cluster.zookeeper_connect)
    client.start(60)
    try:
        assert client.get("/kafka-acl/Topic/bytes")[0] == (
            b'{"version":1,"acls":[{"principal":"User:ANONYMOUS","permissionType":"Allow",'
            b'"operation":"DescribeConfigs","host":"10.0.0.1"}]}'
        )
        assert client.get("/kafka-acl-extended/prefixed/Group/bytes")[0] == (
            b'{"version":1,"acls":[{"principal":"User:CN=a,OU=b","permissionType":"Deny",'
            b'"operation":"Read","host":"*"}]}'
        )
        notes = {
            client.get(f"{parent}/{name}")[0]
            for parent in ("/kafka-acl-changes", "/kafka-acl-extended-changes")
            for name in client.get_children(parent)
            if name.startswith("acl_changes_") and len(name) == len("acl_changes_") + 10
        }
        assert b"TOPIC:bytes" in notes
        assert b'{"version":1,"resourceType":"GROUP","name":"bytes","patternType":"PREFIXED"}' in notes
        # What another broker, or Kafka's own tool, writes is obeyed, too.
        body = json.loads(client.get("/kafka-acl/Topic/bytes")[0])
        body["acls"].append(body["acls"][0] | {"host": "10.0.0.2"})
        client.set("/kafka-acl/Topic/bytes", json.dumps(body).encode())
        client.create("/kafka-acl-changes/acl_changes_", b"TOPIC:bytes", sequence=True)
        more = acl(TOPIC, "bytes", AclOperation.DESCRIBE_CONFIGS, "10.0.0.2")
        wait_until(lambda: more in described(owner), "the ACL of another writer")
        assert sorted(map(str, delete(owner, *created)[0] + delete(owner, more)[0])) == sorted(
            map(str, [created[0], more])
        )
        assert client.exists("/kafka-acl/Topic/bytes") is None
    finally:
        client.stop()
        client.close()


def run_tool(cluster, *arguments, answer=""):
    """The exit code and both outputs of kafka-acls.sh."""
    command = [SCRIPT, "--bootstrap-server", cluster.bootstrap, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180, input=answer)
    return done.returncode, done.stdout, done.stderr


def test_kafkas_tool_adds_lists_and_removes(owner, cluster, stranger):
    prefix = "ResourcePattern(resourceType=TOPIC, name=or, patternType=PREFIXED)"
    read = f"(principal=User:*, host={OTHER_HOST}, operation=READ, permissionType=ALLOW)"
    describe = f"(principal=User:*, host={OTHER_HOST}, operation=DESCRIBE, permissionType=ALLOW)"
    group = "ResourcePattern(resourceType=GROUP, name=or, patternType=PREFIXED)"
    resources = ("--resource-pattern-type", "prefixed", "--topic", "or", "--group", "or")
    rights = ("--consumer", "--allow-principal", "User:*", "--allow-host", OTHER_HOST)
    of_topic = f"ACLs for resource `{prefix}`: \n \t{read}\n\t{describe} \n\n"
    of_group = f"ACLs for resource `{group}`: \n \t{read} \n\n"
    both = f"Current {of_topic}Current {of_group}"
    assert run_tool(cluster, "--add", *rights, *resources) == (
        0,
        f"Adding {of_topic}Adding {of_group}{both}",
        "",
    )
    # Any broker answers a list, and it may not have learned of the ACLs yet.
    wait_until(lambda: run_tool(cluster, "--list", *resources) == (0, both, ""), "the ACLs listed")
    of_everybody = ("--list", "--principal", "User:*")
    wait_until(
        lambda: run_tool(cluster, *of_everybody) == (0, f"ACLs for principal `User:*`\n{both}", ""),
        "the ACLs of everybody listed",
    )
    for each in stranger.values():
        wait_until(lambda each=each: metadata_of(each, "orders")[1] == {"orders": 0}, "the grant in force")
    # The owner's own ACL of all topics matches, too, and stays.
    matching = ("--topic", "orders", "--resource-pattern-type", "match")
    code, out, _ = run_tool(cluster, "--remove", *matching, answer="n\n")
    assert code == 0
    assert out.startswith("Are you sure you want to delete all ACLs for resource filter")
    assert f"Current {of_topic}" in out
    only = ("--topic", "or", "--resource-pattern-type", "prefixed", "--operation", "Describe")
    asked = (
        f"Are you sure you want to remove ACLs: \n \t{describe} \n from resource filter `{prefix}`? (y/n)\n"
    )
    left = f"Current ACLs for resource `{prefix}`: \n \t{read} \n\n"
    assert run_tool(cluster, "--remove", *only, *rights[1:], answer="y\n") == (0, asked + left, "")
    assert run_tool(cluster, "--remove", "--force", *resources) == (0, "", "")
    wait_until(lambda: run_tool(cluster, *of_everybody)[1] == "ACLs for principal `User:*`\n", "no ACLs left")
    for each in stranger.values():
        wait_until(lambda each=each: metadata_of(each, "orders")[1] == {"orders": DENIED}, "the grant's end")
    code, out, err = run_tool(cluster, "--add", "--topic", "", "--allow-principal", "User:a")
    cause = "org.apache.kafka.common.errors.InvalidRequestException: Invalid empty resource name"
    assert (code, out.splitlines()[3:], err) == (
        1,
        [f"Error while executing ACL command: {cause}"],
        "",
    )


def test_decisions_are_in_the_log(owner, cluster, stranger):
    metadata_of(stranger[1], "orders")
    text = logged(cluster.brokers[1].directory / "logs" / "kafka-authorizer.log")
    assert (
        "INFO Principal = User:ANONYMOUS is Denied Operation = Describe from host = 127.0.0.2 on resource = "
        "Topic:LITERAL:orders for request = Metadata with resourceRefCount = 1 (kafka.authorizer.logger)\n"
    ) in text
    assert "DEBUG Principal = User:ANONYMOUS is Allowed Operation = " in text
