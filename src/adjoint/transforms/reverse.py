"""Reverse-mode transforms: `vjp`, `grad`, `value_and_grad`.

Each call opens its own level, wraps the arguments as tensors of that level, runs the function, and
goes backward. The gradient consists of the same arrays as the arguments (plain ones, or tensors of an outer
level), so these transforms nest in any order and depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, overload

import numpy as np

from adjoint.arrays.layered import as_now
from adjoint.arrays.python_number import passed_on
from adjoint.core.backend import converted, is_foreign, taken
from adjoint.core.box import Box, new_level, returned
from adjoint.core.errors import ArgumentError, DTypeError, GradientError, ShapeError
from adjoint.core.leaks.notes import begin, is_over, kept, over, plain
from adjoint.core.memory import copy_as_it_lies, lies
from adjoint.core.objects.trees import flatten, is_leaf, paths
from adjoint.core.rules.cotangents import as_cotangent, one_like
from adjoint.core.rules.pullbacks import dtype_of, shape_of
from adjoint.core.threads.collector import fewer_full
from adjoint.core.types import Array, Aux, Function, P, R, Settings, Tree, Value
from adjoint.tape.backward import backward
from adjoint.tape.losing import GraphReach
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import leaf
from adjoint.tape.number import TensorNumber
from adjoint.tape.tensor import Tensor, wrap
from adjoint.tape.writes.borrowed import BORROWED, Borrowed, may_be_borrowed
from adjoint.tape.writes.foreign import RUNS, is_apart
from adjoint.transforms.arguments import all_of, checked
from adjoint.transforms.results import arrays_of
from adjoint.twin.follow import follow, in_classes
from adjoint.twin.subclasses.base import inside

if TYPE_CHECKING:
    from adjoint.transforms.signatures import A as X
    from adjoint.transforms.signatures import Gradient, GradientAndAux, Of, Q, ValueAndGradient

Argnums = int | Sequence[int]
A = TypeVar("A")
B = TypeVar("B")
_REAL = frozenset((np.float64, np.float32))
VJPFunction = Callable[[Value], tuple[Value, ...]]


def _recorded(f: Function, args: Iterable[object], kwargs: Settings, level: int, has_aux: bool) -> object:
    """What `f` gives for `args`; tensors of `level` and above are recorded even inside `no_grad`."""
    before = recording_floor.raw()
    try:
        try:
            if recording_floor.get() > level:
                recording_floor.set(level)
            begin(level, level)
            with fewer_full():
                value = f(*args, **kwargs)
                if not isinstance(value, Box):
                    value = arrays_of(value, has_aux)
        finally:
            recording_floor.restore(before)
    except BaseException:
        over(level)
        raise
    return value


class _ArgumentLeaves(NamedTuple):
    """An argument as leaves of the graph, and the way from what the backward pass gives them to its tree.

    `models` have the shapes, dtypes and layouts of its arrays. They are what the user gave: the tensors, which are
    copies, live no longer than the function uses them, which may write into them.
    """

    nodes: list[Value]
    models: list[object]
    rebuild: Callable[[list[Value]], Value]


def _inputs(tree: Tree, level: int, what: str) -> tuple[Value, _ArgumentLeaves]:
    """`tree` with leaf tensors of `level` for its arrays and numbers, and these leaves."""
    leaves, rebuild = flatten(tree)
    tensors: list[Tensor] = []
    nodes: list[Value] = []
    models = list(leaves)
    for i, x in enumerate(leaves):
        if type(x) is float:
            number = np.float64(x)
            nodes.append(node := leaf((), number.dtype))
            tensors.append(TensorNumber.of(number, node, level))
            continue
        # A copy: the caller may write into the argument before its gradient is taken.
        if type(x) is np.ndarray and x.dtype.kind in "fc":
            nodes.append(node := leaf(x.shape, x.dtype))
            if x.nbytes >= BORROWED:
                if is_apart(level):
                    tensors.append(wrap(x, node, level))
                    continue
                if may_be_borrowed(x):
                    tensors.append(Borrowed.of(x, node, level))
                    continue
            copy = x.copy("K")
            copy = copy if copy.strides == x.strides else copy_as_it_lies(x)
            tensors.append(wrap(copy, node, level))
            continue
        data: Array
        x = inside(x)
        if isinstance(x, Box):
            data = as_now(x.as_array())
        else:
            data = taken(x) if is_foreign(x) else copy_as_it_lies(converted(x))
        if data.dtype.kind not in "fc":
            raise DTypeError(
                f"{what}{paths(tree)[i]} has dtype {data.dtype}; a derivative is taken with respect to real "
                f"or complex numbers. Pass floats ({x!r} → {_as_float(x)}), or choose other argnums"
            )
        if not (isinstance(x, Box | np.ndarray) or is_foreign(x)):  # a number: ``x += 1`` makes another one
            data = data[()]
        nodes.append(node := leaf(data.shape, data.dtype))
        tensors.append(passed_on(wrap(data, node, level), x))
        models[i] = data
    return rebuild(tensors), _ArgumentLeaves(nodes, models, rebuild)


def _as_float(x: Array) -> str:
    return f"{float(x)!r}" if isinstance(x, int) else "x.astype(float)"


def _outputs(value: Array, level: int) -> tuple[list[Value], list[Value], Callable[[list[Value]], Value]]:
    """The leaves of a function's value: as they are, on the level below, and the backward pass."""
    leaves, rebuild = flatten(value)
    if issubclass(type(value), Tensor) and value.level == level and value.node is not None:
        if not issubclass(type(value.held), Box):  # nearly every value
            return leaves, [value.held], rebuild
    leaves = [plain(returned(x, level)) for x in leaves]
    below = [x.held if isinstance(x, Tensor) and x.level == level else x for x in leaves]
    below = [x.arrived() if isinstance(x, Box) else x for x in below]
    return leaves, below, rebuild


