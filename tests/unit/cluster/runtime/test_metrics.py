from dataclasses import fields

from prometheus_client import generate_latest

from barnabas.cluster.runtime.metrics import _METRICS, BrokerState, Metrics


def test_every_attribute_is_made_by_the_table():
    assert {field.name for field in fields(Metrics)} - {"registry", "traffic"} == _METRICS.keys()


def test_names_are_those_of_kafka():
    metrics = Metrics()
    metrics.broker_state.set(BrokerState.RUNNING_AS_BROKER)
    metrics.watch(metrics.purgatory_size, lambda: 7, delayedOperation="Produce")
    metrics.watch(metrics.leader_count, lambda: 5)
    page = generate_latest(metrics.registry).decode()
    assert "kafka_server_KafkaServer_BrokerState 3.0\n" in page
    assert 'kafka_server_DelayedOperationPurgatory_PurgatorySize{delayedOperation="Produce"} 7.0\n' in page
    assert "kafka_server_ReplicaManager_LeaderCount 5.0\n" in page
    assert "kafka_controller_KafkaController_ActiveControllerCount 0.0\n" in page
    assert "process_resident_memory_bytes" in page


def test_two_brokers_in_one_process_count_apart():
    first, second = Metrics(), Metrics()
    first.isr_shrinks.inc()
    assert "IsrShrinksPerSec_total 0.0" in generate_latest(second.registry).decode()
