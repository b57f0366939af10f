"""Forward rules. An operation's effect on tangents follows from what its block states already.

For ``multiply`` with both inputs varying, the function written here reads ::

    def push(args, out, settings, t0, t1):
        return t0 * rule0(args[1]) + t1 * rule1(args[0])

An elementwise operation multiplies by its partial derivatives, a linear one is applied to the tangents, one
that is linear in each argument to each tangent in turn. Everything else has a gradient rule, which is linear in
the cotangent; its own transpose is the forward rule (`transposed`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from adjoint.core.backend import beside, surely_any
from adjoint.core.box import apply, new_level
from adjoint.core.codegen import defined
from adjoint.core.errors import LeavesGraphError, NotDifferentiableError
from adjoint.core.leaks.notes import begin, over
from adjoint.core.messages.warned import guarded, refusing
from adjoint.core.op import Op
from adjoint.core.rules.pullbacks import NO_RULE, NotDifferentiable, dtype_of, refuse_complex, shape_of, where
from adjoint.core.types import Array, Settings, Value
from adjoint.tape.backward import backward
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import leaf, pullback_for
from adjoint.tape.tensor import wrap

Push = Callable[..., Value]


def build(op: Op, wanted: tuple[int, ...], real: bool) -> Push:
    """The forward rule of `op` where the inputs numbered `wanted` vary; `real`: nothing is complex."""
    key = ("push", wanted, real)
    push: Push | None = op.pullbacks.get(key)
    if push is None:
        push = op.pullbacks[key] = _written(op, wanted, real)
    return push


def _written(op: Op, wanted: tuple[int, ...], real: bool) -> Push:
    _refuse(op, wanted, real)
    scope: dict[str, Value] = {"op": op, "apply": apply, "zeros": _zeros, "transposed": transposed}
    scope |= {
        "shape_of": shape_of,
        "dtype_of": dtype_of,
        "along": _along,
        "like_result": _like_result,
        "at": _at,
        "added": _added,
        "every": _every,
    }
    scope["zeros_like"] = np.zeros_like
    tangents = {i: f"t{i}" for i in wanted}
    if op.joint and op.jvps:
        given = ", ".join(f"{i}: {t}" for i, t in tangents.items())
        terms = [_explicit(op, 0, f"every(args, {{{given}}})", scope)]
    elif op.kind == "linear":
        given = f"({', '.join(tangents.values())},)"
        if op.joint or len(wanted) < len(op.inputs):
            given = "zeros(args, {" + ", ".join(f"{i}: {t}" for i, t in tangents.items()) + "})"
        terms = [f"apply(op, {given}, settings)"]
    else:
        terms = [_term(op, i, t, scope, real) for i, t in tangents.items()]
    total = terms[0]
    for term in terms[1:]:
        total = f"added({total}, {term})" if op.multiple else f"{total} + {term}"
    source = f"def push(args, out, settings, {', '.join(tangents.values())}):\n    return {total}\n"
    scope["__name__"] = __name__
    push: Push = defined(guarded(source, "push", scope), f"forward rule of {op.name}", scope, "push")
    return push


def _refuse(op: Op, wanted: tuple[int, ...], real: bool) -> None:
    refuse_complex(op, not real)
    for i in wanted:
        function = (op.rules[0 if op.joint else i] if op.rules else NO_RULE).function
        if isinstance(function, NotDifferentiable):
            name = op.inputs[0 if op.joint else i]
            raise NotDifferentiableError(
                f"{op.name} has no derivative with respect to `{name}`: {function.why}. Take it out of the graph "
                f"first: {name}.detach()"
            )


def _term(op: Op, i: int, t: str, scope: dict[str, object], real: bool) -> str:
    """The share of input number `i` in the result's tangent."""
    if op.jvps and op.jvps[i] is not None:
        return _explicit(op, i, t, scope)
    if "multilinear" in op.flags:
        return f"apply(op, at(args, {i}, {t}), settings)"
    if op.kind != "elementwise" or op.multiple:
        return f"transposed(op, {i}, args, out, settings, {t})"
    function, names = op.rules[i]
    if not callable(function):
        constant: dict[Value, str] = {1: t, -1: f"-{t}", 0: f"zeros_like({t})"}
        return constant.get(function, f"{t} * {function!r}")
    scope[f"rule{i}"] = refusing(function)
    if "g" not in names:
        return f"{t} * rule{i}({', '.join(where(op, name) for name in names)})"
    picked = not real and "picks" in op.flags  # linear, and what is not chosen may be inf or nan
    g = t if real or picked else "g"
    called = f"rule{i}({', '.join(g if name == 'g' else where(op, name) for name in names)})"
    if picked:
        return f"like_result({called}, out)"
    return called if real else f"along(lambda g: {called}, {t}, out)"


