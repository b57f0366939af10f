"""Attacks on a promise: a compiled function gives what the plain one gives, values, effects and exceptions alike."""

from pathlib import Path

import pytest

from tests.compiler.attacks.known import KNOWN, SLOW
from tests.compiler.attacks.worlds import MODES, World, compare, difference

FOLDER = Path(__file__).parent / "attacks"


def attacks():
    """Name and text of each world of the table."""
    for path in sorted(FOLDER.glob("*.txt")):
        for block in path.read_text().split("### ")[1:]:
            name, _, text = block.partition("\n")
            yield f"{path.stem}: {name}", text


ATTACKS = dict(attacks())
REASONS = {name: reason for reason, names in KNOWN.items() for name in names}


def marked(name):
    """The attack called `name`, marked where it is known to succeed."""
    if (reason := REASONS.get(name)) is None:
        return pytest.param(name)
    return pytest.param(name, marks=pytest.mark.xfail(reason=reason, run=reason != SLOW, strict=True))


def test_the_table_is_whole():
    assert len(ATTACKS) >= 560
    assert set(REASONS) <= set(ATTACKS)


@pytest.mark.parametrize("name", [marked(name) for name in ATTACKS])
def test_attack(name, tmp_path):
    found = compare(ATTACKS[name], tmp_path, *MODES)
    assert found is None, f"{name}, {found}\n\n{ATTACKS[name]}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = [1.0, 2.0]", "x = [1.0, 2]"),
        ("x = {'a': 1, 'b': 2}", "x = {'b': 2, 'a': 1}"),
        ("a = [1]; x = [a, a]", "x = [[1], [1]]"),
        ("x = np.zeros(4); y = x[1:]", "x = np.zeros(4); y = np.zeros(3)"),
        ("x = ad.tensor([1.0])", "x = ad.tensor([1.0], requires_grad=True)"),
        ("x = 0.0", "x = -0.0"),
        ("print('a')", "print('b')"),
        ("1 / 0", "1.0 / 0"),
        ("x = iter([1, 2])", "x = iter([1, 2]); next(x)"),
        ("x = np.random.rand()", "x = np.random.rand(); np.random.rand()"),
        ("x = lambda a=1: a", "x = lambda a=2: a"),
    ],
)
def test_what_the_comparison_sees(one, other, tmp_path):
    a, b, c = (
        World(f"\n---\n{text}\n", tmp_path / f"{k}.py", None, 1).live() for k, text in enumerate([one, one, other])
    )
    assert difference(a, b, 0.0) is None
    assert difference(a, c, 0.0) is not None
