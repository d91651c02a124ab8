"""What else docker-compose.yml has: brokers 4 and 5, and an ensemble of ZooKeepers."""

from __future__ import annotations

import json
import os
import re
import urllib.request

import pytest

from barnabas.local.waiting import wait_until

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1800)]

CREATE = "kafka-topics.sh --bootstrap-server brokers:19092 --create --partitions 3 --replication-factor"
DESCRIBE = "kafka-topics.sh --bootstrap-server brokers:19092 --describe --topic"
MODE = "printf srvr | nc -w 5 127.0.0.1 2181 | sed -n 's/^Mode: //p'"
"""No newline after the word: ZooKeeper leaves it unread, and then its close resets the connection."""
DEADLINE_S = 120.0
SERVERS = ("zookeeper", "zookeeper-2", "zookeeper-3")


def mode(cluster, server):
    """What a ZooKeeper is in its ensemble; nothing while that is being found out."""
    return cluster.run("exec", "-T", server, "sh", "-c", MODE).strip()


def modes_of_an_ensemble(cluster):
    """What each is, once one leads and two follow."""
    modes = {}

    def whole():
        modes.update({server: mode(cluster, server) for server in SERVERS})
        return sorted(modes.values()) == ["follower", "follower", "leader"]

    wait_until(whole, "one leader and two followers", DEADLINE_S, lambda: modes)
    return modes


def topics_of_the_page():
    """The topics that the page has, and none while it does not know ZooKeeper."""
    with urllib.request.urlopen(
        f"http://localhost:{os.environ['PAGE_PORT']}/api/history", timeout=30
    ) as answer:
        history = json.load(answer)
    last = [each["connected"] for each in history["changes"] if each["kind"] == "zookeeper"][-1:]
    return {each["topic"] for each in history["changes"] if "topic" in each} if last != [False] else set()


def test_brokers_4_and_5(compose):
    with compose("five", 5, profiles=["five"]) as cluster:
        cluster.client(*CREATE.split(), "5", "--topic", "wide")
        described = cluster.client(*DESCRIBE.split(), "wide")
    replicas = re.findall(r"Replicas: ([\d,]+)", described)
    assert [set(each.split(",")) for each in replicas] == [set("12345")] * 3


def test_an_ensemble_lasts_through_the_death_of_its_leader(compose):
    with compose("ensemble", profiles=["ensemble"]) as cluster:
        modes = modes_of_an_ensemble(cluster)
        (leader,) = (server for server, what in modes.items() if what == "leader")
        cluster.run("kill", leader)
        cluster.client(*CREATE.split(), "3", "--topic", "later")
        assert "Isr: " in cluster.client(*DESCRIBE.split(), "later")
        cluster.run("up", "--detach", "--wait", "--no-build")
        modes_of_an_ensemble(cluster)

        # The page and the brokers live through the death of the first one, too, which starts them.
        cluster.run("kill", "zookeeper")
        cluster.client(*CREATE.split(), "3", "--topic", "last")
        wait_until(lambda: "last" in topics_of_the_page(), "the page shows the topic", DEADLINE_S)

        # The first one starts again as what it was, though nobody tells it of the profile.
        cluster.run("up", "--detach", "--wait", "--no-build")
        cluster.run("restart", "zookeeper")
        cluster.run("up", "--detach", "--wait", "--no-build")
        modes_of_an_ensemble(cluster)

        # Two of three are gone: the last one ends, as it has no majority, and waits with the others.
        cluster.run("kill", "zookeeper", "zookeeper-3")
        cluster.run("up", "--detach", "--wait", "--no-build")
        modes_of_an_ensemble(cluster)


def test_an_ensemble_is_not_put_over_the_data_of_one(compose):
    with compose("alone", services=["zookeeper"]) as cluster:
        assert mode(cluster, "zookeeper") == "standalone"
        with pytest.raises(AssertionError, match=r"no-ensemble-over-the-data-of-one-zookeeper.*exit 1"):
            cluster.run("--profile", "ensemble", "up", "--detach", "--wait", "--no-build", "zookeeper-2")
        cluster.run("--profile", "ensemble", "down", "--volumes")
