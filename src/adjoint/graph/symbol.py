"""`Symbol`: an array that computes as usual and records its operations as unique nodes of a graph."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from weakref import ref

import numpy as np

from adjoint.arrays.layered import Layered
from adjoint.core.box import Box, apply, settled, without_constants
from adjoint.core.errors import AdjointError, LeavesGraphError, NotSupportedError
from adjoint.core.memory import lies
from adjoint.core.objects.foreign import plain_array
from adjoint.core.op import Op
from adjoint.core.protocol import for_a_rule
from adjoint.core.registry import operation
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, DType, Function, Index, Settings, Value
from adjoint.graph.captures.record import DROPS, ERRORS, RECORD, CaptureNotes, Guard, heeds_errors, note
from adjoint.graph.node import Node, call, constant, finite_if, frozen, is_asked, may_be_infinite, part
from adjoint.graph.python_numbers import ARRAYS, as_numpy, as_python, as_pythons, held_inside, is_number, item, order_of
from adjoint.ops.indexing.writing import warns
from adjoint.tape.observers.lines import recorded_place, users_place
from adjoint.tape.reach import RandomSource

# Below all tensors: a tensor made of symbols records its own backward pass with them.
LEVEL = -1


class Symbol(Layered):
    """A value and its node. Made by `adjoint.capture`."""

    __slots__ = ("__weakref__",)  # for notes of when it was written
    in_index = "iu"
    lies_first, maker = True, 1

    @property  # type: ignore[misc]  # nobody sets it
    def __class__(self) -> Value:
        """What `isinstance` sees: in the user's code the value's own type, as when he calls the function himself."""
        frame = sys._getframe(1)
        while (name := frame.f_globals.get("__name__")) in _ASKS_FOR_OTHERS and frame.f_back is not None:
            frame = frame.f_back
        return type(self) if str(name).startswith(_OURS) or name == "adjoint" else type(self.value)

    @property
    def value(self) -> Value:
        return self.layers[0]

    @property
    def held(self) -> Array:
        return self  # no question about its values goes unnoticed

    def lies(self) -> Array:
        return lies(self.value)

    def apart(self) -> Value:
        value = self.value
        shown = isinstance(value, np.ndarray) and (value.base is not None or not value.flags.writeable)
        return operation("copy")(self) if shown else Symbol.of((np.array(value), self.node), LEVEL)

    @property
    def node(self) -> Node:
        """The node of the graph."""
        return self.layers[1]  # type: ignore[no-any-return]  # see the class

    def process(self, op: Op, args: Sequence[Array], settings: Settings) -> Array | None:
        record = RECORD.get()
        if (record is None or not record.silent) and heeds_errors():
            raise NotSupportedError(ERRORS)
        if record is not None:
            record.applied += 1
        values: list[Value] = []
        nodes: list[Node] = []
        less = counts = any_constant = False
        for arg in args:
            if not isinstance(arg, Symbol):
                arg = settled(arg, LEVEL) if isinstance(arg, Box) else plain_array(arg)
            if isinstance(arg, Symbol):
                value, node = arg._layers if arg._base is None else arg.layers
                if type(arg) is Number:
                    less = less or not is_number(node)
                    counts = counts or type(value) is int
            else:
                value, node, any_constant = arg, None, True
                counts = counts or type(arg) is int
            values.append(value)
            nodes.append(node)
        if counts:
            held_inside(op, args, values, nodes)
        if less:
            as_pythons(args, values, nodes)
        if settings and any(isinstance(x, _HOLDING) for x in settings.values()):
            settings = {name: _value_of(x) for name, x in settings.items()}
        flags = op.flags
        if "random" in flags:
            return self.drawn(op, values, nodes, settings)
        if record is not None and record.in_place_of_calls and warns(op, values, settings):
            raise NotSupportedError(DROPS)
        out = self._applied(op, values, nodes, settings)
        if "once" in flags:
            return out  # shapes and the like: the same for whatever values come
        if "creates" in flags:
            if op.name == "empty_like":  # what is there by chance is no constant
                out.fill(0)
            return Symbol.of((out, constant(out)), LEVEL)
        if values and out is values[0] and "moves" in flags and type(out) is np.ndarray and isinstance(args[0], Symbol):
            return args[0]  # as NumPy gives the array itself: ``np.squeeze(x) is x``
        pairs = zip(values, nodes, strict=True)
        given = tuple([constant(v) if node is None else node for v, node in pairs] if any_constant else nodes)
        place = users_place if record is None else None if record.placeless else recorded_place
        if op.multiple or isinstance(out, _SEVERAL):
            shapes, dtypes = tuple(np.shape(x) for x in out), tuple(dtype_of(x) for x in out)
            whole = call(op, given, settings, shapes, dtypes, place)
            note(op, whole)
            return tuple(Symbol.of((x, part(whole, i)), LEVEL) for i, x in enumerate(out))
        if not isinstance(out, ARRAYS):
            out = np.asarray(out)[()]
        node = call(op, given, settings, out.shape, out.dtype, place)
        note(op, node)
        if record is not None and record.in_place_of_calls and is_asked(node):
            record.values[node] = ref(out) if type(out) is np.ndarray else out
        result = Symbol.of((out, node), LEVEL)
        return self.viewed(result, op, settings) if len(args) == 1 else result

    @staticmethod
    def _applied(op: Op, values: Sequence[Array], nodes: Sequence[Node | None], settings: Settings) -> Value:
        """The result of `op`. If `op` raises, it is called again for the error."""
        try:
            return apply(op, values, settings)
        except Exception as error:
            if (record := RECORD.get()) is not None and not isinstance(error, AdjointError):
                given = tuple(constant(v) if node is None else node for v, node in zip(values, nodes, strict=True))
                record.raised(error, op, given, settings)
            raise

    @staticmethod
    def drawn(op: Op, values: Sequence[Array], nodes: Sequence[Node | None], settings: Settings) -> Value:
        """Random numbers: a node of their own for each state that a generator was in."""
        record = RECORD.get() or CaptureNotes()
        generator = getattr(settings["rng"], "generator", settings["rng"])  # a `Drawing` stands for its own
        settings = {**settings, "rng": generator}
        copy = record.copy_of(generator)
        state = repr(RandomSource.of(copy).get())
        out = apply(op, values, {**settings, "rng": copy})
        given = tuple(constant(v) if node is None else node for v, node in zip(values, nodes, strict=True))
        key = (op, given, frozen(settings), state)
        if key not in record.draws:
            record.draws[key] = node = call(op, given, settings, np.shape(out), dtype_of(out), users_place)
            record.guards.append(Guard(node, "run", None, node.place))  # though nobody uses it: others come after it
        return symbol_of(out, record.draws[key])

    def _write(self, index: Index, value: Array) -> None:
        super()._write(index, without_constants(value, LEVEL))

    def _constant(self, array: Array) -> tuple[object, ...]:
        if isinstance(array, Box):
            raise LeavesGraphError(
                "an array that is being captured was written with values of an inner transform; write into an array "
                "made there: np.zeros_like(x)"
            )
        return array, constant(array)

    def constant(self, answer: Array) -> Value:
        return answer

    @property
    def may_be_infinite(self) -> bool:  # type: ignore[override]  # nobody sets it
        return may_be_infinite(self.node)

    def stays_finite(self) -> bool:
        """Whether all of it is finite; a program that runs in place of calls asks this at each call."""
        record, asked = RECORD.get(), None
        if record is None or not record.in_place_of_calls:
            return True
        for node in finite_if(self.node, record.bounded):
            if node.kind == "constant":
                if not np.isfinite(node.value).all():
                    record.bounded.clear()
                    return False
                continue
            value = record.values.get(node)
            value = value() if isinstance(value, ref) else value
            if value is None:  # freed since: of this call, it only matters whether what was made of it is finite
                value = np.full(node.shape, 0.0 if np.isfinite(self.value).all() else np.nan, node.dtype)
            each: Value = np.all(np.isfinite(Symbol.of((value, node), LEVEL)))
            asked = each if asked is None else np.logical_and(asked, each)
        if asked is not None and not asked:
            record.bounded.clear()
            return False
        return True

    def ends_pass(self, leaf: Value) -> None:
        if (record := RECORD.get()) is not None and record.at_ends is not None and not record.cut:
            record.at_ends(leaf, self)

    @property
    def shape(self) -> tuple[int, ...]:
        value = self.layers[0]
        return value.shape if type(value) is np.ndarray else np.shape(value)

    @property
    def dtype(self) -> DType:
        value = self.layers[0]
        return value.dtype if type(value) is np.ndarray else dtype_of(value)

    def _is_number(self) -> bool:
        return not isinstance(self.layers[0], np.ndarray)

    def of_python(self) -> Value:
        return symbol_of(self.value.item(), self.node)

    @property
    def requires_grad(self) -> bool:
        """Whether more than its value matters: always."""
        return True

    def detach(self) -> Value:
        """The same values, in the same memory. A derivative of the program takes them for constants."""
        value, node = self.layers
        if for_a_rule.get() or node.kind == "constant" or node.op is still:
            return self
        result = type(self).of((value, call(still, (node,), {}, np.shape(value), dtype_of(value), users_place)), LEVEL)
        result._base, result._seen = (self.root, self.path), self.root._layers
        return result

    def _asked(self, question: str, answer: Value) -> Array:
        record = RECORD.get()
        if record is None:
            raise LeavesGraphError(
                f"{question} of a symbol outside the capture that it belongs to: it was kept from there, in a global "
                f"or an attribute. Return it from the captured function instead"
            )
        if record.forced and question == "bool":
            answer = record.answered(self.node, answer)
        if not any(guard.node is self.node and guard.question == question for guard in record.guards[-64:]):
            record.guards.append(Guard(self.node, question, answer, users_place()))
        return answer

    def __bool__(self) -> bool:
        return bool(self._asked("bool", bool(self.value)))

    def __float__(self) -> float:
        return float(self._asked("float", float(self._real())))

    def __round__(self, ndigits: int | None = None) -> Array:
        if self.dtype.kind == "b" or (ndigits is None and not self.shape):  # of NumPy's numbers Python's are made
            return round(self.value) if self.dtype.kind == "b" else int(np.rint(self))
        return super().__round__(0 if ndigits is None else ndigits)

    def __int__(self) -> int:
        return int(self._asked("int", int(self._real())))

    def _real(self) -> Value:
        """The value, of which a real number is asked: NumPy warns if it is complex."""
        is_complex = isinstance(self.value, np.ndarray | np.generic) and self.dtype.kind == "c"
        if is_complex and (record := RECORD.get()) is not None and record.in_place_of_calls:
            raise NotSupportedError(DROPS)
        return self.value

    def __complex__(self) -> complex:
        return complex(self._asked("complex", complex(self.value)))

    def __index__(self) -> int:
        return int(self._asked("index", self.value.__index__()))

    def numpy(self) -> np.ndarray:
        """The values; a program that asks for them is right for these values only, which a guard holds."""
        value: np.ndarray = self._asked("values", np.array(self.value))
        return value

    def item(self, *index: int) -> Value:
        """The value as a Python number. A real one goes on as a symbol; others are asked for, see `numpy`."""
        if index or np.size(self.value) != 1 or self.dtype.kind != "f" or (record := RECORD.get()) is None:
            return self.numpy().item(*index)
        single: Value = np.reshape(self, ()).astype(np.float64)
        op = item if record.in_place_of_calls else as_python  # a captured program is differentiated as a function
        return symbol_of(self.value.item(), call(op, (single.node,), {}, (), single.dtype, users_place))

    def tolist(self) -> Value:
        """The values as nested lists; see `numpy`."""
        return self.numpy().tolist()

    def __hash__(self) -> int:
        """A number's, which may be looked up in a dictionary; arrays have none, so theirs is for our own use."""
        if RECORD.get() is None or isinstance(self.value, np.ndarray):
            return object.__hash__(self)
        return hash(self.numpy().item())

    def __format__(self, spec: str) -> str:
        if RECORD.get() is None:
            return format(repr(self), spec)
        self.numpy()
        return format(self.value, spec)

    def __str__(self) -> str:
        return format(self)

    def __array__(self, dtype: DType = None, copy: bool | None = None) -> np.ndarray:
        raise LeavesGraphError(
            "np.asarray(t), writing t into a plain array, or indexing one with it, while the program is captured: the "
            "graph would hold these values for good. Use NumPy functions that understand tensors, np.zeros_like(t) for "
            "arrays to fill, and ad.tensor(table)[t]"
        )

    def __repr__(self) -> str:
        return f"symbol({self.node!r})"


