"""Derivative rules of one's own: `custom_vjp`, `custom_jvp`, `stop_gradient`.

A function with a rule is carried out on arrays of every kind by `adjoint.transforms.carried`. Each of the two modes
follows from a rule for the other one: the derivative is linear, so it can be transposed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import update_wrapper
from typing import Any

import numpy as np

from adjoint.batch.samples import each_sample
from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, NotSupportedError, RuleError
from adjoint.core.pulls import dtype_of, shape_of
from adjoint.core.trees import flatten, is_leaf, map_tree, matched, paths
from adjoint.tape.node import as_array
from adjoint.transforms.carried import Arrays, Derivative, carried_out, operations
from adjoint.transforms.reverse import vjp

Function = Callable[..., Any]


def stop_gradient(tree: Any) -> Any:
    """The same values as constants: no mode, and no nesting of modes, differentiates through them.

    Args:
        tree: an array, or a tree of arrays and anything else.

    Returns:
        A tree like it. Inside `vmap` each sample keeps its own value.

    Example:
        >>> import adjoint as ad
        >>> ad.grad(lambda x: x * ad.stop_gradient(x))(3.0)
        np.float64(3.0)
    """
    return map_tree(lambda x: x.detach() if isinstance(x, Box) else x, tree)  # type: ignore[attr-defined]  # every box has detach()


class Custom:
    """What `custom_vjp` and `custom_jvp` have in common: the function, and which of its arguments vary."""

    __name__: str

    def __init__(self, function: Function, nondiff_argnums: Sequence[int] | int) -> None:
        if not callable(function):
            raise ArgumentError(f"{type(self).__name__} decorates a function; got {function!r}")
        self.function = function
        self.fixed = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        self.name = getattr(function, "__name__", type(function).__name__)
        self.ops = operations(self.name)
        self.signature: inspect.Signature | None = None
        if not isinstance(function, np.ufunc):  # whose defaults can not be given
            with suppress(TypeError, ValueError):  # a function of some other language has none
                self.signature = inspect.signature(function)
        given = self.signature.parameters.values() if self.signature is not None else ()
        by_position = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in given)
        self.count = len(given) if by_position else -1
        if any(k < 0 for k in self.fixed):
            raise ArgumentError(f"{self.name}: nondiff_argnums counts from 0; got {self.fixed}")
        update_wrapper(self, function)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """All arguments that have a position, by position and with their defaults; and those that have none."""
        if self.signature is None or (len(args) == self.count and not kwargs):
            return list(args), kwargs
        given = self.signature.bind(*args, **kwargs)
        given.apply_defaults()
        return list(given.args), given.kwargs

    def argument(self, i: int) -> str:
        """What messages call argument number `i`."""
        names = list(self.signature.parameters) if self.signature is not None else []
        return f"argument {i}" + (f" (`{names[i]}`)" if i < len(names) else "")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if all(is_leaf(x) and not isinstance(x, Box) for x in args) and not kwargs:
            return self.function(*args)
        made = self.call(*self.bound(args, kwargs))
        if not made.boxed:
            return self.function(*args, **kwargs)
        results = carried_out(made, made.leaves)
        return made.rebuilt(results)  # known by now

    def call(self, args: list[Any], settings: dict[str, Any]) -> Call:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class Call(Derivative):
    """One call: the arguments that vary as one list of arrays, the others as they are."""

    aside: frozenset[int] = frozenset()

    def __init__(self, custom: Any, args: list[Any], settings: dict[str, Any]) -> None:
        self.custom, self.args, self.settings = custom, args, settings
        self.name, self.ops = custom.name, custom.ops
        self.numbers = [i for i in range(len(args)) if i not in custom.fixed]
        self.fixed = [args[i] for i in custom.fixed if i < len(args)]
        self.varying = tuple(args[i] for i in self.numbers)
        self.rebuilt: Callable[[list[Any]], Any] = lambda outs: outs
        self._rebuild: Callable[[list[Any]], Any]
        if all(map(is_leaf, self.varying)):
            self.leaves, self._rebuild = list(self.varying), tuple
        else:
            self.leaves, self._rebuild = flatten(self.varying)
        self.boxed = any(isinstance(x, Box) for x in self.leaves)
        if self.boxed and self._rebuild is not tuple:
            self._check()

    def _check(self) -> None:
        for i, arg in zip(self.numbers, self.varying, strict=True):
            for x in flatten(arg)[0]:
                if not _is_number(x):
                    raise ArgumentError(
                        f"{self.name}: {self.custom.argument(i)} holds {type(x).__name__}, which is no array. If it is "
                        f"a setting, say so: nondiff_argnums=({i},)"
                    )

    def called(self, xs: Arrays) -> Any:
        """The function's own value."""
        args = list(self.args)
        for i, arg in zip(self.numbers, self._rebuild(list(xs)), strict=True):
            args[i] = arg
        return self.custom.function(*args, **self.settings)

    def arguments(self, xs: Arrays) -> Any:
        """`xs` as the varying arguments."""
        return self._rebuild(list(xs))

    def results(self, value: Any) -> list[Any]:
        """The arrays in the function's value."""
        leaves, self.rebuilt = flatten(value)
        for x in leaves:
            if not _is_number(x):
                raise RuleError(f"{self.name} must give arrays, or a tree of them; its value holds {type(x).__name__}")
        return [as_array(x) if hasattr(x, "dtype") else self._number(x) for x in leaves]

    def _number(self, x: Any) -> Any:
        """A Python number as one of NumPy's, in the arguments' precision: foreign code knows no other numbers."""
        given = [x.dtype for x in self.leaves if hasattr(x, "dtype") and x.dtype.kind in "fc"]
        return np.asarray(x, np.result_type(*given, x) if given else None)[()]

    def value(self, xs: Arrays) -> list[Any]:
        return self.results(each_sample(self.called, list(xs)))


