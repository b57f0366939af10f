"""README, docs and docstrings execute, and what they say is printed is printed.

The Python blocks of a page run in order, in one namespace. Output is compared in two forms: a ``text`` block
that follows a Python block, and a comment ``# → …`` at the end of an expression. ``…`` stands for anything.
A block marked ``raises`` must fail, with the message in the text block.
"""

import ast
import contextlib
import doctest
import importlib
import io
import linecache
import pkgutil
import platform
import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest

import adjoint
import adjoint.ops.special.scipy_special
from adjoint.core.registry import ANSWERS, ENTRIES
from adjoint.testing import check_grads, samples, walk

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted(m.name for m in pkgutil.walk_packages(adjoint.__path__, "adjoint.") if not m.name.endswith("__main__"))
FENCE = re.compile(r"^```(\w*) *(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r"#\s*→\s*(.*)$")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    language: str
    info: str
    text: str
    line: int
    start: int
    end: int


def blocks_of(page):
    return [Block(m[1], m[2], m[3], page.count("\n", 0, m.start(3)), m.start(), m.end()) for m in FENCE.finditer(page)]


def code_of(page, blocks):
    """The lines of a page, those that are not Python empty."""
    lines = ["\n"] * page.count("\n")
    for block in blocks:
        if block.language == "python":
            code = block.text.splitlines(keepends=True)
            lines[block.line : block.line + len(code)] = code
    return lines


def run_page(page, name):
    """Run the Python blocks of the text `page`. Returns how many there were, and how many outputs were compared."""
    namespace = {"__name__": "page"}
    blocks = blocks_of(page)
    linecache.cache[name] = (len(page), None, code_of(page, blocks), name)  # functions have their source, as in a file
    ran = compared = 0
    for i, block in enumerate(blocks):
        if block.language != "python":
            continue
        follower = blocks[i + 1] if i + 1 < len(blocks) else None
        if follower is not None and (follower.language != "text" or page[block.end : follower.start].strip()):
            follower = None
        where = f"{name}:{block.line + 1}"
        printed = io.StringIO()
        failure = None
        with contextlib.redirect_stdout(printed):
            try:
                compared += run_block(block, namespace, name)
            except Exception as error:
                if block.info != "raises":
                    raise
                failure = error
        ran += 1
        output = printed.getvalue()
        if block.info == "raises":
            assert failure is not None, f"{where}: nothing was raised"
            assert follower is not None, f"{where}: the message should follow in a text block"
            output += f"{type(failure).__name__}: {failure}"
        if follower is not None:
            same(follower.text, output, where)
            compared += 1
        else:
            assert not output, f"{where}: prints {output!r}, which the page does not show"
    return ran, compared


def run_block(block, namespace, name):
    """Run one block a statement at a time. Returns how many ``# →`` comments were compared."""
    lines = block.text.splitlines()
    compared = 0
    for statement in ast.parse(block.text).body:
        arrow = ARROW.search(lines[statement.end_lineno - 1])
        ast.increment_lineno(statement, block.line)
        if arrow and isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), name, "eval"), namespace)
            same(arrow[1], repr(value), f"{name}:{statement.lineno}")
            compared += 1
        else:
            assert not arrow, f"{name}:{statement.lineno}: `# →` stands beside a statement that has no value"
            exec(compile(ast.Module([statement], []), name, "exec"), namespace)
    return compared


def same(expected, got, where):
    expected, got = (f"{text.rstrip()}\n" for text in (expected.replace("…", "..."), got))
    matches = doctest.OutputChecker().check_output(expected, got, OPTIONS)
    assert matches, f"{where}:\n--- the page says\n{expected}--- it is\n{got}"


