from __future__ import annotations

from types import SimpleNamespace

import pytest

from barnabas.local import waiting
from barnabas.local.waiting import wait_until
from tests.metadata import partitions_of


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PAUSE_S", 0)


def test_the_first_true_answer_is_handed_on() -> None:
    answers = iter([None, "", [], "seen", "later"])
    assert wait_until(lambda: next(answers), "the answer") == "seen"


def test_what_holds_already_is_asked_once_however_little_time_there_is() -> None:
    asked: list[int] = []
    assert wait_until(lambda: asked.append(1) or asked, "it", timeout_s=-1) == [1]


def test_what_never_comes_is_named() -> None:
    with pytest.raises(TimeoutError, match=r"^the end was not seen within 0\.01 s$"):
        wait_until(lambda: False, "the end", timeout_s=0.01)


def test_the_error_has_what_there_was_instead() -> None:
    seen: list[int] = []
    with pytest.raises(TimeoutError, match=r"^a truth was not seen within 0 s; last: \[0(, 0)*\]$"):
        wait_until(lambda: seen.append(0), "a truth", timeout_s=0, last=lambda: seen)


def test_a_broker_that_does_not_know_a_topic_is_asked_again() -> None:
    answers = iter([{}, {0: "the first"}])

    def list_topics(topic: str, **_: object) -> SimpleNamespace:
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=next(answers))})

    admin = SimpleNamespace(list_topics=list_topics)
    assert partitions_of(admin, "orders") == {0: "the first"}
