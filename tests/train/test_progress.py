import io

import pytest

from adjoint.train import Epoch, History, Progress, Step
from adjoint.train.progress import fitting

FIGURES = {"loss": 1.25, "accuracy": 0.5, "validation_loss": 1.5, "validation_accuracy": 0.75}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def play(file: io.StringIO, epochs: int, steps: int = 4, width: int | None = None) -> str:
    history = History()
    progress = Progress(epochs, file, width=width)
    progress.on_start(history)
    for number in range(1, epochs + 1):
        for i in range(1, steps + 1):
            progress.on_step(Step(number, (number - 1) * steps + i, epochs * steps, i * 10, FIGURES))
        history.epochs.append(Epoch(number, FIGURES, 0.1, 0.2))
        progress.on_epoch(history)
    progress.on_end(history)
    return file.getvalue()


@pytest.mark.parametrize(("epochs", "lines"), [(1, 1), (5, 5), (20, 20), (100, 21), (101, 18)])
def test_a_log_has_about_twenty_lines(epochs: int, lines: int) -> None:
    text = play(io.StringIO(), epochs)
    assert len(text.splitlines()) == lines
    assert "\r" not in text
    last = text.splitlines()[-1]
    told = "loss 1.25  accuracy 50.0 %  validation loss 1.5  validation accuracy 75.0 %"
    assert last.startswith(f"epoch {epochs}/{epochs}  {told}")
    assert last.endswith("0:00 left")


@pytest.mark.parametrize("width", [8, 20, 40, 80, 200])
def test_a_line_fits_whatever_the_width(width: int) -> None:
    text = play(Terminal(), 3, width=width)
    pieces = text.replace("\n", "\r").split("\r")
    assert max(map(len, pieces)) <= width - 1
    assert ("epoch 3/3" in text) == (width > 9)
    if width >= 80:
        for part in ("[================]", "loss 1.25", "accuracy 50.0 %"):
            assert part in text
    if width == 200:
        assert "0:00 left" in text


def test_what_stood_before_is_written_over() -> None:
    screen, column = {}, 0
    row = 0
    for sign in play(Terminal(), 2, width=60):
        if sign == "\r":
            column = 0
        elif sign == "\n":
            row, column = row + 1, 0
        else:
            screen[row, column] = sign
            column += 1
    lines = ["".join(screen.get((r, c), " ") for c in range(60)).rstrip() for r in range(row + 1)]
    assert [line.split("  ")[:2] for line in lines] == [["epoch 1/2", "loss 1.25"], ["epoch 2/2", "loss 1.25"], [""]]
    assert not any("[" in line for line in lines)


def test_a_part_that_is_empty_takes_no_place() -> None:
    assert fitting(["a", "", "b"], 9) == "a  b"
    assert fitting(["a", "b"], 3) == "a"
