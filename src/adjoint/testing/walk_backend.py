"""What an operation must do on another library's arrays: checks that `tests/backends/test_walk.py` walks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.core.backend import backend_of, to_host
from adjoint.core.box import Box, raw
from adjoint.core.errors import GradientMismatchError
from adjoint.core.objects.trees import flatten
from adjoint.core.op import SampleCall
from adjoint.core.protocol import detached
from adjoint.core.registry import Entry
from adjoint.core.types import Array, Function, Tree, Value
from adjoint.tape.tensor import Tensor
from adjoint.testing.cases import carried_out, random_like, writes
from adjoint.testing.samples import samples, walk
from adjoint.transforms.batch import vmap
from adjoint.transforms.forward import jvp
from adjoint.transforms.reverse import vjp

#: The entries that do not run on other libraries' arrays, and why.
WITHOUT: dict[str, str] = {
    entry.name: "SciPy's own code, which takes NumPy's arrays" for entry in walk() if "host" in entry.flags
} | {
    name: why
    for names, why in (
        (
            "histogram histogram_bin_edges histogram2d histogramdd nanpercentile nanquantile piecewise poly polydiv "
            "polyfit polymul roots trim_zeros lstsq scattered scattered_reduction",
            "the way that it goes, or the shape of its result, depends on values",
        ),
        (
            "det_keeping_factors slogdet_keeping_factors solve_keeping_factors",
            "keeps LAPACK's factors; other libraries' arrays go the way without them",
        ),
        ("moved", "its result is on the CPU, if nobody says where; `tests/backends/test_devices.py` says"),
        (
            "gru_steps lstm_steps rnn_steps",
            "all steps are written into buffers of NumPy's; `nn.LSTMCell` and its like run a step at a time",
        ),
        (
            "one_gru_step one_lstm_step",
            "is for NumPy's arrays; `nn.LSTMCell` and its like compute others by single operations",
        ),
    )
    for name in names.split()
}

Move = Callable[[Value], Value]


class Moved:
    """A sample call as a function of the arrays that vary; all arrays in it are as `move` makes them of NumPy's."""

    def __init__(self, entry: Entry, sample: SampleCall, move: Move) -> None:
        self.entry, self.move = entry, move
        leaves, self._rebuild = flatten((sample.args, sample.kwargs))
        self._varying = [i for i, x in enumerate(leaves) if isinstance(x, np.ndarray | np.generic) and _varies(x)]
        self._leaves = [move(x) if isinstance(x, np.ndarray) else x for x in leaves]
        self.arrays = [move(leaves[i]) for i in self._varying]

    def __call__(self, *arrays: Array) -> Value:
        given = list(self._leaves)
        for i, array in zip(self._varying, arrays, strict=True):
            given[i] = array
        args, kwargs = self._rebuild(given)
        if not writes(self.entry):
            return self.entry(*args, **kwargs)
        return carried_out(self.entry, self.entry, args, kwargs)


def _varies(x: Array) -> bool:
    return bool(x.dtype.kind in "fc")


def value(f: Moved) -> Array:
    """The value of the call, for tensors."""
    return detached(f(*map(Tensor, f.arrays)))


def pulled(f: Moved) -> Value:
    """The cotangents of the arrays."""
    out, pullback = vjp(f, *f.arrays)
    return pullback(_directions(f, out))


def pushed(f: Moved) -> Value:
    """The tangents of the results."""
    return jvp(f, tuple(f.arrays), tuple(_directions(f, f.arrays)))[1]


def second(f: Moved) -> Value:
    """The tangents of the cotangents: forward over reverse."""

    def gradient(*arrays: Array) -> Array:
        out, pullback = vjp(f, *arrays)
        return pullback(_directions(f, out))

    return jvp(gradient, tuple(f.arrays), tuple(_directions(f, f.arrays)))[1]


def batched(f: Moved) -> object:
    """The values for two samples at once, both the same."""
    if not f.arrays or writes(f.entry):
        return ()
    return vmap(f)(*(np.stack([a, a]) for a in f.arrays))


CHECKS: dict[str, Function] = {"value": value, "vjp": pulled, "jvp": pushed, "second": second, "vmap": batched}


def check(entry: Entry, what: str, move: Move, look: Move = to_host) -> None:
    """Compare what `CHECKS[what]` gives for arrays made by `move` with what it gives for NumPy's own.

    `look` gives the values of such an array.

    Raises:
        GradientMismatchError: if they differ, or if what should be an array of the library is one of NumPy's.
    """
    for sample in samples(entry):
        here, there = Moved(entry, sample, _kept), Moved(entry, sample, move)
        if not here.arrays:
            continue
        expected, found = flatten(CHECKS[what](here))[0], flatten(CHECKS[what](there))[0]
        if len(found) != len(expected):
            raise GradientMismatchError(f"{entry.name}, {what}: {len(found)} arrays; NumPy gives {len(expected)}")
        for x, y in zip(found, expected, strict=True):
            _compare(f"{entry.name}, {what}", x, y, look)


def _kept(x: Array) -> object:
    return x


def _directions(f: Moved, tree: Tree) -> Value:
    """An array of random numbers for each array of `tree`, where that is: the same for every library."""
    rng = np.random.default_rng(0)
    leaves, rebuild = flatten(tree)
    likes = [np.empty(np.shape(x), x.dtype) for x in leaves]
    return rebuild([f.move(np.asarray(random_like(rng, like))) for like in likes])


def _compare(head: str, x: Array, y: Array, look: Move) -> None:
    x, y = (raw(v) if isinstance(v, Box) else v for v in (x, y))
    if not hasattr(y, "dtype"):
        if x is not y and x != y:
            raise GradientMismatchError(f"{head}: {x!r}, NumPy gives {y!r}")
        return
    if backend_of(x) is None:
        raise GradientMismatchError(f"{head}: the result is a {type(x).__name__}, not an array of the library")
    if x.dtype != y.dtype or np.shape(x) != np.shape(y):
        raise GradientMismatchError(f"{head}: {np.shape(x)} of {x.dtype}, NumPy gives {np.shape(y)} of {y.dtype}")
    values = look(x)
    same = np.allclose(values, y, 1e-9, 1e-12, equal_nan=True) if y.dtype.kind in "fc" else np.array_equal(values, y)
    if not same:
        raise GradientMismatchError(f"{head}: {values}, NumPy gives {y}")
