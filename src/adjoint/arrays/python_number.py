"""`PythonNumber`: boxes that stand for one of Python's own numbers, and compute, compare and raise as it does.

Each kind of box has such a class beside it: `Tensor` has `TensorNumber`. An operator between two of Python's numbers
gives another one. Beside an array or a number of NumPy's it gives NumPy's.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from numbers import Rational

import numpy as np

from adjoint.arrays.array_box import ArrayBox
from adjoint.arrays.operators import bound, is_fraction
from adjoint.arrays.promotion import PYTHONS, for_op, for_ufunc, is_python, kind_of, lessened
from adjoint.arrays.samples import checked_samples, widened
from adjoint.core.backend import is_elsewhere
from adjoint.core.box import Box, raw, varies
from adjoint.core.codegen import defined
from adjoint.core.objects.keys import looked_up
from adjoint.core.op import Op
from adjoint.core.types import Array, Index, Value

Operator = Callable[..., Value]

MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_COMPARISONS = ("lt", "le", "gt", "ge", "ne", "eq")
_UFUNCS: Mapping[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "lshift": np.left_shift, "rshift": np.right_shift,
    "and_": np.bitwise_and, "or_": np.bitwise_or, "xor": np.bitwise_xor, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert,
}  # fmt: skip
_CLASS: Value = vars(object)["__class__"]
#: The types of plain numbers with which a fast path goes on.
REAL = frozenset((float, int, np.float64))
_SEQUENCES = (list, tuple, str, bytes, dict, set)
# What NumPy's numbers have and Python's have not, by which programs tell them apart.
_NUMPYS = ("shape", "dtype", "ndim", "size", "T", "mT", "flat", "itemsize", "nbytes")
_FIXED = "the parts of a number can not be set"
_LIBRARIES: dict[str, bool] = {}


def as_python(x: Array) -> Array:
    """The box `x` of one element as one of Python's numbers; `x` itself if its kind has none.

    A whole number or truth value that is the same for all samples is one of Python's own: it has no history.
    """
    kind = x.python_kind
    if kind is None or x.is_python:
        return x
    dtype = x.dtype
    if dtype is _WIDE["f"] and not x.shape:
        return kind.standing_for(x)
    if x.shape:
        x = np.reshape(x, ())
    if dtype.kind in "iub" and _is_open(x):
        return raw(x).item()
    wide = _WIDE.get(dtype.kind, dtype)
    return kind.standing_for(x if dtype == wide else x.astype(wide))


_WIDE = {"f": np.dtype(float), "c": np.dtype(complex), "i": np.dtype(np.int64), "u": np.dtype(np.int64)}


def as_numpy(x: Array) -> Array:
    """The same number as one of NumPy's, if `x` is a box that stands for one of Python's."""
    return x.as_array() if isinstance(x, PythonNumber) else x


def passed_on(box: Array, given: Array) -> Array:
    """The `box` that a transform makes of its argument `given`: one of Python's numbers, if that is one."""
    python = given.is_python if isinstance(given, Box) else type(given) in (float, complex)
    return as_python(box) if python and isinstance(box, Box) else box


def _is_open(x: Array) -> bool:
    """Whether a program sees one value of `x`, which is there to be looked at."""
    return not isinstance(x, Box) or not (varies(x) or isinstance(raw(x), Box))


def _value(x: Array) -> Array:
    """The number of Python's that `x` stands for; what `_HIDDEN` is, if a program does not see one value."""
    while isinstance(x, Box):
        held = x.held
        if x.per_sample or held is x:
            return _HIDDEN
        x = held
    if isinstance(x, np.ndarray | np.generic):
        return x.item()
    return _HIDDEN if is_elsewhere(x) else x


_HIDDEN = object()


def asked_inside(depth: int = 2) -> bool:
    """Whether code of a library asks, to which a box is an array, and not the user's."""
    name = str(sys._getframe(depth).f_globals.get("__name__"))
    known = _LIBRARIES.get(name)
    if known is None:
        known = _LIBRARIES[name] = name.partition(".")[0] in ("adjoint", "numpy", "scipy")
    return known


