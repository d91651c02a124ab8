import pytest

from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.topic import TOPIC_CONFIGS
from barnabas.cluster.model.configs.unserved import release, unserved


@pytest.mark.parametrize("name", ["message.format.version", "log.message.format.version"])
@pytest.mark.parametrize("version", ["0.8.2", "0.9.0", "0.10.2", "0.10.0-IV1"])
def test_old_message_formats_are_not_served(name, version):
    assert f"{name} has the value '{version}'; it must be 0.11.0 or later" in str(unserved({name: version}))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"cleanup.policy": ("compact",), "message.format.version": "0.11.0"},
        {"cleanup.policy": (), "message.format.version": "2.6-IV0"},
        {"log.message.format.version": "10.0", "retention.ms": 5},
    ],
)
def test_all_else_is(values):
    assert unserved(values) is None


def test_the_names_are_those_of_the_tables():
    assert "message.format.version" in TOPIC_CONFIGS
    assert "log.message.format.version" in BROKER_CONFIGS


@pytest.mark.parametrize("version", ["0.8.2", "0.11.0", "2.8", "2.8-IV1", "3.0"])
def test_a_release(version):
    assert release().holds(version)


@pytest.mark.parametrize("version", ["", "latest", "2", "2.", "v2.8", "2.8-beta"])
def test_no_release(version):
    assert not release().holds(version)
