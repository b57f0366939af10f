"""From gradient rules to one function without loops for each operation: `build` writes it as a few lines of Python.

For ``multiply`` with both inputs on the tape, the functions written here read ::

    def save(args, out, settings):
        return (args[1], args[0],)
    def pullback(g, saved):
        y, x, = saved
        return (g * rule0(y), g * rule1(x),)

so a backward step runs no loop over arguments, no dictionary of names, and keeps only what rules name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar

import numpy as np

from adjoint.core.backend import shape_and_layout
from adjoint.core.box import ELSEWHERE
from adjoint.core.codegen import defined
from adjoint.core.errors import DTypeError, GradientMismatchError, GraphFreedError, NotDifferentiableError, RuleError
from adjoint.core.messages.warned import guarded, refusing
from adjoint.core.op import Op, Rule
from adjoint.core.threads.switches import Setting
from adjoint.core.types import Array, Axis, DType, Value


class NotDifferentiable:
    """Stands where a gradient rule would, and says why there is none.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> steps = ad.elementwise(
        ...     lambda x: np.round(x * 255), partial=ad.NotDifferentiable("it rounds to whole steps"), name="steps"
        ... )
        >>> ad.grad(steps)(0.5)
        Traceback (most recent call last):
            ...
        adjoint.core.errors.NotDifferentiableError: steps has no derivative with respect to ...
    """

    __slots__ = ("why",)
    __code__ = (lambda: None).__code__

    def __init__(self, why: str) -> None:
        self.why = why

    def __call__(self) -> None:
        raise NotDifferentiableError(self.why)


class Pullback:
    """A pullback for one operation: ``run(g, saved)`` gives one cotangent a parent.

    Attributes:
        run: takes the cotangent of the result and the saved values.
        op: the operation.
        names: what each saved value is.
        wanted: which inputs the parents are; for one joint rule that is saved as ``needs``.
        save: gives the values to save, from the forward call's arguments, result and settings.
        fresh: a cotangent of its own is a new array.
        consumes: it writes into the cotangent that it is given.
        fingerprinted: a saved value must be checked.
        selects: it leaves values out.
        picks: it leaves cotangents as they are, or out, and multiplies none.
        alert: it consumes, is fingerprinted or has hooks.
        special: it selects or is alert.
        straight: a chain may go on through it at once.
        finite: its partial derivatives are finite where the values are.
        within: the same as `run`, where the result may take the place of the cotangent: of large plain arrays.
        hooks: what sees the cotangent first.
        twin: the same pullback, fingerprinted.
        source: the text that was compiled.
    """

    __slots__ = (
        *("run", "op", "names", "wanted", "save", "fresh", "consumes", "fingerprinted", "selects", "picks", "alert"),
        *("special", "straight", "finite", "within", "hooks", "twin", "source"),
    )

    def __init__(
        self,
        run: Callable[[Value, Value], Sequence[Value]],
        op: Op,
        names: tuple[str, ...] = (),
        wanted: tuple[int, ...] = (),
        *,
        save: Callable[
            [Sequence[Value], Value, Mapping[str, Value]], tuple[Value, ...]
        ] = lambda args, out, settings: (),
        fresh: bool = False,
        consumes: bool = False,
        fingerprinted: bool = False,
        selects: bool = False,
        picks: bool = False,
        alert: bool = False,
        special: bool = False,
        straight: bool = False,
        finite: bool = False,
        within: Callable[[Value, Value], Sequence[Value]] | None = None,
        hooks: Value = None,
        source: str = "",
    ) -> None:
        self.run, self.op, self.names, self.wanted, self.save = run, op, names, wanted, save
        self.fresh, self.consumes, self.fingerprinted, self.selects = fresh, consumes, fingerprinted, selects
        self.picks = picks
        self.alert, self.special, self.straight, self.finite = alert, special, straight, finite
        self.within, self.hooks, self.source = within, hooks, source
        self.twin: Pullback | None = None

    def replace(self, **changes: object) -> Pullback:
        """A copy with other attributes; another `run` is the only one."""
        changes = {"within": None} | changes if "run" in changes else changes
        names = (name for name in self.__slots__ if name != "twin")
        return Pullback(**{name: getattr(self, name) for name in names} | changes)


def _is_freed(*_: object) -> Sequence[object]:
    raise GraphFreedError(
        "this graph was freed by an earlier backward pass or by clear_graph(). To go through it twice, keep "
        "it: loss.backward(retain_graph=True); else compute the loss again"
    )


#: Stands where the pullback of a node was whose saved values are gone.
freed = Pullback(_is_freed, Op("freed", lambda: None, ()))


def op_of(pullback: Pullback | None) -> Op | None:
    """The operation of a node's pullback; None for a leaf, and where the graph was freed."""
    return None if pullback is None or pullback is freed else pullback.op


