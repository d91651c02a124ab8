import pytest

from barnabas.testing.options import Options


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"brokers": 0}, "brokers is 0, expected at least 1"),
        ({"session_timeout_ms": 999}, "session_timeout_ms is 999, expected at least 1000"),
        ({"brokers": 2, "racks": ("a",)}, "racks has 1 names, expected 2, one a broker"),
        (
            {"settings": {"log.segmnt.bytes": "5"}},
            "no setting 'log.segmnt.bytes': did you mean log.segment.bytes?",
        ),
        ({"settings": {"log.segment.bytes": "5"}}, "log.segment.bytes has the value '5'; it must be"),
    ],
)
def test_what_is_not_possible_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        Options(**options)


@pytest.mark.parametrize(("brokers", "replicas", "in_sync"), [(1, 1, 1), (2, 2, 1), (3, 3, 2), (5, 3, 2)])
def test_a_topic_survives_the_death_of_a_broker_where_there_are_others(brokers, replicas, in_sync):
    settings = Options(brokers=brokers).all_settings()
    assert settings["default.replication.factor"] == str(replicas)
    assert settings["min.insync.replicas"] == str(in_sync)


def test_a_setting_of_the_test_wins():
    settings = Options(settings={"min.insync.replicas": "3", "num.partitions": "9"}).all_settings()
    assert settings["min.insync.replicas"] == "3"
    assert settings["num.partitions"] == "9"
