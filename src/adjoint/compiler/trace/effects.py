"""Results and side effects of a program, assembled after it has run."""

from __future__ import annotations

import types
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from operator import setitem

import numpy as np

from adjoint.arrays.count import Count
from adjoint.arrays.python_number import PythonNumber
from adjoint.compiler.recording.arguments import lost
from adjoint.compiler.trace.door.door import Door
from adjoint.compiler.trace.door.items.containers import MAPPINGS, SEQUENCES
from adjoint.compiler.trace.door.known.values import DICTS
from adjoint.compiler.trace.guards import PLAIN
from adjoint.compiler.trace.outside import MISSING, BoundMethod, Closed, DictView, Outside, is_users, slots_of, space_of
from adjoint.compiler.trace.views import look, then, view
from adjoint.core.box import Box, settled
from adjoint.core.codegen import defined
from adjoint.core.memory import axes_by, with_strides
from adjoint.core.threads.commit import Action
from adjoint.core.types import Array, Value
from adjoint.graph.captures.drawing import Drawing
from adjoint.graph.captures.state import gradient_in
from adjoint.graph.node import Node, constant
from adjoint.graph.symbol import LEVEL, Number, Symbol
from adjoint.tape.tensor import Tensor, View

Assemble = Callable[[list[Value], Value, Value, Sequence[Action]], tuple[Value, Sequence[Action]]]


