"""One vocabulary: old words are gone, a name means one thing, and what the page of the architecture names exists."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "adjoint"
FILES = sorted(SOURCE.rglob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()

# Words that docs/glossary.md has replaced and that mean nothing else.
GONE = ("pull", "_pull", "pull_for", "going_back", "written_again", "capi", "short way", "short_way")
# Words that are plain English too: no file and no class is called so.
NO_NAMES = ("answers", "assembled", "between", "past", "places", "probe", "recording", "spelling", "way", "ways")
# Words of the old dialect that no function or class is called by.
NO_DEFINITIONS = ("watch", "probe", "way", "short", "spelling", "pull", "past")
# Words of the old dialect that are no names of values in the rooms where they meant something.
NO_VALUES = {"way", "ways", "watch", "watched"}
ROOMS = ("compiler", "graph", "native", "tape", "core")


def classes():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                yield node.name, path.relative_to(SOURCE).as_posix()


def aliases():
    """Types that a file names, and type variables of more than a letter."""
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            for name in node.body if isinstance(node, ast.If) else [node]:
                target = name.targets[0] if isinstance(name, ast.Assign) else getattr(name, "target", None)
                if isinstance(target, ast.Name) and re.fullmatch(r"_?[A-Z]\w*[a-z]\w*", target.id):
                    yield target.id, path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("word", GONE)
def test_old_words_are_gone(word):
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in [*FILES, *PAGES]
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(rf"(?<![\w]){word}(?!\w)", line)
    ]
    assert found == []


def test_no_file_has_an_old_name():
    assert [
        p.relative_to(ROOT).as_posix() for p in SOURCE.rglob("*") if p.suffix == ".py" and p.stem in {*GONE, *NO_NAMES}
    ] == []
    assert [c for c in classes() if c[0].lstrip("_").lower() in NO_NAMES] == []


def test_no_function_has_an_old_name():
    name = re.compile(rf"(?:def|class) _*(?:{'|'.join(NO_DEFINITIONS)})\b", re.IGNORECASE)
    assert [p.relative_to(ROOT).as_posix() for p in FILES if name.search(p.read_text())] == []


def test_no_value_has_an_old_name():
    word = f"(?:{'|'.join(sorted(NO_VALUES))})"
    used = re.compile(rf"\bfor {word} in\b|\b{word} = |[\w)\]]\.{word}\b|\b{word}[(\[]")
    files = [path for path in FILES if path.relative_to(SOURCE).parts[0] in ROOMS]
    assert used.search("self.ways[key]")
    assert [path.relative_to(ROOT).as_posix() for path in files if used.search(path.read_text())] == []


def test_a_class_and_a_type_have_names_of_their_own():
    """Also where one of two is private: a search for the name finds one thing."""
    found = defaultdict(list)
    assert len({*aliases()}) > 100
    for name, where in [*classes(), *aliases()]:
        if where != "autograd/__init__.py":  # has PyTorch's name for what is called otherwise where it is written
            found[name.lstrip("_")].append(where)
    assert len(found) > 500
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def test_the_glossary_and_the_architecture_name_files_that_exist():
    """Files with their folder, and those without it: these stand in some folder."""
    known = {p.relative_to(SOURCE).as_posix() for p in FILES}
    for text in (ARCHITECTURE, (ROOT / "docs" / "glossary.md").read_text()):
        named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", text))
        assert named
        lost = [n for n in named if not any(f"/{k}".endswith(f"/{n}") for k in known) and not list(ROOT.rglob(n))]
        assert lost == []


def test_what_pages_say_is_in_a_file_is_defined_there():
    found = [match for page in PAGES for match in re.findall(r"`(\w+)` in `((?:\w+/)*\w+\.py)`", page.read_text())]
    assert len(found) > 10
    for name, where in found:
        paths = [path for path in FILES if f"/{path.relative_to(SOURCE).as_posix()}".endswith(f"/{where}")]
        defined = re.compile(rf"^ *(?:class |def )?{name}\b *[(:=\[]", re.MULTILINE)
        assert any(defined.search(path.read_text()) for path in paths), (name, where)
