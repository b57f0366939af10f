"""Operations as methods of arrays."""

from __future__ import annotations

import inspect

import numpy as np

from adjoint.arrays.named import NamedArray
from adjoint.core.codegen import defined
from adjoint.core.messages.words import function_at
from adjoint.core.op import Op
from adjoint.core.registry import ENTRIES, Composite, Entry, operation
from adjoint.core.types import Array, Function, Value

_METHODS = frozenset(
    (
        *("all", "any", "argmax", "argmin", "argpartition", "argsort", "choose"),
        *("cumprod", "cumsum", "diagonal", "log_softmax", "logsumexp", "matmul", "max", "mean", "min"),
        *("flatten", "nansum", "norm", "outer", "prod", "ptp", "ravel", "repeat", "roll", "round"),
        *("searchsorted", "softmax", "squeeze", "std", "sum", "swapaxes", "take", "trace", "tril", "triu", "var"),
        # Elementwise ones, of families that load later.
        *("gelu_exact", "gelu_tanh", "relu", "relu6", "sigmoid", "silu", "softplus", "softsign"),
    )
)

#: Functions of `adjoint.ops.pytorch` that are methods too.
_OF_PYTORCH = frozenset(
    (
        *("aminmax", "broadcast_to", "byte", "char", "count_nonzero", "diag_embed", "dist", "element_size", "equal"),
        *("fill_diagonal", "flip", "div", "fliplr", "flipud", "frac", "histc", "index_copy", "index_fill", "index_put"),
        *("is_complex", "is_contiguous", "is_floating_point", "is_nonzero", "is_same_size", "kthvalue"),
        *("logcumsumexp", "logdet", "logit", "masked_scatter", "matrix_exp", "median", "mode", "msort", "ndimension"),
        *("nelement", "new_empty", "nonzero", "renorm", "reshape_as", "rot90", "stride", "swapdims", "take_along_dim"),
        *("tensor_split", "type", "unfold", "view_as", "unique_consecutive", "addmv", "addr"),
    )
)

#: PyTorch's ``t.mean([2, 3])``.
_LISTS = "    if type(axis) is list:\n        axis = tuple(axis)\n"


def adopt(kind: type) -> None:
    """Make methods of the operations: NumPy's, and every elementwise function of one argument (``t.exp()``)."""
    for name, entry in ENTRIES.items():
        unary = isinstance(entry, Op) and entry.kind == "elementwise" and len(entry.inputs) == 1
        if (unary or name in _METHODS) and not hasattr(kind, name):
            setattr(kind, name, _of(kind, entry))
    for name in _METHODS - ENTRIES.keys():
        if not hasattr(kind, name):
            setattr(kind, name, _LateMethod(kind, name))

    for name in _OF_PYTORCH:
        if not hasattr(kind, name):
            setattr(kind, name, _LateFunction(kind, name))


class _LateFunction:
    """A method that is a function of `adjoint.ops.pytorch`, which loads when one is first asked for."""

    def __init__(self, kind: type, name: str) -> None:
        self.kind, self.name = kind, name

    def __get__(self, instance: Value, owner: Value = None) -> Value:
        setattr(self.kind, self.name, function_at(f"adjoint.ops.pytorch:{self.name}"))
        return getattr(owner if instance is None else instance, self.name)


class _LateMethod:
    """A method whose operation is of a family that loads when first asked for."""

    def __init__(self, kind: type, name: str) -> None:
        self.kind, self.name = kind, name

    def __get__(self, instance: Value, owner: Value = None) -> Value:
        setattr(self.kind, self.name, _of(self.kind, operation(self.name)))
        return getattr(owner if instance is None else instance, self.name)


def _of(kind: type, entry: Entry) -> Function:
    if isinstance(entry, Op):
        return _naming(entry) if entry.kind == "constant" else entry
    return _first_use(kind, entry)


def _naming(op: Op) -> Function:
    """A method that gives places or truth values: arrays of NumPy's, which go on under PyTorch's names, too."""

    def method(self: Array, *args: object, **kwargs: object) -> Array:
        out = op(self, *args, **kwargs)
        eager = type(out) is np.ndarray and self.level == 0 and kwargs.get("out") is None
        return NamedArray.on(out) if eager and all(given is not out for given in args) else out

    method.__wrapped__ = getattr(np, op.name)  # type: ignore[attr-defined]  # has the signature, which help() shows
    method.__name__, method.__qualname__, method.__doc__ = op.name, f"Tensor.{op.name}", op.doc
    return method


def _first_use(kind: type, entry: Composite) -> Function:
    """A method that is written when it is first used: that takes its time."""

    def first(self: Array, *args: object, **kwargs: object) -> Array:
        method = _method_of(entry)
        setattr(kind, entry.name, method)
        return method(self, *args, **kwargs)

    first.__wrapped__ = entry.function  # type: ignore[attr-defined]  # as functools.wraps does
    first.__doc__, first.__name__ = entry.function.__doc__, entry.name
    return first


def _method_of(entry: Composite) -> Function:
    """The function of `entry` as a method, which knows PyTorch's words: with them it goes the long way."""
    parameters = inspect.signature(entry.function).parameters
    defaults = {name: p.default for name, p in parameters.items() if p.default is not p.empty}
    by_name = {name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}

    def in_words(given: tuple[object, ...], words: dict[str, object]) -> Array:
        named = dict(zip(parameters, given, strict=True))
        box = named.pop(next(iter(parameters)))
        return entry(box, **{n: v for n, v in named.items() if n not in defaults or v is not defaults[n]}, **words)

    declared = [f"{name}=default_{name}" if name in defaults else name for name in parameters]
    if by_name:
        declared.insert(len(parameters) - len(by_name), "*")
    passed = ", ".join(f"{name}={name}" if name in by_name else name for name in parameters)
    text = (
        f"def {entry.name}({', '.join(declared)}, **words):\n"
        f"    if words:\n"
        f"        return in_words(({', '.join(parameters)},), words)\n"
        f"{_LISTS if 'axis' in parameters else ''}"
        f"    return function({passed})\n"
    )
    scope = {"__name__": __name__, "function": entry.function, "in_words": in_words} | {
        f"default_{n}": d for n, d in defaults.items()
    }
    method: Function = defined(text, entry.name, scope, entry.name)
    method.__wrapped__, method.__doc__ = entry.function, entry.function.__doc__  # type: ignore[attr-defined]  # as above
    method.__qualname__ = f"Tensor.{entry.name}"  # Python's own messages say it
    return method