class Assembly:
    """The value of a call, and its effects, as a Python function of the program's results.

    It is also given the writes that are still to be made into the state, some of which put results where they belong.

    Attributes:
        found: the results of the program: boxes, arrays and numbers.
        same: by the number of a result, the thing of the caller's that it is.
        replaced: the numbers of results whose values are not read, since an existing object is returned instead.
        turned: by the number of a result whose axes lie in another order in memory, that order: the program gives the
            transposed array, which lies as NumPy lays arrays.
        effects, looks: whether the call writes or makes views of tensors; how many lines put views in results' places.
    """

    def __init__(self, door: Door, value: Value) -> None:
        self.door = door
        self.found: list[Value] = []
        self._numbers: dict[int, int] = {}
        self._scope: dict[str, Value] = {}
        self._names: dict[int, str] = {}
        self._path_of = {k: path for path, k in door.leaf_of.items()}
        self._lines: list[str] = []
        self._made: dict[int, str] = {}
        self._kept: list[Value] = []
        self._writing = self.views = False
        self.same: dict[int, Value] = {}
        self.turned: dict[int, tuple[int, ...]] = {}
        result = self.text(value)
        self._writing = True
        writes = [
            line for o in list(door.memo.values()) if isinstance(o, Outside) and o.changed for line in self._write(o)
        ]
        self.replaced = set(self.same)
        looks = list(self._looks())
        given = f"return {result}, ({''.join(f'{write}, ' for write in writes)})"
        text = "\n    ".join(["def assemble(r, args, kwargs, writes):", *looks, *self._lines, given])
        self.assemble: Assemble = defined(text, "results", self._scope, "assemble")
        self.effects, self.looks = bool(writes) or self.views, len(looks)
        self.single = not writes and result == "r[0]" and len(self.found) == 1

    def name(self, thing: object) -> str:
        """What `thing` is called in the function."""
        known = self._names.get(id(thing))
        if known is None:
            known = self._names[id(thing)] = f"k{len(self._scope)}"
            self._scope[known] = thing
        return known

    def text(self, x: Value) -> str:
        """The expression for a value."""
        kind = type(x)
        if isinstance(x, Box | np.ndarray | np.generic) or kind in (int, float, complex, bool):
            return self._result(x)
        if x is None or kind in (str, bytes):
            return repr(x)
        if kind in PLAIN or kind is Count or isinstance(x, np.dtype):
            return self.name(x)
        if kind is Outside:
            return x.path if x.path is not None else self.name(x.o)
        if kind is Drawing:
            return self.name(x.generator)
        if id(x) in self.door.tuples:
            _, place, live = self.door.tuples[id(x)]
            if isinstance(place, str):
                return place
            self.door.guards.at(place, live)
            return self.name(live)
        if kind is tuple:
            return "(" + "".join(f"{self.text(e)}, " for e in x) + ")"
        if kind is slice:
            return f"slice({self.text(x.start)}, {self.text(x.stop)}, {self.text(x.step)})"
        if id(x) in self._made:
            return self._made[id(x)]
        return self._fresh(x)

    def _result(self, x: Array) -> str:
        if self._writing and isinstance(x, PythonNumber):
            raise self.door.refuse("it keeps one of Python's numbers that is differentiated")
        x = settled(x, LEVEL)
        if isinstance(x, np.ndarray) and x.size > 1 and 0 in x.strides:
            raise self.door.refuse("it gives back, or keeps, an array that it made and whose elements share a place")
        if isinstance(x, np.ndarray) and any(np.may_share_memory(x, texts) for texts in self.door.texts):
            raise self.door.refuse("it gives back, or keeps, an array of texts from outside")
        key = id(x) if isinstance(x, Box | np.ndarray) else id(self._kept)
        if key not in self._numbers or not isinstance(x, Box | np.ndarray):
            number = len(self.found)
            self._kept.append(x)
            self.found.append(x)
            self._numbers[key] = number
            live = self.door.rebound.live(x)
            if live is not MISSING and not (isinstance(live, int) and _is_number(x)):
                if isinstance(live, np.ndarray):
                    self.door.guards.at(self.door.inputs.place_of(live), live)
                self.same[number] = live
        return f"r[{self._numbers[key]}]"

    def _looks(self) -> Iterator[str]:
        """Lines that put views in the place of results that show memory of something else, as in the plain function."""
        live, owners, gradients = self.door.inputs.live, self._owners(), self.door.inputs.gradients()
        arrays = [self._array(x) for x in self.found]
        self._refuse_gone(arrays)
        self._refuse_shared_constants(arrays)
        shared = Counter(id(array.root) for array in arrays if isinstance(array, Symbol))
        whole: dict[int, int] = {}  # of the arrays that are results, the number of the first such
        for n, array in enumerate(arrays):
            if isinstance(array, Symbol) and array is array.root:
                whole.setdefault(id(array), n)
        looks, nodes = [], dict[Node, int]()
        for n, (x, array) in enumerate(zip(list(self.found), arrays, strict=True)):
            if n in self.same:
                continue
            held = gradients.get(id(x)) if isinstance(x, Tensor) and x.node is None else None
            if held is not None:
                self.replaced.add(n)
                looks.append(f"r[{n}] = {self._then(live[id(held)], 'grad')}")
                continue
            shown = self._shown(x) if isinstance(x, View) and not x.level else None
            if shown is not None:
                self.replaced.add(n)
                looks.append(f"r[{n}] = {shown}")
                continue
            data = f"r[{n}].held" if isinstance(x, Tensor) else f"r[{n}]"
            if isinstance(array, Symbol) and all(_is_whole(v) for _, s in array.path for v in _values(s)):
                owner = owners.get(id(array.root))
                if owner is None and shared[id(array.root)] > 1 and whole.get(id(array.root)) != n:
                    m = whole.get(id(array.root))
                    if m is None:
                        m = whole[id(array.root)] = int(self._result(array.root)[2:-1])
                    owner = f"r[{m}].held" if isinstance(self.found[m], Tensor) else f"r[{m}]"
                if owner is not None:
                    source = owner if array is array.root else f"{self.name(look)}({owner}, {self._path(array.path)})"
                    looks.append(f"{data} = {source}")
                    if x is array:
                        self.replaced.add(n)
                    continue
            yield from self._laid_out(n, x, data, nodes)
        for n in range(len(arrays), len(self.found)):
            x = self.found[n]
            yield from self._laid_out(n, x, f"r[{n}].held" if isinstance(x, Tensor) else f"r[{n}]", nodes)
        yield from looks

    def _shown(self, x: View) -> str | None:
        """The expression for a view of a tensor that others have too: what is written to either shows in both."""
        live = self.door.inputs.live.get(id(x.root), MISSING)
        alike = [y for y in self.found if y is x.root or (isinstance(y, View) and y.root is x.root)]
        if live is MISSING and len(alike) == 1:
            return None
        if not all(_is_whole(v) for _, settings in x.path for v in _values(settings)):
            raise self.door.refuse("it gives back a view of a tensor at places that differ from call to call")
        owner = self._result(x.root) if live is MISSING else self._live(live)
        self.views = True
        return f"{self.name(view)}({owner}, {self._path(x.path)}, {x.node is not None})"

    def _path(self, x: Value) -> str:
        """The expression for a view's operations and settings, in which whole numbers may be results."""
        if not any(isinstance(value, Box) for value in _values((x,))):
            return self.name(x)
        if isinstance(x, dict):
            return "{" + ", ".join(f"{key!r}: {self._path(value)}" for key, value in x.items()) + "}"
        if isinstance(x, tuple | list):
            return "(" + "".join(f"{self._path(value)}, " for value in x) + ")"
        return self.text(x)

    def _laid_out(self, n: int, x: Array, data: str, nodes: dict[Node, int]) -> Iterator[str]:
        """Lines that make result `n` lie in memory as the plain function's does, in memory of its own."""
        value = value_of(x)
        if isinstance(value, np.ndarray) and not value.flags.c_contiguous:  # native code gives C's order
            order = axes_by("K", value)
            if type(x) is Symbol and node_of(x).kind == "call" and value.transpose(order).flags.c_contiguous:
                self.turned[n] = order
                yield f"{data} = {data}.transpose({tuple(map(int, np.argsort(order)))})"
            yield f"{data} = {self.name(with_strides)}({data}, {value.strides})"
        if isinstance(x, Symbol | Tensor | np.ndarray) and isinstance(value, np.ndarray) and not value.flags.writeable:
            yield f"{data}.flags.writeable = False"
        if isinstance(value, np.ndarray) and isinstance(x, Tensor | Symbol):
            node = node_of(x)
            if node in nodes and nodes[node] != n:
                yield f"{data} = {self.name(np.array)}({data})"  # equal, and another one
            nodes[node] = n

    def _array(self, x: Array) -> Array | None:
        """The array that a result is, or that it has as a tensor; None for a number."""
        data = x.held if isinstance(x, Tensor) else x
        return data if isinstance(data.value if isinstance(data, Symbol) else data, np.ndarray) else None

    def _owners(self) -> dict[int, str]:
        """Where arrays lie when the call is over: by the id of each, the expression for it."""
        live, found = self.door.inputs.live, dict[int, str]()
        for box in self.door.inputs.tensors():
            if id(box) in live:
                gradient = gradient_in(box)
                found.setdefault(id(box.held), self._then(live[id(box)], "held"))
                if gradient is not None:
                    found.setdefault(id(gradient), self._then(live[id(box)], "grad") + ".held")
        for x in self.found:
            root = getattr(self._array(x), "root", None)
            if root is not None and id(root) in live:
                found[id(root)] = self._live(live[id(root)])
        return found

    def _refuse_gone(self, arrays: Sequence[Array | None]) -> None:
        """Refuse results that are an array or gradient that a tensor had before, or views of it: others may have it."""
        gone = self.door.inputs.gone()
        for x in (*self.found, *(getattr(array, "root", None) for array in arrays)) if gone else ():
            if id(x) in gone:
                raise lost(gone[id(x)])

    def _refuse_shared_constants(self, arrays: Sequence[Array | None]) -> None:
        """Begin again with arrays that are made inside as part of the program, where one lies in two places."""
        plain = [array for array in arrays if isinstance(array, np.ndarray)]
        plain += [box.held for box in self.door.inputs.tensors() if isinstance(box.held, np.ndarray)]
        for a, b in combinations(plain, 2):
            if np.may_share_memory(a, b):
                raise self.door.symbolic(a, "it keeps an array that it made in two places")

    def _then(self, tensor: Array, name: str) -> str:
        """The expression for what a tensor from outside has when everything is written."""
        return f"{self.name(then)}({self._live(tensor)}, {name!r}, writes)"

    def _live(self, thing: Array) -> str:
        """The expression for an object that exists already."""
        if isinstance(thing, int):
            return self._path_of[thing]
        if isinstance(thing, np.ndarray):
            self.door.guards.at(self.door.inputs.place_of(thing), thing)
        return self.name(thing)

    def _fresh(self, x: Value) -> str:
        """The expression for a container or an object that was made inside."""
        kind = type(x)
        name = self._made[id(x)] = f"o{len(self._made)}"
        self._kept.append(x)
        if kind is list or kind is deque:
            begins = "[]" if kind is list else f"{self.name(kind)}((), {x.maxlen})"
            self._lines.append(f"{name} = {begins}")
            self._lines.append(f"{name} += [{', '.join(map(self.text, x))}]")
        elif kind in DICTS:
            factory = getattr(getattr(x, "default_factory", None), "factory", None)
            self._lines.append(f"{name} = {self.name(kind)}({'' if factory is None else self.text(factory)})")
            self._lines += [f"{name}[{self._key(k)}] = {self.text(v)}" for k, v in x.items()]
        elif kind in (set, frozenset) and all(type(e) in PLAIN for e in x):
            if [*kind([*x])] != [*x]:
                raise self.door.refuse("it keeps a set in an order that depends on how it was made")
            self._lines.append(f"{name} = {self.name(kind)}([{', '.join(map(self.name, x))}])")
        elif isinstance(x, tuple) and hasattr(x, "_fields"):
            parts = ", ".join(map(self.text, x))
            self._lines.append(f"{name} = {self.name(kind)}._make([{parts}])")
        elif self.door.is_made(x):
            self._lines.append(f"{name} = {self.name(object.__new__)}({self.name(kind)})")
            for key, value in ((space_of(x) or {}) | slots_of(x)).items():
                self._lines.append(f"{self.name(object.__setattr__)}({name}, {key!r}, {self.text(value)})")
        elif kind is BoundMethod and isinstance(x.function, Outside) and isinstance(x.of, Outside):
            self._lines.append(f"{name} = {self.name(types.MethodType)}({self.text(x.function)}, {self.text(x.of)})")
        else:
            what = x.what if isinstance(x, Closed) else kind.__name__
            raise self.door.refuse(f"it gives back, or keeps, a {what} that it made, which is no array")
        return name

    def _key(self, key: object) -> str:
        if type(key) is tuple:
            return f"({''.join(f'{self._key(part)}, ' for part in key)})"
        if self.door.is_made(key):
            return self.text(key)
        return repr(key) if type(key) in (str, int) else self.name(key)

    def _write(self, o: Outside) -> list[str]:
        """Writes into an object from outside: each is a function and its arguments."""
        x, put = o.o, self.name(setitem)
        holder = o.path if o.path is not None else self.name(x)
        if o.content is not None:
            if isinstance(x, SEQUENCES):
                new = self._held("[" + "".join(f"{self.text(e)}, " for e in o.content) + "]")
                if isinstance(x, list):
                    return [f"({put}, {holder}, slice(None), {new})"]
                return [f"({holder}.clear,)", f"({holder}.extend, {new})"]
            new = self._held("{" + "".join(f"{self._key(k)}: {self.text(v)}, " for k, v in o.content.items()) + "}")
            return [f"({holder}.clear,)", f"({holder}.update, {new})"]
        lines = []
        for key, value in o.over.items():
            if self._is_there(x, key, value):
                continue
            text = self._held(self.text(value))
            if isinstance(x, types.CellType):
                lines.append(f"({self.name(setattr)}, {holder}, 'cell_contents', {text})")
            elif type(x) in (*MAPPINGS, *SEQUENCES):
                lines.append(f"({put}, {holder}, {self._key(key)}, {text})")
            elif isinstance(x, type):
                lines.append(f"({self.name(type.__setattr__)}, {holder}, {key!r}, {text})")
            elif is_users(type(x)) or type(x) is types.SimpleNamespace:
                lines.append(f"({self.name(object.__setattr__)}, {holder}, {key!r}, {text})")
            else:
                raise self.door.refuse(f"it writes into a {type(x).__name__}")
        if o.added:
            new = self._held("[" + "".join(f"{self.text(e)}, " for e in o.added) + "]")
            lines.append(f"({holder}.extend, {new})")
        return lines

    def _is_there(self, x: object, key: object, value: Array) -> bool:
        """Whether item `key` of a dictionary is set to the tensor that it holds already, as by ``self.count += 1``."""
        live = self.door.inputs.live.get(id(value), MISSING) if isinstance(value, Tensor) else MISSING
        return isinstance(live, Tensor) and type(x) is dict and x.get(key) is live

    def _held(self, text: str) -> str:
        """The value, computed before anything is written."""
        name = f"w{len(self._lines)}"
        self._lines.append(f"{name} = {text}")
        return name


def _is_whole(setting: object) -> bool:
    """Whether a view with this setting can be found at each call: a plain setting, or a single number."""
    return not isinstance(setting, Box) or (isinstance(setting, Symbol) and form_of(setting) in ("python", "number"))


def _values(settings: Value) -> Iterator[object]:
    """All that is in the settings of an operation."""
    if isinstance(settings, dict):
        settings = tuple(settings.values())
    if isinstance(settings, slice):
        settings = (settings.start, settings.stop, settings.step)
    for value in settings:
        if isinstance(value, tuple | list | dict | slice):
            yield from _values(value)
        else:
            yield value


def _is_number(x: Array) -> bool:
    return isinstance(x, Symbol) and not isinstance(x.value, np.ndarray)


def node_of(x: Array) -> Node:
    """The node of a result."""
    x = x.held if issubclass(type(x), Tensor) else x
    if isinstance(x, Symbol):
        return x.node
    return constant(x)


def value_of(x: Array) -> Array:
    """The array or number that a result was while it was recorded."""
    x = x.held if issubclass(type(x), Tensor) else x
    return x.value if isinstance(x, Symbol) else x


def form_of(x: Array) -> str:
    """The kind of a result without axes, or of a tensor's values: Python's number, NumPy's, or an array."""
    if isinstance(x, PythonNumber) and isinstance(x, Tensor):
        return "python"
    x = x.held if isinstance(x, Tensor) and not x.level else x
    if type(x) in (Number, int, float, complex, bool):
        return "python"
    value = x.value if isinstance(x, Symbol) else x
    if isinstance(value, np.ndarray):
        return "" if value.shape else "array"
    if isinstance(value, np.str_) and isinstance(x, Symbol) and all(arg.dtype.kind != "U" for arg in x.node.args):
        return "python"  # a text about an array, as of np.array2string
    return "number" if isinstance(value, np.generic) else ""


__all__ = ["Assembly", "DictView", "form_of", "node_of", "value_of"]
