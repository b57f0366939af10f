"""What the door does with trees: optree flattens them and puts them together, and only moves leaves."""

from __future__ import annotations

import dataclasses
import sys
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

from adjoint.compiler.trace.guards import PLAIN
from adjoint.compiler.trace.outside import BoundMethod, Closed, Outside, is_users
from adjoint.core.box import Box
from adjoint.core.objects import trees
from adjoint.core.types import Tree, Value

if TYPE_CHECKING:
    from adjoint.compiler.trace.door.known.pythons import Pythons

OPTREE = "optree._C"
_LOOKS = frozenset(
    ("children", "child", "entries", "entry", "paths", "is_leaf", "is_prefix", "is_suffix", "is_one_level",
     "one_level", "compose", "broadcast_to_common_suffix")
)  # fmt: skip


def is_spec(x: object) -> bool:
    """Whether it is the structure of a tree, which never changes."""
    library = sys.modules.get(OPTREE)
    return library is not None and type(x) is library.PyTreeSpec


def flatten(door: Pythons, tree: Tree) -> Value:
    """Ours: the leaves, and what puts leaves together."""
    x = plain(door, tree, True)
    leaves, rebuild = door.native(trees.flatten, (x,), {})
    spec = getattr(rebuild, "__self__", None)
    if not is_spec(spec):
        return leaves, door.made(lambda values: door.items(values)[0])
    _known(door, spec)
    return leaves, BoundMethod(spec, "unflatten")


def is_leaf(door: Pythons, tree: Tree) -> bool:
    """Ours: whether it is one array or number."""
    return not isinstance(tree, Closed) and trees.is_leaf(tree)


def of_optree(door: Pythons, g: Value, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """A function of optree's."""
    if g.__name__ not in ("flatten", "flatten_with_path") or kwargs or len(args) != 4 or args[1] is not None:
        raise door.refuse(f"it calls optree's {g.__name__}")
    found = door.native(g, (plain(door, args[0], args[3] == trees.NAMESPACE), *args[1:]), {})
    _known(door, found[-1])
    return found


def of_spec(door: Pythons, spec: Value, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """A method of a structure."""
    if name == "unflatten":
        _known(door, spec)
        (leaves,) = args
        return made(door, door.native(spec.unflatten, (door.items(leaves),), {}))
    if name == "flatten_up_to":
        _known(door, spec)
        (tree,) = args
        return door.native(spec.flatten_up_to, (plain(door, tree, spec.namespace == trees.NAMESPACE),), {})
    if name not in _LOOKS:
        raise door.refuse(f"it calls {name} of a tree's structure")
    return door.native(getattr(spec, name), tuple(x.o if isinstance(x, Outside) else x for x in args), kwargs)


def _known(door: Pythons, spec: Value) -> None:
    """Refuse trees with nodes that a function of the user's flattens."""
    import optree

    if spec.kind == optree.PyTreeKind.CUSTOM and spec.type not in trees._known:
        raise door.refuse(f"a tree holds a {spec.type.__name__}")
    for child in spec.children():
        _known(door, child)


def plain(door: Pythons, x: Value, ours: bool) -> Value:
    """The tree with containers of Python's own in the place of those from outside; `ours`: dataclasses are nodes."""
    kind: Value = door.kind_of(x) if isinstance(x, Outside) else type(x)
    if kind in (dict, OrderedDict):
        return kind((k, plain(door, v, ours)) for k, v in door.pairs(x).items())
    if kind in (list, tuple) or (kind is deque and (x.o if isinstance(x, Outside) else x).maxlen is None):
        return kind([plain(door, e, ours) for e in door.items(x)])
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return kind._make([plain(door, e, ours) for e in x])
    if isinstance(x, Box) or kind in PLAIN or trees.is_leaf(x) or (isinstance(x, Outside) and callable(x.o)):
        return x
    if ours and hasattr(kind, "__dataclass_fields__") and is_users(kind):
        new: Value = object.__new__(kind)
        for field in dataclasses.fields(kind):
            object.__setattr__(new, field.name, plain(door, door.attr(x, field.name), ours))
        return new
    raise door.refuse(f"a tree holds a {kind.__name__}")


def made(door: Pythons, tree: Tree) -> Value:
    """Note the dataclasses in a tree that was put together."""
    if isinstance(tree, list | tuple | deque):
        for x in tree:
            made(door, x)
    elif isinstance(tree, dict):
        for x in tree.values():
            made(door, x)
    elif type(tree) in trees._known:
        door.made_objects[id(tree)] = tree
        for field in dataclasses.fields(tree):
            made(door, getattr(tree, field.name))
    return tree
