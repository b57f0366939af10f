"""A function's part of a file is told by how lines begin, and counts only if it compiles to the code that runs."""

import ast
import linecache

import pytest

from adjoint.twin.syntax import source
from adjoint.twin.syntax.parts import parts_of

TEXT = '''"""A file."""
import math
from math import (
    sin,
    cos,
)


def plain(x):
    """A text with
lines at the margin
    """
    return math.sin(x)


@(
    lambda f: f
)
@staticmethod
def decorated(
    x, y=lambda z: z + 1
):
    def inner():
        return x + y(sin(x))

    return inner()


if True:
    def branched(x):
        return cos(x)
else:
    branched = None


class Base(
    object,
):
    """A class with
    def lines(like, methods):
        return None
    """

    def __hidden(self):
        return self.__value, __class__

    @property
    def shown(self):
        return lambda: self.__hidden()

    class Inner:
        def deep(self): return self.__x
    async def waits(self):
        return super().__repr__()


class Simple(Base):

    count = 3

    def first(self):
        return self.count
    def second(self, k):
        if k:
            return 1
        else:
            return [j for j in range(k)]

    third = lambda self: self.second(1)


last = lambda x: x * 2
'''


def functions_in(scope):
    base, simple = scope["Base"], scope["Simple"]
    shown = base.shown.fget
    yield from (
        scope["plain"],
        scope["decorated"].__func__,
        scope["branched"],
        scope["last"],
        base._Base__hidden,
        shown,
    )
    yield from (shown(base()), base.Inner.deep, base.waits, simple.first, simple.second, simple.third)


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "tricky.py"
    path.write_text(TEXT)
    scope = {"__name__": "tricky"}
    exec(compile(TEXT, str(path), "exec"), scope)
    yield str(path), scope
    linecache.checkcache(str(path))


def test_every_function_is_found_as_in_the_whole_file(module):
    _, scope = module
    functions = list(functions_in(scope))
    parts = [source.find(function) for function in functions]
    for function, part in zip(functions, parts, strict=True):
        source._file(function.__code__, scope)
        whole = source.find(function)
        assert part.code is whole.code is function.__code__
        assert part.class_name == whole.class_name
        assert ast.dump(part.node, include_attributes=True) == ast.dump(whole.node, include_attributes=True)


def test_the_file_is_read_only_where_its_lines_mislead(module):
    path, scope = module
    misled = [f.__name__ for f in functions_in(scope) if source._part(f.__code__, scope) is None]
    assert misled == ["plain"]
    assert not any(key[0] == path and len(key) == 3 for key in source._files)


def test_a_part_has_the_imports_and_each_line_where_it_is():
    lines = TEXT.splitlines(keepends=True)
    line = next(i for i, text in enumerate(lines, 1) if "def second" in text)
    (start, small), (begin, large) = parts_of(lines, line)
    assert (start, begin) == (line - 1, lines.index("class Simple(Base):\n"))
    for part in (small, large):
        there = part.splitlines(keepends=True)
        assert {"import math\n", "    cos,\n"} <= {*there}
        assert all(text in ("\n", lines[i]) for i, text in enumerate(there))
    assert ["def first" in part for part in (small, large)] == [False, True]
    assert "third" not in small
    assert list(parts_of(lines, len(lines) + 1)) == list(parts_of([], 1)) == []


def test_a_changed_file_is_read_again(module):
    path, scope = module
    source.find(scope["last"])
    changed = TEXT.replace("x * 2", "x * 3")
    with open(path, "w") as file:
        file.write(changed)
    again = {}
    exec(compile(changed, path, "exec"), again)
    found = source.find(again["last"])
    assert found.node.body.right.value == 3
    with pytest.raises(source.NoTwinError, match="not what was compiled"):
        source.find(scope["last"])
