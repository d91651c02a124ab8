"""Who wrote lines that do not name their writer."""

from __future__ import annotations

from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.segments.writers import Named, Nameless, Place, Stop, owners_of, writers_of

START = datetime(2025, 2, 6, 18, 6)  # noqa: DTZ001  (no zone)
SIGNAL, STARTING, CLUSTER = BrokerKind.STOP_SIGNALLED, BrokerKind.STARTING, BrokerKind.CLUSTER_NAMED


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def nameless(line: int, seconds: float, kind: str, source: str = "logs/server.log") -> Nameless:
    return Nameless(Place(source, 0, line), at(seconds), kind)


def named(line: int, seconds: float, broker: int, source: str = "logs/server.log") -> Named:
    return Named(Place(source, 0, line), at(seconds), broker)


def stops(*moments: tuple[int, float], folder: str = "logs") -> list[Stop]:
    return [Stop(folder, at(seconds), broker) for broker, seconds in moments]


def lines_of(found: dict[Place, int]) -> dict[int, int]:
    return {place.line: broker for place, broker in found.items()}


def test_all_files_of_a_folder_are_the_broker_s_that_it_names() -> None:
    writers = {
        "a/server.log": frozenset[int](),
        "a/state-change.log": frozenset({1}),
        "b/server.log": frozenset({1}),
        "b/controller.log": frozenset({2}),
        "c/server.log": frozenset[int](),
    }
    assert owners_of(writers) == {"a/server.log": 1, "a/state-change.log": 1}


def test_signals_are_of_the_brokers_that_stop_then() -> None:
    signals = [nameless(1, 0.0, SIGNAL), nameless(4, 0.1, SIGNAL), nameless(5, 0.2, SIGNAL)]
    seen = stops((3, 0.1), (2, 0.3), (3, 0.4), (1, 0.5))
    assert lines_of(writers_of(signals, [named(2, 0.1, 3)], seen)) == {1: 3, 4: 2, 5: 1}


def test_signals_of_which_more_or_fewer_brokers_stop_stay_in_doubt() -> None:
    signals = [nameless(1, 0.0, SIGNAL), nameless(2, 0.1, SIGNAL)]
    lines = [named(3, 1.0, 3)]
    assert writers_of(signals, lines, stops((3, 0.1))) == {}
    assert writers_of(signals, lines, stops((1, 0.1), (2, 0.1), (3, 0.1))) == {}
    assert writers_of(signals, lines, stops((1, 0.1), (3, 45.0))) == {}
    assert writers_of(signals, lines, stops((1, 0.1), (3, 0.1), folder="others")) == {}


def test_signals_minutes_apart_are_looked_at_apart() -> None:
    signals = [nameless(1, 0.0, SIGNAL), nameless(9, 300.0, SIGNAL)]
    assert lines_of(writers_of(signals, [], stops((1, 0.1), (2, 300.1)))) == {1: 1, 9: 2}


def test_a_file_that_names_one_broker_is_that_broker_s() -> None:
    lines = [named(3, 1.0, 3), named(7, 9.0, 3)]
    assert lines_of(writers_of([nameless(9, 10.0, CLUSTER), nameless(1, 0.0, SIGNAL)], lines, [])) == {
        9: 3,
        1: 3,
    }


def test_a_line_between_lines_of_one_broker_is_that_broker_s() -> None:
    lines = [named(1, 0.0, 1), named(3, 1.0, 1), named(5, 2.0, 2), named(7, 3.0, 1)]
    found = writers_of(
        [nameless(2, 0.5, CLUSTER), nameless(4, 1.5, CLUSTER), nameless(8, 4, CLUSTER)], lines, []
    )
    assert lines_of(found) == {2: 1}


def test_the_first_line_of_a_process_is_the_broker_s_that_follows() -> None:
    lines = [named(1, 0.0, 1), named(3, 20.0, 2), named(5, 200.0, 1)]
    found = writers_of([nameless(2, 10.0, STARTING), nameless(4, 100.0, STARTING)], lines, [])
    assert lines_of(found) == {2: 2}
