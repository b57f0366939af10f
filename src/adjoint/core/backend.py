"""Arrays of libraries other than NumPy: one record for each library says what a rule must know about them.

An array that answers NumPy's protocols computes by itself. A `Backend` states what NumPy tells about its own arrays and
other libraries do not: where they lie, and whether they share memory. NumPy's own arrays have no record and need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar

import numpy as np

from adjoint.core.box import ELSEWHERE, Box, raw, varies
from adjoint.core.errors import AdjointError, DeviceError, NotSupportedError
from adjoint.core.late import service
from adjoint.core.messages.frames import frames_of, is_of
from adjoint.core.messages.warned import ON_DEVICES
from adjoint.core.record import Record
from adjoint.core.types import Array, DType, Index, ShapeLike, Value


class Backend(Record):
    """What is to be known of a library's arrays.

    Attributes:
        name: what messages call them.
        like: ``like(model, values)``: NumPy's `values` as an array of the library, where the array `model` is.
        to_host: the values as an array of NumPy's; the only way out, and always explicit.
        shares: ``shares(a, b)``: whether both show the same memory, so that a write to one is seen in the other.
        fingerprint: tells without a look at the values whether an array was overwritten since; None if it can not.
        lacks: whether the library does not have this function of NumPy's, or answers it by fetching all values.
        elsewhere: whether looking at a value makes the program wait: for a device, or for a computation.
        mixes_with_numpy: whether arrays of NumPy's may stand beside the library's in one call.
        known_shape: raises for an array whose shape is not known, with the call that makes it known.
        together: the values of several arrays at once, where that is less work than one after another; else None.
        shape: the shape of an array, which may know more: how it lies in chunks; None for the plain one.
        spread: ``spread(value, shape)``: `numpy.broadcast_to`, for such a shape.
        elementwise: ``elementwise(function, arrays, dtype)``: a function of NumPy's arrays, of each chunk; None where
            an array is in one piece.
        move: the call that makes one of these of an array of NumPy's, for messages.
        fetch: the call that makes an array of NumPy's of one of these, for messages.
        device_of: the name of the device where an array is, "cuda:0"; None for a library that computes on the CPU.
        onto: ``onto(values, device)``: an array of NumPy's or of the library's, on the device of this name.
        from_dlpack: an array of the library that shares the memory of another's, on the same device.
        copy: a copy that lies as the array does, on its device.
    """

    __slots__ = ()

    name: str
    like: Callable[[Value, Value], Value]
    to_host: Callable[[Value], np.ndarray]
    shares: Callable[[Value, Value], bool]
    fingerprint: Callable[[Value], Value] = lambda a: None
    lacks: Callable[[Value], bool] = lambda function: False
    elsewhere: bool = True
    mixes_with_numpy: bool = False
    known_shape: Callable[[Value], None] = lambda a: None
    together: Callable[[Sequence[Value]], Sequence[Value]] | None = None
    shape: Callable[[Value], tuple[int, ...]] | None = None
    spread: Callable[[Value, tuple[int, ...]], Value] = np.broadcast_to
    elementwise: Callable[[Callable[..., Value], Sequence[Value], DType], Value] | None = None
    move: str = "move it: np.asarray(a, like=x)"
    fetch: str = "np.asarray(x)"
    device_of: Callable[[Value], str] | None = None
    onto: Callable[[Value, str], Value] | None = None
    from_dlpack: Callable[[Value], Value] | None = None
    copy: Callable[[Value], Value] = lambda a: np.copy(a, order="K")


#: The records known so far, by class; None for a class that has none.
_KNOWN: dict[type, Backend | None] = {}
#: The libraries whose records are known, by the first part of their arrays' module.
_LIBRARIES = frozenset(("cupy", "dask"))
#: The back ends of devices, by the first part of the device's name.
_AT: dict[str, Backend] = {}
#: DLPack's numbers of memory that the CPU reads: its own, and that of CUDA and ROCm on the host.
_HOST = frozenset((1, 3, 11))
_OURS = frozenset((np.ndarray, np.float64, np.float32, np.bool_, np.int64, float, int, bool, complex))


def register(kind: type, backend: Backend, device: str | None = None) -> None:
    """Let arrays of the class `kind` be those of `backend`, which is that of the devices called `device`."""
    _KNOWN[kind] = backend
    ELSEWHERE[kind] = refuse_mix
    if backend.device_of is not None:
        ON_DEVICES[kind] = refuse_devices
    if device is not None:
        _AT[device] = backend


def backend_at(device: str) -> Backend | None:
    """The back end of the devices with this name, "cuda"; None if there is none."""
    if device == "cuda" and device not in _AT:
        _AT[device] = service("arrays of cupy")
    return _AT.get(device)


def backend_of(x: Array) -> Backend | None:
    """The record of the innermost array of `x`; None where that is NumPy's, a number, or no array."""
    if type(x) in _OURS:
        return None
    while isinstance(x, Box) and not x.waits and (held := x.held) is not x:
        x = held
    kind = type(x)
    if kind in _OURS:
        return None
    try:
        return _KNOWN[kind]
    except KeyError:
        return _found(kind)


