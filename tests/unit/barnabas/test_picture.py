import io
import xml.etree.ElementTree as ET

from rich.console import Console

from barnabas.checker.checker import check
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import ClusterView, PartitionView
from barnabas.picture import Frame, Scene, cluster_picture, failover_picture, verdict_picture
from barnabas.workload.history import Acked, Read, Sent, Tail

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


SVG = "{http://www.w3.org/2000/svg}"


def story():
    """Broker 1, leader and controller, dies after 2 s; broker 2 follows after 4 s; 1 returns after 6 s."""

    def frame(at_s, leader, pid, epoch=1, waiting_s=0.0):
        view = ClusterView(controller=leader, partitions={TP0: PartitionView(leader, (2,), (1, 2))})
        return Frame(at_s, Scene(view, {1: pid, 2: 200}, epoch, {}, {TP0: waiting_s}))

    return [
        frame(0.0, 1, 100),
        frame(1.0, 1, 100),
        frame(2.0, 1, None),
        frame(4.0, 2, None, 2, waiting_s=2.0),
        frame(5.0, 2, None, 2),
        frame(6.0, 2, 101, 2),
        frame(10.0, 2, 101, 2),
    ]


def bars(svg, kind):
    """Begin and end of the bars of a class, in seconds."""
    found = [each for each in svg.iter(f"{SVG}rect") if each.get("class") == kind]
    ends = [(float(each.get("x")), float(each.get("width"))) for each in found]
    return [(round((x - 96) / 78.8, 1), round((x + width - 96) / 78.8, 1)) for x, width in ends]


def test_the_failover_is_drawn_over_time():
    svg = ET.fromstring(failover_picture(story(), check([])))
    assert bars(svg, "dead") == [(2.0, 6.0)]
    assert bars(svg, "none") == [(2.0, 4.0)]
    assert bars(svg, "b2 wait") == [(4.0, 5.0)]
    assert bars(svg, "b1") == [(0.0, 2.0), (6.0, 10.0), (0.0, 2.0)]
    texts = [text.text for text in svg.iter(f"{SVG}text")]
    assert texts[0] == "Killed with SIGKILL under load: broker 1, the controller, after 2 s."
    assert {"kill -9 1", "controller, epoch 2", "broker 2 leads", "no leader", "broker 1", "story-0"} <= set(
        texts
    )
    assert texts[-1].startswith("0 records acknowledged, 0 read back: 0 lost")


def test_a_story_of_one_moment_is_drawn():
    svg = ET.fromstring(failover_picture(story()[:1], check([])))
    assert svg.find(f"{SVG}text").text == "Killed with SIGKILL under load: nobody."