def _value_of(setting: object) -> object:
    """A setting without symbols (``where=`` of a test, a place in an index): the node is right for its values only."""
    if isinstance(setting, tuple) and any(isinstance(x, Symbol) for x in setting):
        return tuple(map(_value_of, setting))
    return setting.numpy() if isinstance(setting, Symbol) else setting


# `detach` in a program: the value is the same, and it has no derivative.
still = Op("detach", lambda x: x, ("x",), kind="constant", batch="leading", flags=frozenset({"still"}))


class Number(Symbol):
    """A symbol of one of Python's numbers. Python's operators make such of such.

    Its node, if computed, gives one of NumPy's; where that makes a difference, `as_python` is put in between.
    """

    __slots__ = ()
    is_python = True

    def __round__(self, digits: int | None = None) -> object:
        return round(self.numpy().item(), digits)

    def as_array(self) -> Array:
        node = call(as_numpy, (self.node,), {}, (), self.dtype, users_place)
        return Symbol.of((np.asarray(self.value)[()], node), LEVEL)


_ASKS_FOR_OTHERS = ("abc", "typing")  # modules whose functions ask in the name of their callers
_OURS = "adjoint."
_HOLDING, _SEVERAL = (Box, tuple), (tuple, list)


def _is_pythons(x: Array, of: object = None) -> bool:
    """Whether `x` is a number of Python's; beside a complex one of these on its left, a float64 counts as such."""
    kinds = (bool, int, float, complex)
    return isinstance(x, Number) or type(x) in kinds or (of is complex and type(getattr(x, "value", x)) is np.float64)


