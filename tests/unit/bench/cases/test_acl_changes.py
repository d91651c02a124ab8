import pytest

from barnabas.bench.cases import acl_changes
from barnabas.bench.cases.acl_changes import BENCHES, TOPIC, _obeyed_after


class Probe:
    """A broker that shows so many leaders, one after the other."""

    def __init__(self, *leaders):
        self.leaders = list(leaders)

    def leaders_known(self, topic):
        assert topic == TOPIC
        return self.leaders.pop(0) if len(self.leaders) > 1 else self.leaders[0]


def test_the_target_is_the_one_that_was_asked_for():
    (bench,) = BENCHES
    assert (bench.name, bench.target.figure, bench.unit) == ("acl-changes", 1.0, "s")


def test_a_change_counts_once_every_broker_obeys():
    slow, quick, made = Probe(1, 1, 0), Probe(0), []
    assert _obeyed_after(lambda: made.append(1), [quick, slow], 0) > 0
    assert made == [1]
    assert slow.leaders == [0]


def test_a_broker_that_does_not_obey_fails_the_bench(monkeypatch):
    monkeypatch.setattr(acl_changes, "DEADLINE_S", 0.0)
    with pytest.raises(TimeoutError, match="does not obey"):
        _obeyed_after(lambda: None, [Probe(1)], 0)
