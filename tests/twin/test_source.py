"""A function's syntax is found, and compiles back to the very code that runs."""

import ast
import linecache

import pytest

from adjoint.core.leaks.syntax import tree_of
from adjoint.twin.syntax import source

PAIR = (lambda x: x + 1, lambda x: x * 2, lambda x: x + 1)
NESTED = lambda x: lambda y: x + y


class Account:
    def __secret(self):
        return self.__value

    def shown(self):
        return super().__repr__(), __class__

    def countdown(self):
        def down(n):
            return self.__value + down(n - 1) if n else 0

        return down


def decorated(function):
    return function


@decorated
def with_everything(a, /, b: int = 3, *more: float, c: str = "x", **options) -> int:
    """It has a docstring."""

    def inner():
        nonlocal a
        a += b
        return a

    return inner(), more, c, options


def generator(n):
    total = 0
    for i in range(n):
        total = yield total + i


FOUND = [*PAIR, NESTED, NESTED(1), Account._Account__secret, Account.shown, Account().countdown(), with_everything]


@pytest.mark.parametrize("function", [*FOUND, generator, ast.walk, linecache.getline])
def test_what_is_found_compiles_to_the_code_that_runs(function):
    code, own = source.build(source.find(function)), function.__code__
    assert (code.co_code, code.co_freevars, code.co_qualname) == (own.co_code, own.co_freevars, own.co_qualname)
    assert list(code.co_positions()) == list(own.co_positions())


def test_lambdas_on_one_line_are_told_apart():
    columns = [source.find(f).node.col_offset for f in PAIR]
    assert len(set(columns)) == 3
    assert ast.unparse(source.find(NESTED(1)).node) == "lambda y: x + y"


def test_extra_names_become_free_variables():
    found = source.find(PAIR[0])
    found.node.body = ast.parse("_hook(x)", mode="eval").body
    code = source.build(found, ("_hook",))
    assert code.co_freevars == ("_hook",)


def test_a_source_that_changed_is_refused(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("def f(x):\n    return x + 1\n")
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    source.find(scope["f"])
    path.write_text("def f(x):\n    return x + 2\n")
    linecache.checkcache(str(path))
    with pytest.raises(source.NoTwinError, match="not what was compiled"):
        source.find(scope["f"])


def test_what_was_typed_has_no_source():
    scope = {}
    exec("def f(x): return x", scope)
    with pytest.raises(source.NoTwinError, match="no source"):
        source.find(scope["f"])


def test_statements_are_compiled_one_by_one_only_for_code_that_was(tmp_path):
    path = tmp_path / "notebook.py"
    path.write_text(
        "import math as m\n\ndef f(x):\n    return m.sin(x)\n\n\nclass C:\n    def g(self):\n        return m\n"
    )
    whole, apart = {}, {}
    exec(compile(path.read_text(), str(path), "exec"), whole)
    for statement in ast.parse(path.read_text()).body:
        exec(compile(ast.Module([statement], []), str(path), "exec"), apart)
    for space in (whole, apart):
        for function in (space["f"], space["C"].g):
            found = source.find(function)
            assert (found.node.name, found.code) == (function.__name__, function.__code__)
            assert found.class_name == (None if function is space["f"] else "C")
        if space is whole:
            assert "_codes_apart" not in vars(source._file(function.__code__, whole))


def test_a_parser_that_another_thread_disturbed_is_asked_again(monkeypatch):
    parse, said = ast.parse, []

    def disturbed(text, file):
        if len(said) < 2:
            said.append(file)
            raise SystemError("AST constructor recursion depth mismatch (before=78, after=75)")
        return parse(text, file)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert ast.dump(tree_of("x = 1", "f.py")) == ast.dump(parse("x = 1"))
    assert said == ["f.py", "f.py"]
