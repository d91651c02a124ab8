from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from barnabas.broker.config.broker_config import parse
from barnabas.broker.config.dynamic import DynamicBrokerConfig, usable


def live(**given_):
    texts = {name.replace("_", "."): text for name, text in given_.items()}
    return DynamicBrokerConfig(parse({"zookeeper.connect": "z", **texts}, hostname="here")[0])


def test_a_setting_of_this_broker_wins_over_one_of_all_and_that_over_the_file():
    config = live(min_insync_replicas="2")
    assert config.set_default({"min.insync.replicas": "3", "message.max.bytes": "5000"})
    assert config.set_own({"min.insync.replicas": "4"})
    assert config.config.integer("min.insync.replicas") == 4
    assert config.config.topic_defaults.min_insync_replicas == 4
    assert config.config.topic_defaults.max_message_bytes == 5000
    assert config.set_own({})
    assert config.config.integer("min.insync.replicas") == 3
    assert config.set_default({})
    assert config.config.integer("min.insync.replicas") == 2
    assert config.config.topic_defaults.max_message_bytes == 1048588


def test_what_changes_nothing_is_no_change():
    config = live(min_insync_replicas="2")
    assert not config.set_default({"min.insync.replicas": "2"})
    assert not config.set_default({"a.plugins.own": "x"})
    config.set_own({"min.insync.replicas": "4"})
    assert not config.set_default({"min.insync.replicas": "3"})


def test_each_layer_of_a_setting_can_be_read():
    config = live(min_insync_replicas="2")
    config.set_default({"message.max.bytes": "5000"})
    config.set_own({"min.insync.replicas": "4"})
    notified = config.settings
    assert notified.given["min.insync.replicas"] == "2"
    assert (notified.dynamic, notified.dynamic_default) == (
        {"min.insync.replicas": "4"},
        {"message.max.bytes": "5000"},
    )
    assert notified.values["message.max.bytes"] == 5000


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("log.dirs", "/x", "needs a restart"),
        ("listeners", "A://:1", "needs a restart"),
        ("min.insync.replicas", "none", "a whole number"),
    ],
)
def test_what_cannot_be_used_is_logged_and_does_not_count(name, text, says):
    config = live()
    with capture_logs() as lines:
        assert config.set_own({name: text, "message.max.bytes": "5000"})
    assert says in lines[0]["event"]
    assert config.settings.dynamic == {"message.max.bytes": "5000"}


layers = st.dictionaries(
    st.sampled_from(["min.insync.replicas", "message.max.bytes", "log.retention.ms", "log.dirs"]),
    st.sampled_from(["1", "2", "3", "bad"]),
)


@given(layers, layers)
def test_the_strongest_usable_layer_holds(default, own):
    """The slow model looks every setting up, strongest first."""
    config = live(min_insync_replicas="7", message_max_bytes="8", log_retention_ms="9")
    with capture_logs():
        config.set_default(default)
        config.set_own(own)
        for name, given_ in (
            ("min.insync.replicas", 7),
            ("message.max.bytes", 8),
            ("log.retention.ms", 9),
        ):
            texts = [layer[name] for layer in (own, default) if layer.get(name, "bad") != "bad"]
            assert config.config.integer(name) == (int(texts[0]) if texts else given_)
        assert usable({"log.dirs": "x"}, "this broker") == {}


def test_a_bad_limit_of_a_listener_does_not_count():
    name = "listener.name.a.max.connections"
    with capture_logs() as lines:
        assert usable({name: "many"}, "this broker") == {}
        assert usable({name: "5"}, "this broker") == {name: "5"}
    assert name in lines[0]["event"]