def _copied(data: Array) -> Array:
    if issubclass(type(data), Box):
        data = data.arrived()
        return data.apart() if np.ndim(data) and isinstance(data, Box) else data
    return np.array(data) if issubclass(type(data), np.ndarray) else data


def _plain(g: Array, shape: tuple[int, ...] = ()) -> Array:
    """`g` as it is given to the user: without axes, a number. `shape` is that of `g`, if it is known."""
    if type(g) is np.ndarray:
        return g if g.ndim else g[()]
    if issubclass(type(g), Box):
        g = g.arrived()
        if shape:
            return g
    return g[()] if isinstance(model := lies(g), np.ndarray) and model.ndim == 0 else g


def _like(g: Array, model: Array) -> Array:
    """`g` as a tensor, if the argument was a tensor of the user's and no rule read it."""
    if isinstance(model, Tensor) and model.level == 0 and not (isinstance(g, Box) and g.level >= 0):
        return g if is_foreign(g) else wrap(g.apart() if isinstance(g, Box) else np.asarray(g), None, 0)
    return g


def _cotangents_of(
    outputs: list[Array], cotangents: list[Array], inputs: Iterable[_ArgumentLeaves], level: int, retain: bool
) -> tuple[object, ...]:
    """The cotangents of `inputs` for those of `outputs`."""
    start: dict[Value, Value] = {}
    for out, c in zip(outputs, cotangents, strict=True):
        if isinstance(out, Tensor) and out.level == level and out.node is not None:
            start[out.node] = start[out.node] + c if out.node in start else c
    found = backward(start, retain_graph=retain, results=outputs)
    return tuple([
        rebuild([
            _like(_plain(found[node], node.shape), model) if node in found else np.zeros_like(model)[()]
            for node, model in zip(nodes, models, strict=True)
        ])
        for nodes, models, rebuild in inputs
    ])  # fmt: skip


