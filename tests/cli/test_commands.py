"""The commands, as a person uses them: whole runs on small data, and every way to get them wrong."""

import csv
import gzip
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import adjoint as ad
from adjoint.cli.main import app
from adjoint.train import Callback, Classifier, Step
from adjoint.train import fit as real_fit

FAST = ["--epochs", "3", "--hidden", "16"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in; commands write to the folder `runs` of where they are."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def adjoint(*words: str) -> Result:
    """Run a command; wide enough that help is not broken within words."""
    return CliRunner(env={"COLUMNS": "200", "TERMINAL_WIDTH": "200", "NO_COLOR": "1"}).invoke(app, list(words))


def table(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Two flowers that a straight line tells apart."""
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(n) % 2, "rose", "iris")
    return rng.normal(np.where(np.arange(n) % 2, 3, -3)[:, None], 1, (n, 3)), labels


def write_csv(path: str, n: int = 60) -> None:
    x, labels = table(n)
    Path(path).write_text("\n".join(f"{','.join(map(str, row))},{label}" for row, label in zip(x, labels, strict=True)))


def write_pictures(path: str, n: int = 60) -> None:
    """Bright above or bright below."""
    x = np.random.default_rng(0).integers(0, 60, (n, 6, 6))
    y = np.arange(n) % 2
    x[y == 0, :3] += 150
    x[y == 1, 3:] += 150
    np.savez(path, x=x.astype(np.uint8), y=y)


def test_training_leaves_everything_that_it_names() -> None:
    write_pictures("halves.npz")
    result = adjoint("train", "halves.npz", *FAST)
    assert result.exit_code == 0, result.output
    folder = Path("runs/halves-1")
    written = {path.name for path in folder.iterdir()}
    assert {"model.safetensors", "last.safetensors", "metrics.csv", "curves.png"} <= written
    for name in written:
        assert name in result.output
    assert "60 examples (pictures of 6 x 6 pixels) of 2 classes; 42 to learn from, 6 to validate, 12 to test" in (
        result.output
    )
    assert re.search(r"epoch 3/3  loss \d\.\d+  accuracy .* %  validation .* %  \d[\d ]*/s  0:00 left", result.output)
    assert "checkpoint.safetensors" in written
    assert re.search(r"Test accuracy \d+\.\d %: \d+ of 12, with the weights of epoch \d; training took", result.output)
    with (folder / "metrics.csv").open(newline="") as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == ["1", "2", "3"]
    model = Classifier.load(folder / "model.safetensors")
    assert (model.classes, model.picture, model.plan.hidden) == (("0", "1"), (6, 6), (16,))


def test_a_second_run_has_a_folder_of_its_own() -> None:
    write_csv("flowers.csv")
    for _ in range(2):
        assert adjoint("train", "flowers.csv", *FAST, "--out", "deep/down").exit_code == 0
    first, second = sorted(Path("deep/down").iterdir())
    assert (first.name, second.name) == ("flowers-1", "flowers-2")
    # The same seed: the same weights.
    assert (first / "model.safetensors").read_bytes() == (second / "model.safetensors").read_bytes()


def test_steps_are_compiled_unless_asked_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def spy(*args: Any, **options: Any) -> Any:
        asked.append(options["compiled"])
        return real_fit(*args, **options)

    monkeypatch.setattr("adjoint.cli.runs.fit", spy)
    write_pictures("halves.npz")
    for words in ((), ("--eager",)):
        assert adjoint("train", "halves.npz", *FAST, "--dtype", "float64", *words).exit_code == 0
    assert asked == [True, False]
    rows = []
    for run in ("halves-1", "halves-2"):
        with (Path("runs") / run / "metrics.csv").open(newline="") as file:
            rows.append([[float(row[name]) for name in row if name != "seconds"] for row in csv.DictReader(file)])
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-5)


def test_digits_are_read_by_the_command() -> None:
    result = adjoint("train", "digits", "--epochs", "8", "--hidden", "128")
    assert result.exit_code == 0, result.output
    reached = re.search(r"Test accuracy (\d+\.\d) %", result.output)
    assert reached is not None
    assert float(reached[1]) >= 95
    result = adjoint("predict", "runs/digits-1/model.safetensors", "digits", "--pictures", "--limit", "2")
    assert result.exit_code == 0, result.output
    assert f"Accuracy {reached[1]} %" in result.output
    assert result.output.count("█") > 10


def test_tables_are_learned_and_named() -> None:
    write_csv("flowers.csv")
    assert "100.0 %" in adjoint("train", "flowers.csv", "--epochs", "20", "--lr", "0.01", "--dtype", "float64").output
    model = "runs/flowers-1/model.safetensors"
    assert Classifier.load(model).plan.dtype == "float64"
    x, labels = table()
    np.savetxt("meadow.csv", x, delimiter=",")
    result = adjoint("predict", model, "meadow.csv", "--limit", "4", "--save", "named.csv")
    assert result.exit_code == 0, result.output
    shown = re.findall(r"^ +\d  +(\w+)  +\d+\.\d %$", result.output, re.MULTILINE)
    assert shown == ["iris", "rose", "iris", "rose"]
    assert "56 more" in result.output
    with open("named.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["class"] for row in rows] == labels.tolist()
    assert all(0.5 < float(row["probability"]) <= 1 for row in rows)
    assert "Accuracy 100.0 %: 60 of 60" in adjoint("predict", model, "flowers.csv").output


def test_predictions_from_every_kind_of_file() -> None:
    write_pictures("halves.npz")
    assert adjoint("train", "halves.npz", "--epochs", "10", "--lr", "0.01").exit_code == 0
    with np.load("halves.npz") as archive:
        x, y = archive["x"], archive["y"]
    np.save("some.npy", x[:4])
    np.save("one.npy", x[1])
    np.savetxt("some.csv", x[:4].reshape(4, 36), delimiter=",", fmt="%d")
    Path("some.idx").write_bytes(
        gzip.compress(bytes([0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0, 6]) + x[:4].tobytes())
    )
    for name, expected in (("some.npy", y[:4]), ("one.npy", y[1:2]), ("some.csv", y[:4]), ("some.idx", y[:4])):
        result = adjoint("predict", "runs/halves-1/model.safetensors", name)
        assert result.exit_code == 0, result.output
        named = re.findall(r"^ +\d +(\d) +\d+\.\d %$", result.output, re.MULTILINE)
        assert named == [str(label) for label in expected], name


def test_mistakes_are_pointed_out() -> None:
    write_csv("flowers.csv")
    adjoint("train", "flowers.csv", "--epochs", "10", "--lr", "0.01")
    x, _ = table(4)
    np.savez("wrong.npz", x=x, y=["rose", "rose", "iris", "rose"])
    result = adjoint("predict", "runs/flowers-1/model.safetensors", "wrong.npz")
    assert result.output.count("labelled rose") == 1
    assert "Accuracy 75.0 %: 3 of 4" in result.output


class Press(Callback):
    """Presses Ctrl-C at a step."""

    def __init__(self, at: int) -> None:
        self.at = at

    def on_step(self, step: Step) -> None:
        if step.done == self.at:
            raise KeyboardInterrupt


def interrupting(at: int) -> Any:
    """`fit`, but Ctrl-C is pressed at step `at`."""
    return lambda *args, **options: real_fit(*args, callbacks=[Press(at)], **options)


@pytest.mark.parametrize(("at", "epochs"), [(1, 0), (7, 3)])
def test_ctrl_c_saves_and_says_where(monkeypatch: pytest.MonkeyPatch, at: int, epochs: int) -> None:
    monkeypatch.setattr("adjoint.cli.runs.fit", interrupting(at))
    write_pictures("halves.npz")
    result = adjoint("train", "halves.npz", "--epochs", "50")
    assert result.exit_code == 130
    assert f"Stopped by Ctrl-C in epoch {epochs + 1}" in result.output
    assert "runs/halves-1/model.safetensors" in result.output.replace("\\", "/")
    assert Classifier.load("runs/halves-1/model.safetensors").classes == ("0", "1")
    assert len(Path("runs/halves-1/metrics.csv").read_text().splitlines()) == 1 + epochs
    assert Path("runs/halves-1/curves.png").exists() == (epochs > 0)


def complaint(result: Result) -> str:
    """The one line on standard error of a command that failed as it should."""
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("adjoint: ")
    return lines[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.csv"], "nothing.csv: there is no such file or folder"),
        (["digit"], "the one data set known by name is: digits"),
        (["digits", "flowers.csv"], "digits: there is no such file or folder"),
        (["empty"], "holds no IDX files"),
        (["picture.png"], "not a kind of file that can be read here"),
        (["ragged.csv"], "ragged.csv, line 2: 3 columns expected"),
        (["measured.csv", "--task", "classes"], "60 different labels in 60 examples"),
        (["flowers.csv", "--task", "numbers"], "flowers.csv, line 1, column 'column 4': a finite number was expected"),
        (["flowers.csv", "--label", "kind"], "no column 'kind' for the label; the columns are column 1, column 2"),
        (["halves.npz", "--label", "kind"], "only columns of CSV files have names"),
        (["flowers.csv", "--network", "conv"], "conv reads pictures of at least 4 x 4 pixels; these data are a table"),
        (["flowers.csv", "--network", "nowhere:Net"], "the module 'nowhere' cannot be imported"),
        (["flowers.csv", "--resume", "runs"], "leave out flowers.csv"),
        (["--resume", "empty"], "empty: there is no run in this folder"),
        (["--resume", "flowers.csv"], "flowers.csv: there is no run in this folder"),
        (["--resume", "empty", "--lr", "0.1", "--epochs", "9"], "leave out --epochs, --lr"),
        ([], "name data to learn from"),
        (["one.csv"], "every label is '1'"),
        (["tiny.csv"], "at least 10 examples"),
        (["broken.npz"], "not a readable .npz file"),
        (["images"], "no labels for these images"),
        (
            ["flowers.csv", "wide.csv"],
            "column 'column 3': a finite number was expected, as in the other rows; found 'rose'",
        ),
        (["flowers.csv", "other.csv"], "a class that the training set has was expected (iris, rose); found 'lily'"),
        (["flowers.csv", "--out", "picture.png"], "picture.png: File exists"),
        (["flowers.csv", "--hidden", "9000000000000"], "not enough memory"),
        (["flowers.csv", "--lr", "1e30"], "training diverged"),
        (["flowers.csv", "--lr", "1e30", "--epochs", "1", "--batch-size", "1000"], "training diverged"),
    ],
)
def test_wrong_data_are_one_sentence(words: list[str], said: str) -> None:
    write_csv("flowers.csv")
    x, _ = table()
    Path("picture.png").write_bytes(b"\x89PNG\r\n")
    Path("ragged.csv").write_text("1,2,3\n1,2\n")
    np.savetxt("measured.csv", np.column_stack([x, np.arange(60)]), delimiter=",")
    np.savetxt("one.csv", np.column_stack([x, np.ones(60)]), delimiter=",")
    Path("tiny.csv").write_text("1,0\n2,1\n1,0\n2,1\n")
    Path("broken.npz").write_bytes(b"PK\x03\x04")
    Path("images").write_bytes(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 1, 5]))
    Path("wide.csv").write_text("1,2,rose\n1,2,iris\n")
    Path("other.csv").write_text("1,2,3,lily\n")
    Path("empty").mkdir()
    write_pictures("halves.npz")
    before = sorted(Path().rglob("*"))
    assert said in complaint(adjoint("train", *words))
    assert sorted(Path().rglob("*")) in (before, sorted([*before, Path("runs")]))


def test_divergence_keeps_what_was_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fail(Callback):
        def on_step(self, step: Step) -> None:
            if step.epoch == 2:
                raise ad.DivergedError("training diverged: the loss became nan in epoch 2")

    def fit(*args: Any, **options: Any) -> Any:
        return real_fit(*args, callbacks=[Fail()], **options)

    monkeypatch.setattr("adjoint.cli.runs.fit", fit)
    write_csv("flowers.csv")
    said = complaint(adjoint("train", "flowers.csv"))
    assert "The best weights before that are in runs/flowers-1/model.safetensors" in said.replace("\\", "/")
    assert Classifier.load("runs/flowers-1/model.safetensors").classes == ("iris", "rose")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing", "flowers.csv"], "nothing: there is no such file"),
        (["flowers.csv", "flowers.csv"], "flowers.csv is not a safetensors file"),
        (["model", "nothing.npy"], "nothing.npy: there is no such file"),
        (["model", "digits"], "this model reads examples of 3 values; got (64,)"),
        (["model", "wide.csv"], "this model reads examples of 3 values; got (5,)"),
        (["model", "flat.npy"], "this model reads examples of 3 values; got (8,)"),
        (["model", "other.csv"], "'lily' is not one of the known classes"),
        (["model", "flowers.csv", "--save", "flowers.csv"], "there is such a file already"),
        (["model", "words.npy"], "must be real numbers"),
    ],
)
def test_wrong_predictions_are_one_sentence(words: list[str], said: str) -> None:
    write_csv("flowers.csv")
    x, labels = table()
    data = ad.data.dataset(x, labels)
    Classifier.for_data(data, hidden=()).save("model")
    Path("wide.csv").write_text("1,2,3,4,5,rose\n1,2,3,4,5,iris\n")
    Path("other.csv").write_text("1,2,3,lily\n")
    np.save("flat.npy", np.zeros(8))
    np.save("words.npy", np.full((4, 3), "a"))
    before = Path("flowers.csv").read_bytes()
    assert said in complaint(adjoint("predict", *words))
    assert Path("flowers.csv").read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        ["train", "digits", "--network", "cnn"],
        ["train", "digits", "--size", "8x"],
        ["train", "digits", "--task", "both"],
        ["train", "digits", "--epochs", "0"],
        ["train", "digits", "--lr", "nan"],
        ["train", "digits", "--lr", "-1"],
        ["train", "digits", "--hidden", "64,x"],
        ["train", "digits", "--hidden", "64,0"],
        ["train", "digits", "--dtype", "int8"],
        ["train", "digits", "--batch-size", "0"],
        ["predict", "model"],
        ["learn"],
        ["--nonsense"],
    ],
)
def test_wrong_usage_exits_with_2(words: list[str], here: Path) -> None:
    result = adjoint(*words)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert not list(here.iterdir())


def test_without_matplotlib_the_run_goes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    write_pictures("halves.npz")
    result = adjoint("train", "halves.npz", *FAST)
    assert result.exit_code == 0, result.output
    assert result.output.count("pip install 'adjoint[plot]'") == 1
    assert not list(Path("runs/halves-1").glob("*.png"))
    assert Path("runs/halves-1/model.safetensors").exists()


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert "pip install 'adjoint[examples]'" in complaint(adjoint("train", "digits"))


def without_times(path: str) -> list[list[str]]:
    return [line.split(",")[:-1] for line in Path(path).read_text().splitlines()]


def test_a_run_that_was_stopped_is_gone_on_with_to_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    write_pictures("halves.npz")
    words = ["--epochs", "4", "--hidden", "8"]
    assert adjoint("train", "halves.npz", *words).exit_code == 0
    with monkeypatch.context() as patch:
        patch.setattr("adjoint.cli.runs.fit", interrupting(5))
        stopped = adjoint("train", "halves.npz", *words)
    assert stopped.exit_code == 130
    assert "To go on: adjoint train --resume runs/halves-2" in stopped.output.replace("\\", "/")
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert adjoint("train", "--resume", "../runs/halves-2").exit_code == 0
    for name in ("model.safetensors", "last.safetensors"):
        assert Path("../runs/halves-1", name).read_bytes() == Path("../runs/halves-2", name).read_bytes()
    assert without_times("../runs/halves-1/metrics.csv") == without_times("../runs/halves-2/metrics.csv")


HOUSES = "rooms,town,price\n" + "\n".join(
    f"{1 + i % 5},{('York', 'Bath')[i % 2]},{100.5 + 50 * (i % 5) + 30 * (i % 2)}" for i in range(200)
)


def test_numbers_are_learned_from_columns_that_may_stand_in_any_order() -> None:
    Path("houses.csv").write_text(HOUSES)
    result = adjoint("train", "houses.csv", "--epochs", "30", "--hidden", "32", "--dropout", "0", "--lr", "0.02")
    assert result.exit_code == 0, result.output
    told = [line.split(maxsplit=1) for line in result.output.splitlines()]
    assert ["price", "the label: numbers, about 100.5 to 330.5"] in [[cell.strip() for cell in line] for line in told]
    assert re.search(r"^town +2 categories: Bath, York *$", result.output, re.MULTILINE)
    assert "200 examples (3 values) with a number each" in result.output
    explained = re.search(r"explains (\d+\.\d) % of the variance", result.output)
    assert explained is not None
    assert float(explained[1]) > 99
    Path("new.csv").write_text("town,garden,rooms\nYork,yes,3\nBath,no,5\nOslo,no,1\n")
    result = adjoint("predict", "runs/houses-1/model.safetensors", "new.csv", "--save", "prices.csv")
    assert "column town: Oslo did not occur in training; taken as missing" in result.output
    with open("prices.csv", newline="") as file:
        prices = [float(row["price"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(prices[:2], [200.5, 330.5], atol=6)
    result = adjoint("predict", "runs/houses-1/model.safetensors", "houses.csv", "--limit", "1")
    assert re.search(r"Error \d\.\d+ on average: 200 examples", result.output)
    Path("bad.csv").write_text("town,rooms\nYork,3\nBath,many\n")
    said = complaint(adjoint("predict", "runs/houses-1/model.safetensors", "bad.csv"))
    assert "bad.csv, line 3, column 'rooms': a finite number was expected" in said


def test_networks_by_name() -> None:
    result = adjoint("train", "digits", "--network", "conv", "--epochs", "4", "--hidden", "64", "--shift", "0")
    assert result.exit_code == 0, result.output
    reached = re.search(r"Test accuracy (\d+\.\d) %", result.output)
    assert reached is not None
    assert float(reached[1]) >= 95
    assert f"Accuracy {reached[1]} %" in adjoint("predict", "runs/digits-1/model.safetensors", "digits").output


def test_a_network_of_ones_own() -> None:
    write_csv("flowers.csv")
    Path("my_networks.py").write_text(
        "from adjoint import nn\n\n\nclass Tiny(nn.Sequential):\n"
        "    def __init__(self, features, outputs):\n"
        "        super().__init__(nn.Linear(features, 5, rng=0), nn.Tanh(), nn.Linear(5, outputs, rng=1))\n"
        "\n\nnothing = 3\n"
    )
    try:
        words = ["train", "flowers.csv", "--network", "my_networks:Tiny", "--epochs", "30", "--lr", "0.02"]
        result = adjoint(*words)
        assert result.exit_code == 0, result.output
        assert "network: my_networks:Tiny, 3 → 2, 32 parameters" in result.output
        model = "runs/flowers-1/model.safetensors"
        assert "say so, for its code to run: --network my_networks:Tiny" in complaint(
            adjoint("predict", model, "flowers.csv")
        )
        found = adjoint("predict", model, "flowers.csv", "--network", "my_networks:Tiny")
        assert "Accuracy 100.0 %" in found.output
        assert "no 'Large'" in complaint(adjoint("train", "flowers.csv", "--network", "my_networks:Large"))
    finally:
        sys.modules.pop("my_networks", None)


def test_pictures_in_folders() -> None:
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for name, level in (("dark", 30), ("light", 200)):
        Path("tones", name).mkdir(parents=True)
        for i in range(20):
            image.fromarray(rng.integers(0, 40, (9, 7, 3), np.uint8) + np.uint8(level)).save(f"tones/{name}/{i}.png")
    result = adjoint("train", "tones", "--size", "8", "--color", "--network", "conv", "--epochs", "5", "--hidden", "8")
    assert result.exit_code == 0, result.output
    assert "40 examples (colour pictures of 8 x 8 pixels) of 2 classes" in result.output
    result = adjoint("predict", "runs/tones-1/model.safetensors", "tones/dark/3.png", "--pictures")
    assert re.search(r"^ +0 +dark +\d+\.\d %$", result.output, re.MULTILINE)


def test_the_module_is_the_program_and_shells_complete_it() -> None:
    done = subprocess.run([sys.executable, "-m", "adjoint", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"adjoint {ad.__version__}"
    environment = {**os.environ, "_ADJOINT_COMPLETE": "complete_bash", "COMP_WORDS": "adjoint tr", "COMP_CWORD": "1"}
    program = [sys.executable, "-c", "from adjoint.cli.main import main; main()"]
    done = subprocess.run(program, capture_output=True, text=True, env=environment, check=False)
    assert "train" in done.stdout.split()
    assert "--install-completion" in adjoint("--help").output


def test_version_and_help() -> None:
    assert adjoint("--version").output.strip() == f"adjoint {ad.__version__}"
    for words in ([], ["--help"], ["-h"]):
        text = adjoint(*words).output
        assert "adjoint train digits" in text
        assert "predict" in text
    for command in ("train", "predict"):
        text = adjoint(command, "--help").output
        assert "Examples" in text
        assert f"adjoint {command} " in text


def test_the_program_itself_in_a_plain_log() -> None:
    write_csv("flowers.csv")
    program = [sys.executable, "-c", "from adjoint.cli.main import main; main()"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONWARNINGS": "error"}
    done = subprocess.run([*program, "train", "flowers.csv", *FAST], capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout  # no colours, no moving cursor
    assert b"\r" not in done.stdout.replace(b"\r\n", b"\n")
    assert b"Test accuracy" in done.stdout
    wrong = subprocess.run([*program, "train", "nothing"], capture_output=True, env=environment, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert wrong.stderr.startswith(b"adjoint: nothing: there is no such file")


def test_an_interrupt_before_the_training_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from adjoint.cli import main

    def interrupted(**options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "app", interrupted)
    with pytest.raises(SystemExit) as found:
        main.main()
    assert found.value.code == 130
    assert capsys.readouterr().err == "adjoint: interrupted\n"
