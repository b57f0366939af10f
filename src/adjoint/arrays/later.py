"""`Later`: an array whose values are not computed yet. Operations on it are tasks of a scheduler.

Its memory exists from the beginning: shape, dtype, strides and views are known without waiting. A task fills it after
the tasks that fill its inputs. If the shape of a result depends on values, the operation waits for its inputs and runs
at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from adjoint.arrays.layered import Layered
from adjoint.core.memory import shows
from adjoint.core.objects.foreign import plain_array
from adjoint.core.op import Op
from adjoint.core.registry import operation
from adjoint.core.threads.scheduler import Future, Scheduler, Task
from adjoint.core.types import Array, DType, Index, Settings, Value

LEVEL = -1  # below all tensors, which record with these as with plain arrays
LARGE = 1 << 16  # elements; an operation on fewer takes less time than to hand it over
MOST_AHEAD = 64
_VIEWS = frozenset(("transpose", "matrix_transpose", "swapaxes", "moveaxis", "squeeze", "expand_dims", "broadcast_to",
                    "flip", "rot90", "real", "diagonal"))  # fmt: skip
_ALONG_AXES = frozenset(("reduce_sum", "reduce_mean", "reduce_prod", "reduce_max", "reduce_min", "reduce_logsumexp",
                         "reduce_var", "reduce_std"))  # fmt: skip
_PRODUCTS = ("matmul", "dot")
_LIKE_C = ("C", "K", "A")  # orders that a result has as arrays in C's order have them
_OPERANDS = (Layered, np.ndarray, np.generic, bool, int, float, complex)
_PLAIN = (type(None), bool, int, float, str, np.dtype)


class AsynchronousBlock(NamedTuple):
    """The scheduler that runs a block's operations, and a function that finds the user's line."""

    scheduler: Scheduler
    place: Callable[[], Callable[[], str]]


# The block that is entered; operations outside of one are carried out at once.
current: ContextVar[AsynchronousBlock | None] = ContextVar("asynchronous", default=None)


class Later(Layered):
    """An array, and the future of the task that fills it; None where it is filled."""

    __slots__ = ()
    waits = True

    @property
    def held(self) -> Array:
        return self.value

    @property
    def value(self) -> Array:
        """The array, filled; or the number. Raises what the operation raised."""
        array, future = self.layers
        if future is not None and (error := future.exception()) is not None:
            raise error
        return array[()] if self._is_number() else array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layers[0].shape  # type: ignore[no-any-return]  # an array's

    @property
    def dtype(self) -> DType:
        return self.layers[0].dtype

    @property
    def requires_grad(self) -> bool:
        """No: this is a plain array but for the time."""
        return False

    def arrived(self) -> Array:
        return self.value

    def apart(self) -> Value:
        return operation("copy")(self)

    def is_alone(self) -> bool:
        return self._base is None and self._layers[0].base is None and self._layers[0].ndim > 0

    def lies(self) -> Array:
        return self.layers[0]

    def detach(self) -> Value:
        """The array itself, which has no history."""
        return self

    def numpy(self) -> np.ndarray:
        """The values."""
        return self.value  # type: ignore[no-any-return]  # an array, or a number

    def item(self, *index: int) -> Array:
        """The value as a Python number."""
        return self.value.item(*index)

    def tolist(self) -> Array:
        """The values as nested lists of Python numbers."""
        return self.value.tolist()

    def __bool__(self) -> bool:
        return bool(self.value)

    def __repr__(self) -> str:
        return repr(self.value)

    def __reduce_ex__(self, protocol: Value) -> Array:
        return self.value.__reduce_ex__(protocol)

    def _leaving(self, call: str) -> Array:
        return self.value

    def _is_number(self) -> bool:
        return self._base is None and not self._layers[0].shape

    def _constant(self, array: Array) -> tuple[Array, ...]:
        return np.asarray(array), None

    def process(self, op: Op, args: Sequence[Array], settings: Settings) -> Array:
        block = current.get()
        given = [arg if isinstance(arg, _OPERANDS) else plain_array(arg) for arg in args]
        if op.kind == "constant" and "creates" not in op.flags and "once" in op.flags:
            return op.forward(*(layout(x) for x in given), **settings)
        seen = self._seen_at_once(op, given, settings)
        if seen is not None:
            return self.viewed(seen, op, settings)
        waits = [x.layers[1] for x in given if isinstance(x, Later) and _is_pending(x.layers[1])]
        large = any(np.size(layout(x)) >= LARGE for x in given)
        if block is not None and not block.scheduler.inside and (waits or large):
            made = _planned(op, [layout(x) for x in given], settings)
            if made is not None:
                return _started(block, op, given, settings, waits, *made)
        out = op.forward(*(x.value if isinstance(x, Later) else x for x in given), **settings)
        if not isinstance(out, np.ndarray) or out.size < LARGE or block is None:
            return out
        result = later(out)
        return self.viewed(result, op, settings) if len(args) == 1 else result

    def _seen_at_once(self, op: Op, given: Sequence[Array], settings: Settings) -> Later | None:
        """The result of an operation that only looks at this memory otherwise; None if it does not."""
        if len(given) != 1:
            return None
        array, future = self.layers
        views = op.name in _VIEWS
        views = views or (op.name == "reshape" and array.flags.c_contiguous and settings.get("order", "C") == "C")
        views = views or (op.name == "getitem" and _is_basic(settings["index"]))
        if not views:
            return None
        number = self._is_number()
        if number and op.name != "broadcast_to":  # which can not be written; the others show a copy of a number
            apart = operation("copy")(self) if _is_pending(future) else None
            if not isinstance(apart, Later):
                return None
            array, future = apart.layers
        out = op.forward(array, **settings)
        if not (isinstance(out, np.ndarray) and shows(out, array)):
            return None
        seen = Later.of((out, future), LEVEL)
        return seen.keep_array() if number and op.name in ("getitem", "reshape") and not out.shape else seen


def later(array: np.ndarray) -> Later:
    """An array whose values are known, as a `Later`."""
    result = Later.of((array, None), LEVEL)
    return result if array.shape else result.keep_array()


def layout(x: Array) -> Array:
    """The array of `x`, which may not be filled yet; a number as it is."""
    return x.layers[0] if isinstance(x, Later) else x


def _numbered(x: Array) -> Array:
    """`layout`, and for a number what reads it: NumPy multiplies numbers otherwise than arrays."""
    return partial(x.layers[0].__getitem__, ()) if isinstance(x, Later) and x._is_number() else layout(x)


def _is_pending(future: Value) -> bool:
    return future is not None and (not future.done() or future.exception() is not None)


def can_wait(op: Op) -> bool:
    """Whether `op` may be handed over: the shape of its result is known before."""
    return op.kind == "elementwise" or op.name in _PRODUCTS or op.name in _ALONG_AXES


def only_looks(op: Op) -> bool:
    """Whether `op` shows the memory of its argument otherwise, so that there is nothing to wait for."""
    return op.name in _VIEWS or op.name == "reshape"


def _is_basic(index: Index) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return all(x is None or x is Ellipsis or type(x) in (int, slice) for x in parts)


def _planned(op: Op, arrays: Sequence[Array], settings: Settings) -> tuple[tuple[int, ...], Array] | None:
    """The shape of the result, in C's order, and a result like it; None where only the operation itself can tell."""
    if op.multiple or not all(_lies_in_order(x, op.name in _PRODUCTS) for x in arrays if isinstance(x, np.ndarray)):
        return None
    if not all(_is_plain(value) for value in settings.values()) or settings.get("order", "K") not in _LIKE_C:
        return None
    shapes = [np.shape(x) for x in arrays]
    if op.name in _PRODUCTS:
        if not all(isinstance(x, np.ndarray) and x.ndim > 1 for x in arrays) or shapes[0][-1] != shapes[1][-2]:
            return None
        shape = (*np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2]), shapes[0][-2], shapes[1][-1])
    elif op.kind == "elementwise" or op.name == "copy":
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            return None  # which the operation says better
    elif op.name in _ALONG_AXES and len(arrays) == 1 and 0 not in shapes[0]:
        axis, axes = settings["axis"], range(len(shapes[0]))
        try:
            over = set(axes) if axis is None else {axes[a] for a in (axis if isinstance(axis, tuple) else (axis,))}
        except IndexError:
            return None
        kept = bool(settings["keepdims"])
        shape = tuple(1 if i in over else n for i, n in enumerate(shapes[0]) if kept or i not in over)
    else:
        return None
    kinds = tuple((x.dtype, x.ndim) if isinstance(x, np.ndarray) else (type(x), 0) for x in arrays)
    like = _like(op, kinds, tuple(settings.items()))
    return None if like is None else (shape, like)


