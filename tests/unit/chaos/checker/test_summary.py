import json

from barnabas.chaos.checker.epochs import Epochs
from barnabas.chaos.checker.summary import summarize
from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import Acked, Disturbed, Joined, Phase, Read, Sent, Tail

TP, PASSING = TopicPartition("ledger", 0), TopicPartition("churn-1", 0)
CLEAN = Epochs(controllers=2, elections=9, acts=20, problems=())
OPS = [
    Sent(0.0, "p", TP, "a"),
    Sent(0.0, "p", PASSING, "b"),
    # A thread notes what it did a moment later than another one.
    Acked(5.0, "p", TP, "a", 0),
    Disturbed(1.0, "kill-leader", Phase.INJECT, "1"),
    Acked(0.5, "p", PASSING, "b", 0),
    Disturbed(6.0, "kill-leader", Phase.HEAL, ""),
    Disturbed(7.5, "kill-leader", Phase.RECOVERED, ""),
    *(Read(9.0, "r", tp, 0, value) for tp, value in ((TP, "a"), (PASSING, "b"))),
    *(Tail(9.5, "r", tp, 1, 1) for tp in (TP, PASSING)),
]


def test_a_clean_run_has_no_problems_and_its_table_says_so():
    summary = summarize(OPS, CLEAN, [], [TP])
    assert summary.problems == ()
    table = "\n".join(summary.lines())
    assert "lost                             0" in table
    assert "records acknowledged               2" in table
    assert "  of deleted topics                0" in table
    assert "ledger-0               0.00%           5.0 s" in table
    assert "churn-1-0" not in table
    assert "kill-leader                          1   5.0 s ledger-0             1.5 s" in table


def test_the_figures_are_those_of_the_table_and_plain_data():
    figures = json.loads(json.dumps(summarize(OPS, CLEAN, ["broker 2 ended by itself"], [TP]).figures()))
    assert figures["records"]["acknowledged"] == 2
    assert figures["records"]["lost"] == figures["records"]["of_deleted_topics"] == 0
    assert figures["epochs"] == {"controllers": 2, "elections": 9, "broken": 0}
    assert figures["partitions"] == {"ledger-0": {"availability": 0.0, "longest_write_stall_s": 5.0}}
    assert figures["nemeses"] == {
        "kill-leader": {"injections": 1, "longest_write_stall_s": 5.0, "slowest_recovery_s": 1.5}
    }
    assert figures["problems"] == ["broker 2 ended by itself"]


def test_problems_of_every_kind_are_gathered():
    epochs = Epochs(1, 1, 1, ("zxid 0x7: two leaders",))
    summary = summarize(OPS[:-4], epochs, ["broker 2 ended by itself"], [TP])
    assert summary.problems[0].startswith("unread: 2, first Write")
    assert summary.problems[1:] == ("epochs: zxid 0x7: two leaders", "broker 2 ended by itself")
    assert "two acting in one epoch            1" in "\n".join(summary.lines())


def test_who_never_got_on_is_a_problem():
    other = TopicPartition("ledger", 1)
    joined = [Joined(0.0, "p", idempotent=True), Joined(0.0, "q", idempotent=True)]
    assert summarize([*joined, *OPS, Sent(1.0, "q", TP, "c")], CLEAN, [], [TP, other]).problems == (
        "no write to ledger-1 was acknowledged",
        "no write of q was acknowledged",
    )


def test_a_nemesis_without_stall_or_recovery_says_so():
    ops = [Disturbed(1.0, "slow-links", Phase.INJECT, "1")]

    def line():
        (line,) = [each for each in summarize(ops, CLEAN, [], []).lines() if each.startswith("slow-links")]
        return line.split()[1:]

    assert line() == ["1", "none", "never"]
    ops.append(Disturbed(1.0, "slow-links", Phase.MISSED, "no such device"))
    assert line() == ["0", "none", "missed"]
