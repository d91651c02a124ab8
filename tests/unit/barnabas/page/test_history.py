"""The bounded history of changes."""

from barnabas.page.history import History
from barnabas.page.model import Change


def registered(broker):
    return Change("broker", f"broker {broker}", {"id": broker, "registered": {"epoch": broker}})


def test_entries_are_numbered_and_read_from_any_of_them():
    history = History()
    assert history.after(0) == []
    first, second = history.add(100, [registered(1), registered(2)])
    (third,) = history.add(200, [registered(3)])
    assert [first.number, second.number, third.number] == [1, 2, 3]
    assert history.after(0) == [first, second, third]
    assert history.after(2) == [third]
    assert history.after(3) == []
    assert history.after(4) is None
    assert third.json() == {
        "n": 3,
        "at": 200,
        "kind": "broker",
        "text": "broker 3",
        "bad": False,
        "id": 3,
        "registered": {"epoch": 3},
    }


def test_what_is_dropped_is_in_the_snapshot():
    history = History(most=2)
    history.add(100, [registered(1), Change("process", "", {"id": 1, "state": "running"})])
    history.add(200, [registered(2), registered(3)])
    told = history.json()
    assert told["base"]["brokers"] == {"1": {"epoch": 1}}
    assert told["base"]["processes"] == {"1": "running"}
    assert told["base_at"] == 100
    assert [change["n"] for change in told["changes"]] == [3, 4]
    assert history.after(1) is None
    assert [entry.number for entry in history.after(2)] == [3, 4]
    assert history.entries()[-1].number == 4


def test_a_dropped_change_that_is_no_state_of_the_cluster_leaves_the_snapshot_as_it_was():
    history = History(most=1)
    history.add(100, [registered(1), Change("action", "SIGKILL", {"action": "kill", "id": 1})])
    before = dict(history.json()["base"])
    history.add(200, [Change("zookeeper", "ZooKeeper does not answer", {"connected": False})])
    assert history.json()["base"] == before
    history.add(300, [registered(2)])
    assert history.json()["base"] == before


def test_a_cut_that_is_dropped_lasts_until_it_is_healed():
    history = History(most=1)
    cut, heal = (Change("action", "", {"id": 1, "action": action}) for action in ("cut", "heal"))
    history.add(100, [cut, registered(2)])
    assert history.json()["base"]["cut"] == {"1": True}
    history.add(200, [heal, registered(3)])
    assert history.json()["base"]["cut"] == {}