def _found(kind: type) -> Backend | None:
    """The record of a class that was not met before."""
    for base in kind.__mro__:
        library = base.__module__.partition(".")[0]
        if library in _LIBRARIES and hasattr(base, "__array_function__"):
            register(kind, service(f"arrays of {library}"))
            return _KNOWN[kind]
        known = _KNOWN.get(base)
        if known is not None:
            register(kind, known)
            return known
    _KNOWN[kind] = None
    return None


def is_foreign(x: Array) -> bool:
    """Whether `x` itself is an array of another library's, and no box."""
    return type(x) not in _OURS and not isinstance(x, Box) and backend_of(x) is not None


def is_elsewhere(x: Array) -> bool:
    """Whether looking at the values of `x`, an array or a box, would make the program wait."""
    backend = backend_of(x)
    return backend is not None and backend.elsewhere


def beside(model: Array | None, values: Array) -> Array:
    """`values`, an array of NumPy's that a rule made, where the numbers of `model` are."""
    backend = backend_of(model)
    if backend is None or backend_of(values) is not None or (backend.mixes_with_numpy and not np.ndim(values)):
        return values
    return backend.like(raw(model), values)


def refuse_mix(name: str, args: Iterable[Array], error: Exception | None = None) -> None:
    """Raise if `args` of the operation `name` are arrays of two libraries, of which one does not take the other's.

    Raises:
        DeviceError: if they are.
        NotSupportedError: if they are not, and `error` says that the library does not do this.
    """
    held = [raw(x) for x in args]
    backends = {backend.name: backend for x in held if (backend := backend_of(x)) is not None}
    strict = any(not backend.mixes_with_numpy for backend in backends.values())
    alone = strict and any(isinstance(x, np.ndarray) for x in held)
    if alone or len(backends) > 1:
        names = [*backends, *["NumPy"] * alone]
        move = next(iter(backends.values())).move
        raise DeviceError(
            f"{name} of arrays of {' and '.join(names)}: nothing is moved between libraries or devices unasked; {move}"
        ) from None
    refuse_devices(name, held)
    if error is not None and (found := explained(error)) is not error:
        raise found from error


def refuse_devices(name: str, args: Iterable[Array]) -> None:
    """Raise if `args` of the operation `name` are on two devices of one library, which might move one without a word.

    Raises:
        DeviceError: if they are; it names the call that moves one.
    """
    found = {b.device_of(x) for x in args if (b := backend_of(x)) is not None and b.device_of is not None}
    if len(found) > 1:
        one, other = sorted(found)[:2]
        raise DeviceError(
            f"{name} of arrays on {one} and {other}: nothing is moved between devices unasked; move one: "
            f"t.to({one!r}). If both should be on {other}: results are made on the current device, so choose it first"
        )


