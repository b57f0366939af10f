"""`numpy.einsum` in terms of transpose, multiply, sum and matmul: so BLAS does the work, both ways."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from adjoint.core.constructors import composite, linear
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.memory import VIEW, axes_by, in_order, is_laid_out, lies
from adjoint.core.messages.refusals import numbers_only
from adjoint.core.op import call
from adjoint.core.protocol import put
from adjoint.core.types import Array, DType, Value
from adjoint.ops.indexing.reading import scatter_add

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Contraction(NamedTuple):
    """Contract operands number `i` and `j` (in a shrinking list) to one with the indices `out`."""

    i: int
    j: int
    out: str


class ContractionPlan(NamedTuple):
    """An einsum worked out for given shapes: letters of each operand, sizes, steps, letters of the result."""

    terms: tuple[str, ...]
    sizes: dict[str, int]
    steps: tuple[Contraction, ...]
    out: str


@composite(
    np.einsum,
    flags=("number",),
    samples=lambda r: [
        call("ij,jk->ik", r(2, 3), r(3, 4)),
        call("ij,jk", r(2, 3), r(3, 4)),
        call("ii->", r(3, 3)),
        call("ii->i", r(3, 3)),
        call("ij->j", r(2, 3)),
        call("i,i->", r(3), r(3)),
        call("i,j->ij", r(3), r(2)),
        call("bij,bjk->bik", r(2, 3, 4), r(2, 4, 2)),
        call("...ij,...jk->...ik", r(2, 3, 4), r(4, 2)),
        call("ij,jk,kl->il", r(2, 3), r(3, 4), r(4, 2)),
        call("ij,ij,i->j", r(2, 3), r(2, 3), r(2)),
        call("ijk,jil->kl", r(2, 3, 4), r(3, 2, 2)),
        call("i,,j->", r(2), r(), r(3)),
        call("ab,ab->ab", r(1, 3), r(2, 3)),
        call("iij,jk->ki", r(2, 2, 3), r(3, 2)),
        call("...->...", r(2, 3)),
    ],
    errors=lambda r: [
        call("ij,jk->ik", r(2, 3), r(4, 5)),
        call("ij->ik", r(2, 3)),
        call("ij", r(3)),
        call("...->", r(2, 3)),
    ],
)
def einsum(*operands: Array, out: Array = None, optimize: object = False, **options: Value) -> Array:
    """`numpy.einsum`, all forms. Contractions of two operands become matrix products."""
    if unknown := options.keys() - {"dtype", "order", "casting"}:
        raise ArgumentError(f"np.einsum has no argument {', '.join(sorted(unknown))!r}")
    order, dtype = options.get("order", "K"), options.get("dtype")
    if order not in ("K", "C", "F", "A"):
        raise ArgumentError(f"np.einsum: order is 'K', 'C', 'F' or 'A'; got {order!r}")
    subscripts, arrays = _read(operands)
    given = arrays = [a if hasattr(a, "shape") else np.asarray(a) for a in arrays]
    if dtype is not None:
        given = arrays = _in_dtype(arrays, dtype, options.get("casting", "safe"))
    elif len({a.dtype for a in arrays}) > 1:
        arrays = _as_precise(arrays)
    plan = plan_of(subscripts, tuple(np.shape(a) for a in arrays))
    terms = list(plan.terms)
    arrays = [_diagonals(a, term) for a, term in zip(arrays, terms, strict=True)]
    terms = ["".join(dict.fromkeys(term)) for term in terms]
    for i, j, target in plan.steps:
        b, tb = arrays.pop(j), terms.pop(j)
        a, ta = arrays.pop(i), terms.pop(i)
        arrays.append(_contract(a, ta, b, tb, target, plan.sizes))
        terms.append(target)
    result = _arrange(arrays[0], terms[0], plan.out)
    if len(given) > 1 and len(plan.out) == len(plan.sizes) and not optimize and result.dtype.kind in "fc":
        result = result + result.dtype.type(0)  # NumPy adds products to zeros, so no zero is negative
    if any(result is a for a in operands):
        result = result[...] if result.ndim else result[()]  # NumPy gives a view, or a number
    # One array whose axes are only moved is a view.
    if len(plan.out) > 1 and (len(given) > 1 or len(terms[0]) > len(plan.out)):
        result = _lying(result, subscripts, given, optimize)
    return put(np.copy(result, order) if order in ("C", "F") else result, out, np.einsum)


def _in_dtype(arrays: Sequence[Array], dtype: DType, casting: Value) -> list[Array]:
    """The operands in the dtype in which they are summed."""
    numbers_only(dtype)
    for a in arrays:
        if not np.can_cast(a.dtype, dtype, casting):
            raise TypeError(f"np.einsum: {a.dtype} does not become {np.dtype(dtype)} by casting={casting!r}")
    return [a.astype(dtype) for a in arrays]


def _as_precise(arrays: Sequence[Array]) -> list[Array]:
    """The operands in the precision of the result, in which NumPy sums. Real ones stay real."""
    whole = np.result_type(*[a.dtype for a in arrays])
    real = np.dtype(whole.char.lower()) if whole.kind == "c" else whole
    return [a if a.dtype == whole else a.astype(whole if a.dtype.kind == "c" else real) for a in arrays]


def _read(operands: tuple[object, ...]) -> tuple[str, list[Array]]:
    """The subscripts and the arrays of either form: ``("ij->j", a)`` or ``(a, [0, 1], [1])``."""
    if not operands:
        raise ArgumentError("einsum needs subscripts and arrays: einsum('ij,jk->ik', a, b)")
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    rest = list(operands)
    last = rest.pop() if len(rest) % 2 else None
    lists = rest[1::2]

    def text(items: Value) -> str:
        return "".join("..." if x is Ellipsis else _LETTERS[x] for x in items)

    return ",".join(map(text, lists)) + ("" if last is None else "->" + text(last)), rest[::2]


@lru_cache(maxsize=1024)
def plan_of(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> ContractionPlan:
    """Read `subscripts` against `shapes`: expand the ellipsis, check sizes, choose an order."""
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise ArgumentError(f"einsum: {subscripts!r} names {len(terms)} operands; got {len(shapes)} arrays")
    named = set(subscripts) - set("->,.")
    if not all(letter.isalpha() for letter in named):
        raise ArgumentError(f"einsum: {subscripts!r} may hold letters, commas, '...' and '->' only")
    spare = [letter for letter in _LETTERS if letter not in named]
    dots = [len(s) - len(t.replace("...", "")) for t, s in zip(terms, shapes, strict=True) if "..." in t]
    ellipsis = "".join(spare[: max(dots, default=0)])

    def expanded(term: str, n: int) -> str:
        return term.replace("...", ellipsis[len(ellipsis) - n :] if n else "")

    full = []
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        letters = expanded(term, len(shape) - len(term.replace("...", ""))) if "..." in term else term
        if len(letters) != len(shape):
            raise ShapeError(f"einsum: operand {term!r} names {len(term)} axes; its array has shape {shape}")
        for letter, n in zip(letters, shape, strict=True):
            if sizes.setdefault(letter, n) != n and 1 not in (n, sizes[letter]):
                raise ShapeError(
                    f"einsum: index {letter!r} of {subscripts!r} is {sizes[letter]} in one operand and {n} in "
                    f"another (shapes {', '.join(map(str, shapes))})"
                )
            sizes[letter] = max(sizes[letter], n) if 0 not in (n, sizes[letter]) else 0
        full.append(letters)
    everything = "".join(full)
    if arrow:
        if ellipsis and "..." not in right:
            raise ShapeError(
                f"einsum: '...' of {subscripts!r} stands for {len(ellipsis)} axes, which the result must keep: "
                f"write '->...{right}', or name those axes to sum over them"
            )
        out = right.replace("...", ellipsis)
    else:
        out = ellipsis + "".join(sorted(c for c in set(everything) - set(ellipsis) if everything.count(c) == 1))
    missing = [letter for letter in out if letter not in sizes]
    if missing or len(set(out)) != len(out):
        raise ArgumentError(f"einsum: the result {out!r} of {subscripts!r} must name each of its indices once, "
                            f"and only indices that an operand has")  # fmt: skip
    return ContractionPlan(tuple(full), sizes, _order(full, shapes, out), out)


def _order(terms: list[str], shapes: tuple[tuple[int, ...], ...], out: str) -> tuple[Contraction, ...]:
    """Pairs of operands to contract, by NumPy's own search."""
    pairs: list[tuple[int, ...]] = [(0, 1)] * (len(terms) - 1)
    if len(terms) > 2:
        like = [np.broadcast_to(0.0, shape) for shape in shapes]
        path = np.einsum_path(f"{','.join(terms)}->{out}", *like, optimize="greedy")[0][1:]
        pairs = []
        for group in path:  # a group of more than two is taken two by two
            first, *more = sorted(group)
            pairs += [(first, more[0])] if len(group) == 2 else [(0, 1)] * (len(group) - 1)
    left = ["".join(dict.fromkeys(t)) for t in terms]
    steps = []
    for i, j in pairs:
        tb, ta = left.pop(j), left.pop(i)
        keep = set(out).union(*left)
        target = "".join(c for c in dict.fromkeys(ta + tb) if c in keep)
        steps.append(Contraction(i, j, target))
        left.append(target)
    return tuple(steps)


