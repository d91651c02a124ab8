"""Elections and shutdowns of controllers on real brokers under load, in one cluster, judged at the end."""

from __future__ import annotations

import contextlib
import json
import re

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.local.cluster import LocalCluster
from barnabas.local.observe import Observer
from barnabas.local.waiting import wait_until
from tests.logged import log_lines, logged
from tests.metadata import metadata_of
from tests.trial import Trial

OVERRIDES = {"zookeeper.session.timeout.ms": "8000", "replica.lag.time.max.ms": "2000"}
"""A session that a broker can be killed and be back in, also on a busy machine."""
ACTIVE = "kafka_controller_KafkaController_ActiveControllerCount"
DEADLINE_S = 60.0


@pytest.fixture(scope="module")
def trial(cluster):
    """Records are written all the time; in the end each acknowledged one is there, once and in order."""
    with Trial(cluster, rate=200.0) as trial:
        trial.workload.wait_for_progress(30)
        yield trial
        trial.wait_until_in_sync()
        trial.workload.wait_for_progress(30)
    verdict = trial.judge()
    assert verdict.problems() == []
    assert verdict.failed == verdict.unknown == 0, "a client saw more than an error that it could retry"


def epoch_of(zk):
    with contextlib.suppress(ValueError):
        return int(zk.get("/controller_epoch")[0])
    return -1


def named(zk):
    return json.loads(zk.get("/controller")[0])["brokerid"]


