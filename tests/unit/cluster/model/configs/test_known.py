import pytest

from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.model.configs.known import UnknownSettingError, check_known, check_settings


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("log.segmnt.bytes", "brokers have no setting 'log.segmnt.bytes': did you mean log.segment.bytes?"),
        ("retention.ms", "brokers have no setting 'retention.ms': did you mean log.retention.ms?"),
        ("colour", "brokers have no setting 'colour'"),
        (
            "listener.name.mine.ssl.keystor.location",
            "did you mean listener.name.mine.ssl.keystore.location?",
        ),
    ],
)
def test_an_unknown_setting_is_refused_with_the_nearest_name(name, said):
    with pytest.raises(UnknownSettingError) as refusal:
        check_known(["num.partitions", name])
    assert str(refusal.value).endswith(said)


def test_settings_of_brokers_and_their_listeners_are_known():
    check_known(
        [
            "num.partitions",
            "listener.name.mine.max.connections",
            "listener.name.mine.scram-sha-256.sasl.jaas.config",
            "listener.name.with.dots.ssl.keystore.location",
        ]
    )


def test_a_value_that_no_broker_takes_is_refused():
    check_settings({"log.segment.bytes": "100", "listener.name.mine.max.connections": "5", "broker.rack": ""})
    with pytest.raises(ConfigError, match=r"segment.bytes has the value '5'; it must be .* at least 14"):
        check_settings({"log.segment.bytes": "5"})
    with pytest.raises(ConfigError, match="it must be any of delete, compact, separated by commas"):
        check_settings({"log.cleanup.policy": "keep"})