def build(op: Op, wanted: tuple[int, ...], fitted: bool, conjugate: bool) -> Pullback:
    """The pullback of `op` for the inputs numbered `wanted`.

    `fitted`: some input's shape or dtype differs from the output's, so cotangents are summed and cast
    back. `conjugate`: values are complex, so partial derivatives are conjugated.
    """
    refuse_complex(op, conjugate)
    key = (wanted if not op.joint else (), fitted, conjugate)
    pullback: Pullback | None = op.pullbacks.get(key)
    if pullback is None:
        pullback = op.pullbacks[key] = _joint(op, fitted) if op.joint else _separate(op, *key)
    return pullback


def selects(op: Op) -> bool:
    """Whether `op` leaves values out: some by others' values, say, or all, as steps do."""
    return "selects" in op.flags or any(rule.function == 0 for rule in op.rules if not callable(rule.function))


def is_finite(op: Op) -> bool:
    """Whether finite arguments give finite values, and finite partial derivatives of all orders."""
    return "finite" in op.flags or "multilinear" in op.flags or op.kind == "linear"


def refuse_complex(op: Op, is_complex: bool) -> None:
    """Raise if `op` is to be differentiated by complex numbers, and has a derivative for real ones only."""
    if is_complex and "real" in op.flags:
        raise DTypeError(
            f"{op.name} has a derivative for real numbers only; got complex ones. Take np.real, np.imag or np.abs of "
            f"them first"
        )


def with_fingerprints(pullback: Pullback) -> Pullback:
    """The twin of `pullback` that has its saved values checked, because one is an array of the user's."""
    if pullback.twin is None:
        pullback.twin = pullback.replace(fingerprinted=True, special=True, alert=True, straight=False)
    return pullback.twin


def _separate(op: Op, wanted: tuple[int, ...], fitted: bool, conjugate: bool) -> Pullback:
    names: list[str] = []
    terms: list[str] = []
    scope: dict[str, Value] = {"fit": fit, "like": _like(op), "conj": np.conj, "zeros_like": np.zeros_like}
    for i in wanted:
        function, needs = op.rules[i] if op.rules else NO_RULE
        if isinstance(function, NotDifferentiable):
            raise NotDifferentiableError(
                f"{op.name} has no derivative with respect to `{op.inputs[i]}`: {function.why}. "
                f"Take it out of the graph first: {op.inputs[i]}.detach()"
            )
        scope[f"rule{i}"] = function
        names += (n for n in needs if n not in names and n != "g")
        factor = op.kind == "elementwise" and "g" not in needs
        term = _term(f"rule{i}", function, needs, factor, conjugate)
        if fitted:
            extra = [f"{op.inputs[i]}_shape", f"{op.inputs[i]}_dtype"]
            names += (n for n in extra if n not in names)
            term = f"fit({term}, {', '.join(extra)})"
        elif callable(function) and not factor:
            term = f"c if (c := {term}).dtype is g.dtype else like(c, g)"
        terms.append(term)
    result = "".join(f"{term}, " for term in terms)
    return _compile(op, names, f"return ({result})", scope, wanted, fresh=True)


def _term(rule: str, function: Value, needs: tuple[str, ...], factor: bool, conjugate: bool) -> str:
    """The expression for one cotangent, `g * rule(x)` say."""
    if not callable(function):
        constant = {1: "g", -1: "-g", 0: "zeros_like(g)"}
        return constant.get(function, f"g * {function!r}")
    called = f"{rule}({', '.join(needs)})"
    if not factor:
        return called
    return f"g * conj({called})" if conjugate else f"g * {called}"


def _joint(op: Op, fitted: bool) -> Pullback:
    """One rule gives the cotangents of all inputs; `needs` are the numbers of those on the tape."""
    function, names = op.rules[0]
    call = f"rule({', '.join(names)})"
    term = (
        "fit(c[i], shapes[i], dtypes[i])"
        if fitted
        else "k if (k := c[i]) is None or k.dtype is dtype_of_g else like(k, g)"
    )
    own = "" if fitted else "dtype_of_g = g.dtype\n    "
    body = f"c = {call}\n    {own}return [{term} for i in needs]"
    saved = [n for n in names if n != "g"] + ["needs"] + ["shapes", "dtypes"] * fitted
    saved = list(dict.fromkeys(saved))
    return _compile(op, saved, body, {"rule": function, "fit": fit, "like": _like(op)}, (), fresh=False)


def _compile(
    op: Op, names: list[str], body: str, scope: dict[str, Value], wanted: tuple[int, ...], *, fresh: bool
) -> Pullback:
    values = "".join(f"{where(op, name)}, " for name in names)
    unpack = f"    {', '.join(names)}, = saved\n" if names else ""
    source = f"def save(args, out, settings):\n    return ({values})\ndef pullback(g, saved):\n{unpack}    {body}\n"
    scope |= {"shape_of": shape_of, "dtype_of": dtype_of, "__name__": __name__}
    consumes, leaves_out, text = "consumes" in op.flags, selects(op), source
    if not consumes:  # what has written into its cotangent cannot run again
        scope |= {name: refusing(rule) for name, rule in scope.items() if name.startswith("rule")}
        text = guarded(source, "pullback", scope)
    run = defined(text, f"pullback of {op.name}", scope, "pullback")
    return Pullback(
        run,
        op,
        tuple(names),
        wanted,
        save=scope["save"],
        fresh=fresh,
        consumes=consumes,
        selects=leaves_out,
        picks=not op.flags.isdisjoint(("picks", "moves")),
        alert=consumes,
        special=consumes or leaves_out,
        straight=not consumes,
        finite=is_finite(op),
        within=op.within,
        source=source,
    )


