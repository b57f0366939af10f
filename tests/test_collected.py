"""Every test that is written is run: what the files define is what pytest collects."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def defined():
    """``file::function`` or ``file::Class::function`` for every test that a test file defines."""
    found = set()
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                found.add(f"{name}::{node.name}")
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                found |= {
                    f"{name}::{node.name}::{part.name}"
                    for part in node.body
                    if isinstance(part, ast.FunctionDef) and part.name.startswith("test")
                }
    return found


def collected(request):
    """The names of all tests that pytest collects: here, if this run has them all, or else in another process."""
    config = request.config
    whole = [Path(place).resolve() for place in config.args] == [ROOT / "tests"]
    if whole and not (config.option.keyword or config.option.markexpr or config.option.deselect):
        return [item.nodeid for item in request.session.items]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_every_test_is_collected(request):
    names = collected(request)
    lying = [name for name in names if " at 0x" in name]
    assert lying == [], "these names hold an address, so two processes collect different tests"
    found = {name.split("[")[0] for name in names}
    assert defined() - found == set()
    assert found - defined() == set(), "these tests are not written as plain functions"


def test_no_test_is_defined_twice():
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        names = [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
        names = [name for name in names if name.startswith("test")]
        twice = {name for name in names if names.count(name) > 1}
        assert not twice, f"{path.relative_to(ROOT)} defines {twice} twice: only the last one runs"


def test_test_files_have_names_that_are_collected():
    for path in sorted((ROOT / "tests").rglob("*.py")):
        holds = any(
            isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
            for node in ast.parse(path.read_text()).body
        )
        assert not holds or path.name.startswith("test_"), f"{path.relative_to(ROOT)} holds tests but is not collected"
