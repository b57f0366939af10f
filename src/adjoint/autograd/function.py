"""PyTorch's `torch.autograd.Function`: a forward and a backward method, with what is kept in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import NotSupportedError
from adjoint.core.objects.trees import map_tree
from adjoint.core.types import Array, Value
from adjoint.tape.modes import no_grad
from adjoint.tape.tensor import Tensor
from adjoint.transforms.custom import custom_vjp


class Context:
    """What `AutogradFunction.forward` keeps for `backward`: saved tensors, and attributes of any name."""

    needs_input_grad: tuple[bool, ...]

    def __init__(self) -> None:
        self._saved: tuple[Value, ...] = ()

    def save_for_backward(self, *tensors: Value) -> None:
        """Keep inputs, results, and what was computed of them. Second derivatives go through inputs and results."""
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Value, ...]:
        """What `save_for_backward` kept."""
        return self._saved

    def mark_non_differentiable(self, *outputs: Value) -> None:
        """Say that results have no derivative: `backward` gives none for them."""

    def set_materialize_grads(self, value: bool) -> None:
        """Cotangents of results that were not used are zeros in any case."""

    def mark_dirty(self, *inputs: Value) -> None:
        """Refused: a function with a rule of its own does not write into its inputs."""
        raise NotSupportedError("mark_dirty: a Function gives new results; write y = x.clone() and change that")


class AutogradFunction:
    """A function with a derivative of its own, in PyTorch's form. `ad.op` and `ad.custom_vjp` are the short forms.

    A subclass has two static methods: ``forward(ctx, *args)``, or ``forward(*args)`` with ``setup_context(ctx, inputs,
    output)``; and ``backward(ctx, *cotangents)``, which gives a cotangent for each argument, None where there is none.
    Call it by `apply`.

    Example:
        >>> import adjoint as ad
        >>> class Cube(ad.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         (x,) = ctx.saved_tensors
        ...         return 3 * g * x**2
        >>> x = ad.tensor([1.0, 2.0], requires_grad=True)
        >>> Cube.apply(x).sum().backward()
        >>> x.grad
        tensor([ 3., 12.])
    """

    forward: Callable[..., Value]
    backward: Callable[..., Value]
    setup_context: Callable[..., None] | None = None

    _rules: dict[Value, Value]

    def __init_subclass__(cls, **options: Value) -> None:
        super().__init_subclass__(**options)
        cls._rules = {}

    @classmethod
    def apply(cls, *args: Value) -> Value:
        """The result of `forward`; its gradient is that of `backward`."""
        fixed = tuple(i for i, arg in enumerate(args) if not isinstance(arg, Box | np.ndarray))
        rule = cls._rules.get((len(args), fixed))
        if rule is None:
            rule = cls._rules[len(args), fixed] = _rule(cls, len(args), fixed)
        found = rule(*args)
        tensors = any(isinstance(arg, Tensor) for arg in args)
        return (
            map_tree(lambda x: Tensor(x) if isinstance(x, np.ndarray | np.generic) else x, found) if tensors else found
        )


def _rule(kind: Value, count: int, fixed: tuple[int, ...]) -> Array:
    """The rule of a class for so many arguments, of which those at `fixed` are no arrays."""
    varying = [i for i in range(count) if i not in fixed]

    def value(*args: Value) -> Value:
        return map_tree(_bare, _ran(kind, args, fixed)[1])

    def fwd(*args: Value) -> tuple[Value, Value]:
        context, out, inputs = _ran(kind, args, fixed)
        nested = any(isinstance(arg, Box) for arg in args)
        given = rule(*args) if nested else map_tree(_bare, out)
        known = {id(x): arg for x, arg in zip(inputs, args, strict=True)}
        known |= {id(x): y for x, y in zip(_listed(out), _listed(given), strict=True)}
        return given, ([_bare(known.get(id(x), x)) for x in context.saved_tensors], context)

    def bwd(*given: Value) -> tuple[Value, ...]:
        (saved, context), cotangents = given[-2:]
        listed, again = _listed(cotangents), object.__new__(type(context))
        vars(again).update(vars(context))
        again._saved = tuple(_as_tensors(saved, beside=listed))
        shares = _listed(kind.backward(again, *_as_tensors(listed, beside=saved)))
        return tuple(_bare(shares[i]) for i in varying)

    rule = custom_vjp(value, nondiff_argnums=fixed)
    rule.defvjp(fwd, bwd)
    return rule


def _ran(kind: Value, args: Sequence[Value], fixed: tuple[int, ...]) -> tuple[Context, Value, list[Value]]:
    """What `forward` keeps and gives, and the constants that it was given for `args`."""
    context = Context()
    inputs = [arg if i in fixed else _constant(arg) for i, arg in enumerate(args)]
    context.needs_input_grad = tuple(i not in fixed and x.dtype.kind in "fc" for i, x in enumerate(inputs))
    with no_grad():
        if kind.setup_context is None:
            return context, kind.forward(context, *inputs), inputs
        out = kind.forward(*inputs)
        kind.setup_context(context, tuple(inputs), out)
        return context, out, inputs


def _listed(x: Value) -> list[Value]:
    return list(x) if isinstance(x, tuple | list) else [x]


def _constant(x: Value) -> Value:
    return x.detach() if hasattr(x, "detach") else Tensor(np.asarray(x))


def _as_tensors(values: Sequence[Value], beside: Sequence[Value] = ()) -> list[Value]:
    """Arrays as tensors, whose methods `backward` calls; not where samples or tangents are about, which hold arrays."""
    others = any(isinstance(x, Box) and not isinstance(x, Tensor) for x in (*values, *beside))
    return [Tensor(x) if isinstance(x, np.ndarray) and not others else x for x in values]


def _bare(x: Value) -> Value:
    """A tensor without history as its array."""
    return x.held if isinstance(x, Tensor) and x.node is None else x
