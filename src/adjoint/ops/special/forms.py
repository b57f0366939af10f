"""How a universal function of `scipy.special` becomes an operation: its arguments' names, and one rule for each."""

from __future__ import annotations

import numpy as np
from scipy import special

from adjoint.core.backend import maybe_any
from adjoint.core.box import Box
from adjoint.core.constructors import elementwise
from adjoint.core.errors import DTypeError
from adjoint.core.op import Op, Rule, Samples, call, rule_of
from adjoint.core.protocol import detached
from adjoint.core.registry import register
from adjoint.core.rules.pullbacks import NotDifferentiable
from adjoint.core.types import Array, Function, Value

BY_SHAPE = NotDifferentiable("its derivative by a shape parameter has no closed form")
BY_ORDER = NotDifferentiable("its derivative by the order has no closed form")
BY_COUNT = NotDifferentiable("it is a count")

# Where the tests take an argument: at one number, or drawn from an interval.
SamplePlace = float | tuple[float, float]


def of_ufunc(ufunc: Value, **rules: Value) -> Array:
    """An elementwise operation that answers SciPy's ufunc."""
    return elementwise(ufunc, answers=(ufunc,), **rules)


def function_of(
    names: str, ufunc: Value, *rules: Value, at: tuple[SamplePlace, ...], shape: tuple[int, ...] = (3, 4),
    name: str | None = None, double: bool = False,
) -> Op:  # fmt: skip
    """The operation for a `ufunc` of the arguments `names`, "a b x" say.

    Args:
        rules: for each argument, its partial derivative: a function of arguments by name and of ``out``, a
            number, or `NotDifferentiable`. Where the ufunc has several results, the partial derivative of each.
        at: where the tests take each argument.
        shape: of the arrays that they take; a small one where derivatives take long.
        double: compute in float64, since SciPy's form of it for float32 gives nan, or a warning.
    """
    ufunc = getattr(ufunc, "__wrapped__", ufunc)  # SciPy dresses its ufuncs when SCIPY_ARRAY_API is set
    dressed: Value = getattr(special, ufunc.__name__, None)
    dressed = dressed if getattr(dressed, "__wrapped__", None) is ufunc else ufunc
    name, inputs, answers = name or ufunc.__name__, tuple(names.split()), (ufunc, dressed)
    forward = _in_double(ufunc) if double else ufunc
    if ufunc.nout == 1:
        pairs = zip(rules, inputs, strict=True)
        partials = [defined(narrowed(rule) if len(inputs) > 1 else rule, own) for rule, own in pairs]
        return elementwise(
            forward, name=name, inputs=inputs, partials=partials, answers=answers, samples=_drawn(at, shape)
        )
    read = tuple(
        Rule(rule) if isinstance(rule, NotDifferentiable) else _through(rule, own)
        for rule, own in zip(rules, inputs, strict=True)
    )
    op = Op(
        name,
        forward,
        inputs,
        read,
        batch="elementwise",
        multiple=True,
        answers=tuple(dict.fromkeys(answers)),
        samples=_drawn(at, shape),
    )
    register(op)
    return op


_NUMPYS: dict[type, Function] = {int: np.int64, float: np.float64}


def narrowed(rule: Value) -> Value:
    """A rule whose result has the dtype of the arrays it names, whatever Python numbers stand beside them."""
    if isinstance(rule, NotDifferentiable):
        return rule
    function, names = rule_of(rule)
    if not callable(function):
        return rule

    def of_numpys(*values: Array) -> Array:
        numpys = [_NUMPYS[type(value)](value) if type(value) in _NUMPYS else value for value in values]
        slope = function(*numpys)  # Python's own would raise, or give complex roots
        dtypes = [value.dtype for value in values if hasattr(value, "dtype")]
        dtype = np.result_type(*dtypes) if dtypes else slope.dtype
        return slope.astype(dtype) if slope.dtype != dtype and slope.dtype.kind == dtype.kind else slope

    return Rule(of_numpys, names)


def where(condition: Array, chosen: Array, otherwise: Array) -> Array:
    """`numpy.where`, and a number of numbers: an array of NumPy's could not stand beside one from elsewhere."""
    found: Array = np.where(condition, chosen, otherwise)
    return found[()] if type(found) is np.ndarray and not found.ndim else found


def defined(rule: Value, own: str) -> Array:
    """A partial derivative by the argument `own`: nan where the value is, and 0 at infinity where the value is finite.

    Formulas go on outside of where the function is defined, and at infinity they multiply 0 and infinity.
    """
    if isinstance(rule, NotDifferentiable) or (not callable(rule) and rule == 0):
        return rule
    function, names = rule_of(rule)
    named = tuple(dict.fromkeys((*names, own, "out")))
    places = [named.index(name) for name in names]

    def slope(*values: Array) -> Array:
        x, out = values[named.index(own)], values[named.index("out")]
        given: Value = function(*(values[k] for k in places)) if callable(function) else function
        if isinstance(out, Box) and out.is_formula:
            return given
        return where(np.isnan(out), detached(out), flat_at_infinity(given, x, out))

    return Rule(slope, named)


def flat_at_infinity(slope: Value, x: Array, out: Array) -> Array:
    """The `slope`; 0 where x is infinite and the value is not."""
    far = np.isinf(x)
    return where(np.logical_and(far, np.isfinite(out)), 0.0, slope) if maybe_any(far) else slope


def _in_double(ufunc: Value) -> Function:
    def forward(*args: Value) -> Array:
        given = (*(x.dtype if hasattr(x, "dtype") else type(x) for x in args), *(None,) * ufunc.nout)
        narrow = ufunc.resolve_dtypes(given)[-1] == np.float32
        out = ufunc(*(x.astype(float) if getattr(x, "dtype", None) == np.float32 else x for x in args))
        if not narrow:
            return out
        return tuple(part.astype(np.float32) for part in out) if ufunc.nout > 1 else out.astype(np.float32)

    return forward


def _through(rule: Value, own: str) -> Rule:
    """The rule for the argument `own` of a function of several results, from the slope of each of them."""
    slopes, names = rule_of(rule)
    assert callable(slopes)
    named = tuple(dict.fromkeys((*names, own, "out")))
    places = [named.index(name) for name in names]

    def cotangent(g: Array, *values: Array) -> Array:
        x, out = values[named.index(own)], values[named.index("out")]
        total = np.zeros_like(g[0])
        for g_k, slope, y in zip(g, slopes(*(values[k] for k in places)), out, strict=True):
            unused = isinstance(g_k, np.ndarray | np.generic) and not np.any(g_k)
            total = total if unused else total + g_k * np.conj(flat_at_infinity(slope, x, y))
        return total

    return Rule(cotangent, ("g", *named))


def _drawn(at: tuple[SamplePlace, ...], shape: tuple[int, ...]) -> Samples:
    def samples(r: Function) -> list[Array]:
        def arguments(*shape: int) -> list[Array]:
            return [r(*shape, low=p[0], high=p[1]) if isinstance(p, tuple) else p for p in at]

        return [call(*arguments(*shape)), call(*arguments())]

    return samples


def real(x: Array, function: str) -> Array:
    """`x`, unless it is complex, where `function` is scaled by absolute values and so not holomorphic."""
    if np.iscomplexobj(x):
        raise DTypeError(f"scipy.special.{function} has a derivative for real numbers only; got complex ones")
    return x
