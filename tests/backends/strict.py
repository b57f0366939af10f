"""An array of another device, for tests: NumPy's protocols over values that nobody can look at.

`Strict` answers NumPy's functions with arrays of its own kind, also where NumPy gives numbers. It has no `base`, no
buffer, no addresses, no `ufunc.at`, and no Python objects in it. Whatever would bring its values to Python raises
`UnaskedError`; so does NumPy's array beside it in one call. What is asked for by name is done, and counted in
`transfers`.
"""

import sys
import warnings
from collections import Counter

import numpy as np

from adjoint.core.backend import Backend, register

transfers = Counter()
NUMBERS = (bool, int, float, complex, np.generic)
#: NumPy's functions that CuPy 14.2 does not have, as far as the registry answers them (`test_cupy.py` compares).
LACKS = frozenset(
    f"numpy.{name}"
    for names in (
        "block einsum_path geomspace histogram_bin_edges insert isnat matvec nanpercentile nanquantile polyder polydiv",
        "polyint spacing unstack vecdot vecmat linalg.diagonal linalg.matrix_norm linalg.multi_dot linalg.outer",
        "linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm",
    )
    for name in names.split()
)


class UnaskedError(TypeError):
    """Values were to move between the device and NumPy, and nobody had asked for that."""


def strict(values, dtype=None):
    """An array of the device with these values of NumPy's."""
    transfers["in"] += 1
    return _made(np.array(values, dtype))


def values(x):
    """The values of an array of the device; what is none stays as it is."""
    return x.get() if isinstance(x, Strict) else x


def inside(x):
    """The hidden array of `x`, for tests to compare: not counted."""
    return x._hidden if isinstance(x, Strict) else x


def _made(array):
    if array.dtype.hasobject:
        raise TypeError("no Python objects on a device")
    new = object.__new__(Strict)
    new._hidden, new.device = array, 0  # as CuPy's: results are on the current device, copies as well
    return new


def on_second(values):
    """An array of another device with these values."""
    new = strict(values)
    new.device = 1
    return new


