"""Your own derivative rules: `custom_vjp`, `custom_jvp`, `stop_gradient`.

`adjoint.transforms.custom_rules` carries a function with a rule out on arrays of every kind. Each of the two
modes follows from a rule for the other one: the derivative is linear, so it can be transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from adjoint.batch.samples import each_sample
from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, NotSupportedError, RuleError
from adjoint.core.objects.trees import map_tree
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Function, P, R, T, Value
from adjoint.forward.structure import Diagonal
from adjoint.transforms.calls import Custom, DerivativeCall, fitting, ruling, taken, what
from adjoint.transforms.custom_rules import Leaves, carried_out
from adjoint.transforms.reverse import vjp

if TYPE_CHECKING:
    from adjoint.tape.tensor import Tensor


def stop_gradient(tree: T) -> T:
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
    found: T = map_tree(lambda x: x.detach() if isinstance(x, Box) else x, tree)  # type: ignore[attr-defined]  # every box has detach()
    return found


class _Decorator(Custom[P, R]):
    """A rule that is given above the function, with settings or without."""

    if not TYPE_CHECKING:  # its settings alone give a decorator, which `__init__` below says

        def __new__(cls, function: object = None, nondiff_argnums: Value = ()) -> Value:
            if function is None:  # a decorator with arguments
                return lambda function: cls(function, nondiff_argnums)
            return super().__new__(cls)


class custom_vjp(_Decorator[P, R]):  # noqa: N801 - used like a function, and JAX's name
    """A function with a gradient rule of its own; a decorator.

    Args:
        function: takes arrays or trees of arrays, gives the same. What it does is not looked at: it may be any code
            that does not write into its arguments.
        nondiff_argnums: the numbers of arguments that are settings. Arguments that can only be given by name are
            settings too.

    The rule is two functions: ``f.defvjp(fwd, bwd)``. ``fwd`` takes the arguments of `function`, and gives
    ``(value, residual)``; the residual is any tree of what ``bwd(residual, g)`` needs, which takes the cotangent of the
    value and gives a tuple: for each argument that is no setting its cotangent, a tree like the argument, None where
    there is none. Settings by number stand before the residual, ``bwd(n, residual, g)``; settings by name are given to
    both, if they take them.

    Every mode follows. Forward mode transposes ``bwd``, which must then be written in NumPy functions. Higher
    derivatives differentiate ``fwd`` and ``bwd`` as they are written. Inside `vmap` the functions see all samples at
    once, and where they cannot (foreign code), one after another.

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

    @overload
    def __init__(self, function: Callable[P, R], nondiff_argnums: Sequence[int] | int = ...) -> None: ...
    @overload
    def __init__(
        self: custom_vjp[[Callable[..., Value]], Value],
        function: None = ...,
        nondiff_argnums: Sequence[int] | int = ...,
    ) -> None: ...
    def __init__(self, function: Value = None, nondiff_argnums: Sequence[int] | int = ()) -> None:
        super().__init__(function, nondiff_argnums)
        self.fwd: Function | None = None
        self.bwd: Function | None = None

    def defvjp(self, fwd: Function, bwd: Function) -> None:
        """State the rule; see the class."""
        self.fwd, self.bwd = fwd, bwd

    def call(self, args: list[Value], settings: dict[str, Value]) -> _VjpCall:
        if self.fwd is None or self.bwd is None:
            raise ArgumentError(f"{self.name} has no gradient rule yet: {self.name}.defvjp(fwd, bwd)")
        return _VjpCall(self, args, settings)


