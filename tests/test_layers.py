"""Imports run one way, and what is light stays light."""

import ast
import os
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import adjoint as ad

SOURCE = Path(ad.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
HEAVY = ("scipy", "optree", "llvmlite", "typer", "rich", "safetensors", "matplotlib", "sklearn", "sympy")
TOP = ("__init__", "__main__", "cli")  # these may say ``adjoint`` itself


def table():
    """What each room may import: the table of rooms in docs/architecture.md."""
    rows = re.findall(r"^\| `([a-z/]+)/` \|[^|]*\| *([a-z/, ]*?) *\|$", PAGE.read_text(), flags=re.MULTILINE)
    return {room: frozenset(others.split(", ")) - {""} for room, others in rows}


ALLOWED = table()


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(("adjoint", *(parts[:-1] if parts[-1] == "__init__" else parts)))


FILES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}
STUBS = {name_of(path) for path in SOURCE.rglob("*.pyi")}


def rooms():
    return sorted({p.name for p in SOURCE.iterdir() if p.is_dir() and (p / "__init__.py").exists()})


def room_of(module):
    """The row of the table that a module belongs to; its wing's, if it has one."""
    parts = module.split(".")[1:]
    found = ("/".join(parts[:n]) for n in (2, 1))
    return next((room for room in found if room in ALLOWED), parts[0] if parts else "__init__")


def imports_of(path):
    """The modules of adjoint that a file names, with their lines: in imports, also in functions, and in strings.

    Modules are imported by strings too (`import_module`, tables of lazy attributes), so a string that is the name of
    one counts. What only type checkers read does not.
    """
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for node in ast.walk(branch)
    }
    for node in ast.walk(tree):
        names = []
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant | ast.JoinedStr):  # of f"adjoint.scipy.{name}", what it begins with
            first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
            text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
            name = (text.rstrip(".") if first is not node else text).partition(":")[0]
            names = [name] if name in FILES and name != "adjoint" else []
        for name in names:
            if name.split(".")[0] == "adjoint":
                yield node.lineno, name if name in FILES else name.rpartition(".")[0] or name


@pytest.mark.parametrize("room", rooms())
def test_every_room_is_in_the_table(room):
    assert room in ALLOWED, f"say in the table of docs/architecture.md what {room} may import"


@pytest.mark.parametrize("room", ALLOWED)
def test_imports_run_one_way(room):
    used = set()
    for module, path in FILES.items():
        if room_of(module) != room:
            continue
        for line, name in imports_of(path):
            target = room_of(name)
            admitted = {target, target.split("/")[0]} & ALLOWED[room]
            used |= admitted
            top = target in TOP and room in TOP
            assert target == room or admitted or top, f"{path.relative_to(SOURCE)}:{line} imports {name}"
    assert used == ALLOWED[room], f"the table lets {room} import what it does not use: {sorted(ALLOWED[room] - used)}"


@pytest.mark.parametrize("folder", ["src/adjoint", "tests", "scripts", "benchmarks", "examples"])
def test_imports_name_files_that_exist(folder):
    """Also those inside functions, which nothing else reads before they run."""
    paths = sorted((PAGE.parents[1] / folder).rglob("*.py"))
    assert paths
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "adjoint":
                assert node.module in FILES or node.module in STUBS, f"{path}:{node.lineno}: no module {node.module}"


def test_files_are_short():
    """One subject a file, in at most 400 lines: who needs more has two subjects."""
    assert {name: n for name, path in FILES.items() if (n := len(path.read_text().splitlines())) > 400} == {}


FOLDERS = {path.parent: {p.stem for p in path.parent.glob("*.py")} for path in SOURCE.rglob("__init__.py")}


@pytest.mark.parametrize("folder", [f for f, files in FOLDERS.items() if len(files) > 18])
def test_a_large_folder_says_what_each_file_is_for(folder):
    """Its page lists the files by subject, so that a newcomer need not read twenty first lines."""
    page = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    listed = [name for line in page.splitlines() if line.startswith("- ") for name in re.findall(r"`(\w+)`", line)]
    assert sorted({*listed} - {"compile"}) == sorted(FOLDERS[folder] - {"__init__"})


def test_the_table_has_no_cycle():
    assert len(list(TopologicalSorter(ALLOWED).static_order())) == len(ALLOWED)