def _diagonals(a: Array, term: str) -> Array:
    """Take the diagonal over indices that one operand names twice."""
    return a if len(set(term)) == len(term) else diagonals(a, term=term)


def _on_diagonals(g: Array, a_shape: tuple[int, ...], term: str) -> Array:
    """Zeros of `a_shape` with `g` where `term` names one index twice."""
    numbers = np.einsum(_diagonal_of(term), np.arange(math.prod(a_shape)).reshape(a_shape))
    return np.reshape(scatter_add(g, index=(numbers,), shape=(math.prod(a_shape),)), a_shape)


@linear(
    transpose=_on_diagonals,
    batch=lambda a, term: _diagonals(a, next(c for c in _LETTERS if c not in term) + term),
    memory=VIEW,
    flags=("moves", "selects"),
    samples=lambda r: [call(r(3, 3), term="ii"), call(r(2, 2, 3), term="iij"), call(r(2, 3, 2), term="iji")],
)
def diagonals(a: Array, /, term: str = "") -> Array:
    """What lies at equal indices of the axes that have one letter in `term`."""
    if len(set(zip(term, a.shape, strict=True))) > len(set(term)):
        raise ShapeError(f"einsum: axes with one letter in {term!r} must have one length; got shape {a.shape}")
    return np.einsum(_diagonal_of(term), a)


