"""Clusters whose logs are mixed."""

from __future__ import annotations

from datetime import datetime, timedelta

from barnabas.analysis.segments.clusters import (
    Assigned,
    Id,
    Minute,
    Run,
    Span,
    clusters_of,
    runs_of,
    spans_of,
)

DAY = datetime(2017, 7, 3)  # noqa: DTZ001  (no zone)
BEGIN, END = datetime.min, datetime.max  # noqa: DTZ901  (no zone)
THREE, ONE = frozenset({0, 1, 2}), frozenset({0})


def at(minutes: float) -> datetime:
    return DAY + timedelta(minutes=minutes)


def minute(minutes: float, epoch: int, source: str = "logs/a") -> Minute:
    return Minute(source, at(minutes), at(minutes), epoch)


def named(minutes: float, cluster: str, source: str = "logs/a", *, started: float | None = None) -> Id:
    return Id(source, at(minutes), cluster, at(minutes if started is None else started))


def assigned(minutes: float, replicas: frozenset[int], source: str = "logs/a") -> Assigned:
    return Assigned(source, at(minutes), ("orders", 0), replicas)


def epochs_of(groups: list[list[Run]]) -> list[list[tuple[int | None, int | None]]]:
    return [[(run.lowest, run.highest) for run in group] for group in groups]


def test_rising_epochs_are_of_one_cluster() -> None:
    minutes = [minute(0, 1), minute(1, 2, "logs/b"), minute(2, 2), minute(600, 3)]
    assert epochs_of(clusters_of(runs_of(minutes, []))) == [[(1, 3)]]


def test_an_epoch_that_falls_begins_another_cluster() -> None:
    assert epochs_of(clusters_of(runs_of([minute(0, 11), minute(600, 6)], []))) == [[(11, 11)], [(6, 6)]]


def test_a_former_controller_that_goes_on_begins_no_cluster() -> None:
    minutes = [minute(0, 11), minute(0.1, 10), minute(1, 11)]
    assert epochs_of(clusters_of(runs_of(minutes, []))) == [[(11, 11)]]


def test_an_epoch_that_rises_over_the_former_one_is_of_the_cluster_with_the_same_replicas() -> None:
    runs = runs_of([minute(0, 11), minute(600, 6), minute(620, 12)], [])
    before, between = assigned(0, THREE), assigned(600, ONE)
    back = clusters_of(runs, [before, between, assigned(620, THREE)])
    assert epochs_of(back) == [[(11, 11), (12, 12)], [(6, 6)]]
    went_on = clusters_of(runs_of([minute(0, 11), minute(600, 6), minute(620, 12)], []), [
        before, between, assigned(620, ONE),
    ])  # fmt: skip
    assert epochs_of(went_on) == [[(11, 11)], [(6, 6), (12, 12)]]


def test_another_id_begins_another_cluster_with_the_start_of_its_process() -> None:
    runs = runs_of([minute(0, 1), minute(70, 1)], [named(0, "A"), named(61, "B", started=60)])
    groups = clusters_of(runs)
    assert [[(run.cluster, run.first) for run in group] for group in groups] == [
        [("A", at(0))], [("B", at(60))],
    ]  # fmt: skip
    assert spans_of(groups, ["logs/a", "logs/b"]) == [
        [Span("logs/a", BEGIN, at(30)), Span("logs/b", BEGIN, at(30))],
        [Span("logs/a", at(30), END), Span("logs/b", at(30), END)],
    ]


def test_files_of_one_folder_with_an_id_each_are_of_these_clusters() -> None:
    ids = [named(0, "A"), named(1, "B", "logs/b"), named(5, "A", "logs/c")]
    groups = clusters_of(runs_of([minute(2, 5), minute(3, 9, "logs/b")], ids))
    assert [[(run.place, run.cluster) for run in group] for group in groups] == [
        [("logs/a", "A"), ("logs/c", "A")], [("logs/b", "B")],
    ]  # fmt: skip


def test_a_folder_without_epochs_is_of_the_first_cluster() -> None:
    groups = clusters_of(runs_of([minute(0, 11), minute(600, 6)], []))
    first, second = spans_of(groups, ["logs/a", "others/c"])
    assert first == [Span("logs/a", BEGIN, at(300)), Span("others/c", BEGIN, END)]
    assert second == [Span("logs/a", at(300), END)]