def test_files_do_not_import_one_another_in_circles():
    """Imports inside functions count. The top's own do not: it knows every room, and no file imports it."""
    graph = {
        module: {name for _, name in imports_of(path) if name != module}
        for module, path in FILES.items()
        if module != "adjoint"
    }
    list(TopologicalSorter(graph).static_order())


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


def test_the_import_loads_next_to_nothing():
    """So it takes hardly longer than NumPy's: `python -m benchmarks imports` measures it."""
    code = (
        "import numpy, sys; b = set(sys.modules); import adjoint; print(*sorted(set(sys.modules) - b - {'__future__'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == [
        "adjoint",
        *(f"adjoint.core{m}" for m in ("", ".guests", ".late", ".types", ".version")),
    ]


def test_rarer_families_load_when_first_asked_for():
    """None is loaded with the first tensor; the table of their names says exactly what each has."""
    code = """
import sys, numpy
import adjoint
assert not {"adjoint.ops", "adjoint.tape"} & sys.modules.keys()
adjoint.Tensor
from adjoint.core import registry
families = list(dict.fromkeys(home for name, home in registry.LATER.items() if name != registry.SPECIAL))
assert families and not set(families) & sys.modules.keys()
assert not {"adjoint.transforms", "adjoint.twin", "dataclasses", "numpy.fft"} & sys.modules.keys()
for home in families:
    loaded = {h for h in families if h in sys.modules}
    before, answered, methods = set(registry.ENTRIES), set(registry.ANSWERS), set(registry.REDUCTIONS)
    __import__(home)
    new = {h for h in families if h in sys.modules} - loaded
    found = set(registry.ENTRIES) - before | {f.__name__ for f in set(registry.ANSWERS) - answered}
    found |= {f"ufunc.{method}" for _, method in set(registry.REDUCTIONS) - methods}
    named = {name for name, h in registry.LATER.items() if h in new}
    assert found == named, (home, found ^ named)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    "program",
    [
        "np.gradient(ad.tensor([1.0, 2.0]))",
        "np.fft.fft(ad.tensor([1.0, 2.0]))",
        "t = ad.tensor([1.0, 2.0]); np.add.at(t, [0, 0], 1.0); assert t[0] == 3.0",
        "assert np.add.accumulate(ad.tensor([1.0, 2.0]))[1] == 3.0",
        "assert ad.tensor([1.0, 2.0]).cumsum()[1] == 3.0",
        "assert 'relu' in dir(ad.Tensor); assert ad.Tensor.relu is ad.relu",
        "t = ad.tensor([1.0, 2.0]); t.flat = 3.0; assert t[1] == 3.0",
        "ad.op.__doc__; ad.average(np.ones(2))",
        "ad.grad(np.linalg.det)(np.eye(2))",
        "ad.core.backend.is_foreign",
        "from adjoint.core.registry import operation; assert operation('sin') is ad.sin",
        "from adjoint.core.registry import answer; assert answer(np.sin) is ad.sin",
        "from adjoint.core.registry import entries; assert 'sin' in entries()",
        "from adjoint.core.constructors import elementwise; elementwise(lambda x: x, partial=1.0, name='sine')",
        "assert 'sin' not in vars(ad); assert {'Tensor', 'grad', 'relu', 'nn'} <= set(dir(ad)); ad.tape.tensor",
        "from adjoint import *; assert Tensor is ad.Tensor and np is not None",
        "import pickle; f = ad.vmap(np.trapezoid); pickle.loads(pickle.dumps(ad.core.registry.operation('fourier')))",
        "ad.compile(lambda x: np.concatenate([x, np.linspace(x[0], x[1], 3)]), wait=True)(np.ones(2))",
        "raised = False\n"
        "try: ad.elementwise(np.sin, name='average', partial=lambda x: x)\n"
        "except ad.ArgumentError: raised = True\n"
        "assert raised",
    ],
)
def test_a_family_loads_whatever_asks_for_it(program):
    code = f"import numpy as np, adjoint as ad\n{program}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env={**os.environ, "ADJOINT_CACHE": "off"})


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


def test_python_is_written_in_one_place():
    """Whoever writes a function as text has it made by core/codegen.py."""
    makers = [name for name, path in FILES.items() if re.search(r"\bexec\(", path.read_text())]
    assert makers == ["adjoint.core.codegen"]
