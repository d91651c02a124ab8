"""Messages are read by shapes that are learned on the way; which way never shows in what is read."""

from __future__ import annotations

import numpy as np
import pytest

from analysis import messages as under_test
from analysis.bytewise import MARGIN, Text
from analysis.columns import Columns
from analysis.messages import Messages, Reader, apply
from analysis.shapes import learn


def put(texts: list[str]) -> tuple[Text, np.ndarray, Messages]:
    data = "".join(f"{text} (x)\n" for text in texts).encode()
    text = Text(data)
    blanks = np.flatnonzero(text.bytes[MARGIN : MARGIN + len(data)] <= 32) + MARGIN
    ends = np.cumsum([len(each) + 5 for each in texts]) + MARGIN
    starts = np.concatenate([[MARGIN], ends[:-1]])
    blank = np.searchsorted(blanks, starts)
    words = np.array([each.count(" ") + 1 for each in texts])
    return text, blanks, Messages(np.arange(len(texts)), starts, ends - 5, blank, words)


def said(count: int, broker: int = 1) -> str:
    return f"[Controller id={broker} epoch=3] Sending StopReplica request for {count} replicas to broker 2"


def test_a_shape_reads_its_lines_and_leaves_the_others() -> None:
    texts = [said(1), said(23, 45), said(1).replace("replicas", "replicos"), said(1) + "x", said(2**31)]
    shape = learn(texts[0])
    assert shape is not None
    text, blanks, messages = put(texts)
    columns = Columns(5)
    assert apply(shape, text, blanks, messages, columns).rows.tolist() == [2, 3, 4]
    assert columns.finish("count").to_pylist() == [1, 23, None, None, None]
    assert columns.finish("broker").to_pylist() == [1, 45, None, None, None]
    assert columns.finish("targets").to_pylist() == [[2], [2], None, None, None]


@pytest.mark.parametrize("worthwhile", [1, 3, 1000])
def test_it_does_not_show_how_a_line_was_read(worthwhile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "_WORTHWHILE", worthwhile)
    reader = Reader()
    for _ in range(2):
        columns = Columns(9)
        reader.read(*put([said(n) for n in range(6)] + ["[Broker id=1] Danced", "x", said(9)]), columns)
        assert columns.finish("count").to_pylist() == [0, 1, 2, 3, 4, 5, None, None, 9]
        assert columns.finish("understood").to_pylist() == [True] * 6 + [False, False, True]


def test_no_messages_are_no_work() -> None:
    text, blanks, messages = put(["x"])
    Reader().read(text, blanks, messages.take(np.array([], dtype=np.int64)), Columns(1))
