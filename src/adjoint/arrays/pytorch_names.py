"""PyTorch's methods under PyTorch's names, for every kind of array: NumPy has functions for them, or other names.

A trailing underscore writes in place. Methods that both have (``t.sum``) take PyTorch's words too
(`core/messages/words.py`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.core.device import device_of, is_at, is_device, named
from adjoint.core.errors import ArgumentError
from adjoint.core.messages.frames import place_of, users_frame, warn_at
from adjoint.core.messages.meanings import NO_EXCHANGE, note
from adjoint.core.registry import by_any_name, operation
from adjoint.core.types import Array, Axis, Device, DType, Function, Index, ShapeLike, Value

_IN_PLACE = (
    *("abs", "acos", "add", "asin", "atan", "bitwise_and", "ceil", "clamp", "cos", "cosh", "div", "exp", "floor"),
    *("lerp", "log", "log10", "log1p", "log2", "masked_fill", "mul", "neg", "pow", "reciprocal", "relu", "round"),
    *("rsqrt", "scatter", "scatter_add", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "sub", "tan"),
    *("tanh", "tril", "triu", "trunc", "clip", "index_add", "nan_to_num", "addcmul", "addcdiv", "absolute"),
    *("addmm", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "acosh", "asinh", "atanh", "atan2"),
    *("clamp_max", "clamp_min", "cumprod", "cumsum", "deg2rad", "erf", "exp2", "expm1", "fmod", "i0"),
    *("logical_not", "negative", "rad2deg", "remainder", "scatter_reduce", "sinc", "eq", "ne", "gt", "ge", "lt"),
    *("le", "logical_and", "logical_or", "bitwise_or", "bitwise_xor", "index_copy", "index_fill", "index_put"),
    *("masked_scatter", "frac", "logit", "renorm", "addmv", "addr", "fill_diagonal"),
)


def on_named_device(x: Array, device: Device) -> Array:
    """`x` on `device`; itself if it is there."""
    name = named(device)
    return x if is_at(x, name) else operation("moved")(x, name, device_of(x))


def _unary(name: str) -> Callable[[Array], Array]:
    def method(self: Array) -> Array:
        return operation(name)(self)

    method.__doc__ = f"``np.{name}(self)``."
    return method


def _binary(name: str) -> Callable[[Array, Array], Array]:
    def method(self: Array, other: Array) -> Array:
        return operation(name)(self, other)

    method.__doc__ = f"``np.{name}(self, other)``."
    return method


def _summing(name: str) -> Function:
    def method(self: Array, other: Array, *more: Array, alpha: Value = 1) -> Array:
        if more:  # PyTorch's older order: ``p.add_(-lr, g)``
            alpha, (other,) = other, more
        scaled = other if type(alpha) is int and alpha == 1 else operation("multiply")(other, alpha)
        return operation(name)(self, scaled)

    method.__doc__ = f"``np.{name}(self, alpha * other)``."
    return method


def _question(name: str) -> Callable[[Array, Array], Array]:
    def method(self: Array, other: Array) -> Array:
        return self.constant(operation(name)(self, other))

    method.__doc__ = f"``np.{name}(self, other)``, as a constant."
    return method


def _converting(dtype: DType) -> Callable[[Array], Array]:
    def method(self: Array) -> Array:
        return self.astype(dtype)

    method.__doc__ = f"``astype(np.{dtype})``."
    return method


class PyTorchNames:
    """Methods under PyTorch's names."""

    __slots__ = ()

    add, sub, mul = _summing("add"), _summing("subtract"), _binary("multiply")
    pow, mm, bmm, mv = _binary("power"), _binary("matmul"), _binary("matmul"), _binary("matmul")
    maximum, minimum, fmod = _binary("maximum"), _binary("minimum"), _binary("fmod")
    remainder, atan2, inner = _binary("remainder"), _binary("arctan2"), _binary("inner")
    abs, neg, acos, asin, atan = (*map(_unary, ("absolute", "negative", "arccos", "arcsin", "arctan")),)
    acosh, asinh, atanh = (*map(_unary, ("arccosh", "arcsinh", "arctanh")),)
    erf, rsqrt, inverse, det = (*map(_unary, ("erf", "rsqrt", "inv", "det")),)
    isnan, isinf, isfinite, logical_not = (*map(_unary, ("isnan", "isinf", "isfinite", "logical_not")),)
    eq, ne, gt = _question("equal"), _question("not_equal"), _question("greater")
    ge, lt, le = _question("greater_equal"), _question("less"), _question("less_equal")
    logical_and, logical_or = _question("logical_and"), _question("logical_or")
    bitwise_and, bitwise_or = _question("bitwise_and"), _question("bitwise_or")
    bitwise_xor = _question("bitwise_xor")
    float, double, half = _converting("float32"), _converting("float64"), _converting("float16")
    long, int, short, bool = (*map(_converting, ("int64", "int32", "int16", "bool")),)

    def norm(
        self: Array, p: Array = None, dim: Axis = None, keepdim: Value = False,
        *, ord: object = None, axis: Axis = None, keepdims: Value = False,
    ) -> Array:  # fmt: skip
        """PyTorch's: of all elements, or of those along `dim`, as one vector. NumPy's words: as its `norm`."""
        if ord is not None or axis is not None or keepdims:
            return operation("norm")(self, ord, axis, keepdims)
        return operation("norm")(self, p=p, dim=dim, keepdim=keepdim)

    # -- Shapes ---------------------------------------------------------------------------------------

    def t(self: Array) -> Array:
        """The transpose of a matrix; an array of one axis is left as it is."""
        if self.ndim > 2:
            raise ArgumentError(f"t() takes a matrix; this array has shape {self.shape}. t.mT, or t.transpose(…)")
        return self.T

    def view(self: Array, *shape: ShapeLike) -> Array:
        """``t.reshape(*shape)``; without arguments, all of it."""
        if not shape:  # NumPy's
            return self[() if self._is_number() else ...]
        if isinstance(shape[0], type | np.dtype | str):
            raise ArgumentError(
                f"t.view({getattr(shape[0], '__name__', shape[0])}) would read the memory as another type, which has "
                f"no derivative. Convert the values (t.astype(float)), take parts of complex ones (t.real), or let "
                f"an object of your class have t as an attribute"
            )
        return self.reshape(*shape)

    def permute(self: Array, *dims: Value, **named: Value) -> Array:
        """``np.transpose(t, dims)``."""
        dims = (named["dims"],) if named else dims
        return operation("transpose")(self, tuple(dims[0]) if len(dims) == 1 and np.ndim(dims[0]) else dims)

    def unsqueeze(self: Array, dim: Axis) -> Array:
        """``np.expand_dims(t, dim)``."""
        return operation("expand_dims")(self, dim)

    def expand(self: Array, *size: Value, **named: Value) -> Array:
        """``np.broadcast_to(t, size)``, where -1 stands for the length that the axis has."""
        size = (named["size"],) if named else size
        size = tuple(size[0]) if len(size) == 1 and np.ndim(size[0]) else size
        own = (1,) * (len(size) - self.ndim) + self.shape
        return operation("broadcast_to")(self, tuple(o if n == -1 else n for o, n in zip(own, size, strict=True)))

    def expand_as(self: Array, other: Array) -> Array:
        """``np.broadcast_to(t, other.shape)``."""
        return operation("broadcast_to")(self, other.shape)

    def tile(self: Array, *dims: Value) -> Array:
        """``np.tile(t, dims)``: what PyTorch's ``t.repeat(*dims)`` does."""
        return operation("tile")(self, tuple(dims[0]) if len(dims) == 1 and np.ndim(dims[0]) else dims)

    def movedim(self: Array, source: object, destination: object) -> Array:
        """``np.moveaxis(t, source, destination)``."""
        return operation("moveaxis")(self, source, destination)

    def unflatten(self: Array, dim: Axis, sizes: object) -> Array:
        """One axis as several, of the lengths `sizes`."""
        return operation("unflatten")(self, dim, sizes)

    def contiguous(self: Array) -> Array:
        """A copy in C order, that passes gradients on."""
        return operation("copy")(self, order="C")

    def numel(self: Array) -> Array:
        """How many elements there are."""
        return int(self.size)

    def dim(self: Array) -> Array:
        """How many axes there are."""
        return self.ndim

    # -- Parts ----------------------------------------------------------------------------------------

    def split(self: Array, split_size: object, dim: Axis = 0) -> Array:
        """Parts of so many elements along an axis, or of several sizes; ``np.split`` takes how many parts."""
        return operation("split_by")(self, split_size, dim)

    def chunk(self: Array, chunks: object, dim: Axis = 0) -> Array:
        """At most so many parts along an axis."""
        return operation("chunk")(self, chunks, dim)

    def unbind(self: Array, dim: Axis = 0) -> Array:
        """The parts along an axis, which they lose."""
        return operation("unbind")(self, dim)

    def narrow(self: Array, dim: Axis, start: object, length: object) -> Array:
        """`length` elements along an axis, from `start` on."""
        return operation("narrow")(self, dim, start, length)

    def select(self: Array, dim: Axis, index: Index) -> Array:
        """The part at `index` along an axis, which it loses."""
        return self[(*(slice(None),) * (dim % self.ndim), index)]

    def gather(self: Array, dim: Axis, index: Index) -> Array:
        """Along an axis, the elements at `index`; of the shape of `index`."""
        return operation("gathered")(self, dim, index)

    def scatter(self: Array, dim: Axis, index: Index, src: Array) -> Array:
        """A copy with the elements of `src` (or a number) written at `index` along an axis."""
        return operation("scattered")(self, dim, index, src)

    def scatter_add(self: Array, dim: Axis, index: Index, src: Array) -> Array:
        """A copy with the elements of `src` added at `index` along an axis."""
        return operation("scattered_sum")(self, dim, index, src)

    def scatter_reduce(
        self: Array, dim: Axis, index: Index, src: Array, reduce: object, include_self: object = True
    ) -> Array:
        """The "sum", "prod", "mean", "amax" or "amin" of the elements of `src` that go to each place."""
        return operation("scattered_reduction")(self, dim, index, src, reduce, include_self)

    def index_select(self: Array, dim: Axis, index: Index) -> Array:
        """``np.take(t, index, dim)``."""
        return operation("index_select")(self, dim, index)

    def index_add(self: Array, dim: Axis, index: Index, source: object, alpha: Array = 1.0) -> Array:
        """A copy with ``alpha * source`` added to the parts at `index` along an axis."""
        return operation("index_add")(self, dim, index, source, alpha)

    def masked_fill(self: Array, mask: Array, value: Array) -> Array:
        """``np.where(mask, value, t)``."""
        return operation("masked_fill")(self, mask, value)

    def masked_select(self: Array, mask: Array) -> Array:
        """``t[mask]``."""
        return operation("masked_select")(self, mask)

    def repeat_interleave(self: Array, repeats: object, dim: Axis = None) -> Array:
        """``np.repeat(t, repeats, dim)``."""
        return operation("repeat")(self, repeats, dim)

    def repeat(self: Array, repeats: Array, axis: Axis = None, *more: Value) -> Array:
        """NumPy's ``np.repeat(t, repeats, axis)``; with more numbers PyTorch's: ``t.tile(2, 1, 3)``."""
        if more:
            return operation("tile")(self, (repeats, axis, *more))
        note("repeat", self)
        return operation("repeat")(self, repeats, axis)

    def diag(self: Array, diagonal: Array = 0) -> Array:
        """``np.diag(t, diagonal)``."""
        return operation("diag")(self, diagonal)

    def topk(self: Array, k: object, dim: Axis = -1, largest: object = True, sorted: object = True) -> Array:
        """The `k` largest (or smallest) elements along an axis, and where they are."""
        return by_any_name("topk")(self, k, dim, largest, sorted)

    def cummax(self: Array, dim: Axis) -> Array:
        """The largest element so far along an axis, and where it was."""
        return by_any_name("cummax")(self, dim)

    def cummin(self: Array, dim: Axis) -> Array:
        """The smallest element so far along an axis, and where it was."""
        return by_any_name("cummin")(self, dim)

    # -- Values ---------------------------------------------------------------------------------------

    def amax(self: Array, dim: Axis = None, keepdim: object = False) -> Array:
        """``np.max(t, dim)``."""
        return operation("reduce_max")(self, axis=tuple(dim) if type(dim) is list else dim, keepdims=bool(keepdim))

    def amin(self: Array, dim: Axis = None, keepdim: object = False) -> Array:
        """``np.min(t, dim)``."""
        return operation("reduce_min")(self, axis=tuple(dim) if type(dim) is list else dim, keepdims=bool(keepdim))

    def clamp(self: Array, min: Array = None, max: Array = None) -> Array:
        """``np.clip(t, min, max)``."""
        return operation("clip")(self, min, max)

    def clamp_min(self: Array, min: Array) -> Array:
        """``np.maximum(t, min)``."""
        return operation("clip")(self, min, None)

    def clamp_max(self: Array, max: Array) -> Array:
        """``np.minimum(t, max)``."""
        return operation("clip")(self, None, max)

    def nan_to_num(self: Array, nan: object = 0.0, posinf: object = None, neginf: object = None) -> Array:
        """``np.nan_to_num(t)``."""
        return operation("nan_to_num")(self, nan=nan, posinf=posinf, neginf=neginf)

    def lerp(self: Array, end: object, weight: Array) -> Array:
        """``t + weight * (end - t)``."""
        return operation("lerp")(self, end, weight)

    def addmm(self: Array, mat1: object, mat2: object, *, beta: Array = 1.0, alpha: Array = 1.0) -> Array:
        """``beta * t + alpha * mat1 @ mat2``."""
        return operation("addmm")(self, mat1, mat2, beta=beta, alpha=alpha)

    def addcmul(self: Array, tensor1: Array, tensor2: Array, *, value: Array = 1.0) -> Array:
        """``t + value * tensor1 * tensor2``."""
        return operation("addcmul")(self, tensor1, tensor2, value=value)

    def addcdiv(self: Array, tensor1: Array, tensor2: Array, *, value: Array = 1.0) -> Array:
        """``t + value * tensor1 / tensor2``."""
        return operation("addcdiv")(self, tensor1, tensor2, value=value)

    def allclose(self: Array, other: Array, rtol: object = 1e-5, atol: object = 1e-8) -> Array:
        """``np.allclose(t, other)``."""
        return operation("allclose")(self, other, rtol, atol)

    # -- New ones -------------------------------------------------------------------------------------

    def new_full(self: Array, size: Value, fill_value: Array, dtype: DType = None) -> Array:
        """A constant of this dtype, with `fill_value` everywhere."""
        return self.constant(np.full(size, fill_value, dtype or self.dtype))

    def new_zeros(self: Array, *size: object, dtype: DType = None) -> Array:
        """A constant of this dtype, with 0 everywhere."""
        return self.new_full(size[0] if len(size) == 1 else size, 0, dtype)

    def new_ones(self: Array, *size: object, dtype: DType = None) -> Array:
        """A constant of this dtype, with 1 everywhere."""
        return self.new_full(size[0] if len(size) == 1 else size, 1, dtype)

    def new_tensor(self: Array, data: Array, dtype: DType = None) -> Array:
        """A constant with these numbers."""
        return self.constant(np.array(data, dtype or self.dtype))

    def type_as(self: Array, other: Array) -> Array:
        """``t.astype(other.dtype)``."""
        return self.astype(other.dtype)

    def to(
        self: Array, dtype: DType = None, *rest: object, device: Device = None, copy: object = False, **_: object
    ) -> Array:
        """This array as another dtype, on another device, or both: as those of an array that is given instead.

        A gradient goes back to where this array is. `self` if there is nothing to do.

        Raises:
            ArgumentError: for an unknown device.
            DeviceError: for a device that this machine does not have.
        """
        wanted: Value = None
        for given in (dtype, *rest):
            if isinstance(given, np.ndarray | PyTorchNames):
                wanted, device = given.dtype, device_of(given)  # type: ignore[union-attr]  # every array has one
            elif is_device(given):
                device = given
            elif given is not None and not isinstance(given, bool):
                wanted = given
        same = wanted is None or np.dtype(wanted) == self.dtype
        there = self if device is None else on_named_device(self, device)
        if same:
            return there.copy() if copy and there is self else there
        return there.astype(wanted)

    def cpu(self: Array) -> Array:
        """This array on the CPU, as one of NumPy's; see `to`."""
        return on_named_device(self, "cpu")

    def cuda(self: Array, device: Device = "cuda") -> Array:
        """This array on a GPU, as one of CuPy's; see `to`."""
        return on_named_device(self, device)

    @property
    def is_cuda(self) -> Array:
        """Whether this array is on a GPU."""
        return device_of(self).startswith("cuda")

    # -- In place -------------------------------------------------------------------------------------

    def zero_(self: Array) -> Array:
        """Write 0 everywhere."""
        return self.fill_(0)

    def fill_(self: Array, value: Array) -> Array:
        """Write `value` everywhere."""
        self[...] = value
        return self

    def copy_(self: Array, other: Array) -> Array:
        """Write `other`, broadcast to this shape."""
        return self.fill_(other)


def _in_place(name: str) -> Function:
    def method(self: Array, *args: object, **kwargs: object) -> Array:
        self[...] = getattr(self, name)(*args, **kwargs)
        return self

    method.__doc__ = f"``t[...] = t.{name}(…)``; gives the array back."
    return method


for _name in _IN_PLACE:
    setattr(PyTorchNames, f"{_name}_", _in_place(_name))


def exchanged(box: Array, first: Value, second: Value, by_name: bool) -> Array:
    """``t.transpose(1, 2)`` of PyTorch's, which exchanges two axes; NumPy's takes the new order of all of them."""
    if len(box.shape) == 2 and not by_name:
        if (first % 2, second % 2) == (0, 1):
            warn_at(place_of(users_frame()), NO_EXCHANGE, UserWarning)
        return operation("transpose")(box, (first, second))
    return operation("swapaxes")(box, first, second)
