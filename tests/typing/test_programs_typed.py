"""What type checkers say of programs that users write: right lines pass, and wrong ones are found."""

import ast
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.messages.words import ARGUMENTS

HERE = Path(__file__).parent
SOURCE = Path(ad.__file__).parents[1]
PROGRAMS = sorted((HERE / "programs").glob("*.py"))


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """Of each program, the lines with errors and their codes."""
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--ignore-missing-imports", "--no-pretty"]
    done = subprocess.run(
        [*command, f"--cache-dir={cache}", *map(str, PROGRAMS)],
        env={**os.environ, "MYPYPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.returncode in (0, 1), done.stderr
    found = {path.name: {} for path in PROGRAMS}
    for file, line, message in re.findall(r"^(.*?):(\d+): error: (.*)$", done.stdout, flags=re.MULTILINE):
        if Path(file).name in found:
            found[Path(file).name].setdefault(int(line), []).append(message)
    return found


def wrong_lines(path):
    """The lines with errors, and mypy's names of these."""
    lines = path.read_text().splitlines()
    return {n: m[1] for n, line in enumerate(lines, 1) if (m := re.search(r"# expected: ([a-z-]+)$", line))}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_wrong_lines_are_found_and_right_ones_pass(path, errors):
    expected = wrong_lines(path)
    assert expected
    said = errors[path.name]
    assert said.keys() == expected.keys(), {n: said.get(n) for n in said.keys() ^ expected.keys()}
    for n, code in expected.items():
        assert any(message.endswith(f"[{code}]") for message in said[n]), (n, said[n])


@pytest.mark.skipif(not shutil.which("pyright"), reason="pyright is not installed")
def test_pyright_finds_the_same_lines():
    command = ["pyright", "--pythonpath", sys.executable, "--outputjson", *map(str, PROGRAMS)]
    done = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False, timeout=250)
    found = {path.name: {} for path in PROGRAMS}
    for said in json.loads(done.stdout)["generalDiagnostics"]:
        if said["severity"] == "error":
            line = said["range"]["start"]["line"] + 1
            found[Path(said["file"]).name].setdefault(line, []).append(said["message"])
    for path in PROGRAMS:
        said, expected = found[path.name], wrong_lines(path).keys()
        assert said.keys() == expected, (path.name, {n: said.get(n) for n in said.keys() ^ expected})


def declared():
    """The methods that type checkers know, with their parameters."""
    tree = ast.parse((SOURCE / "adjoint" / "tape" / "methods.pyi").read_text())
    (methods,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "TensorMethods")
    return {node.name: node.args for node in methods.body if isinstance(node, ast.FunctionDef)}


def functions_declared():
    """The functions of `adjoint` itself that type checkers know, with their parameters."""
    tree = ast.parse((SOURCE / "adjoint" / "ops" / "neural" / "signatures.pyi").read_text())
    return {node.name: node.args for node in tree.body if isinstance(node, ast.FunctionDef)}


def with_words(accepted):
    """Names of arguments, and PyTorch's words for them."""
    return accepted | {word for word, names in ARGUMENTS.items() if not names or accepted & set(names)}


def is_method(name):
    return callable(inspect.getattr_static(ad.Tensor, name, None))


def test_every_method_is_declared():
    typed = set(declared())
    for base in ad.Tensor.__mro__:
        if base.__name__ != "TensorMethods":
            typed |= {name for name, x in vars(base).items() if getattr(x, "__annotations__", {}).get("return")}
    public = {name for name in dir(ad.tensor(1.0)) if name[0] != "_" and is_method(name)}
    assert public <= typed, public - typed
    assert set(declared()) <= set(dir(ad.Tensor))


@pytest.mark.parametrize("name", sorted(name for name in declared() if name[0] != "_" and is_method(name)))
def test_declared_parameters_are_those_of_the_method(name):
    method = inspect.getattr_static(ad.Tensor, name)
    given = declared()[name]
    names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)][1:]
    if isinstance(method, ad.core.op.Op):
        accepted = {*method.inputs[1:], *method.settings} if method.inputs[0][0] != "*" else set(names)
    else:
        accepted = set(list(inspect.signature(method).parameters)[1:])
    assert set(names) <= with_words(accepted)