def _diagonal_of(term: str) -> str:
    return f"{term}->{''.join(dict.fromkeys(term))}"


def _lying(y: Array, subscripts: str, arrays: Sequence[Array], optimize: Value) -> Array:
    """`y` in the order in which NumPy's result lies: which that is, it shows on two elements along each axis."""
    models = [lies(x) for x in arrays]
    if not all(isinstance(m, np.ndarray | np.generic) for m in models):  # of another library, which has its own order
        return y
    key = (subscripts, str(optimize), *[x for m in models for x in (m.shape, m.strides)])
    order = _orders.get(key)
    if order is None:
        few = [m[(slice(2),) * np.ndim(m)] for m in models]
        order = axes_by("K", np.asarray(np.einsum(subscripts, *few, optimize=optimize)))
        if len(_orders) < 4096:
            _orders[key] = order
    return y if is_laid_out(lies(y), order) else in_order(y, order)


_orders: dict[object, tuple[int, ...]] = {}


def _summed(a: Array, axes: tuple[int, ...]) -> Array:
    """A sum in the dtype of what is summed, as einsum's are: whole numbers stay as narrow as they are."""
    return np.sum(a, axis=axes) if a.dtype.kind in "fc" else np.sum(a, axis=axes, dtype=a.dtype)


def _arrange(a: Array, term: str, out: str) -> Array:
    """Sum over what `out` lacks, and put the rest in its order."""
    lost = tuple(i for i, c in enumerate(term) if c not in out)
    if lost:
        a = _summed(a, lost)
        term = "".join(c for c in term if c in out)
    return a if term == out else np.transpose(a, [term.index(c) for c in out])


def _contract(a: Array, ta: str, b: Array, tb: str, out: str, sizes: dict[str, int]) -> Array:
    """Two operands into one: indices of both that `out` lacks are summed by a matrix product."""
    a, ta = _lean(a, ta, tb, out, sizes)
    b, tb = _lean(b, tb, ta, out, sizes)
    batch = [c for c in ta if c in tb and c in out]
    summed = [c for c in ta if c in tb and c not in out]
    free_a = [c for c in ta if c not in tb]
    free_b = [c for c in tb if c not in ta]

    def shaped(x: Array, term: str, *groups: list[str]) -> Array:
        order = [term.index(c) for group in groups for c in group]
        x = x if order == list(range(len(order))) else np.transpose(x, order)
        outer = [sizes[c] for c in batch]
        return np.reshape(x, (*outer, *(int(np.prod([sizes[c] for c in g])) for g in groups[1:])))

    if summed:
        product = np.matmul(shaped(a, ta, batch, free_a, summed), shaped(b, tb, batch, summed, free_b))
    else:
        product = shaped(a, ta, batch, free_a)[..., :, None] * shaped(b, tb, batch, free_b)[..., None, :]
    letters = "".join(batch + free_a + free_b)
    product = np.reshape(product, tuple(sizes[c] for c in letters))
    return product if letters == out else np.transpose(product, [letters.index(c) for c in out])


def _lean(x: Array, term: str, other: str, out: str, sizes: dict[str, int]) -> tuple[Array, str]:
    """Sum out indices that only this operand has, and stretch axes of length 1 that must match."""
    x = _arrange(x, term, "".join(c for c in term if c in other or c in out))
    term = "".join(c for c in term if c in other or c in out)
    shape = tuple(sizes[c] for c in term)
    return (x if np.shape(x) == shape else np.broadcast_to(x, shape)), term
