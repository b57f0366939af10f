"""Every test can fail: it asserts by itself, or through helpers, fixtures and tables that it names."""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = [*sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "src/adjoint/testing").rglob("*.py"))]
FAILS = ("assert_", "raises", "warns", "fail", "verify")  # beginnings of names; `Graph.verify` raises


@functools.cache
def trees():
    """The syntax of each file; read when a test runs, not when tests are collected."""
    return {path: ast.parse(path.read_text()) for path in FILES}


def file_of(module):
    """The file of `module`, if it holds helpers of tests."""
    places = [ROOT / base / Path(*module.split(".")) for base in ("", "src")]
    return next(
        (p for place in places for p in (place.with_suffix(".py"), place / "__init__.py") if p in trees()), None
    )


@functools.cache
def names_of(path):
    """What a file binds: for each name the syntax that defines it, or the place that it is imported from."""
    found = {}
    for node in ast.walk(trees()[path]):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.setdefault(node.name, []).append((path, node))
        elif isinstance(node, ast.ImportFrom) and node.module and (source := file_of(node.module)):
            for alias in node.names:
                found.setdefault(alias.asname or alias.name, []).append((source, alias.name))
    for node in trees()[path].body:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    found.setdefault(part.id, []).append((path, node))
    return found


def fails(node):
    """Whether `node` itself is something that fails a test."""
    if isinstance(node, ast.Assert | ast.Raise):
        return True
    if not isinstance(node, ast.Call):
        return False
    checked = any(keyword.arg == "check" and ast.unparse(keyword.value) == "True" for keyword in node.keywords)
    return checked or ast.unparse(node.func).split(".")[-1].startswith(FAILS)


def can_fail(path, name, seen):
    """Whether what `name` is in the file `path` leads to an assertion."""
    if (path, name) in seen:
        return False
    seen.add((path, name))
    near = [path, *(folder / "conftest.py" for folder in path.parents if folder / "conftest.py" in trees())]
    for where, what in next((names_of(file)[name] for file in near if name in names_of(file)), []):
        if isinstance(what, str):
            if can_fail(where, what, seen):
                return True
            continue
        for node in ast.walk(what):
            used = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else None
            if fails(node) or (used and can_fail(where, used, seen)):
                return True
    return False


def test_every_test_can_fail():
    tests = [
        (path, name)
        for path in FILES
        if path.name.startswith("test_")
        for name, defined in names_of(path).items()
        if name.startswith("test_") and isinstance(defined[0][1], ast.FunctionDef)
    ]
    assert len(tests) > 1000
    found = [f"{path.relative_to(ROOT)}::{name}" for path, name in tests if not can_fail(path, name, set())]
    assert found == [], "these tests assert nothing"