@overload
def vjp(f: Callable[[A], R], a: A, /, *, has_aux: Literal[False] = ...) -> tuple[R, Callable[[Value], tuple[A]]]: ...
@overload
def vjp(
    f: Callable[[A, B], R], a: A, b: B, /, *, has_aux: Literal[False] = ...
) -> tuple[R, Callable[[Value], tuple[A, B]]]: ...
@overload
def vjp(f: Callable[..., R], *args: object, has_aux: Literal[False] = ...) -> tuple[R, VJPFunction]: ...
@overload
def vjp(f: Callable[..., tuple[R, Aux]], *args: object, has_aux: Literal[True]) -> tuple[R, VJPFunction, Aux]: ...
@overload
def vjp(f: Function, *args: object, has_aux: bool) -> tuple[Value, ...]: ...
def vjp(f: Function, *args: object, has_aux: bool = False) -> Value:
    """The value of `f` and the function that pulls cotangents back through it.

    Args:
        f: takes arrays or trees of arrays (dicts, lists, tuples, dataclasses), gives the same.
        args: where to evaluate.
        has_aux: `f` gives ``(value, aux)``; `aux` is passed through.

    Returns:
        ``(value, pullback)``, or ``(value, pullback, aux)``. ``pullback(cotangent)`` takes a cotangent of the
        value's structure and shapes to a tuple of cotangents, one an argument. It may be called again.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> value, pullback = ad.vjp(np.sin, np.array([0.0, 1.0]))
        >>> pullback(np.array([1.0, 1.0]))
        (array([1.        , 0.54030231]),)
    """
    level = new_level()
    call, made = [], []
    for i, arg in enumerate(args):
        variables, given = _inputs(arg, level, f"argument {i}")
        call.append(variables)
        made.append(given)
    del variables, given
    value = _recorded(follow(f, args), in_classes(f, args, call), {}, level, has_aux)
    del call
    ledger, aux = over(level), None
    if has_aux:
        value, aux = _with_aux(value)
        aux = _rebuilt(aux, level)
    if ledger is not None:
        ledger.report(value, GraphReach(level, value, {i: given.nodes for i, given in enumerate(made)}))
    leaves, below, rebuild_value = _outputs(value, level)
    alone = is_leaf(value) and below and shape_of(below[0]) != (1,)  # a list of one number is an array of one

    def pullback(cotangent: Array) -> tuple[Value, ...]:
        given, _ = flatten(cotangent)
        if len(given) != len(leaves) or (alone and not is_leaf(cotangent)):
            raise ArgumentError(
                f"pullback takes a cotangent of the value's structure, {len(leaves)} arrays; got {len(given)}"
            )
        cotangents = []
        for c, out in zip(given, below, strict=True):
            c = as_cotangent(c, out, "pullback")
            if c.shape != shape_of(out):
                raise ShapeError(f"pullback: the value has shape {np.shape(out)}; the cotangent {c.shape}")
            cotangents.append(c)
        return _cotangents_of(leaves, cotangents, made, level, retain=True)

    value = rebuild_value([_plain(_copied(x)) for x in below])
    return (value, pullback, aux) if has_aux else (value, pullback)


def _with_aux(value: Array) -> tuple[object, object]:
    if not isinstance(value, tuple) or len(value) != 2:
        raise ArgumentError(f"has_aux=True: the function must return (value, aux); it returned {type(value).__name__}")
    return value


def _rebuilt(tree: Tree, level: int) -> Array:
    leaves, rebuild = flatten(tree)
    leaves = [plain(returned(x, level)) for x in leaves]
    return rebuild([_copied(x.held) if isinstance(x, Tensor) and x.level == level else x for x in leaves])