def _counted(x: Array) -> Array:
    """What Python's arithmetic makes of a truth value: 0 or 1, where NumPy's would stay one."""
    if type(x) is not Number or type(x.value) is not bool:
        return x
    number: Value = Symbol.__mul__(x, 1)
    return symbol_of(number.value.item(), number.node)


def _operator(name: str) -> Function:
    of_arrays = getattr(Symbol, name)

    def method(self: Number, *other: Array) -> Value:
        kind = type(self.value) if name[2] != "r" else None
        if all(_is_pythons(x, kind) for x in other):
            self, other = _counted(self), tuple(map(_counted, other))
        out = of_arrays(self, *other)
        if type(out) is Symbol and all(_is_pythons(x, kind) for x in other):
            return symbol_of(out.value.item(), out.node)
        return out

    return method


def _order(name: str) -> Function:
    of_arrays, plain = getattr(Symbol, f"__{name}__"), getattr(operator, name)

    def method(self: Number, other: Array) -> Value:
        if _is_pythons(other):
            order_of(plain, [type(getattr(x, "value", x)) for x in (self, other)])
        return of_arrays(self, other)

    return method


for _name in ("lt", "le", "gt", "ge"):
    setattr(Number, f"__{_name}__", _order(_name))

for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for _side in ("", "r"):
        setattr(Number, f"__{_side}{_name}__", _operator(f"__{_side}{_name}__"))
    setattr(Number, f"__i{_name}__", _operator(f"__{_name}__"))  # the name moves on to another number

for _name in ("neg", "pos", "abs", "invert"):
    setattr(Number, f"__{_name}__", _operator(f"__{_name}__"))


def symbol_of(value: Array, node: Node) -> Symbol:
    """The symbol of an array, or of one of Python's numbers."""
    return (Number if type(value) in (int, float, complex) else Symbol).of((value, node), LEVEL)
