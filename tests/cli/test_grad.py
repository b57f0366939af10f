"""`adjoint grad`, as a person uses it, and every way to get it wrong."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import adjoint as ad
from adjoint.cli.main import app

QUADRATIC = "3*x^2 + x*y + 5*y^2"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def grad(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, ["grad", *words])


def test_value_gradient_and_every_step():
    done = grad(QUADRATIC, "x=2", "y=3")
    assert done.exit_code == 0
    assert done.output == (
        "3*x^2 + x*y + 5*y^2\n\nvalue  63\nd/dx   15\nd/dy   32\n\n"
        "step  is       value  cotangent\nx              2      15\nv1    x^2      4      3\nv2    3*v1     12     1\n"
        "y              3      32\nv3    x*y      6      1\nv4    v2 + v3  18     1\nv5    y^2      9      5\n"
        "v6    5*v5     45     1\nv7    v4 + v6  63     1\n"
    )


def test_shared_steps_stand_once_and_names_do_not_clash():
    done = grad("(v1+y) + v1*(v1+y)", "v1=2", "y=1")
    rows = [line.split() for line in done.output.splitlines()[7:]]
    assert [row[0] for row in rows] == ["v1", "y", "v2", "v3", "v4"]
    assert rows[-1][-2:] == ["9", "1"]


def test_hessian_and_json():
    assert "second derivatives\n   x  y\nx  6  1\ny  1  10\n" in grad(QUADRATIC, "x=2", "y=3", "--hessian").output
    report = json.loads(grad(QUADRATIC, "x=2", "y=3", "--hessian", "--json").output)
    assert report["value"] == 63
    assert report["gradient"] == {"x": 15, "y": 32}
    assert report["hessian"] == {"variables": ["x", "y"], "rows": [[6, 1], [1, 10]]}
    assert report["steps"][1] == {"step": "v1", "is": "x^2", "value": 4, "cotangent": 3}
    assert json.loads(grad("1/x", "x=0", "--json").output)["gradient"] == {"x": "-inf"}


def test_values_may_be_formulas_and_texts_begin_with_a_minus():
    report = json.loads(grad("-sin(x)^2*e", "x=pi/2", "--json").output)
    assert report["value"] == pytest.approx(-2.718281828459045)
    assert json.loads(grad("d*e", "d=2", "e=-3", "--json").output)["gradient"] == {"d": -3, "e": 2}
    assert json.loads(grad("1 + 2", "--json").output) == {
        "expression": "1 + 2", "state": {}, "value": 3, "gradient": {},
        "steps": [{"step": "v1", "is": "1 + 2", "value": 3, "cotangent": 1}],
    }  # fmt: skip


def test_many_states_from_a_file(here):
    (here / "states.csv").write_text("name, x,y\na,2,3\nb,1,1\n\nc,0.5,-1\n", encoding="utf-8-sig")
    done = grad("x*y + z", "z=1", "--states", "states.csv", "--hessian")
    rows = list(csv.reader(done.output.splitlines()))
    assert rows[0][:7] == ["x", "y", "z", "value", "d/dx", "d/dy", "d/dz"]
    assert [row[:7] for row in rows[1:]] == [
        ["2", "3", "1", "7", "3", "2", "1"], ["1", "1", "1", "2", "1", "1", "1"],
        ["0.5", "-1", "1", "0.5", "-1", "0.5", "1"],
    ]  # fmt: skip
    assert rows[0][7:] == [f"d2/d{a}d{b}" for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")]
    assert rows[1][7:] == ["0", "1", "0", "0", "0", "0"]
    found = json.loads(grad("x*y", "--states", "states.csv", "--json").output)
    assert found[2] == {"x": 0.5, "y": -1, "value": -0.5, "d/dx": -1, "d/dy": 0.5}


def test_the_circuit_is_drawn(here):
    assert grad(QUADRATIC, "x=2", "y=3", "--show", "circuit.svg").exit_code == 0
    drawn = (here / "circuit.svg").read_text()
    assert drawn.startswith("<svg")
    assert ">63<" in drawn
    assert ">15<" in drawn
    assert "63" in ad.show(ad.expr(QUADRATIC), at={"x": 2.0, "y": 3.0}).text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["3*x^2 + * y", "x=1"],
         "adjoint: column 9: '*' cannot come here; expected a number, a name, a function or '('\n"
         "  3*x^2 + * y\n          ^\n"),
        (["x*y", "x=1"], "no value for y; the variables are x, y: add y=…"),
        (["x*y", "x=1", "z=2"], "'z' is no variable of this expression, which has x, y"),
        (["x", "x"], "a value is given as NAME=VALUE, such as x=2; got 'x'"),
        (["x", "x=1", "--hesian"], "got '--hesian'"),
        (["x", "x=1 +"], "the value of x: column 4: the text ends"),
        (["x", "x=y"], "the value of x must be a number, such as 2 or pi/3; got 'y'"),
        (["x; x^2", "x=1"], "takes one result; this text has 2"),
        (["x", "--states", "none.csv"], "none.csv: there is no such file"),
        (["x", "--states", "names.csv"], "the first line must name columns, some of x; got y, z"),
        (["y*z", "--states", "names.csv"], "names.csv: row 3, column z: a number was expected; got 'two'"),
        (["y*z", "--states", "short.csv"], "short.csv: row 2, column z: a number was expected; got nothing"),
        (["y*z", "--states", "blank.csv"], "blank.csv: row 4, column z: a number was expected; got ''"),
        (["y*z", "--states", "twice.csv"], "twice.csv: two columns are named y; one of them needs another name"),
        (["x", "x=1", "x=2"], "x has two values, 1 and 2; give one"),
        (["y", "--states", "names.csv", "--show", "a.svg"], "--show draws one state"),
        (["x", "x=1", "--show", "a.bmp"], "bmp"),
    ],
)  # fmt: skip
def test_wrong_input_gets_one_message(here, words, said):
    (here / "names.csv").write_text("y,z\n1,2\n1,two\n")
    (here / "short.csv").write_text("y,z\n1\n")
    (here / "blank.csv").write_text("y,z\n1,2\n\n1,\n")
    (here / "twice.csv").write_text("y,z,y\n1,2,3\n")
    done = grad(*words)
    assert done.exit_code == 2
    assert said in done.output
    assert done.output.count("adjoint:") == 1
    assert "Traceback" not in done.output