def _is_number(x: Any) -> bool:
    return hasattr(x, "dtype") or isinstance(x, float | int | complex)


class custom_vjp(Custom):  # noqa: N801 - used like a function, and JAX's name
    """A function with a gradient rule of its own; a decorator.

    Args:
        function: takes arrays or trees of arrays, gives the same. What it does is not looked at: it may be any code.
        nondiff_argnums: the numbers of arguments that are settings. Arguments that can only be given by name are
            settings too.

    The rule is two functions: ``f.defvjp(fwd, bwd)``. ``fwd`` takes the arguments of `function`, and gives
    ``(value, residual)``; the residual is any tree of what ``bwd(residual, g)`` needs, which takes the cotangent of the
    value and gives a tuple: for each argument that is no setting its cotangent, a tree like the argument, None where
    there is none. Settings by number stand before the residual, ``bwd(n, residual, g)``; settings by name are given to
    both, if they take them.

    Every mode follows. Forward mode transposes ``bwd``, which must then be written in NumPy functions. Higher
    derivatives differentiate ``fwd`` and ``bwd`` as they are written. Inside `vmap` the functions see all samples at
    once, and where they can not (foreign code), one after another.

    Raises:
        RuleError: if a rule gives something of the wrong count, structure, shape or dtype.
        GradientError: if `function` uses a tensor that is none of its arguments, and a gradient would be lost.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> @ad.custom_vjp
        ... def softplus(x):
        ...     return np.logaddexp(0.0, x)
        >>> softplus.defvjp(lambda x: (softplus(x), x), lambda x, g: (g / (1 + np.exp(-x)),))
        >>> ad.grad(softplus)(0.0), ad.grad(ad.grad(softplus))(0.0)
        (np.float64(0.5), np.float64(0.25))
    """

    def __new__(cls, function: Any = None, nondiff_argnums: Any = ()) -> Any:
        if function is None:
            return lambda function: cls(function, nondiff_argnums)
        return super().__new__(cls)

    def __init__(self, function: Function, nondiff_argnums: Sequence[int] | int = ()) -> None:
        super().__init__(function, nondiff_argnums)
        self.fwd: Function | None = None
        self.bwd: Function | None = None

    def defvjp(self, fwd: Function, bwd: Function) -> None:
        """State the rule; see the class."""
        self.fwd, self.bwd = fwd, bwd

    def call(self, args: list[Any], settings: dict[str, Any]) -> Call:
        if self.fwd is None or self.bwd is None:
            raise ArgumentError(f"{self.name} has no gradient rule yet: {self.name}.defvjp(fwd, bwd)")
        return _VjpCall(self, args, settings)


