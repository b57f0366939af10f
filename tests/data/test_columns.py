"""Tables with a header: what their columns are taken for, and what is said of cells that do not fit."""

from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint.data import Columns, load, read
from adjoint.data.sheet import read_sheet

PEOPLE = """age,fare,town,note,survived
22,7.25,York,a1,no
38,71.3,Bath,b2,yes
,8.05,York,c3,no
35,53.1,,d4,yes
54,?,Bath,e5,no
2,21,York,f6,yes
27,11.1,Bath,g7,yes
14,30,York,h8,no
"""


def write(folder: Path, text: str, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_each_column_is_read_as_what_it_holds(tmp_path: Path) -> None:
    data, _ = load(write(tmp_path, PEOPLE))
    columns = data.columns
    assert (columns.label, data.classes) == ("survived", ("no", "yes"))
    assert [(c.name, c.kind, c.width) for c in columns.features] == [
        ("age", "numbers", 2), ("fare", "numbers", 2), ("town", "categories", 2), ("note", "left out", 0),
    ]  # fmt: skip
    assert columns.features[3].describe() == "left out: 8 different texts in 8 rows"
    np.testing.assert_array_equal(data.x[:5, 0], [22, 38, 27, 35, 54])  # the median where it is missing
    np.testing.assert_array_equal(data.x[:5, 1], [0, 0, 1, 0, 0])
    np.testing.assert_array_equal(data.x[:5, 4:], [[0, 1], [1, 0], [0, 1], [0, 0], [1, 0]])
    assert Columns.of_state(columns.state()) == columns


def test_columns_are_found_by_their_names(tmp_path: Path) -> None:
    path = write(tmp_path, PEOPLE)
    data, _ = load(path)
    lines = [line.split(",") for line in PEOPLE.splitlines()]
    turned = "\n".join(",".join([line[4], "x", line[2], line[1], line[0]]) for line in lines).replace("x", "extra", 1)
    x, labels = read(write(tmp_path, turned, "turned.csv"), columns=data.columns)
    np.testing.assert_array_equal(x, data.x)
    assert labels is not None
    assert labels.tolist() == [line[4] for line in lines[1:]]
    x, labels = read(write(tmp_path, "town,fare,age\nRome,1,2\n", "new.csv"), columns=data.columns)
    np.testing.assert_array_equal(x, [[2, 0, 1, 0, 0, 0]])
    assert labels is None
    with pytest.raises(ad.DataError, match="no column 'age', which the examples before had; the columns are fare"):
        read(write(tmp_path, "fare,town\n1,York\n", "less.csv"), columns=data.columns)
    with pytest.raises(ad.DataError, match="first line must name the columns"):
        read(write(tmp_path, "1,2,3,4\n", "bare.csv"), columns=data.columns)


def test_labels_may_be_anywhere_and_anything(tmp_path: Path) -> None:
    path = write(tmp_path, PEOPLE.replace("?", "3.5").replace(",,", ",York,"))
    data, _ = load(path, label="town")
    assert data.classes == ("Bath", "York")
    prices, _ = load(path, label="fare")
    assert prices.classes == ()
    np.testing.assert_array_equal(prices.y[:5], [7.25, 71.3, 8.05, 53.1, 3.5])
    with pytest.raises(ad.DataError, match="no column 'price' for the label; the columns are age, fare, town, note"):
        load(path, label="price")
    with pytest.raises(ad.DataError, match="line 2, column 'town': a finite number was expected, the label"):
        load(path, label="town", task="numbers")
    with pytest.raises(ad.ArgumentError, match='"classes" or "numbers"'):
        load(path, task="both")


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (range(100), 0), ([i % 20 for i in range(100)], 20), ([i % 21 for i in range(100)], 0),
        ([i % 2 + 0.5 for i in range(100)], 0), (["yes", "no"] * 50, 2),
    ],
)  # fmt: skip
def test_what_labels_look_like(tmp_path: Path, labels: list[object], classes: int) -> None:
    rows = "\n".join(f"{i},{label}" for i, label in enumerate(labels))
    data, _ = load(write(tmp_path, f"x,y\n{rows}\n"))
    assert len(data.classes) == classes
    if classes == 0 and all(float(str(label)).is_integer() for label in labels) and len(set(labels)) < 50:
        assert len(load(tmp_path / "people.csv", task="classes")[0].classes) == len(set(labels))


def test_a_table_of_few_values_is_no_picture(tmp_path: Path) -> None:
    rows = "\n".join(",".join([*(str((i + j) % 2) for j in range(25)), str(i % 2)]) for i in range(12))
    data, _ = load(write(tmp_path, rows))
    assert data.picture == (5, 5)
    data, _ = load(write(tmp_path, rows.replace("0", "", 1)))
    assert data.picture is None


def test_a_second_table_is_read_as_the_first(tmp_path: Path) -> None:
    train = write(tmp_path, PEOPLE)
    test = write(tmp_path, "survived,town,fare,age\nyes,Oslo,3,4\n", "test.csv")
    _, held_out = load(train, test)
    assert held_out is not None
    np.testing.assert_array_equal(held_out.x, [[4, 0, 3, 0, 0, 0]])
    np.testing.assert_array_equal(held_out.y, [1])
    with pytest.raises(ad.DataError, match="no column 'survived', which has the labels"):
        load(train, write(tmp_path, "town,fare,age\nYork,3,4\n", "bare.csv"))


@pytest.mark.parametrize("rows", ["5.1,3.5,0\n4.9,3.0,1\n", "5.1,3.5,iris\n4.9,3.0,rose\n"])
def test_a_header_with_numbers_is_no_example(tmp_path: Path, rows: str) -> None:
    with pytest.raises(ad.DataError, match="line 1, column 'column 3': found 'label' where the other lines have '"):
        load(write(tmp_path, "1999,2000,label\n" + rows))
    data, _ = load(write(tmp_path, rows))
    assert len(data.x) == 2


def test_numbers_that_were_never_missing_before(tmp_path: Path) -> None:
    whole = write(tmp_path, "age,fare,label\n20,,a\n30,5,b\n40,6,a\n")
    columns = load(whole)[0].columns
    sheet = read_sheet(b"age,fare\n,1\n25,\n?,3\n", Path("new.csv"))
    assert [column.gaps(sheet) for column in columns.features] == [2, 0]
    assert columns.encode(sheet)[:, 0].tolist() == [30, 25, 30]


@pytest.mark.parametrize("row", [0, 20, 38])
def test_a_quotation_mark_that_is_never_closed_swallows_no_lines(tmp_path: Path, row: int) -> None:
    rows = [f"{i},{i % 7},{'yes' if i % 2 else 'no'}" for i in range(40)]
    rows[row] = f'{row},0,"yes'
    (tmp_path / "open.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n")
    with pytest.raises(ad.DataError, match=rf"line {row + 2}: a quotation mark opens a cell"):
        ad.data.load(tmp_path / "open.csv")
    rows[row] = f'{row},0,"yes\n"'  # a cell of two lines
    (tmp_path / "closed.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n")
    assert len(ad.data.load(tmp_path / "closed.csv")[0]) == 40
