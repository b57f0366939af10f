"""Sample calls as functions of the arrays in them that vary, and the gradients of these functions."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.box import Box
from adjoint.core.objects.trees import flatten
from adjoint.core.op import SampleCall
from adjoint.core.protocol import detached
from adjoint.core.registry import Composite, Entry
from adjoint.core.rules.pullbacks import strict_cotangents
from adjoint.core.types import Array, Function, Value
from adjoint.tape.tensor import Tensor
from adjoint.testing.samples import samples


class Case(NamedTuple):
    """One sample call of an operation, as a function `f` of those of its arguments that vary."""

    entry: Entry
    f: Function
    arrays: list[Array]
    args: tuple[Value, ...]
    kwargs: dict[str, Value]

    def with_arrays(self, arrays: Sequence[Array]) -> SampleCall:
        """The same call with `arrays` in place of those that vary."""
        leaves, rebuild = flatten((self.args, self.kwargs))
        places = [next((k for k, a in enumerate(self.arrays) if a is x), None) for x in leaves]
        return SampleCall(*rebuild([x if k is None else arrays[k] for x, k in zip(leaves, places, strict=True)]))


def cases(entry: Entry) -> list[Case]:
    """The sample calls of `entry`, each as a case."""
    return [case_of(entry, sample) for sample in samples(entry)]


def case_of(entry: Entry, sample: SampleCall) -> Case:
    """The case for one sample call: its real and complex arrays vary, Python numbers are settings."""
    leaves, rebuild = flatten((sample.args, sample.kwargs))
    varying = [i for i, x in enumerate(leaves) if isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "fc"]

    writing = writes(entry)

    def f(*values: Value) -> Value:
        given = list(leaves)
        for i, value in zip(varying, values, strict=True):
            given[i] = value
        args, kwargs = rebuild(given)
        if not writing:
            return entry(*args, **kwargs)
        plain = not any(isinstance(value, Box) for value in values)
        return _written(entry.answers[0] if plain else entry, args, kwargs)

    f.__name__ = entry.name
    return Case(entry, f, [leaves[i] for i in varying], *sample)


def writes(entry: Entry) -> bool:
    """Whether `entry` writes into its first argument, and gives nothing back."""
    return isinstance(entry, Composite) and inspect.signature(entry.function).return_annotation == "None"


def carried_out(entry: Entry, function: Function, args: tuple[object, ...], kwargs: dict[str, object]) -> Array:
    """The value of a call; of one that writes into its first argument, that argument: a copy of ours."""
    if not writes(entry):
        return function(*args, **kwargs)
    return _written(function, args, kwargs)


def _written(function: Function, args: tuple[Value, ...], kwargs: dict[str, object]) -> Array:
    target = np.copy(args[0])
    assert function(target, *args[1:], **kwargs) is None
    return target


def outputs(value: Array) -> list[np.ndarray]:
    """The arrays of a value, boxes made plain."""
    return [np.asarray(detached(x)) for x in flatten(value)[0]]


def weighted(case: Case, arrays: Sequence[Array]) -> Array:
    """The real sum of all outputs, each with weights of its own; so that it has one gradient."""
    total = 0.0
    for k, out in enumerate(flatten(case.f(*arrays))[0]):
        kind = np.result_type(detached(out)).kind
        places = np.reshape(np.arange(int(np.prod(np.shape(out))), dtype=np.float32) + k, np.shape(out))
        if kind in "fc":
            total = total + np.sum(np.real(out) * np.cos(places))
        if kind == "c":
            total = total + np.sum(np.imag(out) * np.sin(places))
    return total


def gradients(case: Case, arrays: Sequence[Array]) -> list[Array]:
    """The gradient of `weighted` by each of `arrays`: by backward, into leaf tensors."""
    leaves = [Tensor(a, requires_grad=True) for a in arrays]  # as they lie in memory: `tensor` would copy
    total = weighted(case, leaves)
    if not isinstance(total, Tensor) or not total.requires_grad:
        return [np.zeros_like(a) for a in arrays]
    with strict_cotangents():
        total.backward()
    return [
        np.zeros_like(a) if leaf.grad is None else leaf.grad.numpy() for leaf, a in zip(leaves, arrays, strict=True)
    ]


def random_like(rng: np.random.Generator, like: Array) -> Array:
    """Normal numbers of the shape and dtype of `like`; zeros for whole numbers and truth values."""
    like = np.asarray(like)
    if like.dtype.kind not in "fc":
        return np.zeros(like.shape)
    drawn = rng.standard_normal(like.shape)
    if like.dtype.kind == "c":
        drawn = drawn + 1j * rng.standard_normal(like.shape)
    return np.asarray(drawn, like.dtype)
