"""What the door does with functions of NumPy, of Python's mathematics, and of adjoint."""

from __future__ import annotations

import inspect
import operator
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import cast

import numpy as np

from adjoint.compiler.trace.door.known.forms import formed, in_form
from adjoint.compiler.trace.door.known.histories import Histories, has_history
from adjoint.compiler.trace.guards import PLAIN
from adjoint.compiler.trace.outside import Ours, root_of
from adjoint.core.box import Box, has_box
from adjoint.core.memory import ordered
from adjoint.core.messages.warned import REFUSES
from adjoint.core.op import Op
from adjoint.core.types import Array, DType, Function, Value
from adjoint.graph.node import constant
from adjoint.graph.symbol import LEVEL, Number, Symbol
from adjoint.ops.shape.joining import pile
from adjoint.tape.modes import set_grad_enabled
from adjoint.tape.tensor import Tensor

__warningregistry__: Value = REFUSES  # as in `values`
IMPURE = frozenset(
    ("load", "save", "savez", "savez_compressed", "savetxt", "loadtxt", "fromfile", "genfromtxt", "memmap", "seterr",
     "geterr", "seterrcall", "geterrcall", "setbufsize", "getbufsize", "get_printoptions", "set_printoptions",
     "printoptions", "show_config", "show_runtime", "info", "vectorize", "frompyfunc", "apply_along_axis",
     "apply_over_axes", "fromfunction", "piecewise", "nditer", "frombuffer", "fromregex", "from_dlpack", "test",
     "may_share_memory", "shares_memory")
)  # fmt: skip
_LAST = frozenset(("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"))
_UNLIKE = _LAST | {"split", "array_split", "hsplit", "vsplit", "dsplit", "trim_zeros", "result_type"}
OURS = ("adjoint.transforms", "adjoint.ops", "adjoint.tape", "adjoint.core.op", "adjoint.nn.functional",
         "adjoint.nn.losses.basic", "adjoint.nn.layers.activations", "adjoint.scipy", "adjoint.optim.functional",
         "adjoint.optim.clip", "adjoint.xp", "adjoint.core.registry", "adjoint.core.box", "adjoint.core.protocol",
         "adjoint.forward", "adjoint.batch", "adjoint.nn.precision", "adjoint.core.late")  # fmt: skip
_OF_FIRST = frozenset(("full_like", "nan_to_num", "max", "min", "amax", "amin", "ptp"))
_LISTED: tuple[type, ...] = (deque, type({}.keys()), type({}.values()), type({}.items()))
_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_SWALLOWS = ("array_equal", "array_equiv")  # take our refusal to make an array for a no
_JOINERS = frozenset(("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack", "row_stack", "block"))
# In which order these lay an array out.
_LAYS = {"ascontiguousarray": "C", "asfortranarray": "F"}
MAKERS = frozenset(("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "arange",
                     "linspace", "eye", "identity", "array", "copy", "tile", "repeat", "asarray"))  # fmt: skip
_MATHEMATICS: dict[str, tuple[Value, Value]] = {
    "sqrt": (lambda x: x >= 0.0, np.sqrt), "fabs": (None, np.fabs),
}  # fmt: skip


def _full(shape: Value, fill_value: Array, dtype: DType = None) -> Array:
    """`numpy.full` of a value of the program."""
    dtype = fill_value.dtype if dtype is None else dtype
    return np.copy(np.full_like(fill_value, fill_value, dtype=dtype, shape=shape))


_BOXES = frozenset((Symbol, Number, Tensor))
_ARRAYS = _BOXES | {int, float, np.ndarray, np.float64}


@cache
def _parameters(g: Function) -> tuple[str, ...]:
    """The names of the parameters of a function of NumPy's that may be given by place; none, if it does not say."""
    try:
        given = inspect.signature(g).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(x.name for x in given if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD))


def _mixes(name: str, model: Value, *others: object) -> bool:
    """Whether tensors and arrays meet where NumPy asks the first argument alone whose function this is."""
    if isinstance(model, Tensor):
        return name == "full_like" and any(isinstance(x, Symbol) for x in others)
    return any(isinstance(x, Tensor) for x in others)


