import pytest

from barnabas.cluster.model.configs_broker import BROKER_CONFIGS
from barnabas.cluster.model.configs_topic import TOPIC_CONFIGS
from barnabas.cluster.model.configs_unserved import release, unserved


@pytest.mark.parametrize("name", ["cleanup.policy", "log.cleanup.policy"])
@pytest.mark.parametrize("policy", [("compact",), ("compact", "delete"), ("delete", "compact")])
def test_compaction_is_not_served(name, policy):
    error = unserved({name: policy})
    assert str(error) == (
        f"Invalid configuration: {name} has the value '{','.join(policy)}'; "
        "it must be delete: logs are not compacted yet"
    )


@pytest.mark.parametrize("name", ["message.format.version", "log.message.format.version"])
@pytest.mark.parametrize("version", ["0.8.2", "0.9.0", "0.10.2", "0.10.0-IV1"])
def test_old_message_formats_are_not_served(name, version):
    assert f"{name} has the value '{version}'; it must be 0.11.0 or later" in str(unserved({name: version}))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"cleanup.policy": ("delete",), "message.format.version": "0.11.0"},
        {"cleanup.policy": (), "message.format.version": "2.6-IV0"},
        {"log.message.format.version": "10.0", "retention.ms": 5},
    ],
)
def test_all_else_is(values):
    assert unserved(values) is None


def test_the_names_are_those_of_the_tables():
    for name in ("cleanup.policy", "message.format.version"):
        assert name in TOPIC_CONFIGS
        assert f"log.{name}" in BROKER_CONFIGS


@pytest.mark.parametrize("version", ["0.8.2", "0.11.0", "2.8", "2.8-IV1", "3.0"])
def test_a_release(version):
    assert release().holds(version)


@pytest.mark.parametrize("version", ["", "latest", "2", "2.", "v2.8", "2.8-beta"])
def test_no_release(version):
    assert not release().holds(version)
