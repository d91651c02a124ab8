import io
import threading

from rich.console import Console
from rich.text import Text

from barnabas import stage
from barnabas.stage import Stage


def test_without_a_terminal_the_picture_is_printed_now_and_then_and_at_the_end(monkeypatch):
    monkeypatch.setattr(stage, "PRINT_EVERY_S", 0.001)
    out, drawn_twice = io.StringIO(), threading.Event()
    pictures = []

    def draw():
        pictures.append(None)
        if len(pictures) >= 2:
            drawn_twice.set()
        return Text(f"picture {len(pictures)}")

    with Stage(Console(file=out, width=80), draw):
        assert drawn_twice.wait(10)
    assert "picture 1\npicture 2\n" in out.getvalue()
    assert out.getvalue().endswith(f"picture {len(pictures)}\n")


def test_on_a_terminal_the_picture_is_redrawn_in_place_below_the_story():
    out = io.StringIO()
    with Stage(Console(file=out, force_terminal=True, width=80), lambda: Text("picture")) as shown:
        shown.say("Once upon a time.")
    assert "Once upon a time." in out.getvalue()
    assert "picture" in out.getvalue()
    assert "\x1b[" in out.getvalue()


def test_each_sentence_has_the_seconds_since_the_beginning():
    out, seconds = io.StringIO(), iter([100.0, 103.25])
    Stage(Console(file=out, width=80), Text, clock=lambda: next(seconds)).say("[b]A[/b] broker dies.")
    assert out.getvalue() == "  3.2 s  A broker dies.\n"
