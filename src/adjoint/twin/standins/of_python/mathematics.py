"""Stand-ins for the functions of ``math`` and ``cmath``: NumPy's for boxes, with Python's errors."""

from __future__ import annotations

import cmath
import functools
import math
import operator
from collections.abc import Callable, Iterable

import numpy as np

from adjoint.arrays.python_number import as_numpy, as_python
from adjoint.core.box import Box, raw, varies
from adjoint.core.errors import BatchedValueError
from adjoint.core.protocol import detached
from adjoint.core.registry import operation
from adjoint.core.types import Array, Function, Value
from adjoint.ops.elementwise.complex import join_parts
from adjoint.tape.number import TensorNumber
from adjoint.tape.tensor import Tensor
from adjoint.twin.standins.of_numpy.joining import for_all, joined
from adjoint.twin.standins.values import boxed, checked, is_box, is_open, plainly

# math's name -> NumPy's, for what has one argument.
_OF_ONE = {
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "exp2", "log", "log2")},
    **{name: name for name in ("log10", "log1p", "sqrt", "cbrt", "degrees", "radians", "fabs")},
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
# Those that have a value for every number: nothing needs to be checked first.
_TOTAL = frozenset(("atan", "asinh", "tanh", "fabs", "degrees", "radians", "cbrt"))
_FLOAT = np.dtype("float64")


def _real(x: Value) -> Array:
    """`x` in double precision, in which ``math`` computes."""
    return as_numpy(x).astype(float) if is_box(x) and x.dtype is not _FLOAT and x.dtype.kind in "fiub" else x


def of_one(original: Function, ufunc: np.ufunc) -> Function:
    """The stand-in of a function of one argument, which `ufunc` computes."""
    total = original.__name__ in _TOTAL

    def stand_in(*args: Array) -> Array | None:
        if len(args) != 1:
            return original(*args)
        (x,) = args
        if type(x) is Tensor or type(x) is TensorNumber:
            value = x.held
            if type(value) is np.float64:
                if not total:
                    original(value)
                return as_python(ufunc(x))
        elif not is_box(x):
            return original(x)
        x = as_numpy(x)
        if x.shape:
            original(np.empty(x.shape))
        if x.dtype.kind == "c":
            original(1j)
        if varies(x):
            return as_python(_of_samples(original, ufunc, _real(x)))
        if not total:
            checked(original, x)
        return as_python(ufunc(_real(x)))

    return _named(stand_in, original)


def _of_samples(original: Function, ours: Function, *args: Array) -> Array | None:
    """The function of many samples. It raises if all of them raise; if only some do, that is refused."""
    with np.errstate(all="ignore"):
        out = ours(*args)
    if isinstance(out, tuple):  # of modf and frexp, which have a value for every number
        return out
    values = raw(out)
    if is_box(values) or any(isinstance(x, list) for x in args) or np.all(np.isfinite(values)):
        return out
    errors = []
    for row in zip(*map(np.ravel, np.broadcast_arrays(*map(raw, args), values)[:-1]), strict=True):
        try:
            original(*row)
        except (ValueError, OverflowError) as error:
            errors.append(error)
    if not errors:
        return out
    if len(errors) == np.size(values):
        raise errors[0]
    raise BatchedValueError(
        f"math.{original.__name__} raises {type(errors[0]).__name__} for some of the samples of a vmap, and not for "
        f"others. Use NumPy's function, which gives nan or an infinity, and choose: np.where(condition, a, b)"
    )


def of_several(original: Function, ours: Function, check: bool = True) -> Function:
    """The stand-in of a function of any arguments, which `ours` computes for boxes."""

    def stand_in(*args: object, **kwargs: object) -> Array | None:
        args = tuple(
            list(a) if isinstance(a, Iterable) and not isinstance(a, Box | np.ndarray | str) else a for a in args
        )
        if not (any(map(boxed, args)) or any(map(boxed, kwargs.values()))):
            return original(*args, **kwargs)
        if check and all(is_open(x) for a in args for x in (a if isinstance(a, list) else [a]) if is_box(x)):
            original(*map(plainly, args), **{name: plainly(value) for name, value in kwargs.items()})
        args = tuple(map(_real, args))
        if check and not kwargs and any(map(varies, args)):
            return _pythons(_of_samples(original, ours, *args))
        return _pythons(ours(*args, **kwargs))

    return _named(stand_in, original)


def _pythons(out: Array) -> Array:
    """The result of a function of ``math``, as numbers of Python's."""
    if isinstance(out, tuple):
        return tuple(map(_pythons, out))
    return as_python(out) if is_box(out) else out


def _named(stand_in: Function, original: Function) -> Function:
    stand_in.__name__ = stand_in.__qualname__ = original.__name__
    stand_in.__doc__ = original.__doc__
    return stand_in


def whole(x: Array, rounding: Callable[[Value], Value]) -> Value:
    """The whole number that `rounding` makes of the box `x`; of samples that differ, a box of whole numbers."""
    return _pythons(for_all(rounding(detached(x))))


def _logarithm(x: Array, base: Array | None = None) -> Array:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _remainder(x: Array, y: object) -> Array:
    return x - y * np.rint(detached(x) / detached(y))


def _ldexp(x: Array, i: Value) -> Array:
    return x * 2.0 ** plainly(i)


def _frexp(x: Array) -> tuple[object, object]:
    exponent = for_all(np.frexp(detached(x))[1])
    return x * np.exp2(-1.0 * exponent), exponent


