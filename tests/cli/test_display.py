import io

import numpy as np
from rich.console import Console

from adjoint.cli.display import confusion_table, say, terminal_picture


def console(*, terminal: bool, width: int = 80) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=width, color_system=None, highlight=False)


def text_of(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_confusion_table_shows_every_count() -> None:
    counts = np.array([[28, 0, 1], [0, 39, 0], [2, 0, 30]])
    out = console(terminal=False)
    out.print(confusion_table(counts, ("a", "b", "c")))
    rows = [line.split() for line in text_of(out).splitlines()]
    assert rows == [
        ["a", "b", "c", "right"],
        ["a", "28", "·", "1", "96.6", "%"],
        ["b", "·", "39", "·", "100.0", "%"],
        ["c", "2", "·", "30", "93.8", "%"],
    ]


def test_twenty_classes_and_large_counts_fit_on_a_line() -> None:
    out = console(terminal=False, width=120)
    out.print(confusion_table(np.full((20, 20), 999), tuple(map(str, range(20)))))
    assert len(text_of(out).splitlines()) == 21


def test_many_classes_are_told_as_mistakes() -> None:
    counts = np.diag(np.full(30, 5))
    counts[3, 7], counts[20, 1] = 4, 9
    names = tuple(f"c{i}" for i in range(30))
    out = console(terminal=False)
    out.print(confusion_table(counts, names))
    assert text_of(out).splitlines() == ["Commonest mistakes:", "  c20 read as c1: 9", "  c3 read as c7: 4"]
    assert "No mistakes." in str(confusion_table(np.diag(np.full(30, 5)), names))


def test_pictures_are_drawn_in_shades_that_the_terminal_has() -> None:
    pixels = np.array([[0, 16], [8, 0]])
    assert terminal_picture(pixels, "utf-8") == ["  ██", "▒▒  "]
    assert terminal_picture(pixels, "ascii") == ["  @@", "==  "]
    assert terminal_picture(np.zeros((1, 2)), "utf-8") == ["    "]


def test_text_is_printed_as_it_is() -> None:
    out = console(terminal=False, width=10)
    say(out, "a [bold]long[/bold] line with [brackets]")
    assert text_of(out) == "a [bold]long[/bold] line with [brackets]\n"