def _warn_of_two():
    """As CuPy: where one device reaches the other's memory it computes, and warns at the line that called it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_code.co_filename == __file__:
        level, frame = level + 1, frame.f_back
    warnings.warn("The device where the array resides is different from the current device", stacklevel=level - 1)


def _copied(a):
    new = np.copy(a, order="K")
    new.device = a.device
    return new


def _refusing(what):
    def method(self, *args, **kwargs):
        raise UnaskedError(f"{what} of an array of shape {self.shape} on a device")

    return method


def _opened(x, where):
    if isinstance(x, Strict):
        return x._hidden
    if isinstance(x, np.ndarray):
        raise UnaskedError(f"{where}: an array of NumPy's, of shape {x.shape}, beside one of the device")
    if isinstance(x, list | tuple):
        opened = [_opened(y, where) for y in x]
        return type(x)(*opened) if hasattr(x, "_fields") else type(x)(opened)
    if isinstance(x, dict):
        return {name: _opened(y, where) for name, y in x.items()}
    return x


def _closed(x):
    if isinstance(x, np.ndarray | np.generic):
        return _made(np.asarray(x))
    if isinstance(x, list | tuple):
        closed = [_closed(y) for y in x]
        return type(x)(*closed) if hasattr(x, "_fields") else type(x)(closed)
    return x


def _indexed(index, where="an index"):
    if isinstance(index, tuple):
        return tuple(_indexed(i) for i in index)
    if isinstance(index, np.ndarray):  # as CuPy: taken over, at the price of a transfer
        transfers["in"] += 1
        return index
    return index._hidden if isinstance(index, Strict) else index


class Strict:
    __slots__ = ("__weakref__", "_hidden", "device")
    __hash__ = None

    shape = property(lambda self: self._hidden.shape)
    dtype = property(lambda self: self._hidden.dtype)
    ndim = property(lambda self: self._hidden.ndim)
    size = property(lambda self: self._hidden.size)
    nbytes = property(lambda self: self._hidden.nbytes)
    itemsize = property(lambda self: self._hidden.itemsize)
    flags = property(lambda self: self._hidden.flags)  # as CuPy's: how it lies, not where
    T = property(lambda self: _made(self._hidden.T))
    mT = property(lambda self: _made(self._hidden.mT))  # noqa: N815 - NumPy's name
    real = property(lambda self: _made(self._hidden.real))
    imag = property(lambda self: _made(self._hidden.imag))

    def get(self):
        transfers["out"] += 1
        return self._hidden.copy()

    def item(self, *index):
        return self.get().item(*index)

    def tolist(self):
        return self.get().tolist()

    __array__, __buffer__, tobytes = _refusing("np.asarray"), _refusing("memoryview"), _refusing("tobytes")
    __bool__, __float__, __complex__ = _refusing("bool"), _refusing("float"), _refusing("complex")
    __int__, __index__, __contains__ = _refusing("int"), _refusing("index"), _refusing("in")

    def __repr__(self):
        return f"<strict {self.shape} {self.dtype}>"

    def __len__(self):
        return len(self._hidden)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index):
        found = self._hidden[_indexed(index)]
        if isinstance(found, np.generic):  # as CuPy's: an array without axes, which shows this memory
            found = self._hidden[(*(_indexed(index if isinstance(index, tuple) else (index,))), ...)]
        return _made(np.asarray(found))

    def __setitem__(self, index, value):
        self._hidden[_indexed(index)] = _opened(value, "a[i] = value")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        if (
            method in ("at", "reduceat")
            or f"numpy.{ufunc.__name__}" in LACKS
            or not all(isinstance(x, (Strict, np.ndarray, *NUMBERS)) for x in inputs)
        ):
            return NotImplemented
        if len({x.device for x in inputs if isinstance(x, Strict)}) > 1:
            _warn_of_two()
        where, call = f"np.{ufunc.__name__}", getattr(ufunc, method)
        inputs, kwargs = _opened(inputs, where), _opened(kwargs, where)
        if out is None:
            return _closed(call(*inputs, **kwargs))
        call(*inputs, out=_opened(out, where), **kwargs)
        return out if len(out) > 1 else out[0]

    def __array_function__(self, function, types, args, kwargs):
        name = f"{function.__module__}.{function.__name__}"
        if name in LACKS or not all(issubclass(t, Strict | np.ndarray) for t in types):
            return NotImplemented
        if function in (np.asarray, np.array):  # with like=: the way in
            return strict(*args, **kwargs)
        out = kwargs.get("out")
        result = function(*_opened(args, name), **_opened(kwargs, name))
        if out is not None:
            return out
        asks = isinstance(result, bool) and function not in (np.iscomplexobj, np.isrealobj)
        return _made(np.asarray(result)) if asks else _closed(result)


def _operators():
    two = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "pow": np.power}
    two |= {"floordiv": np.floor_divide, "mod": np.remainder, "matmul": np.matmul, "and": np.bitwise_and}
    two |= {"or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift}
    compared = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
    compared |= {"eq": np.equal, "ne": np.not_equal}
    for name, ufunc in {**two, **compared}.items():
        setattr(Strict, f"__{name}__", lambda self, other, u=ufunc: u(self, other))
        if name in two:
            setattr(Strict, f"__r{name}__", lambda self, other, u=ufunc: u(other, self))
            setattr(Strict, f"__i{name}__", lambda self, other, u=ufunc: u(self, other, out=self))
    for name, ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
        setattr(Strict, f"__{name}__", lambda self, u=ufunc: u(self))
    methods = (
        "all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy cumprod cumsum"
    )
    methods += " diagonal dot fill flatten max mean min nonzero prod ptp put ravel repeat reshape round searchsorted"
    methods += " sort squeeze std sum swapaxes take trace transpose var"
    for name in methods.split():

        def method(self, *args, _name=name, **kwargs):
            return _closed(getattr(self._hidden, _name)(*_opened(args, _name), **_opened(kwargs, _name)))

        setattr(Strict, name, method)


_operators()

BACKEND = Backend(
    name="the stand-in",
    like=lambda model, array: strict(array),
    to_host=lambda a: a.get(),
    shares=lambda a, b: isinstance(a, Strict) and isinstance(b, Strict) and np.shares_memory(a._hidden, b._hidden),
    lacks=lambda f: f"{getattr(f, '__module__', None) or 'numpy'}.{f.__name__}" in LACKS,
    device_of=lambda a: f"strict:{a.device}",
    copy=_copied,
    onto=lambda values, device: values.copy() if isinstance(values, Strict) else strict(values),
)
register(Strict, BACKEND, device="strict")
