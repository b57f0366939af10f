"""`numpy.vectorize` and `numpy.frompyfunc`: functions of single elements, called for each, with joined results."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from adjoint.arrays.python_number import as_python
from adjoint.core.errors import ShapeError
from adjoint.core.memory import lying_as
from adjoint.core.types import Array, DType, Function, Value
from adjoint.twin.standins.mapping import Maker, Resolve
from adjoint.twin.standins.of_numpy.joining import asarray, joined
from adjoint.twin.standins.values import boxed, is_box, plainly


class Vectorized:
    """The stand-in of `numpy.vectorize`: the function is called for each element, and the results are joined."""

    def __init__(
        self,
        pyfunc: Function,
        otypes: Value = None,
        doc: str | None = None,
        excluded: Value = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        self.plain = np.vectorize(pyfunc, otypes, doc, excluded, cache, signature)
        self.pyfunc, self.otypes, self.signature = pyfunc, self.plain.otypes, signature
        self.excluded: set[Value] = set(excluded or ())
        self.cache = cache
        functools.update_wrapper(self, pyfunc, updated=())
        self.__doc__ = self.plain.__doc__

    def __get__(self, instance: object, owner: object = None) -> Value:
        return self

    def __call__(self, *args: Array, **kwargs: Value) -> Value:
        named: dict[Value, Value] = {**dict(enumerate(args)), **kwargs}
        varying = {k: joined(v) for k, v in named.items() if k not in self.excluded}
        ranks, outputs = self._ranks(len(varying))
        arrays = {k: asarray(v) for k, v in varying.items()}
        lead, cores = [], []
        for rank, x in zip(ranks, arrays.values(), strict=True):
            shape = np.shape(x)
            if len(shape) < rank:
                return self.plain(*args, **kwargs)  # which says what is wrong
            lead.append(shape[: len(shape) - rank])
            cores.append(shape[len(shape) - rank :])
        loop = np.broadcast_shapes(*lead)
        if 0 in loop:
            return self.plain(*map(plainly, args), **{k: plainly(v) for k, v in kwargs.items()})
        spread = {k: np.broadcast_to(x, loop + core) for (k, x), core in zip(arrays.items(), cores, strict=True)}
        results, first = self._results(loop, named, spread)
        if self.signature is not None and not any(map(boxed, results)):  # then NumPy says what becomes of them
            again = iter(results)
            f: Value = np.vectorize(
                lambda *_, **__: next(again), self.otypes, None, self.excluded, False, self.signature
            )
            return f(*map(plainly, args), **{k: plainly(v) for k, v in kwargs.items()})
        several = isinstance(results[0], tuple) if outputs is None else outputs > 1
        columns = list(zip(*results, strict=True)) if several else [results]
        firsts = first if several else [first]
        made = [self._together(column, loop, self._kind(i, firsts[i])) for i, column in enumerate(columns)]
        if self.signature is None:
            made = [_lying_as_elements(x, arrays.values(), objects=True) for x in made]
        return tuple(made) if several else made[0]

    def _ranks(self, count: int) -> tuple[list[int], int | None]:
        """How many axes the function takes of each argument, and how many results it gives (None: not said)."""
        if self.signature is None:
            return [0] * count, None
        inputs, outputs = self.signature.replace(" ", "").split("->")
        ranks = [len([d for d in core.split(",") if d]) for core in inputs.strip("()").split("),(")]
        if len(ranks) != count:
            raise TypeError(f"wrong number of positional arguments: expected {len(ranks)}, got {count}")
        return ranks, outputs.count("(")

    def _results(
        self, loop: tuple[int, ...], named: dict[object, object], spread: dict[Value, Value]
    ) -> tuple[list[Value], Value]:
        """All results, and the one that says the dtype: its element is of NumPy's type, the others are Python's."""
        places = list(np.ndindex(*loop))
        if self.signature is not None or self.otypes:
            results = [self._at(index, named, spread) for index in places]
            return results, results[0]
        first = self._at(places[0], named, spread, of_numpy=True)
        rest = [self._at(index, named, spread) for index in (places[1:] if self.cache else places)]
        return [first, *rest] if self.cache else rest, first

    def _at(
        self, index: tuple[int, ...], named: dict[object, object], spread: dict[Value, Value], of_numpy: bool = False
    ) -> Array:
        given = {k: spread[k][index] if k in spread else v for k, v in named.items()}
        if self.signature is None and not of_numpy:
            given = {k: _as_object(v) if k in spread else v for k, v in given.items()}
        positional = [v for k, v in given.items() if isinstance(k, int)]
        return self.pyfunc(*positional, **{k: v for k, v in given.items() if isinstance(k, str)})

    def _kind(self, number: int, first: Value) -> DType:
        """The dtype of a result: it is said, or that of the first call's."""
        if self.otypes:
            return np.dtype(self.otypes[number])
        return first.dtype if boxed(first) else np.asarray(first).dtype

    def _together(self, results: Value, loop: tuple[int, ...], dtype: DType) -> Array:
        if not any(map(boxed, results)):
            return _objects(results, loop).astype(dtype)
        results = [asarray(x) for x in results]
        inner = np.shape(results[0])
        if len({np.shape(x) for x in results}) > 1:
            raise ShapeError("np.vectorize: the function gives results of different shapes")
        made = np.reshape(np.stack(results), loop + inner)
        return made if dtype in (made.dtype, object) else made.astype(dtype)


