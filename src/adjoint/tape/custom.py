"""Operations of the user: made from a forward and a backward function, or grouped from existing ones."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import overload

import numpy as np

from adjoint.core.box import apply, outermost
from adjoint.core.errors import ArgumentError, BatchedValueError, RuleError
from adjoint.core.memory import shows
from adjoint.core.op import Op, Rule, parameters
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Function, Value


class Gate:
    """A function of arrays with a gradient rule of its own. Made by `adjoint.op`."""

    def __init__(self, forward: Function, backward: Function | None = None) -> None:
        self.forward = forward
        self.name = getattr(forward, "__name__", "gate").strip("_<>") or "gate"
        self.__name__, self.__doc__ = self.name, forward.__doc__
        self._op: Op | None = None
        if backward is not None:
            self.backward(backward)

    def backward(self, rule: Function) -> Gate:
        """Set the gradient rule; a decorator.

        The rule's parameters say what it needs: ``g`` (the cotangent of the result), the gate's inputs by
        name, ``out`` (its result), ``<input>_shape``, and its keyword arguments. It gives one cotangent an
        input, of that input's shape; None for an input without a derivative; no tuple for a single input.
        """
        arguments = inspect.signature(self.forward).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in arguments):
            raise ArgumentError(f"{self.name} takes *arguments; a gate needs named inputs: def {self.name}(x, y):")
        inputs = tuple(p.name for p in arguments if p.default is p.empty and p.kind is not p.KEYWORD_ONLY)
        settings = {p.name: p.default for p in arguments if p.name not in inputs}
        names = parameters(rule)
        known = {"g", "out", *inputs, *settings, *(f"{i}_shape" for i in inputs)}
        unknown = [n for n in names if n not in known]
        if unknown:
            raise RuleError(
                f"the backward function of {self.name} names {unknown[0]!r}; it may name "
                f"{', '.join(sorted(known))}. For example: def backward({', '.join(['g', *inputs])}):"
            )
        # The shapes are for the checks; they cost a tuple each, not an array.
        saved = tuple(dict.fromkeys((*names, *(f"{i}_shape" for i in inputs))))

        def checked(*values: Array) -> tuple[Array, ...]:
            given = dict(zip(saved, values, strict=True))
            shares = _for_samples(rule, self.name, [given[n] for n in names])
            return self._checked(shares, {i: given[f"{i}_shape"] for i in inputs})

        self._op = Op(
            name=self.name,
            forward=self._computed,
            inputs=inputs,
            settings=settings,
            rules=(Rule(checked, saved),),
            joint=True,
        )
        return self

    def _computed(self, *arrays: Array, **settings: Value) -> Array | None:
        out = self.forward(*arrays, **settings)
        if isinstance(out, tuple | list):
            raise RuleError(
                f"{self.name}: a gate gives one array; its forward function returned {len(out)} values. "
                f"Make one gate for each, or join them: np.stack"
            )
        if not isinstance(out, np.generic) and any(out is x or shows(out, x) for x in arrays):
            return np.copy(out)  # a gate gives an array of its own: what is written into one is not seen in the other
        return out if hasattr(out, "dtype") else np.asarray(out)

    def _checked(self, shares: Array, shapes: Mapping[str, tuple[int, ...]]) -> tuple[Array, ...]:
        shares = tuple(shares) if isinstance(shares, tuple | list) else (shares,)
        if len(shares) != len(shapes):
            raise RuleError(
                f"the backward function of {self.name} returned {len(shares)} cotangent(s) for "
                f"{len(shapes)} input(s) ({', '.join(shapes)}); return one each, None where there is none"
            )
        return tuple(
            share if share is None else self._share(share, name, shape)
            for share, (name, shape) in zip(shares, shapes.items(), strict=True)
        )

    def _share(self, share: Array, name: str, shape: tuple[int, ...]) -> Array | None:
        share = share if hasattr(share, "dtype") else np.asarray(share)
        if share.shape != shape:
            raise RuleError(
                f"the backward function of {self.name} returned a cotangent of shape {share.shape} for `{name}`, "
                f"whose shape is {shape}; sum over what was broadcast"
            )
        if dtype_of(share).kind not in "fc":
            raise RuleError(
                f"the backward function of {self.name} returned a cotangent of dtype {share.dtype} for `{name}`; "
                f"it must be real or complex"
            )
        return share

    def __call__(self, *args: Array, **kwargs: Value) -> Array:
        """Apply the gate to arrays or tensors."""
        if self._op is None:
            raise ArgumentError(
                f"{self.name} has no backward function yet: decorate one with @{self.name}.backward, "
                f"or leave @ad.op away to differentiate through {self.name}'s own steps"
            )
        return self._op(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<gate {self.name}>"


def _for_samples(rule: Function, name: str, values: Sequence[Array]) -> Array:
    """``rule(*values)``; inside vmap, if the rule cannot take all samples at once, of one after another."""
    top = outermost(values)
    if top is None or not top.per_sample:
        return rule(*values)
    try:
        return rule(*values)
    except (BatchedValueError, AttributeError):  # it wants a plain array
        there: list[bool] = []

        def of_one(*values: Array) -> tuple[Array, ...]:
            shares = rule(*values)
            shares = shares if isinstance(shares, tuple | list) else (shares,)
            there[:] = [share is not None for share in shares]
            return tuple(share for share in shares if share is not None)

        found = iter(apply(Op(f"the backward function of {name}", of_one, ("*values",), multiple=True), values, {}))
        return tuple(next(found) if yes else None for yes in there)


@overload
def op(forward: Function, backward: Function) -> Gate: ...
@overload
def op(forward: Function) -> Gate: ...
def op(forward: Function, backward: Function | None = None) -> Gate:
    """A gate of one's own: a forward function, and a backward function that gives its inputs' cotangents.

    Args:
        forward: takes arrays (arguments without a default) and settings (arguments with one), gives an array.
        backward: its parameters say what it needs: ``g``, inputs by name, ``out``, ``<input>_shape``, settings.
            Without it, `op` is a decorator and the rule follows as ``@gate.backward``.

    Raises:
        RuleError: if the backward function names, or returns, what does not fit.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> @ad.op
        ... def swish(x, beta=1.0):
        ...     return x / (1 + np.exp(-beta * x))
        >>> @swish.backward
        ... def swish(g, x, out, beta):
        ...     s = 1 / (1 + np.exp(-beta * x))
        ...     return g * (s + beta * out * (1 - s))
        >>> ad.grad(swish)(0.0)
        np.float64(0.5)

    A gate gives an array of its own, for plain arrays too: a copy, where `forward` gives an input or a view of one.
    """
    return Gate(forward, backward)