def _lies_in_order(x: np.ndarray, product: bool) -> bool:
    """Whether results lie in C's order where `x` is an operand; those of products lie as the stacks of matrices do."""
    return x.flags.c_contiguous or (product and (x.ndim <= 2 or x.swapaxes(-1, -2).flags.c_contiguous))


def _is_plain(value: Array) -> bool:
    return all(map(_is_plain, value)) if type(value) is tuple else isinstance(value, _PLAIN)


@cache
def _like(op: Op, kinds: tuple[tuple[Value, int], ...], settings: tuple[tuple[str, Value], ...]) -> object:
    """A result of the dtype, as a call on arrays of one element gives it; None if that gives no array or number."""
    samples = [np.ones((1,) * ndim, kind) if isinstance(kind, np.dtype) else kind(1) for kind, ndim in kinds]
    with np.errstate(all="ignore"):
        out = op.forward(*samples, **dict(settings))
    return out if isinstance(out, np.ndarray | np.generic) else None


def _started(
    block: AsynchronousBlock,
    op: Op,
    given: Sequence[Value],
    settings: Settings,
    waits: Sequence[Future[object]],
    shape: tuple[int, ...],
    like: Array,
) -> Later:
    """Hand an operation over; the result, whose memory it will fill: an array or a number, as `like` is."""
    out = np.empty(shape, like.dtype)
    future: Future[Value] = Future(block.place())
    run = partial(_filled, out, op, [_numbered(x) for x in given], settings, waits)
    block.scheduler.submit(Task(run, future, waits, (future,)))
    result = Later.of((out, future), LEVEL)
    return result if shape or isinstance(like, np.generic) else result.keep_array()


def _filled(
    out: np.ndarray, op: Op, arrays: Sequence[Array], settings: Settings, waits: Sequence[Future[object]]
) -> None:
    """What a task does."""
    for future in waits:
        if (error := future.exception()) is not None:
            raise error
    forward: Value = op.forward
    arrays = [x() if isinstance(x, partial) else x for x in arrays]
    if isinstance(forward, np.ufunc):
        forward(*arrays, out=out, **settings)
    else:
        out[...] = forward(*arrays, **settings)