def states(zk, trial):
    """The state of each partition, and the transaction that wrote it."""
    found = {}
    for tp in trial.partitions:
        data, stat = zk.get(f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state")
        found[tp] = json.loads(data), stat.mzxid
    return found


def last_written(zk):
    """The transactions that last wrote what controllers alone write, and made or removed what lies below."""
    paths = ("/controller", "/controller_epoch", "/brokers/topics", "/brokers/topics/trial", "/config/topics")
    return {path: (stat.czxid, stat.mzxid, stat.pzxid) for path in paths if (stat := zk.exists(path))}


def requests_of(controller, broker, since):
    """The requests of a controller that a broker's state-change.log has since then, and those refused."""
    lines = logged(broker.state_change_log)[since:].splitlines()
    lines = [line for line in lines if re.search(rf"controller {controller}\b", line)]
    received, refused = (
        {re.search(r"correlation ?[Ii]d (\d+)", line).group(1) for line in some}
        for some in (lines, [line for line in lines if "Latest known controller epoch is" in line])
    )
    return received, refused


def metadata_are_as_written(zk, trial):
    """Whether the leader and ISR that an ordinary client sees are those in ZooKeeper."""
    seen = trial.look().partitions
    written = {tp: (state["leader"], set(state["isr"])) for tp, (state, _) in states(zk, trial).items()}
    return written == {tp: (seen[tp].leader, set(seen[tp].isr)) for tp in trial.partitions}


def delete(zk):
    zk.delete("/controller")


def make_persistent(zk):
    change = zk.transaction()
    change.delete("/controller")
    change.create("/controller", BY_HAND % named(zk))
    change.commit()


BY_HAND = b'{"version":1,"brokerid":%d,"timestamp":"1"}'
DEEDS = {
    "deleted": delete,
    "another broker written into it": lambda zk: zk.set("/controller", BY_HAND % (named(zk) % 3 + 1)),
    "made by hand, kept by no session": make_persistent,
}


@pytest.mark.parametrize("deed", DEEDS.values(), ids=DEEDS)
def test_whatever_is_done_to_the_node_there_is_exactly_one_new_controller(cluster, trial, zk, deed):
    """KAFKA-4229: who owns the node runs the controller."""
    before = epoch_of(zk)
    trial.history.fault("somebody lays hands on /controller")
    deed(zk)
    wait_until(lambda: epoch_of(zk) > before, "another controller")
    wait_until(lambda: zk.exists("/controller") is not None, "its node")
    elected = named(zk)
    # A broker that resigned or was elected shows it once it has handled that.
    wait_until(lambda: cluster.controller_id() == elected, f"broker {elected} as the controller")
    owner = zk.exists("/controller").ephemeralOwner
    assert owner == zk.exists(f"/brokers/ids/{elected}").ephemeralOwner
    trial.workload.wait_for_progress(30)
    assert epoch_of(zk) == before + 1, "elected more than once"
    assert sum(broker.gauge(ACTIVE) for broker in cluster.brokers.values()) == 1


def test_a_paused_controller_changes_nothing_when_it_wakes(cluster, trial, zk):
    """KAFKA-6082: SIGSTOP past its session, SIGCONT under another controller, with a request waiting."""
    former, before = cluster.controller_id(), epoch_of(zk)
    then = states(zk, trial)
    admin = AdminClient({"bootstrap.servers": cluster.brokers[former].kafka, "log_level": 0})
    assert metadata_of(admin).controller_id == former
    trial.nemesis.pause(former)
    # It reads this when it wakes, and may not know by then that another was elected.
    asked = admin.create_topics([NewTopic("zombie", 1, 3)], request_timeout=DEADLINE_S)["zombie"]
    wait_until(lambda: epoch_of(zk) > before, "another controller")
    trial.wait_for(
        lambda view: all(p.leader not in (None, former) for p in view.partitions.values()), "new leaders"
    )
    marks = {broker.id: len(logged(broker.state_change_log)) for broker in cluster.brokers.values()}
    written = last_written(zk)
    trial.nemesis.resume(former)
    with pytest.raises(KafkaException) as refusal:
        asked.result(DEADLINE_S)
    assert refusal.value.args[0].code() == KafkaError.NOT_CONTROLLER
    cluster.wait_ready()
    trial.wait_until_in_sync()
    assert last_written(zk) == written, "nobody was elected, and no topic came, went or moved"
    for broker in cluster.brokers.values():
        if broker.id != former:
            received, refused = requests_of(former, broker, marks[broker.id])
            assert received <= refused, f"broker {broker.id} obeyed a former controller"
    assert epoch_of(zk) == before + 1
    for tp, (state, _) in states(zk, trial).items():
        # Leaders write the ISR in the controller epoch that made them leaders; they elect nobody.
        unchanged = all(state[key] == then[tp][0][key] for key in ("leader", "leader_epoch"))
        assert state["controller_epoch"] == before + 1 or unchanged
    assert log_lines(cluster.brokers[former], f"resigned as the controller with epoch {before}")
    wait_until(lambda: metadata_are_as_written(zk, trial), "metadata as in ZooKeeper")


@pytest.mark.parametrize("whom", ["the controller", "another"])
def test_a_broker_asked_to_stop_hands_its_leaders_over_first(cluster, trial, zk, whom):
    controller = cluster.controller_id()
    leaving = controller if whom == "the controller" else controller % 3 + 1
    trial.wait_until_in_sync()
    led = [tp for tp, (state, _) in states(zk, trial).items() if state["leader"] == leaving]
    if not led:
        # It came back from an earlier test and leads nothing: the broker that leads most is stopped instead.
        leaving = trial.look().leader_of_most()
        led = [tp for tp, (state, _) in states(zk, trial).items() if state["leader"] == leaving]
    offline = re.compile(f"Changed partition ({'|'.join(map(str, led))}) state from .* to OfflinePartition")
    logs = [broker.state_change_log for broker in cluster.brokers.values()]
    seen = sum(len(offline.findall(logged(log))) for log in logs)
    before = epoch_of(zk)
    trial.history.fault(f"SIGTERM broker {leaving}")
    cluster.terminate(leaving)
    assert cluster.brokers[leaving].exit_status == 0
    assert log_lines(cluster.brokers[leaving], "Controlled shutdown succeeded")
    for state, _ in states(zk, trial).values():
        assert leaving not in [state["leader"], *state["isr"]]
    assert sum(len(offline.findall(logged(log))) for log in logs) == seen, "nothing was offline meanwhile"
    if leaving == controller:
        wait_until(lambda: epoch_of(zk) > before, "another controller")
        assert cluster.controller_id() != leaving
        assert epoch_of(zk) == before + 1, "elected more than once"
    trial.workload.wait_for_progress(30)
    cluster.restart(leaving)
    trial.wait_until_in_sync()


def test_a_broker_killed_and_back_within_its_session_gets_its_state_again(cluster, trial, zk):
    """KAFKA-7235: nobody sees it die; its later czxid tells. KAFKA-1367: all metadata say so in the end."""
    controller = cluster.controller_id()
    bounced = controller % 3 + 1
    # Its session must outlive the time that a loaded machine takes to start it.
    settings = cluster.brokers[bounced].properties
    settings.write_text(f"{settings.read_text()}zookeeper.session.timeout.ms=60000\n")
    cluster.restart(bounced)
    trial.wait_until_in_sync()
    before = zk.exists(f"/brokers/ids/{bounced}").czxid
    trial.history.fault(f"SIGKILL broker {bounced} and start it at once")
    cluster.kill(bounced)
    cluster.restart(bounced, wait=False)
    wait_until(
        lambda: (node := zk.exists(f"/brokers/ids/{bounced}")) is not None and node.czxid > before,
        "a new registration",
    )
    cluster.wait_ready()
    trial.wait_until_in_sync()
    assert log_lines(cluster.brokers[controller], f"bounced: {bounced};")
    wait_until(lambda: metadata_are_as_written(zk, trial), "metadata as in ZooKeeper")


def test_a_broker_stops_within_its_tries_though_controller_or_zookeeper_is_away(tmp_path):
    """KAFKA-9189: it hung for ever."""
    hurry = {
        **OVERRIDES,
        "controller.socket.timeout.ms": "1000",
        "controlled.shutdown.max.retries": "2",
    }
    with LocalCluster(tmp_path / "cluster", brokers=2, overrides=hurry) as cluster:
        Observer(cluster.bootstrap).create_topic("t", partitions=2, replication_factor=2, configs={})
        controller = cluster.controller_id()
        other = controller % 2 + 1
        cluster.pause(controller)
        cluster.terminate(other)
        cluster.resume(controller)
        cluster.zookeeper.kill()
        cluster.terminate(controller)
        for broker in cluster.brokers.values():
            assert broker.exit_status == 0
            assert log_lines(broker, "Proceeding to do an unclean shutdown")
