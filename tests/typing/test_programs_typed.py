"""What type checkers say of programs that users write: right lines pass, and wrong ones are found."""

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_wrong_lines_are_found_and_right_ones_pass(path, errors):
    lines = path.read_text().splitlines()
    expected = {n: m[1] for n, line in enumerate(lines, 1) if (m := re.search(r"# expected: ([a-z-]+)$", line))}
    assert expected
    said = errors[path.name]
    assert said.keys() == expected.keys(), {n: said.get(n) for n in said.keys() ^ expected.keys()}
    for n, code in expected.items():
        assert any(message.endswith(f"[{code}]") for message in said[n]), (n, said[n])


def declared():
    """The methods that type checkers know, with their parameters."""
    tree = ast.parse((SOURCE / "adjoint" / "tape" / "methods.pyi").read_text())
    (methods,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "TensorMethods")
    return {node.name: node.args for node in methods.body if isinstance(node, ast.FunctionDef)}


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


def test_what_is_listed_is_for_users():
    assert {"grad", "compile", "nn", "Tensor", "relu", "__version__"} <= set(dir(ad))
    assert not {"Any", "import_module", "core", "ops", "tape", "TYPE_CHECKING", "_ROOMS"} & set(dir(ad))
    t = ad.tensor(1.0)
    assert {"sum", "exp", "grad", "backward", "shape", "__add__"} <= set(dir(t))
    assert not {"process", "settled", "node", "held", "in_index", "_collect"} & set(dir(t))
    for name in dir(ad):
        getattr(ad, name)