class _VjpCall(DerivativeCall[custom_vjp[..., Value]]):
    def forward(self, xs: Leaves) -> tuple[list[Value], Value]:
        args = list(self.args)
        for i, arg in zip(self.numbers, self.arguments(xs), strict=True):
            args[i] = arg
        fwd: Value = self.custom.fwd  # `call` has looked for it
        pair = each_sample(lambda args: ruling(fwd, args)(*args, **taken(fwd, self.settings)), args)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise RuleError(f"the fwd rule of {self.name} must return (value, residual); it returned {what(pair)}")
        return self.results(pair[0]), pair[1]

    def residual(self, xs: Leaves) -> Array:
        return self.forward(xs)[1]

    def backward(self, residual: Array, gs: Leaves, wanted: Sequence[int]) -> list[Value]:
        bwd: Value = self.custom.bwd
        settings = taken(bwd, self.settings)
        shares = each_sample(
            lambda r, g: ruling(bwd, r, g)(*self.fixed, r, g, **settings), residual, self.rebuilt(list(gs))
        )
        if not isinstance(shares, tuple | list):
            raise RuleError(
                f"the bwd rule of {self.name} must return a tuple with one cotangent an argument, ({self._names()},); "
                f"it returned {what(shares)}"
            )
        if len(shares) != len(self.numbers):
            raise RuleError(
                f"the bwd rule of {self.name} must return {len(self.numbers)} cotangent(s), one an argument "
                f"({self._names()}); it returned {len(shares)}. None stands for an argument that has none"
            )
        found: list[Value] = []
        for i, arg, share in zip(self.numbers, self.varying, shares, strict=True):
            where = f"the cotangent that the bwd rule of {self.name} returned for {self.custom.argument(i)}"
            found += fitting(where, share, arg)
        return found

    def _names(self) -> str:
        names = list(self.custom.signature.parameters) if self.custom.signature is not None else []
        return ", ".join(names[i] if i < len(names) else f"argument {i}" for i in self.numbers)

    def push(self, xs: Leaves, ts: Leaves) -> tuple[list[Value], list[Value]]:
        outs, residual = self.forward(xs)
        wanted = [i for i, t in enumerate(ts) if t is not None]
        smooth = [k for k, out in enumerate(outs) if dtype_of(out).kind in "fc"]
        kept: list[int] = []

        def transposed(gs: list[Tensor]) -> list[Value]:
            cotangents = [np.zeros_like(out) for out in outs]
            for k, g in zip(smooth, gs, strict=True):
                cotangents[k] = g
            found = self.backward(residual, cotangents, wanted)
            kept[:] = [i for i in wanted if found[i] is not None]
            return [found[i] for i in kept]

        try:
            pullback = vjp(transposed, [np.zeros_like(outs[k]) for k in smooth])[1]
        except RuleError:
            raise
        except Exception as error:
            raise NotSupportedError(
                f"forward mode of {self.name} needs the transpose of its bwd rule, which is not written in NumPy "
                f"functions throughout ({_shortened(error)}). State a forward rule instead: ad.custom_jvp"
            ) from error
        pushed: list[object] = [None] * len(outs)
        for k, t in zip(smooth, pullback([ts[i] for i in kept])[0] if kept else (), strict=False):
            pushed[k] = t
        return outs, pushed


class custom_jvp(_Decorator[P, R]):  # noqa: N801 - used like a function, and JAX's name
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

    @overload
    def __init__(self, function: Callable[P, R], nondiff_argnums: Sequence[int] | int = ...) -> None: ...
    @overload
    def __init__(
        self: custom_jvp[[Callable[..., Value]], Value],
        function: None = ...,
        nondiff_argnums: Sequence[int] | int = ...,
    ) -> None: ...
    def __init__(self, function: Value = None, nondiff_argnums: Sequence[int] | int = ()) -> None:
        super().__init__(function, nondiff_argnums)
        self.rule: Function | None = None

    def defjvp(self, rule: Function) -> Function:
        """State the rule; see the class."""
        self.rule = rule
        return rule

    def call(self, args: list[Value], settings: dict[str, Value]) -> _JvpCall:
        if self.rule is None:
            raise ArgumentError(f"{self.name} has no forward rule yet: {self.name}.defjvp(rule)")
        return _JvpCall(self, args, settings)


class _JvpCall(DerivativeCall[custom_jvp[..., Value]]):
    def forward(self, xs: Leaves) -> tuple[list[Value], Value]:
        return carried_out(self, xs), list(xs)

    def residual(self, xs: Leaves) -> Array:
        return list(xs)

    def push(self, xs: Leaves, ts: Leaves) -> tuple[list[Value], list[Value]]:
        rule: Value = self.custom.rule
        ts = [t.stack() if isinstance(t, Diagonal) else t for t in ts]  # a rule may write into what it makes of them
        zeros = [np.zeros_like(x) if t is None else t for x, t in zip(xs, ts, strict=True)]
        settings = taken(rule, self.settings)
        pair = each_sample(
            lambda xs, ts: ruling(rule, xs, ts)(*self.fixed, xs, ts, **settings),
            self.arguments(xs), self.arguments(zeros),
        )  # fmt: skip
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise RuleError(f"the jvp rule of {self.name} must return (value, tangent); it returned {what(pair)}")
        outs = self.results(pair[0])
        return outs, fitting(f"the tangent that the jvp rule of {self.name} returned", pair[1], pair[0])

    def backward(self, residual: Array, gs: Leaves, wanted: Sequence[int]) -> list[Value]:
        found: list[Value] = [None] * len(residual)
        smooth: list[int] = []

        def pushed(ts: list[Tensor]) -> list[Tensor]:
            tangents: list[Array] = [None] * len(residual)
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
                f"NumPy functions throughout ({_shortened(error)}). State a gradient rule instead: ad.custom_vjp"
            ) from error
        for i, c in zip(wanted, pullback([gs[k] for k in smooth])[0] if smooth else (), strict=False):
            found[i] = c
        return found


def _shortened(error: Exception) -> str:
    """The first sentence of an error."""
    return f"{type(error).__name__}: {str(error).split('. ')[0]}"