def _between(name: str, plain: Operator, args: tuple[Array, ...]) -> Array:
    """What an operator gives for numbers of Python's, at least one of them in a box."""
    values = tuple(map(_value, args))
    if not any(value is _HIDDEN for value in values):
        answer = plain(*values)  # raises what Python does
        if not isinstance(answer, float | complex):
            return answer
        if isinstance(answer, complex) and not any(kind_of(x) is complex for x in args):
            args = (as_numpy(args[0]) + 0j, *args[1:])  # a root of a negative number
        args = tuple(map(as_numpy, args))
        if answer - answer == 0:
            found = plain(*args)
            return found.python_kind.standing_for(found)
        with np.errstate(all="ignore"):  # Python does not warn
            return as_python(plain(*args))
    if name in _COMPARISONS and not any(map(varies, args)):  # a program is being recorded
        return bool(_UFUNCS[name](*map(as_numpy, args)))
    plain(*(kind_of(x)(1) for x in args))  # raises for types that do not go together
    args = widened(name, tuple(map(as_numpy, args)))
    with np.errstate(all="ignore"):
        found = _UFUNCS[name](*args)
    checked_samples(name, args, found)
    return as_python(found) if isinstance(found, Box) else found


def _beside(dunder: str, number: Array, other: Array) -> Array:
    """An operator of NumPy's number, or of an array, and one of Python's, which promotes less."""
    mine = lessened(number, (other,))
    return getattr(type(mine), dunder)(mine, other)


def _binary(name: str, reflected: bool = False) -> Operator:
    plain, middle = getattr(operator, name), name.rstrip("_")
    dunder = f"__r{middle}__" if reflected else f"__{middle}__"

    def method(self: Array, other: Array, *modulus: object) -> Array:
        if is_python(other):
            return _between(name, plain, (other, self) if reflected else (self, other))
        if isinstance(other, _SEQUENCES) or modulus:
            if name == "mul" and self.python_type in (int, bool) and isinstance(other, list | tuple | str | bytes):
                return other * self.__index__()
            return NotImplemented
        if isinstance(other, Rational):
            return method(self, float(other))
        return _beside(dunder, self, other)

    method.__name__ = dunder
    return method


def _comparison(name: str) -> Operator:
    plain, dunder, mirrored = getattr(operator, name), f"__{name}__", f"__{MIRRORED.get(name, name)}__"

    def method(self: Array, other: Array) -> Array:
        if is_python(other):
            return _between(name, plain, (self, other))
        if isinstance(other, ArrayBox):  # as Python does, which asks the array
            return getattr(other, mirrored)(lessened(self, (other,)))
        if isinstance(other, _SEQUENCES) or other is None:
            return NotImplemented
        if not is_fraction(other):
            return _beside(dunder, self, other)
        mine = other if isinstance(other, np.generic) else bound(_UFUNCS[name].__name__, self.dtype.kind, other)
        return method(self, mine if type(mine) is int else float(mine))

    method.__name__ = dunder
    return method


_equal, _unequal = _comparison("eq"), _comparison("ne")


def _unary(name: str) -> Operator:
    plain = getattr(operator, name)

    def method(self: Array) -> Array:
        return _between(name, plain, (self,))

    method.__name__ = f"__{name}__"
    return method


def has_attribute(number: PythonNumber, name: str) -> bool:
    """Whether the plain number has an attribute of that name, or this box has one that is no array's."""
    if hasattr(number.python_type, name):
        return True
    return hasattr(number, name) and not (hasattr(np.ndarray, name) or hasattr(np.generic, name))


def _hidden(name: str) -> property:
    def get(self: Array) -> Array:
        if asked_inside():
            return getattr(super(PythonNumber, self), name)
        raise AttributeError(f"'{self.python_type.__name__}' object has no attribute '{name}'")

    return property(get)


