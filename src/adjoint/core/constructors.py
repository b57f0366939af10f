"""The few shapes that operations with a derivative come in. Each constructor turns one block of NumPy into an `Op`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import CO_VARARGS, unwrap
from typing import cast

import numpy as np

from adjoint.core.backend import refuse_foreign, spread_to
from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError
from adjoint.core.memory import AS_MADE, NEW, Memory, keeping, out_of
from adjoint.core.op import Op, Rule, SampleCall, Samples, Settle, Within, call, parameters, rule_of
from adjoint.core.registry import Composite, register
from adjoint.core.rules.pullbacks import NO_RULE, NotDifferentiable
from adjoint.core.types import Array, Axis, C, Function, Value

RuleLike = Callable[..., Value] | float | NotDifferentiable | None


Domain = tuple[float, float]


def elementwise(
    forward: Function, *, partial: RuleLike = None, partials: Sequence[RuleLike] = (), vjp: Function | None = None,
    name: str | None = None, inputs: Sequence[str] = (), domain: Domain | Sequence[Domain] = (-2.0, 2.0),
    flags: Sequence[str] = (), answers: Sequence[Function] = (), samples: Samples | None = None,
    errors: Samples | None = None, within: Within | None = None,
) -> Op:  # fmt: skip
    """An operation that works on each element by itself.

    Args:
        forward: a NumPy ufunc, or any function of arrays that broadcasts.
        partial: the partial derivative of a function of one argument ``x``: a function of ``x`` and/or
            ``out`` (its own result), or a number.
        partials: one of these an argument, for functions of ``x, y, …``.
        vjp: instead of `partial`, for functions that are not holomorphic: the cotangent of ``x`` itself,
            a function of ``g`` (the cotangent of the result) and of ``x`` and/or ``out``.
        name: what to call it; the function's own name if not given.
        inputs: the arguments' names, if they are not ``x, y, z, w``.
        domain: where the tests draw their samples, per argument.
        flags: facts for rewrites, such as ``commutative``.
        answers: further NumPy callables that mean the same.
        within: the rule of a function of one argument once more, of the cotangent and what is saved, as a sequence of
            one: it may write into the cotangent, which nothing else refers to.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> cube = ad.elementwise(lambda x: x**3, partial=lambda x: 3 * x**2, name="cube")
        >>> ad.grad(cube)(2.0)
        np.float64(12.0)
    """
    wrapped = getattr(forward, "__wrapped__", None)
    if isinstance(wrapped, np.ufunc):  # SciPy's, which it dresses when SCIPY_ARRAY_API is set
        forward, answers = wrapped, (wrapped, forward, *answers)
    rules = partials or (vjp if vjp is not None else partial,)
    names = tuple(inputs) or ("x", "y", "z", "w")[: getattr(forward, "nin", len(rules))]
    if len(rules) != len(names):
        raise ArgumentError(
            f"{forward} takes {len(names)} arguments, so it needs partials=({', '.join(names)} …); "
            f"got {len(rules)} rule(s)"
        )
    domains: list[Value] = [domain] if isinstance(domain[0], float | int) else list(domain)
    domains = domains * len(names) if len(domains) == 1 else domains
    return registered(
        Op(
            name=name or forward.__name__,
            forward=forward,
            inputs=names,
            rules=tuple(map(_rule, rules)),
            kind="elementwise",
            flags=frozenset(flags),
            answers=answers_of(forward, answers),
            samples=samples or _broadcasting(domains),
            errors=errors,
            within=within,
        )
    )


def _broadcasting(domains: Sequence[Value]) -> Samples:
    """Samples for any elementwise operation: equal shapes, scalars, and broadcasting."""

    def samples(r: Function) -> list[SampleCall]:
        shapes: list[Value] = [[(3, 4)] * len(domains), [()] * len(domains)]
        if len(domains) > 1:
            shapes += [[(3, 1), (4,), (2, 1, 1)][: len(domains)], [(2, 3)] + [()] * (len(domains) - 1)]
        return [
            call(*(r(*shape, low=d[0], high=d[1]) for shape, d in zip(row, domains, strict=False))) for row in shapes
        ]

    return samples


def reduction(
    forward: Function, *, partial: RuleLike = None, vjp: Function | None = None, jvp: Function | None = None,
    name: str | None = None, settings: dict[str, Value] | None = None, domain: Domain = (-2.0, 2.0),
    flags: Sequence[str] = (), answers: Sequence[Function] = (), samples: Samples | None = None,
    errors: Samples | None = None,
) -> Op:  # fmt: skip
    """An operation that takes an array to one number along `axis` (an int, a tuple, or None for all).

    Args:
        forward: ``forward(a, axis=…, keepdims=…)``.
        partial: the derivative of the result by each element: a function of ``a`` and/or ``out`` (which
            comes broadcast against ``a``, as with ``keepdims=True``), ``axis`` and other settings; or a number.
        vjp, jvp: instead of `partial`, for functions that select: rules as `general` takes them.
        settings: further keyword arguments and their defaults.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> rms = ad.reduction(
        ...     lambda a, axis, keepdims: np.sqrt(np.mean(a**2, axis=axis, keepdims=keepdims)),
        ...     partial=lambda a, out: a / out * (out.size / a.size), name="rms", domain=(0.5, 2)
        ... )
        >>> rms(np.array([3.0, 4.0])).round(4), ad.grad(rms)(np.array([3.0, 4.0])).round(4)
        (np.float64(3.5355), array([0.4243, 0.5657]))
    """
    names = parameters(partial) if callable(partial) else ()
    inner = tuple(n for n in names if n != "g")
    saved = tuple(dict.fromkeys(("g", *inner, "a_shape", "axis", "keepdims")))

    def slope(given: dict[str, Value]) -> Value:
        if "out" in given:
            given["out"] = unreduced(given["out"], given["a_shape"], given["axis"], given["keepdims"])
        slopes: Value = partial
        return slopes(**{n: given[n] for n in inner})

    def cotangent(*values: Value) -> Array:
        given = dict(zip(saved, values, strict=True))
        shape, axis, keepdims = given["a_shape"], given["axis"], given["keepdims"]
        factor = slope(given)
        return unreduced(given["g"], shape, axis, keepdims) * (np.conj(factor) if factor.dtype.kind == "c" else factor)

    along = ("t", *dict.fromkeys(("out", *saved[1:])))

    def tangent(*values: Value) -> Value:
        given = dict(zip(along, values, strict=True))
        real = given["out"].dtype.kind != "c"
        terms = given["t"] * slope(given)
        return np.sum(np.real(terms) if real else terms, axis=given["axis"], keepdims=given["keepdims"])

    rule, push = Rule(spread if partial == 1 else cotangent, saved), Rule(tangent, along)
    if vjp is not None and jvp is not None:
        rule, push = rule_of(vjp), rule_of(jvp)
    return registered(
        Op(
            name=name or forward.__name__,
            forward=forward,
            inputs=("a",),
            settings={"axis": None, "keepdims": False, **(settings or {})},
            rules=(rule,),
            jvps=() if partial is not None and not callable(partial) else (push,),
            kind="linear" if partial is not None and not callable(partial) else "reduction",
            flags=frozenset(flags),
            answers=answers_of(forward, answers),
            samples=samples or _along_axes(domain),
            errors=errors,
        )
    )


FILLED = 4096  # elements; fewer are written out


def spread(g: Array, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Array:
    """The cotangent of a sum along `axis`, at each of its terms: an array of `shape`."""
    if isinstance(g, np.ndarray | np.generic) and math.prod(shape) <= FILLED:  # several times as fast as broadcast_to
        c: np.ndarray = np.empty(shape, g.dtype)
        c[...] = g if axis is None else unreduced(g, shape, axis, keepdims)
        return c
    return spread_to(unreduced(g, shape, axis, keepdims), shape)


def unreduced(g: Array, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Array:
    """Give a reduced array back the axes that it lost, with length 1."""
    if keepdims or not shape:
        return g
    if axis is None:
        return g.reshape((1,) * len(shape))
    axes = {a % len(shape) for a in (axis if isinstance(axis, tuple) else (axis,))}
    return g.reshape(tuple(1 if i in axes else n for i, n in enumerate(shape)))


def _along_axes(domain: Domain) -> Samples:
    low, high = domain

    def samples(r: Function) -> list[SampleCall]:
        def a(*shape: int) -> Value:
            return r(*shape, low=low, high=high)

        return [
            call(a(5)),
            call(a(3, 4), axis=0),
            call(a(2, 3, 4), axis=(0, -1)),
            call(a(3, 4), axis=1, keepdims=True),
            call(a(3, 4), keepdims=True),
        ]

    return samples


def general(
    *answers: Function, vjp: RuleLike = None, vjps: Sequence[RuleLike] = (), jvp: Function | None = None,
    jvps: Sequence[Function | None] = (), batch: Function | str | None = None, linear: bool = False,
    multiple: bool = False, flags: Sequence[str] = (), memory: Memory | None = None, samples: Samples | None = None,
    errors: Samples | None = None, settle: Settle | None = None,
) -> Callable[[Function], Op]:  # fmt: skip
    """Decorate ``def f(a, b, /, axis=None)``: arrays before the slash, settings after it.

    Args:
        answers: the NumPy callables that mean this function.
        vjp: the cotangent of the only array: a function of ``g`` and of what else it needs.
        vjps: one such rule an array. For a function of any number of arrays (``*xs``), `vjp` gives a sequence.
        jvp, jvps: the tangent of the result, in the same way: functions of ``t`` and of what else they need. If not
            given, forward mode follows from the gradient rule, at about three times its cost.
        batch: the same function of a stack of samples, if calling it for one after another is too slow: a function
            of the stacked arrays and the settings that it names; or ``"leading"`` for a function that takes stacks
            as it is, ``"axes"`` for one that does so once its axes are counted from 1. See `adjoint.batch.rules`.
        linear: the function is linear in all its arrays together, so `vjp` is its transpose and forward mode is the
            function itself. One that is linear in each of them has the flag ``multilinear``.
        multiple: the function gives a tuple of arrays; its rules take `g` as a list of cotangents, one an
            output, plain zeros for an output that was not used, and `out` as that tuple.
        memory: whether the result is a view, and how it lies; of functions outside the library that do not say it,
            each result is looked at.
        settle: gives the settings for these arrays, where one asks how an array lies in memory.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> @ad.general(vjps=(lambda g, b: g @ b.T, lambda g, a: a.T @ g))
        ... def product(a, b, /):
        ...     return a @ b
        >>> ad.grad(lambda a: np.sum(product(a, np.ones((3, 4)))))(np.ones((2, 3)))
        array([[4., 4., 4.],
               [4., 4., 4.]])
    """

    def decorate(forward: Function) -> Op:
        arrays, many, settings = _arguments(forward)
        return registered(
            Op(
                name=forward.__name__.strip("_"),
                forward=forward,
                inputs=arrays or many,
                settings=settings,
                rules=tuple(map(_rule, vjps or (vjp,))),
                jvps=tuple(None if rule is None else rule_of(rule) for rule in jvps or (jvp,)) if jvps or jvp else (),
                batch=batch,
                kind="linear" if linear else "general",
                joint=bool(many),
                multiple=multiple,
                flags=frozenset(flags),
                memory=memory or (NEW if forward.__module__.startswith("adjoint.") else AS_MADE),
                answers=answers,
                samples=samples,
                errors=errors,
                settle=settle,
            )
        )

    return decorate


def _arguments(forward: Value) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, object]]:
    """The arrays of ``def f(a, b, /, axis=None)`` or of ``def f(*xs, axis=None)``, and the settings with defaults.

    Read off the code, in a sixth of the time that `inspect.signature` takes: this is done at import.
    """
    forward = unwrap(forward)
    code, before = forward.__code__, forward.__defaults__ or ()
    names, fixed = code.co_varnames, code.co_argcount + code.co_kwonlyargcount
    defaults = dict(zip(reversed(names[: code.co_argcount]), reversed(before), strict=False))
    defaults |= forward.__kwdefaults__ or {}
    many = (f"*{names[fixed]}",) if code.co_flags & CO_VARARGS else ()
    settings = {name: defaults.get(name) for name in names[code.co_posonlyargcount : fixed]}
    return names[: code.co_posonlyargcount], many, settings


def linear(
    *answers: Function, transpose: RuleLike, batch: Function | str | None = None, flags: Sequence[str] = (),
    memory: Memory | None = None, samples: Samples | None = None, errors: Samples | None = None,
    settle: Settle | None = None,
) -> Callable[[Function], Op]:  # fmt: skip
    """Decorate a linear function, stating its transpose. See `general`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> @ad.linear(transpose=lambda g, shift: np.roll(g, -shift))
        ... def rolled(a, /, shift=1):
        ...     return np.roll(a, shift)
        >>> ad.grad(lambda a: rolled(a, shift=2)[0])(np.arange(4.0))
        array([0., 0., 1., 0.])
    """
    return general(
        *answers, vjp=transpose, batch=batch, linear=True, flags=flags, memory=memory, samples=samples, errors=errors,
        settle=settle,
    )  # fmt: skip


def composite(
    *answers: Function, samples: Samples | None = None, errors: Samples | None = None, flags: Sequence[str] = (),
    note: str = "", memory: Memory = AS_MADE,
) -> Callable[[C], C]:  # fmt: skip
    """Decorate a function that is written in NumPy calls adjoint understands already.

    With the flag ``constant``, the result has no derivative. With ``number``, a result without axes is a number, as
    NumPy's is, and no array that can be written.

    Args:
        memory: where NumPy's result lies, if the calls used here would put it elsewhere.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> @ad.composite()
        ... def unit(a):
        ...     return a / np.sqrt(np.sum(a * a))
        >>> ad.unit(np.array([3.0, 4.0])), ad.jacobian(unit)(np.array([3.0, 4.0])).shape
        (array([0.6, 0.8]), (2, 2))
    """

    def decorate(function: C) -> C:
        function = keeping(memory, function)
        if "number" in flags:
            function = _giving_numbers(function)
        if "host" in flags:
            function = _on_host(function)
        name = function.__name__
        name = name if any(answer.__name__ == name for answer in answers) else name.strip("_")  # `np.ix_`
        function.__qualname__ = name  # Python's own messages say it
        register(Composite(name, function, answers, samples, errors, frozenset(flags), note, memory))
        return function

    return decorate


def _giving_numbers(function: C) -> C:
    given_out = out_of(function)

    @wraps(function)
    def numbers(*args: object, **kwargs: object) -> Value:
        found: Value = function(*args, **kwargs)
        if not isinstance(found, Box | np.ndarray) or np.shape(cast(Value, found)):
            return found
        return found if found is given_out(args, kwargs) else cast(Value, found)[()]

    return cast(C, numbers)


def in_place(*answers: Function, samples: Samples | None = None, errors: Samples | None = None) -> Callable[[C], C]:
    """Decorate a function that writes into its first argument, and gives nothing back."""
    return composite(*answers, samples=samples, errors=errors, flags=("in_place",))


def _rule(rule: Value) -> Rule:
    if rule is None:
        return NO_RULE
    return Rule(rule) if isinstance(rule, NotDifferentiable) else rule_of(rule)


def answers_of(forward: Value, more: Sequence[Function]) -> tuple[Function, ...]:
    is_numpys = isinstance(forward, np.ufunc) or getattr(forward, "__module__", "").startswith("numpy")
    return ((forward,) if is_numpys else ()) + tuple(more)


def registered(op: Op) -> Op:
    if "host" in op.flags:
        op.forward = _on_host(op.forward)
    register(op)
    return op


def _on_host(forward: C) -> C:
    """The same, which refuses other libraries' arrays first: SciPy's code would fetch the values of some unasked."""

    @wraps(forward)
    def checked(*arrays: Array, **settings: object) -> Value:
        refuse_foreign(arrays)
        return forward(*arrays, **settings)

    return cast(C, checked)


def refusing(name: str, error: type[Exception], text: str) -> Op:
    """The end of a path that must not be taken again: it raises an `error` that says `text`."""

    def refuse(a: Array) -> Array:
        raise error(text)

    return Op(name, refuse, ("a",))
