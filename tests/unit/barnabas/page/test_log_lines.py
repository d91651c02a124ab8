"""The log lines behind a change."""

import datetime as dt

from barnabas.page.log_lines import MOST_LINES, lines_about

AT = dt.datetime(2026, 11, 22, 20, 57, 1, 500_000).astimezone()
AT_MS = int(AT.timestamp() * 1000)


def line(text, seconds=0.0):
    moment = AT + dt.timedelta(seconds=seconds)
    return f"[{moment.strftime('%Y-%m-%d %H:%M:%S,%f')[:-3]}] TRACE {text}"


def write(folder, name, *lines):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(lines) + "\n")


def test_lines_that_name_the_partition_around_the_time(tmp_path):
    write(
        tmp_path / "1",
        "state-change.log",
        line("partition orders-1 became follower", 1),
        line("partition orders-10 became follower"),
        line("partition big.orders-1 became follower"),
        line("partition orders-1 long before", -3.1),
        line("partition orders-1 long after", 3.1),
        line("(topicName='orders', partitionIndex=1, leader=2)", -2),
        line("(topicName='orders', partitionIndex=10, leader=2)"),
        "a line without a time about orders-1",
    )
    write(tmp_path / "2", "server.log.2026-11-22-20", line("orders-1", 2))
    found = lines_about({1: tmp_path / "1", 2: tmp_path / "2", 3: tmp_path / "none"}, "orders-1", AT_MS)
    assert [(each.broker, each.file) for each in found] == [
        (1, "state-change.log"),
        (1, "state-change.log"),
        (2, "server.log.2026-11-22-20"),
    ]
    assert "partitionIndex=1," in found[0].text


def test_lines_about_a_broker_name_it_and_its_own_come_first(tmp_path):
    write(
        tmp_path / "1",
        "controller.log",
        line("[Controller id=1 epoch=2] Broker failure callback for 2", -1),
        line("Newly added brokers: 3, deleted brokers: 2", -1),
        line("Sending a request to broker 2"),
        line("Sending a request to broker 22"),
        line("Broker 1 goes on"),
    )
    write(
        tmp_path / "2",
        "server.log",
        line("[KafkaServer id=2] shutting down", 1),
        line("Registered broker 2 at path /brokers/ids/2", 2),
        line("Node /brokers/ids/2 is gone", 2.5),
        line("broker.id = 2", 2.6),
        line("something else"),
    )
    found = lines_about({1: tmp_path / "1", 2: tmp_path / "2"}, "broker 2", AT_MS)
    assert [(each.broker, each.text.partition("TRACE ")[2]) for each in found] == [
        (2, "[KafkaServer id=2] shutting down"),
        (2, "Registered broker 2 at path /brokers/ids/2"),
        (2, "Node /brokers/ids/2 is gone"),
        (2, "broker.id = 2"),
        (1, "Sending a request to broker 2"),
    ]


def test_answers_are_bounded(tmp_path):
    write(tmp_path / "1", "server.log", *[line("orders-1 " + "x" * 3000)] * (MOST_LINES + 1))
    found = lines_about({1: tmp_path / "1"}, "orders-1", AT_MS)
    assert len(found) == MOST_LINES
    assert {len(each.text) for each in found} == {2000}
