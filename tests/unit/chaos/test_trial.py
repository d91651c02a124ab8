import confluent_kafka
import pytest

from barnabas.local.observe import ClusterView
from barnabas.workload.history import load
from tests import trial as module
from tests.trial import Trial


class MockCluster:
    """librdkafka's mock cluster as a defendant; nothing can be done to it."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap


@pytest.fixture
def trial(mock_bootstrap, monkeypatch):
    # The mock knows no CreateTopics: it creates topics of four partitions when they are asked for.
    create = module.Observer.wait_until_in_sync
    monkeypatch.setattr(
        module.Observer,
        "create_topic",
        lambda self, name, partitions, **_: tuple(
            sorted(create(self, name, partitions=partitions, timeout_s=10).partitions)
        ),
    )
    return Trial(MockCluster(mock_bootstrap), topic="tried", partitions=4)


def test_an_undisturbed_cluster_is_acquitted_and_its_history_kept(trial, tmp_path):
    with trial:
        trial.workload.wait_for_progress(10)
    verdict = trial.judge(tmp_path)
    assert verdict.valid
    assert verdict.acknowledged == verdict.read > 0
    assert tuple(load(tmp_path / "history.jsonl")) == trial.history.ops()


def test_what_is_waited_for_is_seen_or_named(trial):
    assert trial.wait_for(lambda view: len(view.partitions) == 4, "four partitions").partitions
    assert trial.wait_until_in_sync().partitions.keys() == set(trial.partitions)
    with pytest.raises(TimeoutError, match="a fifth broker was not seen within"):
        trial.wait_for(lambda view: 5 in view.brokers, "a fifth broker", timeout_s=0.01)
    trial.workload.start()
    trial.workload.stop()


def test_a_look_that_nobody_answers_is_followed_by_another(trial, monkeypatch):
    looks = iter([confluent_kafka.KafkaException("nobody answers"), ClusterView(controller=2)])

    def look(topic):
        match next(looks):
            case ClusterView() as view:
                return view
            case error:
                raise error

    monkeypatch.setattr(trial.observer, "look", look)
    assert trial.wait_for(lambda view: view.controller == 2, "a controller").controller == 2
    trial.workload.start()
    trial.workload.stop()