class _VjpCall(Call):
    def forward(self, xs: Arrays) -> tuple[list[Any], Any]:
        args = list(self.args)
        for i, arg in zip(self.numbers, self.arguments(xs), strict=True):
            args[i] = arg
        pair = each_sample(lambda args: self.custom.fwd(*args, **taken(self.custom.fwd, self.settings)), args)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise RuleError(f"the fwd rule of {self.name} must return (value, residual); it returned {_what(pair)}")
        return self.results(pair[0]), pair[1]

    def residual(self, xs: Arrays) -> Any:
        return self.forward(xs)[1]

    def backward(self, residual: Any, gs: Arrays, wanted: Sequence[int]) -> list[Any]:
        bwd = self.custom.bwd
        settings = taken(bwd, self.settings)
        shares = each_sample(lambda r, g: bwd(*self.fixed, r, g, **settings), residual, self.rebuilt(list(gs)))
        if not isinstance(shares, tuple | list):
            raise RuleError(
                f"the bwd rule of {self.name} must return a tuple with one cotangent an argument, ({self._names()},); "
                f"it returned {_what(shares)}"
            )
        if len(shares) != len(self.numbers):
            raise RuleError(
                f"the bwd rule of {self.name} must return {len(self.numbers)} cotangent(s), one an argument "
                f"({self._names()}); it returned {len(shares)}. None stands for an argument that has none"
            )
        found: list[Any] = []
        for i, arg, share in zip(self.numbers, self.varying, shares, strict=True):
            where = f"the cotangent that the bwd rule of {self.name} returned for {self.custom.argument(i)}"
            found += _fitting(where, share, arg)
        return found

    def _names(self) -> str:
        names = list(self.custom.signature.parameters) if self.custom.signature is not None else []
        return ", ".join(names[i] if i < len(names) else f"argument {i}" for i in self.numbers)

    def push(self, xs: Arrays, ts: Arrays) -> tuple[list[Any], list[Any]]:
        outs, residual = self.forward(xs)
        wanted = [i for i, t in enumerate(ts) if t is not None]
        smooth = [k for k, out in enumerate(outs) if dtype_of(out).kind in "fc"]
        kept: list[int] = []

        def pull(gs: list[Any]) -> list[Any]:
            cotangents = [np.zeros_like(out) for out in outs]
            for k, g in zip(smooth, gs, strict=True):
                cotangents[k] = g
            found = self.backward(residual, cotangents, wanted)
            kept[:] = [i for i in wanted if found[i] is not None]
            return [found[i] for i in kept]

        try:
            pullback = vjp(pull, [np.zeros_like(outs[k]) for k in smooth])[1]
        except RuleError:
            raise
        except Exception as error:
            raise NotSupportedError(
                f"forward mode of {self.name} needs the transpose of its bwd rule, which is not written in NumPy "
                f"functions throughout ({_short(error)}). State a forward rule instead: ad.custom_jvp"
            ) from error
        pushed: list[Any] = [None] * len(outs)
        for k, t in zip(smooth, pullback([ts[i] for i in kept])[0] if kept else (), strict=False):
            pushed[k] = t
        return outs, pushed


class custom_jvp(Custom):  # noqa: N801 - used like a function, and JAX's name
    """A function with a forward rule of its own; a decorator.

    Args:
        function, nondiff_argnums: as for `custom_vjp`.

    The rule is one function, ``f.defjvp(rule)``, which may be used as a decorator: ``rule(primals, tangents)`` takes
    two tuples, with an entry for each argument that is no setting (settings by number stand before them), and gives
    ``(value, tangent)``, the tangent a tree like the value, None where it is zero. It must be linear in `tangents`,
    which have zeros for what does not vary.

    Every mode follows: a gradient is the transpose of the rule, which must then compute its tangent from `tangents`
    by NumPy functions (the value may come from any code). Errors are those of `custom_vjp`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> @ad.custom_jvp
        ... def log1pexp(x):
        ...     return np.log(1 + np.exp(x))
        >>> @log1pexp.defjvp
        ... def rule(primals, tangents):
        ...     (x,), (t,) = primals, tangents
        ...     return log1pexp(x), t * (1 - 1 / (1 + np.exp(x)))
        >>> ad.jvp(log1pexp, (0.0,), (2.0,))[1], ad.grad(log1pexp)(0.0)
        (np.float64(1.0), np.float64(0.5))
    """

    def __new__(cls, function: Any = None, nondiff_argnums: Any = ()) -> Any:
        if function is None:
            return lambda function: cls(function, nondiff_argnums)
        return super().__new__(cls)

    def __init__(self, function: Function, nondiff_argnums: Sequence[int] | int = ()) -> None:
        super().__init__(function, nondiff_argnums)
        self.rule: Function | None = None

    def defjvp(self, rule: Function) -> Function:
        """State the rule; see the class."""
        self.rule = rule
        return rule

    def call(self, args: list[Any], settings: dict[str, Any]) -> Call:
        if self.rule is None:
            raise ArgumentError(f"{self.name} has no forward rule yet: {self.name}.defjvp(rule)")
        return _JvpCall(self, args, settings)


