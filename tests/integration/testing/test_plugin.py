"""The pytest plugin, in test runs of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request

import psutil
import pytest

pytest_plugins = ["pytester"]

INI = """
[pytest]
barnabas_brokers = {brokers}
barnabas_session_timeout_ms = 1000
asyncio_default_fixture_loop_scope = function
"""


@pytest.fixture
def suite(pytester: pytest.Pytester):
    """Makes a project of its own with one test file; its runs are processes."""

    def make(tests: str, brokers: int = 1) -> pytest.Pytester:
        pytester.makefile(".ini", pytest=INI.format(brokers=brokers))
        pytester.makepyfile(tests)
        return pytester

    return make


def test_what_a_test_made_or_broke_is_mended_and_a_failed_one_tells_its_story(suite):
    project = suite(
        """
        import pytest
        from barnabas.testing import UnknownTopicError

        @pytest.fixture(scope="module")
        def shared(barnabas_cluster):
            barnabas_cluster.create_topic("shared")
            return barnabas_cluster.directory

        def test_one(shared, barnabas_cluster):
            barnabas_cluster.create_topic("mine")
            barnabas_cluster.partition(1, "zookeeper")
            barnabas_cluster.pause(1)
            barnabas_cluster.kill(2)

        def test_two(shared, barnabas_cluster):
            assert barnabas_cluster.directory == shared
            assert [barnabas_cluster.state_of(each) for each in (1, 2)] == ["running"] * 2
            barnabas_cluster.wait_until_isr("shared")
            with pytest.raises(UnknownTopicError, match="no topic 'mine'; there are: shared"):
                barnabas_cluster.isr_of("mine")

        def test_three(shared, barnabas_cluster):
            barnabas_cluster.create_topic("orders")
            with barnabas_cluster.killed(barnabas_cluster.leader_of("orders")):
                barnabas_cluster.wait_until_led("orders")
            barnabas_cluster.wait_until_isr("orders")
            barnabas_cluster.wait_until_isr("orders", isr=[1], timeout_s=0.1)
        """,
        brokers=2,
    )
    result = project.runpytest_subprocess()
    result.assert_outcomes(passed=2, failed=1)
    said = result.stdout.str()
    assert "WaitTimeoutError: the ISR of every partition of orders is 1: not within 0.1 s" in said
    assert not re.search(r"(barnabas|concurrent)/.*\.py:", said)  # frames other than the test's
    _, _, story = said.partition("Barnabas cluster during this test")
    for told in (
        r"^[\d:,]{12} orders-0: leader (\d), ISR 1,2$",
        r"^[\d:,]{12} --- SIGKILL to broker \d$",
        r"^[\d:,]{12} orders-0: .*ISR 1,2 -> \d$",
        r"^[\d:,]{12} --- start broker \d$",
        r"^[\d:,]{12} orders-0: ISR \d -> 1,2$",
        r"^logs: /.*/broker-\*/logs$",
    ):
        assert re.search(told, story, re.MULTILINE), (told, story)
    assert "mine" not in story


def test_workers_have_clusters_of_their_own_and_a_marker_makes_another_one(suite):
    project = suite("""
        import pytest

        def test_one(barnabas_cluster):
            assert barnabas_cluster.brokers == [1]
            barnabas_cluster.create_topic("orders")

        @pytest.mark.barnabas(session_timeout_ms=1500, racks=["a"], settings={"num.partitions": "7"})
        def test_two(fresh_barnabas_cluster):
            fresh_barnabas_cluster.create_topic("orders")
            settings = (fresh_barnabas_cluster.directory / "broker-1" / "server.properties").read_text()
            for line in ("zookeeper.session.timeout.ms=1500", "broker.rack=a", "num.partitions=7"):
                assert line in settings
    """)
    project.runpytest_subprocess("-n", "2", "--dist=each").assert_outcomes(passed=4)


def test_a_cluster_that_a_test_gets_by_name_is_mended_too(suite):
    project = suite("""
        def test_one(request):
            cluster = request.getfixturevalue("barnabas_cluster")
            cluster.create_topic("mine")
            cluster.pause(1)

        def test_two(request):
            cluster = request.getfixturevalue("barnabas_cluster")
            assert cluster.state_of(1) == "running"
            assert "mine" not in cluster.state().topics
    """)
    project.runpytest_subprocess().assert_outcomes(passed=2)


def test_acls_quotas_users_and_settings_of_a_test_are_changed_back(suite):
    project = suite("""
        import pytest
        from confluent_kafka import admin as kafka

        ANYTHING = kafka.AclBindingFilter(
            kafka.ResourceType.ANY, None, kafka.ResourcePatternType.ANY, None, None,
            kafka.AclOperation.ANY, kafka.AclPermissionType.ANY,
        )

        def lock(admin, *resource):
            acl = kafka.AclBinding(
                *resource, kafka.ResourcePatternType.LITERAL, "User:*", "*",
                kafka.AclOperation.ALL, kafka.AclPermissionType.DENY,
            )
            admin.create_acls([acl])[acl].result(60)

        @pytest.fixture
        def admin(barnabas_cluster):
            return kafka.AdminClient({"bootstrap.servers": barnabas_cluster.bootstrap_servers})

        @pytest.fixture(scope="module")
        def kept(barnabas_cluster):
            admin = kafka.AdminClient({"bootstrap.servers": barnabas_cluster.bootstrap_servers})
            barnabas_cluster.create_topic("kept", configs={"retention.ms": "5000"})
            lock(admin, kafka.ResourceType.GROUP, "old")

        def set_(admin, type_, name, key, value):
            entry = kafka.ConfigEntry(key, value, incremental_operation=kafka.AlterConfigOpType.SET)
            resource = kafka.ConfigResource(type_, name, incremental_configs=[entry])
            admin.incremental_alter_configs([resource])[resource].result(60)

        def test_one(kept, barnabas_cluster, admin):
            barnabas_cluster.create_topic("mine")
            set_(admin, kafka.ResourceType.TOPIC, "mine", "retention.ms", "6000")
            set_(admin, kafka.ResourceType.TOPIC, "kept", "retention.ms", "7000")
            set_(admin, kafka.ResourceType.BROKER, "1", "log.cleaner.threads", "2")
            credential = kafka.ScramCredentialInfo(kafka.ScramMechanism.SCRAM_SHA_256, 4096)
            upsertion = kafka.UserScramCredentialUpsertion("eve", credential, b"secret")
            admin.alter_user_scram_credentials([upsertion])["eve"].result(60)
            lock(admin, kafka.ResourceType.TOPIC, "mine")
            lock(admin, kafka.ResourceType.BROKER, "kafka-cluster")

        def test_two(kept, barnabas_cluster, admin):
            assert barnabas_cluster.state().topics == {"kept"}
            (acl,) = admin.describe_acls(ANYTHING).result(60)
            assert acl.name == "old"
            after = barnabas_cluster.checkpoint().settings
            told = {str(each): found.settings for each, found in after.configs.items() if found.settings}
            assert told == {"ConfigResource(type=TOPIC, name='kept')": {"retention.ms": "5000"}}
            assert not any(found.settings for found in after.quotas.values())
            assert "eve" in str(list(after.quotas))  # an empty node stays, as after Kafka's own deletion
    """)
    ini = project.path / "pytest.ini"
    ini.write_text(
        ini.read_text()
        + "\nbarnabas_settings =\n    authorizer.class.name=kafka.security.authorizer.AclAuthorizer\n"
        "    allow.everyone.if.no.acl.found=true\n"
    )
    project.runpytest_subprocess().assert_outcomes(passed=2)


def test_a_setting_without_a_value_is_a_usage_error(pytester):
    pytester.makefile(
        ".ini", pytest="[pytest]\nbarnabas_settings =\n    num.partitions=7\n    log.segment.bytes\n"
    )
    pytester.makepyfile("def test_it(barnabas_cluster): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        "*UsageError: barnabas_settings: expected key=value a line, not 'log.segment.bytes'"
    )


def test_a_cluster_that_does_not_start_is_tried_twice_and_a_message_without_frames(suite, monkeypatch):
    project = suite("""
        def test_one(barnabas_cluster): pass
        def test_two(barnabas_cluster): pass
    """)
    monkeypatch.setenv("BARNABAS_ZOOKEEPER_JARS", str(project.path))
    result = project.runpytest_subprocess()
    result.assert_outcomes(errors=2)
    reason = (
        f"barnabas: the cluster did not start: {project.path} has no zookeeper-*.jar, which ZooKeeper needs"
    )
    said = [line for line in result.outlines if line.startswith("barnabas: ")]
    assert [line.endswith("; trying once more") for line in said] == [True, False, False]
    assert all(reason.replace("*", "[0-9]*") in line for line in said)
    result.stdout.no_fnmatch_line("*testing/plugin.py*")


def test_a_kept_cluster_stays_as_the_failed_test_left_it_until_ctrl_c(suite):
    project = suite(
        """
        def test_one(barnabas_cluster):
            barnabas_cluster.create_topic("orders", replication_factor=1, assignment={0: [1]})
            barnabas_cluster.kill(1)
            assert barnabas_cluster.isr_of("orders") == (2,)

        def test_two(barnabas_cluster): pass
        """,
        brokers=2,
    )
    run = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--barnabas-keep"],
        cwd=project.path,
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = []
    for line in run.stdout:
        lines.append(line.rstrip())
        if line == "barnabas: Ctrl-C ends it\n":
            break
    report = "\n".join(lines)
    assert "FAILED" in report
    assert "test_two" not in report
    page = re.search(r"watch it on (http://\S+)", report)[1]
    with urllib.request.urlopen(page) as answer:
        assert answer.status == 200
    (zookeeper,) = re.findall(r"ZooKeeper on (\S+)", report)
    shell = [
        sys.executable,
        "-m",
        "barnabas.tools.zookeeper.zookeeper_shell",
        zookeeper,
        "ls",
        "/brokers/topics",
    ]
    assert "orders" in subprocess.run(shell, capture_output=True, text=True, check=True).stdout
    started = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(signal.SIGINT)
    run.stdout.close()
    assert run.wait() == 1
    _, alive = psutil.wait_procs(started, timeout=30)
    assert alive == []


def test_a_kept_cluster_needs_the_terminal(suite):
    project = suite("def test_one(barnabas_cluster): pass")
    result = project.runpytest_subprocess("--barnabas-keep", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*--barnabas-keep needs the tests in this process: leave out -n")


def test_nothing_survives_a_pytest_that_is_killed(suite):
    project = suite("""
        import time

        def test_it(barnabas_cluster):
            print("serves", flush=True)
            time.sleep(600)
    """)
    run = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-s"], cwd=project.path, stdout=subprocess.PIPE, text=True
    )
    for line in run.stdout:
        if "serves" in line:
            break
    started = psutil.Process(run.pid).children(recursive=True)
    words = " ".join(word for process in started for word in process.cmdline())
    assert "ZooKeeperServerMain" in words
    assert words.count("barnabas.broker.preloaded") == 2  # the one that forks, and the broker
    os.kill(run.pid, signal.SIGKILL)
    run.stdout.close()
    run.wait()
    _, alive = psutil.wait_procs(started, timeout=30)
    assert alive == []
