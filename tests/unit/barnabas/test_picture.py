import io

from rich.console import Console

from barnabas.chaos.checker import check
from barnabas.chaos.history import Acked, Read, Sent, Tail
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import ClusterView, PartitionView
from barnabas.picture import Scene, cluster_picture, verdict_picture

TP0, TP1 = TopicPartition("story", 0), TopicPartition("story", 1)


def drawn(renderable):
    out = io.StringIO()
    Console(width=100, file=out).print(renderable)
    return out.getvalue()


def line_of(text, start):
    return next(line for line in text.splitlines() if line.strip("│┃ ").startswith(start))


def scene():
    view = ClusterView(
        controller=3,
        partitions={
            TP0: PartitionView(leader=3, isr=(3,), replicas=(1, 2, 3)),
            TP1: PartitionView(leader=None, isr=(2,), replicas=(2, 3, 1)),
        },
    )
    return Scene(
        view,
        processes={1: 101, 2: None, 3: 103},
        epoch=7,
        acknowledged={TP0: 12345},
        waiting_s={TP0: 0.1, TP1: 2.34},
    )


def test_brokers_show_who_lives_who_rules_and_who_leads():
    text = drawn(cluster_picture(scene()))
    assert "pid 101" in line_of(text, "1 ")
    assert "dead" in line_of(text, "2 ")
    assert "controller, epoch 7" in line_of(text, "3 ")
    assert line_of(text, "3 ").rstrip("│ ").endswith("1")


def test_partitions_show_leader_isr_and_whether_writes_flow():
    text = drawn(cluster_picture(scene()))
    assert "· · 3" in line_of(text, "story-0")
    assert "12,345" in line_of(text, "story-0")
    assert "flow" in line_of(text, "story-0")
    assert "none" in line_of(text, "story-1")
    assert "wait 2.3 s" in line_of(text, "story-1")


def test_a_dead_leader_is_called_dead_and_the_source_of_it_all_is_named():
    view = ClusterView(partitions={TP0: PartitionView(leader=2, isr=(2, 3), replicas=(1, 2, 3))})
    text = drawn(cluster_picture(Scene(view, processes={1: 101, 2: None})))
    assert "2, dead" in line_of(text, "story-0")
    assert "As brokers tell it to clients: a few seconds late." in " ".join(text.split())


def test_nothing_known_yet_can_be_drawn():
    assert "partition" in drawn(cluster_picture(Scene()))


HISTORY = [
    Sent(0.0, "p", TP0, "a"),
    Acked(4.5, "p", TP0, "a", 0),
    Sent(5.0, "p", TP0, "b"),
    Acked(5.1, "p", TP0, "b", 1),
    Read(9.0, "r", TP0, 0, "a"),
]


def test_the_verdict_shows_the_numbers_and_the_longest_stall_of_each_partition():
    text = drawn(verdict_picture(check([*HISTORY, Read(9.0, "r", TP0, 1, "b"), Tail(9.1, "r", TP0, 2, 2)])))
    assert "4.5 s" in line_of(text, "story-0")
    assert "The longest time between two acknowledgements in which a write waited" in " ".join(text.split())
    assert line_of(text, "2 ").replace("│", " ").split() == ["2", "2", "0", "0", "0", "0"]


def test_a_broken_promise_is_spelt_out():
    text = drawn(verdict_picture(check([*HISTORY, Tail(9.1, "r", TP0, 2, 2)])))
    assert "lost: 1, first Write(" in text
