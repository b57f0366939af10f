"""Imports run one way, and what is light stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint as ad

SOURCE = Path(ad.__file__).parent

# What each room may import; a room may always import itself.
ALLOWED = {
    "core": set(),
    "ops": {"core"},
    "arrays": {"ops", "core"},
    "tape": {"arrays", "ops", "core"},
    "forward": {"batch", "tape", "arrays", "ops", "core"},
    "batch": {"arrays", "ops", "core"},
    "twin": {"tape", "arrays", "ops", "core"},
    "transforms": {"twin", "tape", "forward", "batch", "arrays", "ops", "core"},
    "compiler": {"expressions", "native", "graph", "twin", "transforms", "optim", "tape", "arrays", "ops", "core"},
    "graph": {"twin", "tape", "arrays", "ops", "core"},
    "expressions": {"graph", "tape", "arrays", "ops", "core"},
    "pictures": {"graph", "transforms", "tape", "arrays", "ops", "core"},
    "native": {"graph", "tape", "arrays", "ops", "core"},
    "xp": {"transforms", "tape", "arrays", "ops", "core"},
    "scipy": {"twin", "transforms", "tape", "forward", "batch", "arrays", "ops", "core"},
    "nn": {"twin", "tape", "ops", "core", "io"},
    "optim": {"nn", "tape", "ops", "core"},
    "data": {"core"},
    "io": {"core"},
    "train": {"compiler", "nn", "optim", "data", "io", "tape", "transforms", "ops", "core"},
    "testing": {"compiler", "native", "transforms", "graph", "tape", "arrays", "ops", "core"},
}
EVERYTHING = ("cli", "__init__", "__main__")
HEAVY = ("scipy", "optree", "llvmlite", "typer", "rich", "safetensors", "matplotlib", "sklearn", "sympy")


def rooms():
    return sorted({p.name for p in SOURCE.iterdir() if p.is_dir() and (p / "__init__.py").exists()})


def imports_of(path):
    """The rooms of adjoint that a file imports, at its top or inside a function; not those for type checkers only."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for node in ast.walk(branch)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module or ""]
            if node.module == "adjoint":
                names = [f"adjoint.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "adjoint":
                yield node.lineno, name


@pytest.mark.parametrize("room", rooms())
def test_imports_run_one_way(room):
    if room in EVERYTHING:
        return
    assert room in ALLOWED, f"say in this table what {room} may import"
    for path in sorted((SOURCE / room).rglob("*.py")):
        for line, name in imports_of(path):
            target = name.split(".")[1] if "." in name else "the top"
            assert target == room or target in ALLOWED[room], f"{path.relative_to(SOURCE)}:{line} imports {name}"


def test_the_table_has_no_cycle():
    left = {room: set(others) for room, others in ALLOWED.items()}
    while left:
        free = [room for room, others in left.items() if not others & left.keys()]
        assert free, f"these rooms import one another: {sorted(left)}"
        for room in free:
            del left[room]


def loaded_by(program):
    code = f"{program}\nimport sys; print(*sorted(m for m in sys.modules if '.' not in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "program",
    [
        "import adjoint",
        "import numpy as np, adjoint as ad\n"
        "x = ad.tensor([1.0, 2.0], requires_grad=True)\n"
        "np.sum(np.tanh(x) @ np.ones(2)).backward()\n"
        "ad.grad(lambda x: np.sum(x ** 2))(np.ones(3))",
    ],
    ids=["import", "use"],
)
def test_only_numpy_is_loaded(program):
    assert not loaded_by(program) & set(HEAVY)


def public_names():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    found = [
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    ]
    return sorted(set(found))


@pytest.mark.parametrize("name", public_names())
def test_public_names_are_importable_and_documented(name):
    thing = getattr(ad, name)
    assert getattr(thing, "__doc__", None), f"ad.{name} has no docstring"
    assert not name.startswith("_")


def test_rooms_and_operations_are_reached_by_attribute():
    for name in ad._ROOMS:
        assert getattr(ad, name).__name__ == f"adjoint.{name}"
    assert ad.sin(0.0) == 0
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = ad.no_such_thing


def test_nothing_public_is_missing_from_the_top():
    """Whatever the top imports is either public under its own name or marked private."""
    names = {n for n in vars(ad) if not n.startswith("_")}
    submodules = set(rooms())
    assert names - submodules - set(public_names()) <= {"annotations", "import_module", "Any", "TYPE_CHECKING"}