class _JvpCall(Call):
    def forward(self, xs: Arrays) -> tuple[list[Any], Any]:
        return carried_out(self, xs), list(xs)

    def residual(self, xs: Arrays) -> Any:
        return list(xs)

    def push(self, xs: Arrays, ts: Arrays) -> tuple[list[Any], list[Any]]:
        rule, zeros = self.custom.rule, [np.zeros_like(x) if t is None else t for x, t in zip(xs, ts, strict=True)]
        settings = taken(rule, self.settings)
        pair = each_sample(
            lambda xs, ts: rule(*self.fixed, xs, ts, **settings), self.arguments(xs), self.arguments(zeros)
        )
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise RuleError(f"the jvp rule of {self.name} must return (value, tangent); it returned {_what(pair)}")
        outs = self.results(pair[0])
        return outs, _fitting(f"the tangent that the jvp rule of {self.name} returned", pair[1], pair[0])

    def backward(self, residual: Any, gs: Arrays, wanted: Sequence[int]) -> list[Any]:
        found: list[Any] = [None] * len(residual)
        smooth: list[int] = []

        def pushed(ts: list[Any]) -> list[Any]:
            tangents: list[Any] = [None] * len(residual)
            for i, t in zip(wanted, ts, strict=True):
                tangents[i] = t
            results = self.push(residual, tangents)[1]
            smooth[:] = [k for k, t in enumerate(results) if t is not None]
            return [results[k] for k in smooth]

        try:
            pullback = vjp(pushed, [np.zeros_like(residual[i]) for i in wanted])[1]
        except RuleError:
            raise
        except Exception as error:
            raise NotSupportedError(
                f"the gradient of {self.name} needs the transpose of its jvp rule, whose tangent is not computed by "
                f"NumPy functions throughout ({_short(error)}). State a gradient rule instead: ad.custom_vjp"
            ) from error
        for i, c in zip(wanted, pullback([gs[k] for k in smooth])[0] if smooth else (), strict=False):
            found[i] = c
        return found


def taken(rule: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Those of `settings` that `rule` takes by name."""
    if not settings:
        return settings
    parameters = inspect.signature(rule).parameters
    every = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return {name: value for name, value in settings.items() if every or name in parameters}


def _fitting(where: str, tree: Any, like: Any) -> list[Any]:
    """The arrays in `tree`, which must have the structure, shapes and kinds of numbers of `like`; None is zero."""
    try:
        found = matched(tree, like)
    except ValueError as error:
        raise RuleError(f"{where} has another structure: {error}") from None
    leaves = flatten(like)[0]
    for k, (c, x) in enumerate(zip(found, leaves, strict=True)):
        if c is None:
            continue
        if not _is_number(c):
            raise RuleError(f"{where}{paths(like)[k]} must be an array, or None for no derivative; got {_what(c)}")
        kind, shape = dtype_of(c).kind, shape_of(c)
        wanted = dtype_of(x)
        if shape != shape_of(x):
            raise RuleError(f"{where}{paths(like)[k]} has shape {shape}; it must have shape {shape_of(x)}")
        if wanted.kind in "fc" and (kind not in "fc" or (kind == "c" and wanted.kind == "f")):
            raise RuleError(f"{where}{paths(like)[k]} has dtype {dtype_of(c)}; it must be of the kind of {wanted}")
    pairs = zip(found, leaves, strict=True)
    return [None if c is None or dtype_of(x).kind not in "fc" else as_array(c) for c, x in pairs]


def _what(x: Any) -> str:
    if isinstance(x, tuple | list):
        return f"{type(x).__name__} of {len(x)}"
    shape = getattr(x, "shape", None)
    return type(x).__name__ if shape is None else f"one array of shape {shape}"


def _short(error: Exception) -> str:
    """The first sentence of an error."""
    return f"{type(error).__name__}: {str(error).split('. ')[0]}"