def explained(error: Exception) -> Exception:
    """`error` in our words, where a library's array raised it in a call that one of our rules made; else itself."""
    if not ELSEWHERE or isinstance(error, AdjointError | Warning):
        return error
    frames = list(frames_of(error))
    last = max((i for i, frame in enumerate(frames) if is_of(frame, "adjoint")), default=-1)
    below = [frame for frame in frames[last + 1 :] if not is_of(frame, "numpy")]
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    refused = isinstance(error, TypeError) and "returned NotImplemented from __array_ufunc__" in text
    package = next((name for name in _LIBRARIES if (is_of(below[0], name) if below else refused and name in text)), "")
    if last < 0 or not package or any(frame.f_code.co_name == "compute" for frame in below):
        return error  # an error of values, or of the user's own call
    library = service(f"arrays of {package}")
    if below:
        at = below[0].f_locals
        function = at.get("func", at.get("numpy_ufunc"))
        called = getattr(function, "__name__", below[0].f_code.co_name.strip("_"))
        said = f"{library.name} refuses this call. It says: {text[:300]}"
    else:
        called, said = text.partition("'")[2].partition("'")[0], f"{library.name} does not have it"
    return NotSupportedError(
        f"{called} of an array of {library.name}: {said}. Fetch the values first, if they are few: {library.fetch}"
    )


def refuse_foreign(arrays: Iterable[Array]) -> None:
    """Raise if one of `arrays` is another library's.

    Raises:
        NotSupportedError: if one is.
    """
    for x in arrays:
        if type(x) not in _OURS and (backend := backend_of(x)) is not None:
            raise NotSupportedError(
                f"this is computed by code that reads NumPy's arrays only; got an array of {backend.name}. "
                f"Fetch the values first, if they are few: {backend.fetch}"
            )


def zeros(model: Array, shape: ShapeLike, dtype: DType) -> Value:
    """Zeros to write into, where the numbers of `model` are."""
    backend = backend_of(model)
    return np.zeros(shape, dtype) if backend is None else np.zeros_like(raw(model), dtype=dtype, shape=shape)


def empty(model: Array, shape: ShapeLike, dtype: DType) -> Array:
    """An array to write all of, where the numbers of `model` are."""
    backend = backend_of(model)
    return np.empty(shape, dtype) if backend is None else np.empty_like(raw(model), dtype=dtype, shape=shape)


def known_in(index: Index) -> object:
    """The first array of another library's in an index; None if there is none."""
    for part in index if isinstance(index, tuple) else (index,):
        if backend_of(part) is not None:
            return raw(part)
    return None


# What a rule asks of values, to take a faster path. Values on a device are not read, nor those of a turn that stands
# for all turns of a loop: the answer is the cautious one.
IN_TURNS: ContextVar[bool] = ContextVar("in_turns", default=False)


def in_turns(x: Array) -> bool:
    """Whether `x` is of a turn that stands for all turns of a loop."""
    return isinstance(x, Box) and IN_TURNS.get()


def is_unread(x: Array) -> bool:
    """Whether a rule may not read `x`: it is on a device, or of a turn that stands for others."""
    return in_turns(x) or is_elsewhere(x)


def maybe_any(x: Array) -> bool:
    """Whether any of `x` is true, or may be; no of a formula, which has no values: its derivative stays a formula."""
    if type(x) is np.ndarray:
        return bool(x.any())
    x = raw(x)
    return is_unread(x) or (not (isinstance(x, Box) and x.is_formula) and bool(np.any(x)))


def surely_any(x: Array) -> bool:
    """Whether any of `x` is known to be true."""
    x = raw(x)
    return not is_unread(x) and bool(np.any(x))


# Of so many truth values, to look for a byte is faster than to reduce them.
_FEW = 4096


def surely_all(x: Array) -> bool:
    """Whether all of `x` are known to be true."""
    if type(x) is np.ndarray:
        return b"\0" not in x.tobytes() if x.size <= _FEW and x.dtype.char == "?" else bool(x.all())
    x = raw(x)
    return not is_unread(x) and bool(np.all(x))


def maybe_all(x: Array) -> bool:
    """Whether all of `x` are true, or may be."""
    x = raw(x)
    return is_unread(x) or bool(np.all(x))


def taken(x: Array) -> Value:
    """A copy of the user's array `x`, of another library, whose owner may write into it; it lies as `x` does."""
    known_shape(x)
    return np.copy(x, order="K") if (backend := backend_of(x)) is None else backend.copy(x)