class Libraries(Histories):
    """Functions that are known."""

    def elementwise(self, g: np.ufunc, args: tuple[Value, ...], kwargs: dict[str, object]) -> Value:
        """A ufunc; for arrays and numbers alone, which most are called with, without the questions of `known`."""
        kinds = {*map(type, args)}
        if kwargs or len(args) != g.nin or not _ARRAYS.issuperset(kinds) or _BOXES.isdisjoint(kinds):
            return self.known(g, args, kwargs)
        values = tuple(map(self.now, args))
        stand_in = self.stands_for(g, values)
        if stand_in is not None:
            return self.native(stand_in, values, {})
        return in_form(g, values, {}, self.native(g, values, {}), self.refuse)

    def known(self, g: Function, args: tuple[object, ...], kwargs: dict[str, object]) -> Value:
        """A function of NumPy's, or of Python's mathematics."""
        name = getattr(g, "__name__", "")
        if name in IMPURE and root_of(g) == "numpy":
            raise self.refuse(f"it calls numpy.{name}")
        args = tuple(list(cast(Iterable[Value], a)) if type(a) in _LISTED else a for a in args)
        values, named = [self.val(a) for a in args], {k: self.val(v) for k, v in kwargs.items()}
        if not all(map(self.harmless, (*values, *named.values()))):
            raise self.refuse(f"it hands objects to {name}")
        symbols = any(map(has_box, (*values, *named.values())))
        if not symbols:
            return self._constant(g, name, values, named)
        if name in _OF_FIRST and _mixes(name, *values, *named.values()):
            raise self.refuse(f"it hands numpy.{name} an array and a tensor, and NumPy asks the first alone")
        names = () if isinstance(g, np.ufunc) else _parameters(g)
        at = names.index("out") if "out" in names[: len(values)] else 0
        if at and len(values) <= len(names) and not any(map(has_box, values[1:at])):
            values, named = values[:at], dict(zip(names[at:], values[at:], strict=False)) | named
        if name in _LAST and values and isinstance(values[0], np.ndarray):
            raise self.symbolic(values[0], "it writes into an array that it made")
        if isinstance(g, np.ufunc) and getattr(named.get("where"), "dtype", np.dtype(bool)).kind != "b":
            raise self.refuse(f"numpy.{name} takes where= of truth values alone")
        out = named.get("out")
        self._of_arrays_alone(g, name, values, out)
        for x in out if isinstance(out, tuple) else (out, *values[:1]) if name in _LAST else (out,):
            self.writes_into(x, values[1:] if x is out else values[2:])
        if name in _LAST:
            self.of_numbers(name, values[1:3])
        if name == "insert" and isinstance(values[0], Symbol | np.ndarray):
            self.fits(values[0].dtype, values[2] if len(values) > 2 else named.get("values"))
        if isinstance(out, np.ndarray):
            raise self.symbolic(out, "it writes into an array that it made")
        stand_in = self.stands_for(g, (*values, *named.values()))
        if stand_in is not None:
            found = self.native(stand_in, tuple(values), named)
            if root_of(g) in ("math", "cmath"):
                self.is_finite(f"{g.__module__}.{name}", found)
            return found
        if root_of(g) in ("math", "cmath"):
            return self._of_mathematics(g, name, values, named)
        if name == "fromiter" and isinstance(values[0], list) and "count" not in named and len(values) <= 2:
            return self._array("array", values, named)
        if name == "full" and has_box(fill := values[1] if len(values) > 1 else named.get("fill_value")):
            if isinstance(fill, Tensor):
                raise self.refuse("it makes a plain array of a tensor")
            dtype = values[2] if len(values) > 2 else named.get("dtype")
            if dtype is not None and type(fill) is Number and type(fill.value) is int:  # a float is cut off
                self.fits(np.dtype(dtype), fill)
            return self.native(_full, tuple(self._with_arrays(v, False) for v in values), named)
        if name in ("array", "asarray", "asanyarray", *_LAYS):
            return self._array(name, values, named)
        if (
            root_of(g) == "_operator"
            and len(values) == 2
            and all(type(v) is Number or type(v) in PLAIN for v in values)
        ):
            return (
                self.op(name.rstrip("_"), *args)
                if name.rstrip("_") in _BINARY
                else self.native(g, tuple(values), named)
            )
        found = self._of_lists(g, values, named)
        return found if root_of(g) == "_operator" else in_form(g, values, named, found, self.refuse)

    def _of_arrays_alone(self, g: Function, name: str, values: list[Value], out: Value) -> None:
        """Refuse lists where NumPy takes arrays alone, or makes something else of lists."""
        written = values[g.nin :] if isinstance(g, np.ufunc) else values[:1] if name in _UNLIKE else []
        given = out if isinstance(out, tuple) else (out,)
        if any(isinstance(x, list) for x in (*given, *written)):
            raise self.refuse(f"it hands a list to numpy.{name}, which takes arrays")

    def _of_lists(self, g: Function, values: list[Value], named: dict[str, Value]) -> Array:
        """What `g` gives; lists of values among its arguments become arrays, if it needs arrays."""
        given = (*values, *named.values())
        if any(isinstance(v, list | tuple) and has_box(v) for v in given):
            name = getattr(g, "__name__", "")
            if name == "block":  # to which nested lists are what they are
                return self.native(g, tuple(values), named)
            with suppress(Exception):
                if name not in _SWALLOWS:
                    return self.without_objects(g(*values, **named))
            joins = name in _JOINERS
            values = [self._with_arrays(v, joins and not i) for i, v in enumerate(values)]
            named = {k: self._with_arrays(v, False) for k, v in named.items()}
        return self.native(g, tuple(values), named)

    def rows_together(self, of: Value, key: Value) -> Array:
        """``np.r_[key]`` and ``np.c_[key]``"""
        from adjoint.twin.standins import find

        together, parts = cast(Value, find(of)), self.val(key)
        if not self.histories and has_history(parts):
            raise self.refuse("it hands a tensor to numpy.r_ or numpy.c_")
        return self.native(operator.getitem, (together, parts), {})

    def _with_arrays(self, x: Value, joins: bool) -> Value:
        if not isinstance(x, list | tuple) or not has_box(x):
            return x
        return [self._with_arrays(part, False) for part in x] if joins else self.stacked(x)

    def harmless(self, x: object) -> bool:
        if isinstance(x, Box):
            return True
        if isinstance(x, list | tuple):
            return all(map(self.harmless, x))
        if isinstance(x, dict):
            return all(map(self.harmless, x.values()))
        return self.is_plain(x) or isinstance(x, type | np.ufunc) or inspect.isgenerator(x)

    def _constant(self, g: Function, name: str, values: list[object], named: dict[str, object]) -> Array | None:
        """A call whose arguments were all made while recording."""
        found = self.native(g, tuple(values), named)
        if self.fills and name in MAKERS and isinstance(found, np.ndarray) and found.dtype.kind in "fciub":
            if self.histories == "made" and not isinstance(found, Box):
                return self.holding(found)
            return Symbol.of((found, constant(found)), LEVEL)
        return found

    def _array(self, name: str, values: list[object], named: dict[str, Value]) -> Symbol | None:
        """``np.array`` of numbers and lists of these."""
        x, *rest = values
        dtype = named.get("dtype", rest[0] if rest else None)
        if not set(named) <= {"dtype", "copy", "order"} or len(rest) > 1:
            raise self.refuse(f"it calls numpy.{name} in a way that is not known")
        if dtype is not None and np.dtype(dtype).kind not in "fciub":
            raise self.refuse(f"it calls numpy.{name} with dtype {dtype}, which is not one of numbers")
        found = self.stacked(x)
        order = _LAYS.get(name, named.get("order"))
        if name in _LAYS and not found.shape:  # these have an axis at least
            found = np.reshape(found, 1)
        if found is not x and named.get("copy") is False:
            raise self.refuse(f"numpy.{name} has to copy")
        if dtype is not None and found.dtype != np.dtype(dtype):
            self.fits(np.dtype(dtype), x)
            found = ordered(found.astype(dtype), order)
        elif isinstance(found.value if isinstance(found, Symbol) else found, np.ndarray):
            found = ordered(found, order, found is x and named.get("copy", name == "array"))
        return formed(found, np.asarray(found.value)) if isinstance(found, Symbol) else found

    def stacked(self, x: object) -> Array:
        if isinstance(x, Symbol):
            return x.as_array()
        if isinstance(x, Tensor) or (isinstance(x, Box) and not isinstance(x, Symbol)):
            raise self.refuse("it makes a plain array of a tensor")
        if isinstance(x, list | tuple):
            parts = [self.stacked(e) for e in x]
            if any(isinstance(p, Box) for p in parts):
                if any(p.dtype.kind not in "fciub" for p in parts):
                    raise self.refuse("it makes an array of values and something else than numbers")
                if len(set(map(np.shape, parts))) > 1:
                    return np.stack(parts)  # which says what is wrong
                return pile(*parts)  # in C's order, as np.array puts lists
            return self.without_objects(np.array(x))
        return self.without_objects(np.asarray(x))

    def _of_mathematics(self, g: Function, name: str, values: list[Array], named: dict[str, object]) -> Array | None:
        """A function of `math` of Python's numbers, whose domain errors stay."""
        similar = _MATHEMATICS.get(name)
        if similar is None or len(values) != 1 or root_of(g) != "math":
            options = {k: self.value(v) if isinstance(v, Symbol) else v for k, v in named.items()}
            return self.native(g, tuple(self.value(v) if isinstance(v, Symbol) else v for v in values), options)
        (x,) = values
        if isinstance(x, Symbol) and x.dtype.kind == "f" and not np.ndim(x.value):
            number = x if type(x) is Number else x.item()
            allowed, function = similar
            if allowed is not None and not self.truth(allowed(number)):
                return self.native(g, (self.value(number),), {})
            found = function(number)
            if not self.truth(np.isfinite(found)):
                return self.native(g, (self.value(number),), {})
            return found.item() if type(found) is not Number else found
        return self.native(g, (self.value(x),), {})

    def of_ours(self, g: Value, args: tuple[object, ...], kwargs: dict[str, object]) -> Value:
        """One of our functions, which may call the user's."""
        values, named = tuple(self.val(a) for a in args), {k: self.val(v) for k, v in kwargs.items()}
        if isinstance(g, Op) and g.ordered and not any(isinstance(v, Box) for v in values):
            values = tuple(
                Symbol.of((v, constant(v)), LEVEL) if isinstance(v, np.ndarray | np.generic | float) else v
                for v in values
            )
        found = self.native(g, values, named)
        return self._result(found)

    def _result(self, found: object) -> object:
        if isinstance(found, tuple) and type(found) is tuple:
            return tuple(map(self._result, found))
        if isinstance(found, Box | np.ndarray | np.generic | set_grad_enabled) or type(found) in (*PLAIN, list, dict):
            return found
        return Ours(found) if callable(found) else found

    def at_ufunc(self, ufunc: np.ufunc, args: tuple[object, ...]) -> object:
        values = tuple(self.val(a) for a in args)
        if isinstance(values[0], np.ndarray) and any(map(has_box, values)):
            raise self.symbolic(values[0], "it writes into an array that it made")
        return self.native(ufunc.at, values, {})

    def scalar(self, kind: type, args: tuple[object, ...], kwargs: dict[str, object]) -> Array:
        stand_in = self.stands_for(kind, args)
        if stand_in is not None:
            return self.native(stand_in, tuple(map(self.val, args)), kwargs)
        if issubclass(kind, np.floating | np.integer) and args and type(getattr(args[0], "value", None)) is complex:
            return self.native(kind, (1j,), {})  # raises, as for any complex number of Python's
        if args and isinstance(args[0], Symbol) and not kwargs:
            if type(args[0]) is Number:
                self.fits(np.dtype(kind), args[0])
            if not np.ndim(args[0].value):
                return args[0].as_array().astype(kind)[()]
            return args[0].astype(kind)
        return self.native(kind, tuple(map(self.val, args)), kwargs)
