"""Trees of arrays: dicts, lists, tuples, named tuples and dataclasses, flattened through optree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.core.backend import is_foreign
from adjoint.core.box import Box
from adjoint.core.types import Array, Tree, Value

NAMESPACE = "adjoint"
_PLAIN = (Box, np.ndarray, np.generic, float, int, complex)
_known: set[type] = set()


def is_leaf(tree: Tree) -> bool:
    """Whether `tree` is one array or number, so that optree need not be loaded."""
    return isinstance(tree, _PLAIN) or is_foreign(tree)


def flatten(tree: Tree) -> tuple[list[Value], Callable[[list[Value]], Value]]:
    """The leaves of `tree`, and the function that puts leaves back into its shape.

    Example:
        >>> leaves, rebuild = flatten({"w": 1.0, "b": [2.0, 3.0]})
        >>> leaves, rebuild([x * 10 for x in leaves])
        ([2.0, 3.0, 1.0], {'w': 10.0, 'b': [20.0, 30.0]})
    """
    if isinstance(tree, _PLAIN):
        return [tree], _only
    import optree

    while True:
        leaves, spec = optree.tree_flatten(tree, none_is_leaf=False, namespace=NAMESPACE)
        fresh = {type(x) for x in leaves if hasattr(type(x), "__dataclass_fields__")} - _known
        if not fresh:
            return leaves, spec.unflatten
        for kind in fresh:
            _register(kind)


def _only(leaves: list[Array]) -> Array:
    return leaves[0]


def _register(kind: type) -> None:
    from dataclasses import fields

    import optree

    _known.add(kind)
    names = [f.name for f in fields(kind)]

    def unflatten(_: object, values: Value) -> Value:
        # Not kind(...): a dataclass may compute or check its fields, and leaves may be placeholders.
        new: Value = object.__new__(kind)
        for name, value in zip(names, values, strict=True):
            object.__setattr__(new, name, value)
        return new

    optree.register_pytree_node(
        kind, lambda x: ([getattr(x, n) for n in names], None, names), unflatten, namespace=NAMESPACE
    )


def map_tree(function: Callable[[Value], Value], tree: Tree) -> Value:
    """Apply `function` to each leaf of `tree`."""
    leaves, rebuild = flatten(tree)
    return rebuild([function(leaf) for leaf in leaves])


def paths(tree: Tree) -> list[str]:
    """A readable name for each leaf, as in ``params['w'][0]``."""
    if is_leaf(tree):
        return [""]
    import optree

    flatten(tree)
    found, _, _ = optree.tree_flatten_with_path(tree, namespace=NAMESPACE)
    return ["".join(f"[{key!r}]" for key in path) for path in found]


def matched(tree: Tree, like: Array) -> list[Array]:
    """The leaves of `tree`, one for each of `like`; None where `tree` has None for a leaf or for a whole branch.

    Raises:
        ValueError: if `tree` has another structure.
    """
    count = len(flatten(like)[0])
    if tree is None:
        return [None] * count
    if is_leaf(like) and is_leaf(tree):
        return [tree]
    import optree

    flatten(tree)  # makes dataclasses known
    options: Value = {"none_is_leaf": True, "namespace": NAMESPACE}
    branches, expected = optree.tree_flatten(tree, **options)[0], optree.tree_structure(like, **options)
    given = optree.tree_structure(tree, **options)
    if not given.is_prefix(expected):
        raise ValueError(f"{_shown(tree)}, not {_shown(like)}")
    found: list[Value] = []
    for branch, part in zip(branches, given.flatten_up_to(like), strict=True):
        inner = len(flatten(part)[0])
        if branch is not None and not is_leaf(part) and not (inner == 1 and part is flatten(part)[0][0]):
            raise ValueError(f"{_shown(tree)}, not {_shown(like)}")
        found += [None if branch is None else branch] * inner
    return found


def _shown(tree: Tree) -> str:
    import optree

    return str(optree.tree_map(lambda _: "*", tree, namespace=NAMESPACE)).replace("'*'", "*")