def _explicit(op: Op, i: int, t: str, scope: dict[str, object]) -> str:
    rule = op.jvps[i]
    assert rule is not None
    scope[f"rule{i}"] = refusing(rule.function)
    return f"rule{i}({', '.join(t if name == 't' else where(op, name) for name in rule.names)})"


def _every(args: Sequence[Array], tangents: Mapping[int, Array]) -> list[Array]:
    """The tangents of all `args`: None for those that do not vary."""
    return [tangents.get(i) for i in range(len(args))]


def _zeros(args: Sequence[Array], tangents: Mapping[int, Array]) -> list[Array]:
    """The tangents of all `args`: zeros for those that do not vary."""
    model = next(iter(tangents.values()))
    return [tangents[i] if i in tangents else beside(model, np.zeros_like(x)) for i, x in enumerate(args)]


def _at(args: Sequence[Array], i: int, t: Array) -> list[Array]:
    return [t if k == i else x for k, x in enumerate(args)]


def _added(a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _like_result(t: Array, out: Array) -> Array:
    return t if t.dtype == out.dtype else t.astype(out.dtype)


def _along(rule: Callable[[Value], Value], t: Array, out: Array) -> Array:
    """The tangent of an elementwise function of a complex number from its gradient rule.

    With f_z and f_z̄ the derivatives by z and by its conjugate, the rule takes g to ``conj(f_z) g + f_z̄ conj(g)``,
    and the tangent of t is ``f_z t + f_z̄ conj(t)``; both factors are read off the rule at 1 and i.
    """
    one = rule(np.ones_like(out))
    if out.dtype.kind != "c":
        return np.real(np.conj(one) * t)
    i = rule(np.ones_like(out) * 1j)
    if t.dtype.kind != "c":
        return (np.real(one) + 1j * np.real(i)) * t  # a rule may leave it to the walk to take the real part
    return (np.conj(one - 1j * i) * t + (one + 1j * i) * np.conj(t)) / 2.0


def transposed(op: Op, i: int, args: Sequence[Array], out: Array, settings: Settings, t: Array) -> Array:
    """The tangent of the result for tangent `t` of input `i`: the transpose of the gradient rule.

    The rule is recorded on a cotangent of zeros, and the record gone through backward from `t`.
    """
    level = new_level()
    before = recording_floor.raw()
    try:
        recording_floor.set(min(recording_floor.get(), level))
        begin(level, level)
        outs = out if op.multiple else (out,)
        cotangents = [wrap(np.zeros_like(x), leaf(shape_of(x), dtype_of(x)), level) for x in outs]
        values = [x if hasattr(x, "dtype") else np.asarray(x)[()] for x in args]
        pullback = pullback_for(op, (i,), values, out)
        saved = pullback.save(values, out, {**settings, "needs": (i,)} if op.joint else settings)
        try:
            pulled = pullback.run(cotangents if op.multiple else cotangents[0], saved)[0]
        except LeavesGraphError as error:
            raise _opaque(op) from error
        if getattr(pulled, "node", None) is not None:
            found = backward({pulled.node: t})
        else:  # then it must be 0, whatever the cotangent is
            ones = [np.ones_like(x) for x in outs]
            share, found = pullback.run(ones if op.multiple else ones[0], saved)[0], {}
            if share is not None and surely_any(share):
                raise _opaque(op)
    finally:
        recording_floor.restore(before)
        over(level)
    tangents = [found[c.node] if c.node in found else np.zeros_like(x) for c, x in zip(cotangents, outs, strict=True)]
    return tangents if op.multiple else tangents[0]


def _opaque(op: Op) -> NotDifferentiableError:
    return NotDifferentiableError(
        f"{op.name}: forward mode follows from the gradient rule by transposing it, so the rule must be written in "
        f"NumPy functions of its cotangent; this one takes its numbers out. Rewrite it, or state the forward rule too: "
        f"ad.custom_jvp"
    )


def shaped(t: Array, out: Array) -> Array:
    """Tangent `t` in the shape and dtype of the result, where an input was repeated or promoted."""
    if shape_of(t) != out.shape:
        t = np.broadcast_to(t, out.shape)
    if dtype_of(t) != out.dtype:
        t = (np.real(t) if dtype_of(t).kind == "c" and out.dtype.kind != "c" else t).astype(out.dtype)
    return t
