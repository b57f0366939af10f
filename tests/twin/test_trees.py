"""Walks over syntax trees find what those of `ast` find."""

import ast
import contextlib
import dataclasses
import inspect
import textwrap

import pytest

from adjoint.twin.syntax.trees import MARKS, below, copied, locate, placed, walk

STATEMENTS = """
async def f(a: int, /, b=1, *c, d, e=2, **g) -> None:
    global x
    match a:
        case {"k": 1, **rest} | [1, *others] | C(p, q=2) as whole if b:
            del x[1:2, ...], a.b
    async with a as b, c: yield {**d, "e": f"{g!r:>{1}}"}
    try: return lambda h=3: (i := h if not h else -h)
    except* E as error: raise error from None
    nonlocal y; import m.n as o; from . import p
    assert [j async for j, (k, *l) in a if j < k <= 1 is not None], "t"
    while a and b or c: q: int = await r; s @= {*t}; continue
    else: pass
"""
MODULES = (ast, contextlib, dataclasses, textwrap)
TEXTS = [STATEMENTS.replace("except*", "except"), *map(inspect.getsource, MODULES)]


@pytest.mark.parametrize("text", TEXTS, ids=["statements", *(m.__name__ for m in MODULES)])
def test_walks_are_those_of_ast(text):
    tree = ast.parse(text)
    nodes = [node for node in ast.walk(tree) if type(node) not in MARKS]
    assert list(map(id, walk(tree))) == list(map(id, nodes))
    for node in nodes:
        assert below(node) == [part for part in ast.iter_child_nodes(node) if type(part) not in MARKS]


@pytest.mark.parametrize("text", TEXTS, ids=["statements", *(m.__name__ for m in MODULES)])
def test_a_copy_is_equal_and_shares_no_node(text):
    tree = ast.parse(text)
    made = copied(tree)
    assert ast.dump(made, include_attributes=True) == ast.dump(tree, include_attributes=True)
    assert not set(map(id, walk(made))) & set(map(id, walk(tree)))


def without_some_places(text):
    tree = ast.parse(text)
    for i, node in enumerate(walk(tree)):
        for k, name in enumerate(node._attributes if i % 3 else ()):
            if i % 4 == 1 or (i % 4 == 2 and k > 1):
                delattr(node, name)
    return tree


@pytest.mark.parametrize("text", TEXTS, ids=["statements", *(m.__name__ for m in MODULES)])
def test_places_are_those_that_ast_gives(text):
    tree, same = without_some_places(text), without_some_places(text)
    locate(tree)
    assert ast.dump(tree, include_attributes=True) == ast.dump(ast.fix_missing_locations(same), include_attributes=True)
    expression = tree.body[-1]
    made, plain = (
        placed(ast.Name("x", ast.Load()), expression),
        ast.copy_location(ast.Name("x", ast.Load()), expression),
    )
    assert ast.dump(made, include_attributes=True) == ast.dump(plain, include_attributes=True)
    assert not hasattr(placed(ast.Load(), expression), "lineno")
    assert not hasattr(placed(ast.Name("x", ast.Load()), tree), "lineno")