def _modf(x: Array) -> tuple[object, object]:
    part = np.trunc(detached(x))
    return x - part, part


def _nextafter(x: Value, y: Value, *, steps: int | None = None) -> object:
    given = {} if steps is None else {"steps": steps}
    value = plainly(detached(x))
    return x + (math.nextafter(value, plainly(detached(y)), **given) - value)


def _fsum(items: object) -> Array:
    return np.sum(joined(items))


def _prod(items: Iterable[Value], /, *, start: Value = 1) -> Value:
    items = list(items)
    return functools.reduce(operator.mul, items, start) if boxed([*items, start]) else math.prod(items, start=start)


def _hypot(*coordinates: Value) -> object:
    if len(coordinates) == 2:
        return np.hypot(*coordinates)
    return np.linalg.norm(joined(list(coordinates)))


def _dist(p: Value, q: Value) -> Array:
    return np.linalg.norm(joined(p) - joined(q) if boxed(q) else joined(p) - np.asarray(q))


def _sumprod(p: Value, q: Value) -> object:
    return sum(a * b for a, b in zip(p, q, strict=True))


def _isclose(a: Array, b: Value, *, rel_tol: Value = 1e-9, abs_tol: Value = 0.0) -> bool:
    a, b = detached(a), detached(b)
    return bool(np.abs(a - b) <= np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)) or bool(
        np.all(a == b)
    )


def _special(name: str) -> Callable[[Value], Value]:
    return lambda x: operation(name)(x)


def _copysign(x: Array, y: Array) -> Array:
    return np.copysign(x, y)


_OF_SEVERAL: dict[str, Function] = {
    "log": _logarithm,
    "atan2": np.arctan2,
    "pow": np.power,
    "fmod": np.fmod,
    "remainder": _remainder,
    "ldexp": _ldexp,
    "frexp": _frexp,
    "modf": _modf,
    "copysign": _copysign,
    "nextafter": _nextafter,
    "fsum": _fsum,
    "hypot": _hypot,
    "dist": _dist,
    "sumprod": _sumprod,
    "fma": lambda x, y, z: x * y + z,
    "gamma": _special("gamma"),
    "lgamma": _special("gammaln"),
    "erf": _special("erf"),
    "erfc": _special("erfc"),
    "floor": lambda x: whole(x, np.floor),
    "ceil": lambda x: whole(x, np.ceil),
    "trunc": lambda x: whole(x, np.trunc),
}
# Answers that no derivative flows through.
_QUESTIONS: dict[str, Function] = {
    "isclose": _isclose,
    "isnan": lambda x: bool(np.isnan(detached(x))),
    "isinf": lambda x: bool(np.isinf(detached(x))),
    "isfinite": lambda x: bool(np.isfinite(detached(x))),
}


def _complex(x: Value) -> Array:
    """The argument `x` of a function of ``cmath``, which computes with 64 bits."""
    return as_numpy(x).astype(complex) if is_box(x) and x.dtype != complex else x


def _phase(z: Array) -> Array:
    return np.arctan2(np.imag(z), np.real(z))


_COMPLEX: dict[str, Function] = {
    **{name: getattr(np, np_name) for name, np_name in _OF_ONE.items() if hasattr(cmath, name)},
    "log": lambda z, base=None: _logarithm(_complex(z), None if base is None else _complex(base)),
    "phase": _phase,
    "polar": lambda z: (np.abs(z), _phase(z)),
}


def _of_complex(original: Function, ours: Function) -> Function:
    def stand_in(*args: Array) -> Array:
        if not any(map(boxed, args)):
            return original(*args)
        checked(original, *args)
        return _pythons(ours(*map(_complex, args)))

    return _named(stand_in, original)


def _rect(r: Array, phi: Array) -> Array:
    if not (boxed(r) or boxed(phi)):
        return cmath.rect(r, phi)
    r, phi = as_numpy(_real(r)), as_numpy(_real(phi))
    return _pythons(join_parts(r * np.cos(phi), r * np.sin(phi)))


def table() -> Iterable[tuple[Value, Function]]:
    """The functions of ``math`` and ``cmath`` that need a stand-in, and these."""
    for name in dir(math):
        original = getattr(math, name)
        if name.startswith("_") or not callable(original):
            continue
        if name == "prod":
            yield original, _named(_prod, original)
        elif name in _OF_SEVERAL:
            yield original, of_several(original, _OF_SEVERAL[name], check=name not in ("fsum", "sumprod"))
        elif name in _OF_ONE:
            yield original, of_one(original, getattr(np, _OF_ONE[name]))
        elif name in _QUESTIONS:
            yield original, of_several(original, _QUESTIONS[name], check=False)
        else:  # of whole numbers
            yield original, _of_numbers(original)
    for name in dir(cmath):
        original = getattr(cmath, name)
        if name in _COMPLEX:
            yield original, _of_complex(original, _COMPLEX[name])
        elif name in _QUESTIONS:
            yield original, of_several(original, _QUESTIONS[name], check=False)
    yield cmath.rect, _rect


def _of_numbers(original: Function) -> Function:
    """The stand-in of a function that has no derivative, such as ``math.gcd`` and ``math.ulp``."""

    def stand_in(*args: object, **kwargs: object) -> object:
        return original(*map(plainly, args), **{name: plainly(value) for name, value in kwargs.items()})

    return _named(stand_in, original)