def _objects(results: Value, shape: tuple[int, ...]) -> Value:
    """`results` one after another, in an array of Python's objects."""
    made = np.empty(len(results), object)
    made[:] = results
    return made.reshape(shape)


def _elements(results: Value, shape: tuple[int, ...]) -> Array:
    """`results` one after another, in an array of numbers, or of objects if none of them is a box."""
    if not any(map(boxed, results)):
        return _objects(results, shape)[()]
    return np.reshape(np.stack([asarray(x) for x in results]), shape)


def _lying_as_elements(made: Value, arrays: Iterable[object], objects: bool = False) -> Array:
    """`made`, which lies as NumPy's results of functions of single elements of `arrays`, or copies as `objects`, do."""
    given = [asarray(x) for x in arrays]
    of_each = np.frompyfunc(lambda *_: 0, len(given), 1)
    if not np.shape(made):
        return made
    return lying_as(made, lambda *xs: of_each(*(x.astype(object) if objects else x for x in xs)), *given)


def _vectorize(resolve: Resolve) -> Function:
    def make(pyfunc: object = None, *args: Value, **kwargs: Value) -> Value:
        if not callable(pyfunc):  # a decorator: np.vectorize(signature="(n)->()")
            return lambda f: Vectorized(resolve(f), *args, **kwargs)
        return Vectorized(resolve(pyfunc), *args, **kwargs)

    return make


def of_vectorized(original: np.vectorize) -> Maker:
    """The maker of the stand-in for a function that was made by `numpy.vectorize` before."""

    def make(resolve: Resolve) -> Function:
        f: Value = original
        return Vectorized(resolve(f.pyfunc), f.otypes, None, f.excluded, f.cache, f.signature)

    return make


def _frompyfunc(resolve: Resolve) -> Function:
    def make(func: Function, /, nin: int, nout: int, **options: object) -> Function:
        twin = resolve(func)

        def call(*args: Array, **kwargs: object) -> Array:
            args = tuple(map(joined, args))
            arrays = np.broadcast_arrays(*args)
            results = [twin(*(_as_object(a[i]) for a in arrays)) for i in np.ndindex(*arrays[0].shape)]
            if not results or kwargs:
                again = iter(results)
                return np.frompyfunc(lambda *_: next(again), nin, nout, **options)(*map(plainly, args), **kwargs)
            columns = [results] if nout == 1 else list(zip(*results, strict=True))
            made = [_elements(c, arrays[0].shape) for c in columns]
            made = [_lying_as_elements(x, map(asarray, args)) for x in made]
            return made[0] if nout == 1 else tuple(made)

        return call

    return make


def _as_object(x: Array) -> Value:
    """The element `x` as NumPy gives it to functions of Python's objects: one of Python's numbers."""
    return as_python(x) if is_box(x) else x.item() if isinstance(x, np.generic) else x


def table() -> Iterable[tuple[Value, Maker]]:
    """The functions of single elements, and the makers of their stand-ins."""
    yield np.vectorize, _vectorize
    yield np.frompyfunc, _frompyfunc