#: What a method may be given here, until it takes it.
_EYE = np.eye(2)
GIVEN = (
    (),
    (0,),
    (2,),
    (4,),
    (1, 0),
    (0, 1, 1),
    ([1, 1],),
    (_EYE,),
    (_EYE, _EYE),
    (_EYE > 0, 1.0),
    (0, (1, 2)),
    (0, [0]),
)
GIVEN += (("float32",), (ad.tensor(_EYE),), (ad.tensor(_EYE), ad.tensor(_EYE)), ([_EYE, _EYE],))


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", sorted(name for name in declared() if name[0] != "_" and is_method(name)))
def test_methods_give_what_is_declared(name, requires_grad):
    """Those that are declared to give a tensor; a plain array has no gradient, and other methods."""
    stub = (SOURCE / "adjoint" / "tape" / "methods.pyi").read_text()
    results = re.findall(rf"def {name}\([^#]*?\) -> ([^#]*?): \.\.\.", stub, flags=re.DOTALL)
    t = ad.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=requires_grad) + 0.0
    row = t[0] + 0.0
    whole = ad.tensor([[1, 2], [3, 4]])
    for args in GIVEN:
        for x in (t, whole, row):
            try:
                with np.errstate(all="ignore"):
                    found = getattr(x, name)(*args)
            except (ad.AdjointError, ArithmeticError, AttributeError, TypeError, ValueError, IndexError):
                continue
            if set(results) == {"Tensor"}:
                assert isinstance(found, ad.Tensor), (args, type(found))
            return
    assert name in {
        "scatter",
        "scatter_",
        "scatter_add",
        "scatter_add_",
        "scatter_reduce",
        "scatter_reduce_",
        "choose",
        "cuda",
    }


def test_every_method_that_writes_has_one_that_does_not():
    t = ad.tensor([[1, 2], [3, 4]])
    for name in dir(t):
        if name.endswith("_") and name[0] != "_" and name not in ("copy_", "fill_", "zero_", "requires_grad_"):
            assert hasattr(t, name[:-1]), name
    assert t.clone().bitwise_and_(1).tolist() == [[1, 0], [1, 0]]
    assert t.bitwise_xor(1).tolist() == [[0, 3], [2, 5]]


@pytest.mark.parametrize("name", sorted(functions_declared()))
def test_functions_take_what_is_declared(name):
    given = functions_declared()[name]
    op = getattr(ad, name)
    names = [arg.arg for arg in (*given.args, *given.kwonlyargs)]
    ours = inspect.signature(op.function).parameters if hasattr(op, "function") else {*op.inputs, *op.settings}
    assert set(names) <= with_words(set(ours))
    assert set(ours) <= set(names)


@pytest.mark.parametrize("room", ["nn", "optim", "train", "distributed", "data", "testing", "io", "scipy"])
def test_rooms_list_what_is_for_users(room):
    listed = {name for name in dir(getattr(ad, room)) if name[0] != "_"}
    assert listed
    assert not listed & {"Any", "TYPE_CHECKING", "annotations", "looked_up", "import_module", "Function", "Value"}
    inner = {"functional", "init", "utils", "lr_scheduler", "swa_utils", *ad.scipy.MODULES}
    modules = {name for name in listed if inspect.ismodule(getattr(getattr(ad, room), name))}
    assert modules <= inner


def test_what_is_listed_is_for_users():
    assert {"grad", "compile", "nn", "Tensor", "relu", "__version__"} <= set(dir(ad))
    assert not {"Any", "import_module", "core", "ops", "tape", "TYPE_CHECKING", "_ROOMS"} & set(dir(ad))
    t = ad.tensor(1.0)
    assert {"sum", "exp", "grad", "backward", "shape", "__add__"} <= set(dir(t))
    assert not {
        "process",
        "settled",
        "node",
        "held",
        "in_index",
        "_collect",
        "snapshot",
        "of_python",
        "unnested",
        "as_memory",
    } & set(dir(t))
    for name in dir(ad):
        getattr(ad, name)
