import pytest

from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import REQUIRED, Type


@pytest.mark.parametrize("config", BROKER_CONFIGS.values(), ids=lambda config: config.name)
def test_every_default_satisfies_its_own_declaration(config):
    if config.default is None or config.default is REQUIRED:
        return
    assert config.rule is None or config.default == () or config.rule.holds(config.default)
    kind = {Type.BOOLEAN: bool, Type.DOUBLE: float, Type.STRING: str, Type.LIST: tuple}.get(config.type, int)
    assert type(config.default) is kind


@pytest.mark.parametrize("config", BROKER_CONFIGS.values(), ids=lambda config: config.name)
def test_every_setting_says_what_it_does(config):
    assert config.doc.endswith((".", "never."))


def test_only_what_kafka_lacks_is_marked_as_ours():
    ours = {name for name, config in BROKER_CONFIGS.items() if config.ours}
    assert ours == {
        "authorizer.log.level",
        "kafka.logs.dir",
        "log.scrub.interval.ms",
        "log.scrub.io.max.bytes.per.second",
        "server.log.level",
        "state.change.log.level",
        "metrics.address",
        "producer.id.expiration.ms",
        "pid.file",
        "failpoints",
        "failpoints.over.http",
        "inter.broker.detours",
        "java.security.auth.login.config",
        "zookeeper.connection.wait",
    }