@pytest.fixture(autouse=True)
def _registry_stays_as_it_is():
    """Pages declare operations; other tests walk the registry, and other pages use the same names."""
    kept = [(table, dict(table)) for table in (ENTRIES, ANSWERS)]
    yield
    for table, entries in kept:
        table.clear()
        table.update(entries)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = path.read_text(encoding="utf-8")
    ran, _ = run_page(page, str(path.relative_to(ROOT)))
    assert ran == page.count("\n```python")


def test_operations_of_the_page_that_adds_them_are_walked_and_right():
    """What `docs/add_an_op.md` promises: tests exist for an operation because it is in the registry."""
    before = set(ENTRIES)
    run_page((ROOT / "docs" / "add_an_op.md").read_text(encoding="utf-8"), "add_an_op.md")
    added = [entry for entry in walk() if entry.name not in before]
    names = {"gudermannian", "relative", "rms", "rotated", "product", "inverse", "asymmetry", "unit", "floor_at"}
    assert names == {entry.name for entry in added}
    for entry in added:
        calls = samples(entry)
        assert calls, f"{entry.name} has no samples"
        for args, kwargs in calls:
            check_grads(entry, args, kwargs)


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    prose = FENCE.sub("", path.read_text(encoding="utf-8"))
    missing = [target for target in LINK.findall(prose) if not (path.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: str(p.relative_to(ROOT)))
def test_links_to_headings_lead_to_one(path):
    prose = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target, name in re.findall(r"\]\((?!http)([^)#]*)#([^)]+)\)", prose):
        text = ((path.parent / target) if target else path).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), flags=re.MULTILINE)
        found = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert name in found, f"{target or path.name} has no heading #{name}"


def test_every_page_is_reached_from_the_index():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    linked = {(ROOT / "docs" / target).resolve() for target in LINK.findall(index)}
    assert {p for p in PAGES[1:] if p.name != "index.md"} <= linked


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    report = io.StringIO()
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        if ".twin." in name:
            test.globs["__name__"] = "page"  # the example is a user's, not the module's
        runner.run(test, out=report.write)
    assert runner.failures == 0, report.getvalue()


@pytest.mark.parametrize(
    "page",
    [
        "```python\n1 + 1  # → 3\n```",
        "```python\nprint(1)\n```\n\n```text\n2\n```",
        "```python\nprint(1)\n```",
        "```python raises\nx = 1\n```\n\n```text\nError\n```",
        "```python raises\nint('x')\n```\n\n```text\nValueError: another message\n```",
    ],
)
def test_a_wrong_page_is_found(page):
    with pytest.raises(AssertionError):
        run_page(page + "\n", "page")


def test_a_right_page_passes():
    page = "```python\nx = 2\n```\nThen\n```python\nx + 1  # → 3\nprint(x)\n```\n\n```text\n2\n```\n"
    assert run_page(page, "page") == (2, 2)


def installed(name, found):
    """The bytes of a distribution's files and of those that it needs, by name."""
    name = re.sub(r"[-_.]+", "-", name).lower()
    if name not in found:
        with contextlib.suppress(metadata.PackageNotFoundError):
            made = metadata.distribution(name)
            paths = [Path(str(file.locate())) for file in made.files or []]
            found[name] = sum(path.stat().st_size for path in paths if path.exists())
            for needed in made.requires or []:
                if "extra ==" not in needed:
                    installed(re.match(r"[\w.-]+", needed)[0], found)
    return found


@pytest.mark.skipif(platform.system() != "Linux" or platform.machine() != "x86_64", reason="wheels differ in size")
def test_the_readme_says_how_large_an_installation_is():
    said = re.search(r"about (\d+) MB on disk, half of it NumPy and SciPy", (ROOT / "README.md").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = {}
    for needed in project["dependencies"]:
        installed(re.match(r"[\w.-]+", needed)[0], found)
    megabytes = sum(found.values()) / 1e6
    assert abs(megabytes - int(said[1])) < 0.15 * megabytes
    assert 0.4 < (found["numpy"] + found["scipy"]) / 1e6 / megabytes < 0.6