def where(op: Op, name: str) -> str:
    """Where the forward call has the value that a rule names."""
    if name in ("out", "g"):
        return "out"
    if name in op.settings or name == "needs":
        return f"settings[{name!r}]"
    if op.inputs[0][0] == "*":
        everything = {
            op.inputs[0][1:]: "tuple(args)",
            f"{op.inputs[0][1:]}_shapes": "tuple(map(shape_of, args))",
            "shapes": "tuple(map(shape_of, args))",
            "dtypes": "tuple(map(dtype_of, args))",
        }
        if name in everything:
            return everything[name]
    elif name in ("shapes", "dtypes"):
        return f"tuple(map({name[:-1]}_of, args))"
    for suffix, reader in (("", "{}"), ("_shape", "shape_of({})"), ("_dtype", "dtype_of({})")):
        stem = name.removesuffix(suffix) if suffix else name
        if name.endswith(suffix) and stem in op.inputs:
            return reader.format(f"args[{op.inputs.index(stem)}]")
    if name == "out_shape":
        return "shape_of(out)"
    raise RuleError(
        f"a gradient rule of {op.name} names {name!r}, which is none of: g, out, "
        f"{', '.join(op.inputs)}, <input>_shape, {', '.join(op.settings)}"
    )


def dtype_of(x: Array) -> Value:
    """The dtype of any array, box or Python number."""
    try:
        return x.dtype
    except AttributeError:
        return np.asarray(x).dtype


def shape_of(x: Array) -> Value:
    """The shape of any array, box or Python number."""
    try:
        shape = x.shape
    except AttributeError:
        return np.shape(x)
    return shape_and_layout(x, shape) if ELSEWHERE else shape


def fit(c: Array, shape: tuple[int, ...], dtype: DType) -> Array:
    """Bring cotangent `c` back to an input's `shape` and `dtype`: undo broadcasting and promotion."""
    if c is None:
        return c
    if c.shape != shape:
        c = unbroadcast(c, shape)
    if c.dtype != dtype:
        if c.dtype.kind == "c" and dtype.kind != "c":
            c = np.real(c)
        c = c.astype(dtype)
    return c


_strict: ContextVar[bool] = ContextVar("strict", default=False)


def strict_cotangents() -> Setting:
    """Inside, a rule that gives a cotangent of another precision than its value's is an error; else it is put right."""
    return Setting(_strict, True)


def _like(op: Op) -> Callable[[Value, Value], Value]:
    """What brings a cotangent `c` of `op` to the dtype of `g`, which is the value's: of a real value, its real part."""

    def like(c: Array, g: Array) -> Array:
        if c is None or c.dtype == g.dtype:
            return c
        narrowest = g.dtype == np.float16 and c.dtype == np.complex64  # there is no complex number of half precision
        if c.dtype.kind == "c" and g.dtype.kind != "c":
            c = np.real(c)
        if c.dtype != g.dtype and not narrowest and _strict.get():
            raise GradientMismatchError(
                f"a rule of {op.name} gave a cotangent of dtype {c.dtype} for a value of dtype {g.dtype}; a cotangent "
                f"has its value's dtype"
            )
        return c.astype(g.dtype)

    return like


def unbroadcast(c: Array, shape: tuple[int, ...]) -> Array:
    """Sum `c` over the axes along which an array of `shape` was repeated.

    The transpose of `numpy.broadcast_to`.
    """
    if len(c.shape) < len(shape):  # NumPy drops leading ones of a value that is assigned
        c = np.reshape(c, (1,) * (len(shape) - len(c.shape)) + c.shape)
    extra = len(c.shape) - len(shape)
    if c.size == math.prod(shape):
        return c.reshape(shape)
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and c.shape[i + extra] != 1)
    if axes:
        c = added_up(c, axes)
    if c.shape != shape and c.size == math.prod(shape):
        c = c.reshape(shape)
    return c if c.shape == shape else np.broadcast_to(c, shape)


_HALF = np.dtype(np.float16)


def added_up(a: Array, axis: Axis, keepdims: bool = False) -> Array:
    """A sum along axes. Half precision is added in single: there a sum of ones stays at 2048, and squares overflow."""
    add: Value = np.add.reduce if type(a) is np.ndarray else np.sum
    if a.dtype != _HALF:
        return add(a, axis=axis, keepdims=keepdims)
    return add(a, axis=axis, keepdims=keepdims, dtype=np.float32).astype(_HALF)


NO_RULE = Rule(NotDifferentiable("it is a setting or a condition, not a quantity"))
