from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.zk.client.operations import Change
from barnabas.cluster.zk.client.watches import Watch, Watches


def armed(*watches: tuple[str, bool]) -> Watches:
    book = Watches()
    for path, children in watches:
        book.add(path, children=children)
    return book


def test_a_watch_fires_once() -> None:
    book = armed(("/a", False), ("/a", False))
    assert book.fire("/a", Change.DATA)
    assert not book.fire("/a", Change.DATA)


def test_each_change_fires_its_kind() -> None:
    for change in (Change.CREATED, Change.DATA, Change.UNKNOWN):
        book = armed(("/a", False), ("/a", True))
        assert book.fire("/a", change)
        assert book.armed() == [Watch("/a", children=True)]
    book = armed(("/a", False), ("/a", True))
    assert book.fire("/a", Change.CHILDREN)
    assert book.armed() == [Watch("/a", children=False)]


def test_a_deletion_fires_both_watches_and_is_reported_once() -> None:
    book = armed(("/a", False), ("/a", True), ("/b", False))
    assert book.fire("/a", Change.DELETED)
    assert not book.fire("/a", Change.DELETED)
    assert book.paths() == ["/b"]


def test_forgetting_and_clearing() -> None:
    book = armed(("/a", False), ("/a", True), ("/b", True), ("/c", False))
    book.forget("/a", "/b", "/never")
    assert book.armed() == [Watch("/c", children=False)]
    book.clear()
    assert book.paths() == []


def test_a_refused_read_withdraws_only_what_it_alone_has_entered() -> None:
    book = Watches()
    data, children = Watch("/a", children=False), Watch("/a", children=True)
    claim = book.add("/a", children=False)
    book.withdraw(children, claim)
    assert book.armed() == [data]
    book.withdraw(data, claim)
    assert book.armed() == []

    first = book.add("/a", children=False)
    second = book.add("/a", children=False)
    book.withdraw(data, first)
    book.withdraw(data, second)
    assert book.armed() == [data]


def test_a_claim_ends_with_the_watch() -> None:
    book = Watches()
    claim = book.add("/a", children=False)
    assert book.fire("/a", Change.DATA)
    book.add("/a", children=False)
    book.withdraw(Watch("/a", children=False), claim)
    assert book.paths() == ["/a"]


def test_who_arms_all_again_has_a_claim_on_each() -> None:
    book = armed(("/b", False), ("/a", True), ("/a", True))
    renewed = book.renew()
    assert [watch for watch, _ in renewed] == [Watch("/a", children=True), Watch("/b", children=False)]
    book.add("/b", children=False)
    for watch, claim in renewed:
        book.withdraw(watch, claim)
    assert book.paths() == ["/b"]


events = st.tuples(st.sampled_from(["add", "fire"]), st.sampled_from("abc"), st.booleans())


@given(st.lists(events, max_size=30))
def test_agrees_with_a_plain_set(steps: list[tuple[str, str, bool]]) -> None:
    book, model = Watches(), set()
    for step, path, children in steps:
        if step == "add":
            book.add(path, children=children)
            model.add((path, children))
        else:
            change = Change.CHILDREN if children else Change.DATA
            assert book.fire(path, change) == ((path, children) in model)
            model.discard((path, children))
        assert book.armed() == sorted(model)
        assert book.paths() == sorted({path for path, _ in model})
