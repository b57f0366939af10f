"""How numbers are written in tables: read where that is clear, and told where it is not."""

from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint.data import Columns, load, read
from adjoint.data.numerals import Numerals, numerals_of


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,5", "2,25", "3"], [1.5, 2.25, 3]),
        (["1,234.5", "12"], [1234.5, 12]),
        (["1.234,5", "1.234"], [1234.5, 1234]),
        (["1'234", "12.5"], [1234, 12.5]),
        (["1 234,5", "2", "1\u202f000"], [1234.5, 2, 1000]),
        (["1,234,567", "5"], [1234567, 5]),
        (["10%", "2.5 %"], [10, 2.5]),
        (["$5", "-$1,234.50"], [5, -1234.5]),
        (["5 €", "1.234,50 €"], [5, 1234.5]),
        (["\u22123", "4"], [-3, 4]),
        (["1e-3", "2,5"], [0.001, 2.5]),
        (["1970-01-02", "1970-01-03 12:00"], [1, 2.5]),
        (["1_0", "10", " 1.5 ", "1e3"], [None, 10, 1.5, 1000]),
        (["1,5", "abc", "2,5"], [1.5, None, 2.5]),
        (["7", "8", "9", "1,234"], [7, 8, 9, None]),
    ],
)
def test_numbers_that_are_clear(cells: list[str], values: list[float | None]) -> None:
    numerals, remark = numerals_of(cells)
    assert numerals is not None
    assert not remark
    assert [numerals.read(cell) for cell in cells] == values


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1,234", "2,345"], "may be 1.234 or 1234"),
        (["10%", "5"], "with and without a mark"),
        (["$5", "€5"], "or with two"),
        (["1,5", "2.5"], "in several ways: '1,5', '2.5'"),
        (["31.12.2020", "01.02.2021"], "2024-01-31"),
        (["10:30", "11:00"], "times of day"),
        (["192.168.0.1", "10.0.0.1"], ""),
        (["red", "blue", "3"], ""),
    ],
)
def test_numbers_that_are_not(cells: list[str], said: str) -> None:
    numerals, remark = numerals_of(cells)
    assert numerals is None
    assert said in remark
    assert bool(said) == bool(remark)


TABLE = """menge;anteil;tag;nummer;farbe;wert
1.234,5;10%;2024-01-31;007;Rot;1,5
2,5;5%;2024-02-01;008;rot;2,25
3;7%;2024-02-02;009;blau;3,75
1.000,0;9%;2024-02-03;010;blau;4,5
"""


def test_a_table_from_a_country_with_commas(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLE, encoding="utf-8-sig", newline="\r\n")
    data, _ = load(path)
    columns = data.columns
    assert [column.describe() for column in columns.features] == [
        "numbers with ',' before the decimals and with '.' between thousands",
        "numbers without their '%'",
        "numbers days since 1970-01-01, from dates",
        "numbers; zeros at the beginning do not count",
        "left out: 3 different texts in 4 rows",
    ]
    np.testing.assert_array_equal(data.x[:, 0], [1234.5, 2.5, 3, 1000])
    np.testing.assert_array_equal(data.y, [1.5, 2.25, 3.75, 4.5])
    assert not data.classes
    assert Columns.of_state(columns.state()) == columns
    x, labels = read(path, columns=Columns.of_state(columns.state()))
    np.testing.assert_array_equal(x, data.x)
    np.testing.assert_array_equal(labels, data.y)
    old = {**columns.state(), "features": [{**f, "numerals": vars(Numerals())} for f in columns.state()["features"]]}
    del old["numerals"], old["features"][0]["numerals"]
    assert Columns.of_state(old).features[0].numerals == Numerals()
    path.write_text(TABLE.replace("2,5;5%", "abc;5%"))
    with pytest.raises(ad.DataError, match=r"line 3, column 'menge': .* written as in the other rows, with ','"):
        read(path, columns=columns)


def test_what_is_not_clear_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b;c;kind\n" + "".join(f"1,{i};2.{i}00;{'Red' if i % 2 else 'red'};x{i % 2}\n" for i in range(9)))
    data, _ = load(path)
    assert "though other columns have decimal commas" in data.columns.features[1].describe()
    assert data.columns.features[2].describe() == "2 categories: Red, red; 'Red', 'red' are different ones"
    path.write_text("a,label\n" + "".join(f'{i},"1,{i + 100}"\n' for i in range(30)))
    with pytest.raises(ad.DataError, match=r"the labels are not clear: .* may be 1\.1 or 1100"):
        load(path)
    path.write_text("a,label\n" + "".join(f"{i},{i / 7}\n" for i in range(30)) + "1,oops\n")
    with pytest.raises(ad.DataError, match="line 32, column 'label': a finite number was expected"):
        load(path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_delimiters_and_ends_of_lines(tmp_path: Path, delimiter: str, ending: str) -> None:
    rows = ["a", "b", "label"], *([str(i), f"{i}.5", "xy"[i % 2]] for i in range(8))
    path = tmp_path / "t.csv"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_bytes(ending.join(delimiter.join(row) for row in rows).encode(encoding))
        data, _ = load(path)
        np.testing.assert_array_equal(data.x[:, 1], np.arange(8) + 0.5)
        assert data.classes == ("x", "y")


def test_quoted_cells_with_ends_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = "".join(f'"two\nlines {i % 2}",{i},{"ab"[i % 2]}\n' for i in range(6))
    path.write_text(f"name,v,label\n{rows}x,y,a\n")
    with pytest.raises(ad.DataError, match="line 14, column 'v'"):
        load(path)
