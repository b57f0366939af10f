"""Arrays that a graph saved and somebody else may overwrite: found when the backward pass needs them.

A rule saves arrays as they are, without copying. Those of tensors are protected (see `writes`); but the
``a`` of ``x * a`` may be any array of the user's. So its node keeps a fingerprint of it, taken when it was
saved, and the pass compares. By default that is the bytes of a few elements spread over the array, which
finds a buffer that was filled anew; inside `exact_checks` it is a hash of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from adjoint.core.errors import InPlaceError
from adjoint.core.pulls import Pull, watching
from adjoint.tape.lines import Place, line_of, users_place

if TYPE_CHECKING:
    from adjoint.tape.node import Node

_exact: ContextVar[bool] = ContextVar("exact_checks", default=False)


@contextmanager
def exact_checks() -> Iterator[None]:
    """Find every change to an array that a graph saved, at the cost of reading each one whole.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> x, a = ad.tensor(np.ones(1000), requires_grad=True), np.ones(1000)
        >>> with ad.exact_checks():
        ...     loss = np.sum(x * a)
        >>> a[1] = 5.0
        >>> loss.backward()  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        adjoint.core.errors.InPlaceError: …
    """
    token = _exact.set(True)
    try:
        yield
    finally:
        _exact.reset(token)


def is_exact() -> bool:
    """Whether arrays are to be compared whole."""
    return _exact.get()


class Probe(NamedTuple):
    """The fingerprint of the saved value number `k`, and the place in the code that saved it.

    Where that value is a tuple of arrays, it is of the one numbered `part`; `others` are the node's other probes.
    """

    k: int
    exact: bool
    print: bytes | int
    place: Place
    part: int | None = None
    others: Probe | None = None

    def array(self, saved: tuple[Any, ...]) -> Any:
        """What is watched, among what the node has `saved`."""
        return saved[self.k] if self.part is None else saved[self.k][self.part]


def fingerprint(array: np.ndarray, exact: bool) -> bytes | int:
    """The bytes of at most four elements an axis; or a hash of all elements, if `exact`."""
    if exact:
        return hash(array.tobytes())
    if array.size > 16:
        array = array[_sample(array.shape)]
    return array.tobytes()


@lru_cache(maxsize=1024)
def _sample(shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(None, None, (n - 1) // 3 or 1) for n in shape)


def watch(node: Node, k: int, part: int | None = None) -> None:
    """Let `node`, whose saved value `k` is somebody's array (or has it as a `part`), ask for a check of it."""
    exact, pull = _exact.get(), cast(Pull, node.pull)
    others = node.probe if pull.watched else None
    array = node.saved[k] if part is None else node.saved[k][part]
    node.pull = watching(pull)
    node.probe = Probe(k, exact, fingerprint(array, exact), users_place(), part, others)


def check(node: Node, saved: tuple[Any, ...]) -> None:
    """Raise if an array that `node` watches has changed since it was saved."""
    probe: Probe | None = node.probe
    while probe is not None:
        if fingerprint(probe.array(saved), probe.exact) != probe.print:
            op, line = node.pull.op.name if node.pull else "?", line_of(probe.place)
            raise InPlaceError(
                f"an array that {op} saved at {line} for its gradient has been written since. Go backward before "
                f"the write, write into a copy, or give {op} a copy: a.copy()"
            )
        probe = probe.others