class PythonNumber(ArrayBox):
    """What the boxes of Python's numbers share. The class beside a kind of box derives from this and from that kind."""

    __slots__ = ()
    is_python = True

    @classmethod
    def standing_for(cls, box: Array) -> Array:
        """The number that `box`, of this kind and without axes, holds."""
        raise NotImplementedError

    def snapshot(self) -> Array:
        return self  # a number is never written

    @property
    def python_type(self) -> type:
        """The type of the number in the plain program."""
        return PYTHONS[self.dtype.kind]

    @property
    def __class__(self) -> Array:
        """What `isinstance` and ``x.__class__`` see in the user's code: Python's type."""
        return type(self) if asked_inside() else self.python_type

    @__class__.setter
    def __class__(self, kind: Value) -> None:
        _CLASS.__set__(self, kind)

    def _is_number(self) -> bool:
        return True

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Array, **kwargs: Value) -> Array:
        if len(inputs) == 1:
            number = self.as_array()
            return number.__array_ufunc__(ufunc, method, number, **kwargs)
        return getattr(ufunc, method)(*for_ufunc(ufunc, method, inputs, kwargs), **kwargs)

    def among(self, op: Op, args: Sequence[Array]) -> Sequence[Array]:
        return for_op(op, args)

    __hash__ = ArrayBox.__hash__

    def __eq__(self, other: Array) -> Array:
        looked_up(self, other)
        return _equal(self, other)

    def __ne__(self, other: Array) -> Array:
        looked_up(self, other, differs=True)
        return _unequal(self, other)

    def __index__(self) -> int:
        if self.python_type in (int, bool):
            return super().__index__()
        raise TypeError(f"'{self.python_type.__name__}' object cannot be interpreted as an integer")

    def __round__(self, ndigits: Value = None) -> Array:
        if _is_open(self):
            return round(_value(self), ndigits)  # it has no derivative
        rounded = np.round(self.as_array(), ndigits or 0)
        return as_python(rounded.astype(np.int64) if ndigits is None else rounded)

    def as_integer_ratio(self) -> tuple[int, int]:
        """Two whole numbers whose quotient this is; refused where they would lose a history."""
        return self._leaving("t.as_integer_ratio()").item().as_integer_ratio()  # type: ignore[no-any-return]  # a float's

    def hex(self) -> str:
        """The number as text; refused where that would lose a history."""
        return self._leaving("t.hex()").item().hex()  # type: ignore[no-any-return]  # a float's

    def detach(self) -> Array:
        """The same number, without history."""
        return as_python(self.as_array().detach())

    def __copy__(self) -> Array:
        return self

    def __deepcopy__(self, memo: dict[int, Value]) -> Array:
        return self

    def __getitem__(self, index: Index) -> Array:
        if asked_inside():
            return super().__getitem__(index)
        raise TypeError(f"'{self.python_type.__name__}' object is not subscriptable")

    @property
    def real(self) -> Array:
        return as_python(np.real(self.as_array()))

    @real.setter
    def real(self, value: Array) -> None:
        raise AttributeError(_FIXED)

    @property
    def imag(self) -> Array:
        return as_python(np.imag(self.as_array()))

    @imag.setter
    def imag(self, value: Array) -> None:
        raise AttributeError(_FIXED)

    def conjugate(self) -> Array:
        """The conjugate number; a real one itself."""
        return as_python(np.conj(self.as_array()))


# Operators with fast paths: Python's name, the operation's, the sign, and for which values `a` and `b` the slow path is
# taken, since Python raises for them or gives a complex number.
FAST_OPERATORS = (
    ("add", "add", "+", ""),
    ("sub", "subtract", "-", ""),
    ("mul", "multiply", "*", ""),
    ("truediv", "divide", "/", "type(b) not in real or not b"),
    (
        "pow",
        "power",
        "**",
        "type(a) not in real or type(b) not in real or not -30 < b < 30 "
        "or not (1e-9 < a < 1e9 or type(b) is int and b >= 0 and -1e9 < a < 1e9)",
    ),
)
REFLECTED = {f"r{name}": op for name, op, _, _ in FAST_OPERATORS}


def add_fast_comparisons(kind: type, value: str) -> None:
    """Give a class of numbers comparisons that compare at once where both are plain; `value` is where a number is."""
    for name, sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("ne", "!=")):
        setattr(kind, f"__{name}__", _first_comparison(kind, value, name, sign))


def _first_comparison(kind: type, value: str, name: str, sign: str) -> Operator:
    """A comparison that is written when it is first used."""

    def first(self: Array, other: Array) -> Array:
        scope = {
            "__name__": __name__,
            "own": kind,
            "real": REAL,
            "float64": np.float64,
            "slow": getattr(PythonNumber, f"__{name}__"),
        }
        unless = " and a != b" if sign == "!=" else ""  # an equal number may be a kept one
        text = f"""def compare(self, other):
    kind = type(other)
    a, b = self.{value}, other.{value} if kind is own else other
    if type(a) is float64 and type(b) in real and kind is not float64{unless}:
        return float(a) {sign} b if kind is int else bool(a {sign} b)  # Python does not round whole numbers
    return slow(self, other)"""
        compare: Operator = defined(text, f"comparison of {kind.__name__}", scope, "compare")
        setattr(kind, f"__{name}__", compare)
        return compare(self, other)

    return first


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"):
    _middle = _name.rstrip("_")
    setattr(PythonNumber, f"__{_middle}__", _binary(_name))
    setattr(PythonNumber, f"__r{_middle}__", _binary(_name, True))
    setattr(PythonNumber, f"__i{_middle}__", _binary(_name))  # the name moves on to another number
for _name in _COMPARISONS[:-2]:
    setattr(PythonNumber, f"__{_name}__", _comparison(_name))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(PythonNumber, f"__{_name}__", _unary(_name))
for _name in _NUMPYS:
    setattr(PythonNumber, _name, _hidden(_name))
