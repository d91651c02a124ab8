"""Topics' settings in the output of kafka-configs.sh and zookeeper-shell.sh."""

from __future__ import annotations

import pytest

from barnabas.analysis.reading.brokers.described import topic_settings

SYNONYMS = "synonyms={DYNAMIC_TOPIC_CONFIG:min.insync.replicas=2, DEFAULT_CONFIG:min.insync.replicas=1}"
TWO = ("topics/orders/min.insync.replicas=2",)


@pytest.mark.parametrize(
    "text",
    [
        f"Dynamic configs for topic orders are:\n  min.insync.replicas=2 sensitive=false {SYNONYMS}\n",
        f"Dynamic configs for topic orders are:\r\n  min.insync.replicas=2 sensitive=false {SYNONYMS}\r\n",
        "Dynamic configs for topic orders are:\n  min.insync.replicas=2 sensitive=false\n",
        (
            "All configs for topic orders are:\n  compression.type=lz4 sensitive=false synonyms={}\n"
            f"  min.insync.replicas=2 sensitive=false {SYNONYMS}\n"
        ),
        f"Configs for topic orders are:\n  min.insync.replicas=2 sensitive=false {SYNONYMS}\n",
        "Configs for topic 'orders' are min.insync.replicas=2,retention.ms=1000\n",
        "Configs for topic 'orders' are retention.ms=1000,min.insync.replicas=2\n",
        "Configs for topics:orders are min.insync.replicas=2\n",
        'get /config/topics/orders\n{"version":1,"config":{"min.insync.replicas":"2"}}\n',
        (
            "[zk: localhost:2181(CONNECTED) 0] get /config/topics/orders\n"
            '{"version":1,"config":{"min.insync.replicas":"2"}}\n[zk: localhost:2181(CONNECTED) 1] \n'
        ),
        (
            "get -s /config/topics/orders\n\nWATCHER::\n\nWatchedEvent state:SyncConnected type:None\n"
            '{"version":1,"config":{"min.insync.replicas":"2"}}\ncZxid = 0x8f\n'
        ),
    ],
)
def test_a_topic_s_setting_is_read_from_what_kafka_s_tools_print(text: str) -> None:
    assert topic_settings(text) == TWO


@pytest.mark.parametrize(
    "text",
    [
        "Configs for topic 'orders' are retention.ms=1000\n",
        "Configs for topic 'orders' are \n",
        'get /config/topics/orders\n{"version":1,"config":{}}\n',
    ],
)
def test_a_topic_without_a_setting_of_its_own_has_the_brokers(text: str) -> None:
    assert topic_settings(text) == ("topics/orders/min.insync.replicas=",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Dynamic configs for topic orders are:\n",
        "Dynamic configs for topic orders are:\nTopic: bills\n  min.insync.replicas=2 sensitive=false\n",
        "Dynamic configs for broker 1 are:\n  min.insync.replicas=2 sensitive=false synonyms={}\n",
        "min.insync.replicas=2 sensitive=false\n",
        '{"version":1,"config":{"min.insync.replicas":"2"}}\n',
        'get /config/topics/orders\nls /\n{"version":1,"config":{"min.insync.replicas":"two"}}\n',
        'get /config/topics/orders\nget /brokers/ids/1\n{"version":1,"config":{"min.insync.replicas":"2"}}\n',
        "get /config/topics/orders\nNode does not exist: /config/topics/orders\n",
        'get /config/topics/orders\n{"version":1,"config":[]}\n',
        "get /config/topics/orders\n{broken\n",
    ],
)
def test_what_names_no_topic_or_no_setting_says_nothing(text: str) -> None:
    assert topic_settings(text) == ()


def test_several_topics_are_read_in_their_order() -> None:
    text = (
        "Dynamic configs for topic a are:\n  min.insync.replicas=2 sensitive=false synonyms={}\n"
        "Dynamic configs for topic b are:\n  retention.ms=1 sensitive=false synonyms={}\n"
        "Configs for topic 'c' are min.insync.replicas=3\n"
        'get /config/topics/d\n{"version":1,"config":{"min.insync.replicas":"4"}}\n'
    )
    assert topic_settings(text) == (
        "topics/a/min.insync.replicas=2",
        "topics/c/min.insync.replicas=3",
        "topics/d/min.insync.replicas=4",
    )