def known_shape(x: Array) -> None:
    """Raise if the shape of `x`, of another library, is not known."""
    backend = backend_of(x)
    if backend is not None:
        backend.known_shape(raw(x))


def to_host(x: Array) -> np.ndarray:
    """The values of the array `x`, of whatever library, as an array of NumPy's."""
    backend = backend_of(x)
    return np.asarray(x) if backend is None else backend.to_host(x)


def as_array(x: Array) -> Value:
    """`x` itself if it is an array of whatever library; else an array of NumPy's."""
    return x if type(x) is np.ndarray or is_foreign(x) else np.asarray(x)


def shape_and_layout(x: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The `shape` of `x`; of an array that lies in chunks, one that knows these."""
    backend = backend_of(x)
    if backend is None or backend.shape is None:
        return shape
    found = backend.shape(raw(x))
    return found if found == shape else shape


def in_chunks(x: Array) -> bool:
    """Whether `x` lies in chunks: it is not indexed by arrays of places then, which may lie in any of them."""
    backend = backend_of(x)
    return backend is not None and backend.shape is not None


def is_writable_elsewhere(x: Array) -> bool:
    """Whether `x` is another library's array that can be written where it lies: one without axes as well."""
    backend = backend_of(x)
    return backend is not None and backend.shape is None


def spread_to(value: Array, shape: tuple[int, ...]) -> Array:
    """`numpy.broadcast_to`; in the chunks that the shape knows."""
    backend = backend_of(value) if is_foreign(value) else None
    return np.broadcast_to(value, shape) if backend is None else backend.spread(value, shape)


def fetched(*arrays: Array) -> list[np.ndarray]:
    """The values of `arrays`, of whatever libraries, as arrays of NumPy's; in one go where the library can."""
    held = [raw(x) for x in arrays]
    together = next((b.together for x in held if (b := backend_of(x)) is not None and b.together is not None), None)
    return list(map(to_host, held if together is None else together(held)))


def alone(x: Array) -> Value:
    """The numbers of the box `x` without history, where they are; anything else as it is."""
    if not isinstance(x, Box):
        return x
    if backend_of(x) is not None and not varies(x):
        return raw(x)
    return x.numpy()  # type: ignore[attr-defined]  # every box has numpy()


def shares(a: Array, b: Array) -> bool:
    """Whether two arrays of another library show the same memory."""
    backend = backend_of(a)
    return backend is not None and (a is b or backend.shares(a, b))


def converted(x: Array) -> np.ndarray:
    """`x`, which is no array of a library that is known, as an array of NumPy's; raises as `refuse_unknown` does."""
    refuse_unknown(x)
    return np.asarray(x)


def refuse_unknown(x: Array) -> None:
    """Raise if NumPy would make an array of its own of `x`, which is one of another library's.

    Raises:
        NotSupportedError: if it is an array of a library that answers NumPy's calls, and would stop doing so.
        DeviceError: if its values are on a device, from which NumPy would fetch them.
    """
    kind = type(x)
    if kind not in _OURS and not isinstance(x, np.ndarray | np.generic | Box | list | tuple):
        if hasattr(kind, "__array_function__") and hasattr(kind, "__array_ufunc__"):
            raise NotSupportedError(
                f"an array of the class {kind.__module__}.{kind.__qualname__}, which answers NumPy's calls, would "
                f"become one of NumPy's here, unasked: np.asarray(x). To let it stay what it is, describe its library: "
                f"adjoint.core.backend.register(kind, Backend(…))"
            )
        on = kind.__dlpack_device__(x)[0] if hasattr(kind, "__dlpack_device__") else 1
        if on not in _HOST:
            raise DeviceError(
                f"an array of {kind.__module__.partition('.')[0]} on a device: NumPy would fetch its values, unasked. "
                f"Leave it there: ad.from_dlpack(x)"
            )


def as_beside(model: Array, x: Array) -> Array:
    """`x` itself if it is an array or a box; numbers as an array where those of `model` are."""
    return x if hasattr(x, "shape") and not isinstance(x, np.generic) else beside(model, np.asarray(x))