@overload
def value_and_grad(  # type: ignore[overload-overlap]  # a ufunc is such a function too
    f: np.ufunc, argnums: Argnums = ..., has_aux: bool = ...
) -> Function: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap]  # 0 is a number of an argument too
    f: Of[X, Q, R], argnums: Literal[0] = ..., has_aux: bool = ...
) -> ValueAndGradient[X, Q, R]: ...
@overload
def value_and_grad(f: Callable[P, R], argnums: Argnums, has_aux: bool = ...) -> Callable[P, tuple[R, Value]]: ...
def value_and_grad(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that gives the value of `f` and its gradient.

    Args:
        f: gives one real number; its arguments are arrays or trees of arrays.
        argnums: the number of the argument to differentiate by, or several.
        has_aux: `f` gives ``(value, aux)``; the result is then ``((value, aux), gradient)``.

    Returns:
        A function with the arguments of `f`. The gradient has the structure, shapes and dtypes of the argument
        (a tuple of them for several `argnums`). For complex arguments it is the direction of steepest ascent.

    Raises:
        ShapeError: if the value is not one number.
        DTypeError: if an argument is made of integers, or the value is complex.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> def loss(params, x):
        ...     return np.sum((params["w"] * x + params["b"]) ** 2)
        >>> ad.value_and_grad(loss)({"w": 2.0, "b": 1.0}, np.array([1.0, 2.0]))
        (np.float64(34.0), {'w': np.float64(26.0), 'b': np.float64(16.0)})
    """

    checked(argnums, f)
    simple = isinstance(argnums, int) and argnums >= 0
    one: tuple[Value, ...] = (argnums,)

    @wraps(f)
    def wrapped(*args: Value, **kwargs: object) -> Value:
        chosen = one if simple and one[0] < len(args) else all_of(argnums, args)
        level = new_level()
        call = list(args)
        made = []
        try:
            RUNS[level] = not has_aux and (f, args, kwargs)  # tensors beside the value would outlive the pass
            for k in chosen:
                call[k], given = _inputs(args[k], level, f"argument {k}")
                made.append(given)
            value = _recorded(follow(f, args), in_classes(f, args, call), kwargs, level, has_aux)
            del call
            ledger, aux = over(level), None
            if has_aux:
                value, aux = _with_aux(value)
            if ledger is not None:
                inputs = {k: given.nodes for k, given in zip(chosen, made, strict=True)}
                ledger.report(value, GraphReach(level, value, inputs))
            value = plain(returned(value, level))
            if isinstance(value, Box) and value.level != level and is_over(value):
                kept(value)
            seed = _scalar(value)
            gradients = _cotangents_of([value], [seed], made, level, retain=False)
        finally:
            RUNS.pop(level, None)
        value = _plain(
            _copied(value.held) if type(value) is Tensor and value.level == level else _rebuilt(value, level)
        )
        result = gradients if isinstance(argnums, tuple | list) else gradients[0]
        return ((value, _rebuilt(aux, level)), result) if has_aux else (value, result)

    return wrapped


def _scalar(value: Array) -> Array | None:
    """The cotangent 1 for a function's value, which must be one real number."""
    if type(value) is Tensor and type(value.held) in _REAL:
        return type(value.held)(1)
    if value is None:
        raise GradientError(
            "grad needs a function with one number as its value; this one gave None. Is its `return` missing?"
        )
    if issubclass(type(value), tuple | list | dict):  # a box would be asked for its class
        raise GradientError(
            f"grad needs a function with one number as its value; this one gave a {type(value).__name__}. Return the "
            f"number alone, or with has_aux=True a pair of it and what goes beside it"
        )
    shape, dtype = shape_of(value), dtype_of(value)
    if shape != () and int(np.prod(shape)) != 1:
        raise ShapeError(
            f"grad needs a function with one number as its value; this one gave shape {shape}. Reduce it "
            f"(np.sum, np.mean), or use ad.jacobian, or ad.vjp with a cotangent"
        )
    if dtype.kind == "c":
        raise DTypeError("grad needs a real value; this function gave a complex one. Take np.abs, .real or .imag of it")
    if dtype.kind not in "f":
        raise GradientError(f"grad needs a real value; this function gave {dtype}, which does not vary smoothly")
    return one_like(value)


@overload
def grad(f: np.ufunc, argnums: Argnums = ..., has_aux: bool = ...) -> Function: ...
@overload
def grad(f: Of[X, Q, Value], argnums: Literal[0] = ..., has_aux: Literal[False] = ...) -> Gradient[X, Q]: ...
@overload
def grad(
    f: Of[X, Q, tuple[Value, Aux]], argnums: Literal[0] = ..., *, has_aux: Literal[True]
) -> GradientAndAux[X, Q, Aux]: ...
@overload
def grad(
    f: Callable[P, tuple[Value, Aux]], argnums: Argnums, has_aux: Literal[True]
) -> Callable[P, tuple[Value, Aux]]: ...
@overload
def grad(f: Callable[P, Value], argnums: Argnums, has_aux: bool = ...) -> Callable[P, Value]: ...
def grad(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that gives the gradient of `f`; see `value_and_grad`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.grad(lambda x: np.sum(np.tanh(x)))(np.zeros(3))
        array([1., 1., 1.])
        >>> ad.grad(ad.grad(np.sin))(1.0)
        np.float64(-0.8414709848078965)
    """
    both = value_and_grad(f, argnums, has_aux)

    @wraps(f)
    def wrapped(*args: Value, **kwargs: Value) -> Value:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped
