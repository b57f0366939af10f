"""All that a program can see of a value and of what it reaches, as a flat list of (path, what) that compares."""

import collections
import contextvars
import enum
import functools
import inspect
import io
import random
import re
import types
import warnings
from pathlib import Path

import numpy as np

import adjoint as ad
from adjoint import optim
from adjoint.arrays.count import Count
from adjoint.arrays.named import NamedArray
from adjoint.tape.tensor import View

ADDRESS = re.compile(r"0x[0-9a-f]+")
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+e[+-]?\d+")
PLAIN = (bool, int, str, bytes, type(None), type(...), slice, range, type(NotImplemented))
WALKED = (type(iter([])), type(iter(())), type(iter(range(0))), enumerate, zip)
SKIPPED = {
    "__module__",
    "__doc__",
    "__weakref__",
    "__dict__",
    "__slotnames__",  # what Python notes when an object is first copied
    "__annotations__",
    "__firstlineno__",
    "__static_attributes__",
}
SKIPPED |= {"__dataclass_params__", "__match_args__", "__qualname__", "__annotations_cache__", "__annotate_func__"}


def _is_whole(x):
    """Whether an array shows all of the array that it is a view of, as it lies."""
    base = x.base
    if not isinstance(base, np.ndarray) or x.shape != base.shape or x.strides != base.strides:
        return False
    return x.__array_interface__["data"][0] == base.__array_interface__["data"][0]


class Seen:
    """Walks values once.

    `home` is the namespace whose functions and classes are looked into; `compiled` has what compiled functions were.
    Which object a tensor's array is, nobody sees: each look at `t.data` gives another view of it. So of the arrays
    that tensors are known to have, `held`, it is not told which are one; what shares memory is told.
    """

    def __init__(self, home, compiled, held=()):
        self.home, self.compiled, self.held = home, compiled, {id(x): x for x in held}
        self.found = []  # the arrays of tensors that were met
        self.met = collections.Counter()  # how often each array was
        self.tokens, self.numbers, self.arrays = [], {}, []

    def add(self, path, what):
        self.tokens.append((path, what))

    @classmethod
    def all(cls, home, compiled, result):
        """What is seen of a result, and of all that has a name."""
        seen = cls(home, compiled)
        seen.look(result)
        if any(seen.met[id(x)] > 1 for x in seen.found):  # else nothing tells which objects these are
            seen = cls(home, compiled, seen.found)
            seen.look(result)
        return seen

    def look(self, result):
        """Add what is seen of a result, and of all that has a name."""
        self.walk("the result", result)
        for name in sorted(self.home):
            if name[0] != "_" and name not in {"compiled", "FOLDER"}:
                self.walk(name, self.home[name])

    def walk(self, path, x):
        """Add what is seen of `x`, under the name `path`."""
        while id(x) in self.compiled:
            x = self.compiled[id(x)]
        kind = type(x)
        if kind is NamedArray and _is_whole(x):
            x = x.base  # each look at `t.data` gives a view; compiled, it is the tensor's array itself
            kind = type(x)
        if issubclass(kind, np.ndarray):
            self.met[id(x)] += 1
            if _is_whole(x):
                self.met[id(x.base)] += 1
                if id(x.base) in self.held:
                    x = x.base
        if id(x) in self.held:
            return self.array(path, x)
        kind = type(x)
        if kind in PLAIN or kind in (float, complex, Count) or issubclass(kind, np.generic):
            shown = repr(x) if kind in (slice, range) else ADDRESS.sub("0x", x) if kind is str else x
            return self.add(path, (kind.__name__, shown))
        if issubclass(kind, types.ModuleType):
            return self.add(path, x.__name__)
        if kind is not tuple:  # which of two equal constants a tuple is, nobody relies on
            if id(x) in self.numbers:
                return self.add(path, f"the same as {self.numbers[id(x)][0]}")
            self.numbers[id(x)] = (path, x)
        return self.look_of(kind)(self, path, x)

    def look_of(self, kind):
        """The function that looks at what is of a class. Classes of worlds are not kept: they may go."""
        look = KNOWN.get(kind)
        if look is None:
            look = next((look for types_, look in LOOKS if issubclass(kind, types_)), Seen.instance)
            if kind.__module__ != self.home["__name__"]:
                KNOWN[kind] = look
        return look

    def each(self, path, parts):
        for name, part in parts:
            self.walk(f"{path}{name}", part)

    def array(self, path, x):
        kind = np.ndarray if type(x) is NamedArray else type(x)  # compiled, `t.data` is the tensor's array itself
        self.add(path, (kind.__name__, x.dtype.str, x.shape, writable(x)))
        if x.dtype.hasobject:
            return self.each(path, [(f".flat[{k}]", item) for k, item in enumerate(x.flat)])
        if x.size:
            self.arrays.append((path, x))
        return self.add(path, np.array(x))

    def tensor(self, path, x):
        kind = "Tensor" if type(x) is View else type(x).__name__  # how it knows what it is a view of is its own affair
        self.add(path, (kind, x.requires_grad, x.is_leaf))
        self.found += [x.held] if isinstance(x.held, np.ndarray) else []
        self.walk(path + ".data", x.data)
        if x.is_leaf and x.requires_grad:
            self.walk(path + ".grad", x.grad)

    def optimizer(self, path, x):
        self.walk(path + ".state_dict()", x.state_dict())
        self.walk(path + ".param_groups", x.param_groups)

    def sequence(self, path, x):
        self.add(path, (type(x).__name__, len(x)))
        self.each(path, [(f"[{k}]", item) for k, item in enumerate(x)])
        self.attributes(path, x)

    def mapping(self, path, x):
        self.add(path, (type(x).__name__, [shown(key) for key in dict.keys(x)]))
        self.each(path, [(f"[{shown(key)}]", item) for key, item in dict.items(x)])
        if isinstance(x, collections.defaultdict):
            self.walk(path + ".default_factory", x.default_factory)
        self.attributes(path, x)

    def set(self, path, x):
        self.add(path, (type(x).__name__, sorted(shown(item) for item in x)))

    def function(self, path, x):
        self.add(path, ("function", x.__qualname__, x.__code__.co_name))
        if x.__globals__ is not self.home:
            return
        self.each(path, [(".__defaults__", x.__defaults__), (".__kwdefaults__", x.__kwdefaults__)])
        own = {k: v for k, v in vars(x).items() if k not in self.compiled["own"]} | self.written_on(x)
        self.each(path, [(f".{k}", v) for k, v in own.items()])
        for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
            try:
                self.walk(f"{path}<{name}>", cell.cell_contents)
            except ValueError:
                self.add(f"{path}<{name}>", "empty")

    def written_on(self, x):
        """What a program wrote on the compiled function that stands in place of `x`."""
        made = [vars(made) for made, original in self.compiled["made"] if original is x]
        return {k: v for own in made for k, v in own.items() if k not in self.compiled["own"] and k[0] != "_"}

    def wrapper(self, path, x):
        # Compiled functions look up more often than the plain ones; what a cache knows is the same.
        self.add(path, ("lru_cache", tuple(x.cache_info())[1:]) if hasattr(x, "cache_info") else type(x).__name__)
        self.walk(path + ".__wrapped__", getattr(x, "__wrapped__", None))

    def method(self, path, x):
        self.each(path, [(".__self__", x.__self__), (".__func__", x.__func__)])

    def partial(self, path, x):
        self.each(path, [(".func", x.func), (".args", x.args), (".keywords", x.keywords)])

    def cls(self, path, x):
        self.add(path, ("class", x.__qualname__))
        if x.__module__ == self.home["__name__"]:
            own = [(f".{k}", v) for k, v in vars(x).items() if k not in SKIPPED and not k.startswith("_abc")]
            self.each(path, own)

    def generator(self, path, x):
        self.add(path, inspect.getgeneratorstate(x))
        if x.gi_frame is not None:
            self.each(path, [(f"<{k}>", v) for k, v in x.gi_frame.f_locals.items()])

    def iterator(self, path, x):
        self.add(path, type(x).__name__)
        self.walk(path + " next", x.__reduce__()[1:])

    def exception(self, path, x):
        self.add(path, (type(x).__name__, scrubbed(str(x)), type(x.__cause__).__name__))
        self.attributes(path, x)

    def attributes(self, path, x):
        try:
            own = object.__getattribute__(x, "__dict__")
        except AttributeError:
            own = None
        if type(own) is dict:
            own = {k: v for k, v in own.items() if k[:1] != "@"}  # where ad.compile keeps methods: an attack of its own
            self.add(path, list(own))
            self.each(path, [(f".{k}", v) for k, v in own.items()])
        for cls in type(x).__mro__:
            names = vars(cls).get("__slots__", ()) if cls.__module__ == self.home["__name__"] else ()
            for name in [names] if isinstance(names, str) else names:
                try:
                    held = getattr(type(x), name).__get__(x)  # `__getattr__` is not asked
                except AttributeError:  # an empty one
                    continue
                if name not in {"__dict__", "__weakref__"}:
                    self.walk(f"{path}.{name}", held)

    def instance(self, path, x):
        kind = type(x)
        if kind.__module__ == self.home["__name__"] or issubclass(kind, (ad.nn.Module, types.SimpleNamespace)):
            self.add(path, kind.__qualname__)
            return self.attributes(path, x)
        if kind.__module__.startswith(("pandas", "xarray")):
            return self.add(path, (kind.__qualname__, repr(x)))
        return self.add(path, (kind.__qualname__, getattr(x, "__name__", "")))

    def overlaps(self):
        """Which of the arrays met share memory, and by how much they are apart."""
        spans = [(p, a, *np.lib.array_utils.byte_bounds(a), a.__array_interface__["data"][0]) for p, a in self.arrays]
        for i, (p, a, low, high, start) in enumerate(spans):
            for q, b, l2, h2, s2 in spans[:i]:
                if low < h2 and l2 < high and np.shares_memory(a, b):
                    self.add(f"{q} and {p} share memory", s2 - start)


def state_of(look):
    return lambda seen, path, x: seen.walk(path, look(x))


LOOKS = [
    (ad.Tensor, Seen.tensor),
    (np.ndarray, Seen.array),
    (optim.Optimizer, Seen.optimizer),
    (enum.Enum, lambda seen, path, x: seen.add(path, str(x))),
    (dict, Seen.mapping),
    ((list, tuple, collections.deque), Seen.sequence),
    ((set, frozenset), Seen.set),
    (types.FunctionType, Seen.function),
    (types.MethodType, Seen.method),
    (functools.partial, Seen.partial),
    (functools._lru_cache_wrapper, Seen.wrapper),
    ((property,), lambda seen, path, x: seen.each(path, [(".fget", x.fget), (".fset", x.fset)])),
    ((staticmethod, classmethod), lambda seen, path, x: seen.walk(path + ".__func__", x.__func__)),
    (type, Seen.cls),
    (types.GeneratorType, Seen.generator),
    (WALKED, Seen.iterator),
    (BaseException, Seen.exception),
    (np.random.Generator, state_of(lambda x: x.bit_generator.state)),
    (np.random.RandomState, state_of(lambda x: x.get_state())),
    (random.Random, state_of(lambda x: x.getstate())),
    (contextvars.ContextVar, state_of(lambda x: x.get(None))),
    (types.MappingProxyType, state_of(dict)),
    (io.StringIO, state_of(lambda x: x.getvalue())),
    (Path, lambda seen, path, x: seen.add(path, "a path")),
    (float, lambda seen, path, x: seen.add(path, (type(x).__name__, float(x)))),
    ((int, str), lambda seen, path, x: seen.add(path, (type(x).__name__, repr(x)))),
]
KNOWN = {}


def writable(x):
    """Whether an array can be written; not, where NumPy announces by a warning that it will not be."""
    if x.base is None:  # NumPy announces this of views alone
        return x.flags.writeable
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return x.flags.writeable
        except FutureWarning:
            return False


def shown(key):
    """A key as text, without addresses; its class, if its own text raises."""
    try:
        return ADDRESS.sub("", repr(key))
    except Exception:
        return type(key).__name__


def scrubbed(text):
    """A message or a printed line without addresses, and without the class that a compiled function has."""
    return ADDRESS.sub("0x", text).replace("'Compiled'", "'function'")


def close(a, b, rtol):
    """Whether two of what `walk` adds are equal; numbers in them up to `rtol`."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in (str, bool, type(None)) and a == b:
        return True
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(close(x, y, rtol) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        same = a.shape == b.shape and a.dtype == b.dtype
        return same and ((not a.dtype.hasobject and a.tobytes() == b.tobytes()) or near(a, b, rtol))
    if isinstance(a, float | complex | np.floating | np.complexfloating):
        return near(a, b, rtol)
    if isinstance(a, str) and rtol and a != b:
        found = [np.array([float(x) for x in NUMBER.findall(text)]) for text in (a, b)]
        return (
            NUMBER.sub("", a) == NUMBER.sub("", b) and len(found[0]) == len(found[1]) and near(*found, max(rtol, 1e-6))
        )
    return bool(a == b)


def close_but_for_zeros(a, b):
    """Whether two values are equal but for the signs of zeros, which derivatives of branches not taken may have."""
    return type(a) is type(b) and isinstance(a, np.ndarray | np.floating | float) and close(a + 0.0, b + 0.0, 0.0)


def precision(x):
    """The relative precision of the numbers in `x`, which may have been computed in less than its dtype."""
    single = np.complex64 if x.dtype.kind == "c" else np.float32
    with np.errstate(all="ignore"):
        alike = x.dtype.itemsize > np.dtype(single).itemsize and np.array_equal(x, x.astype(single), equal_nan=True)
    return float(np.finfo(single if alike else x.dtype).eps)


def near(a, b, rtol):
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    if rtol:
        rtol = max(rtol, 64 * max(map(precision, (a, b))))
        return bool(np.allclose(a, b, rtol=rtol, atol=rtol, equal_nan=True))
    signs = [np.signbit(x.real) & ~np.isnan(x.real) for x in (a, b)]  # nan has one, which means nothing
    return bool(np.array_equal(a, b, equal_nan=True)) and bool(np.array_equal(*signs))
