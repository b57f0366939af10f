"""A gradient makes no copies of arrays that its function only reads, and no wrong one where something writes."""

import functools
import linecache
import math
import threading

import numpy as np
import pytest

import adjoint as ad
from adjoint.tape.writes import borrowed, foreign
from adjoint.transforms import reverse
from adjoint.twin.syntax.reading import only_reads

X, A = np.linspace(0.5, 2.0, 12).reshape(4, 3), np.linspace(-1.0, 1.0, 12).reshape(4, 3)
OUTSIDE = np.linspace(1.0, 3.0, 12).reshape(4, 3)
KEPT = []


class Thing:
    """An object whose operators may do anything."""

    def __init__(self, array):
        self.array = array

    def __rmul__(self, other):
        result = other * self.array.copy()
        self.array[...] = 7.0
        return result

    __array_ufunc__ = None

    def sum(self):
        self.array[...] = 7.0
        return 1.0


def helper(x, a):
    return np.tanh(x) * a


def writing_helper(x, a):
    y = x * a
    a[0] = 5.0
    return y


def recursive(x, n):
    return x if n == 0 else recursive(x * A, n - 1)


def total_in_a_loop(x, a):
    total = 0.0
    for row, other in zip(x, a, strict=True):
        total += np.sum(row * other)
    return total / len(x)


def with_functions_inside(x, a):
    def inner(y, k):
        s = 0.0
        for _ in range(k):
            s += np.sum(y * a)
        return s

    double = lambda y: y * 2.0
    return inner(double(x), 2)


def with_lists(x, a):
    rows = []
    for row in x:
        rows.append(row * a[0])  # noqa: PERF401 - the form is looked at
    return np.sum(np.stack(rows)) + sum([np.sum(r) for r in rows])


def by_module(x, a, xp=np):
    return xp.sum(xp.sin(x) * a) + xp.linalg.norm(x)


def by_names(x, a):
    d = {"x": x, "a": a}
    left, *rest = d["x"], d["a"], math.pi
    return np.mean(left @ rest[0].T * rest[1]) if x.shape[0] > 1 and a.ndim != 3 else np.sum(x)


READING = {
    "product": lambda x, a: np.sum(x * a),
    "outside": lambda x, a: np.sum(x * OUTSIDE.T.T) + np.float64(2.0),
    "methods": lambda x, a: (x * a).sum(axis=0).reshape(3, 1).max() + x.T.dot(a).mean(),
    "helper": lambda x, a: np.sum(helper(x, a=a)),
    "recursive": lambda x, a: np.sum(recursive(x, 3)),
    "loop": total_in_a_loop,
    "functions inside": with_functions_inside,
    "lists": with_lists,
    "module": by_module,
    "module, given": functools.partial(by_module, xp=np),
    "names": by_names,
    "einsum": lambda x, a: np.einsum("ij,ij->", x, a, optimize=True),
    "where": lambda x, a: np.sum(np.where(x > 1, x * a, np.clip(x, 0.0, 1.0))),
}


@pytest.mark.parametrize("name", READING)
def test_a_function_that_only_reads_gets_no_copies(name, monkeypatch):
    f = READING[name]
    assert only_reads(f, (X, A), {})
    with monkeypatch.context() as all_are_copied:
        all_are_copied.setattr(foreign, "ASKED", 1 << 60)
        right = ad.grad(f, (0, 1))(X, A), ad.grad(f)(X, A)

    def refuse(*args):
        raise AssertionError("it was copied")

    monkeypatch.setattr(foreign, "ASKED", 0)
    monkeypatch.setattr(reverse, "BORROWED", 0)
    monkeypatch.setattr(borrowed.Borrowed, "of", refuse)
    found = ad.grad(f, (0, 1))(X, A), ad.grad(f)(X, A)
    for a, b in zip((*right[0], right[1]), (*found[0], found[1]), strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.shares_memory(b, X)
        assert not np.shares_memory(b, A)
        assert b.flags.writeable
    assert not foreign.RUNS


def element(x, a):
    y = x * a
    a[1, 2] = 9.0
    return np.sum(y)


def in_place(x, a):
    y = x * a
    a *= -1.0
    return np.sum(y)


def of_an_argument(x, a, total=None):
    total = a
    y = x * a
    total += 1.0
    return np.sum(y)


def parameter_is_added_to(x, a):
    y = x * a
    a += x.shape[0]
    return np.sum(y)


def used_before_it_is_added_to(x, a):
    total = np.zeros((4, 3))
    total += a
    y = x * total
    total += 1.0
    return np.sum(y)


def in_a_loop(x, a):
    total, loss = 0.0, 0.0
    total = total + a
    for _ in range(3):
        loss = loss + np.sum(x * total)
        total += 1.0
    return loss


def through_a_view(x, a):
    y = x * a
    a.reshape(-1)[::2] = 0.0
    return np.sum(y)


def swapped(x, a):
    y = x * a
    a[[0, 1]] = a[[1, 0]]
    return np.sum(y)


def by_thread(x, a):
    y = x * a
    thread = threading.Thread(target=a.fill, args=(3.0,))
    thread.start()
    thread.join()
    return np.sum(y)


def by_memoryview(x, a):
    y = x * a
    memoryview(a)[0, 0] = 4.0
    return np.sum(y)


def by_local_name(x, a):
    y = x * a
    change = a.fill
    change(3.0)
    return np.sum(y)


def by_setattr(x, a):
    y = x * a
    a.flat = 2.0
    return np.sum(y)


def written_by_a_default(x, a, change=np.copyto):
    y = x * a
    change(a, 2.0)
    return np.sum(y)


def by_comprehension(x, a):
    y = x * a
    [a.fill(k) for k in range(3)]
    return np.sum(y)


def by_target(x, a):
    y = x * a
    for a[0, 0] in range(3):
        pass
    return np.sum(y)


def with_statement(x, a):
    with np.errstate(all="ignore"):
        y = x * a
        a[0] = 0.0
    return np.sum(y)


def shadowed(x, a):
    y = x * a
    rows = [np.sum() for np in x]
    np.copyto(a, 0.0)  # here it is the module
    return np.sum(y) + 0 * sum(rows)


def helper_inside(x, a):
    y = x * a

    def change(b):
        b[0] = 1.0

    change(a)
    return np.sum(y)


def written(make):
    def f(x, a):
        y = x * a
        make(a)
        return np.sum(y)

    return f


WRITING = {
    "element": element, "in place": in_place, "of an argument": of_an_argument, "parameter": parameter_is_added_to,
    "used before": used_before_it_is_added_to, "in a loop": in_a_loop, "view": through_a_view, "swapped": swapped,
    "thread": by_thread, "memoryview": by_memoryview, "local name": by_local_name, "flat": by_setattr,
    "default": written_by_a_default, "comprehension": by_comprehension, "target": by_target, "with": with_statement,
    "shadowed": shadowed, "helper inside": helper_inside,
    "helper": lambda x, a: np.sum(writing_helper(x, a)),
    "closure": written(lambda a: a.fill(0.0)),
    "out": lambda x, a: np.sum(x * a) + 0 * np.sum(np.sin(a, out=a)),
    "out by position": lambda x, a: np.sum(x * a) + 0 * np.sum(np.sin(a, a)),
    "out of a sum": lambda x, a: np.sum(x * a) + 0 * np.sum(np.sum(a, 0, None, a[0])),
    "out of a method": lambda x, a: np.sum(x * a) + 0 * np.sum(a.sum(0, None, a[0])),
    "out in a dictionary": lambda x, a: np.sum(x * a) + 0 * np.sum(np.sin(a, **{"out": a})),  # noqa: PIE804 - the form is looked at
    "out by star": lambda x, a: np.sum(x * a) + 0 * np.sum(np.sin(*(a, a))),
    "dot": lambda x, a: np.sum(x * a) + 0 * np.sum(np.dot(X[:, :3].T @ X, np.eye(3), a[:3].copy())) + (a.fill(1) or 0),
    "nan_to_num": lambda x, a: np.sum(x * a) + 0 * np.sum(np.nan_to_num(np.divide(a, 0 * a, out=a), copy=False)),
    "copyto": lambda x, a: np.sum(x * a) + (np.copyto(a, 1.0) or 0.0),
    "put": lambda x, a: np.sum(x * a) + (np.put(a, [0, 3], 9.0) or 0.0),
    "add.at": lambda x, a: np.sum(x * a) + (np.add.at(a, 0, 9.0) or 0.0),
    "fill": lambda x, a: np.sum(x * a) + (a.fill(9.0) or 0.0),
    "sort": lambda x, a: np.sum(x * a) + (a[::-1].sort(axis=0) or a[:, ::-1].sort() or 0.0),
    "dunder": lambda x, a: np.sum(x * a) + (a.__setitem__(0, 9.0) or 0.0),
    "map": lambda x, a: np.sum(x * a) + len(list(map(a.fill, [2.0]))),
    "key": lambda x, a: np.sum(x * a) + 0 * max([1.0, 2.0], key=lambda v: a.fill(v) or v),
    "object": lambda x, a: np.sum(x * a) + 0 * Thing(a).sum(),
    "operator": lambda x, a: np.sum(x * a) + 0.0 * np.sum(0.0 * Thing(a)),
    "partial": functools.partial(lambda change, x, a: np.sum(x * a) + (change(a) or 0.0), lambda a: a.fill(2.0)),
    "walrus": lambda x, a: np.sum(y := x * a) + 0 * np.sum(np.negative(a, a)) + 0 * np.sum(y),
    "choose": lambda x, a: np.sum(x * a) + 0 * np.sum(np.take(a, [0], 0, a[:1])) + (a.fill(2.0) or 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("lay", [np.copy, lambda a: np.asfortranarray(a), lambda a: np.repeat(a, 2, 1)[:, ::2]])
@pytest.mark.filterwarnings("ignore")
def test_a_function_that_writes_gets_copies(name, lay, monkeypatch):
    f = WRITING[name]

    def gradient():
        return ad.grad(f)(X, lay(A))

    with monkeypatch.context() as all_are_copied:
        all_are_copied.setattr(foreign, "ASKED", 1 << 60)
        right = gradient()
    monkeypatch.setattr(foreign, "ASKED", 0)
    monkeypatch.setattr(reverse, "BORROWED", 0)
    assert not only_reads(f, (X, lay(A)), {})
    np.testing.assert_array_equal(gradient(), right)


def test_what_a_name_stands_for_is_asked_at_each_call():
    scope = {"np": np, "helper": helper, "A": A.copy()}
    namespace = {}
    source = "def f(x):\n    return np.sum(helper(x, A))\n"
    linecache.cache["made up"] = len(source), None, source.splitlines(True), "made up"
    exec(compile(source, "made up", "exec"), scope | {"__name__": __name__}, namespace)
    f = namespace["f"]
    scope = f.__globals__
    assert only_reads(f, (X,), {})
    assert only_reads(f, (X,), {})
    scope["helper"] = writing_helper
    assert not only_reads(f, (X,), {})
    scope["helper"] = helper
    assert only_reads(f, (X,), {})
    scope["A"] = Thing(A)
    assert not only_reads(f, (X,), {})
    scope["A"] = np.array([1.0, None])
    assert not only_reads(f, (X,), {})


def test_memory_of_others_is_copied(tmp_path):
    f = READING["product"]
    assert only_reads(f, (X, A[::2, ::-1]), {})
    assert not only_reads(f, (X, np.memmap(tmp_path / "a", float, "w+", shape=(4, 3))), {})
    assert not only_reads(f, (X, np.frombuffer(bytearray(96)).reshape(4, 3)), {})
    assert not only_reads(f, (X, np.ma.array(A)), {})
    assert not only_reads(f, (X, Thing(A)), {})
    assert not only_reads(f, (X, [A, {"a": Thing(A)}]), {})


def keeping(x, a):
    KEPT.append(x * a)
    return np.sum(x)


def beside(x, a):
    return np.sum(x), [x * a]


def test_tensors_that_outlive_the_pass_keep_their_values(monkeypatch):
    monkeypatch.setattr(foreign, "ASKED", 0)
    assert not only_reads(keeping, (X, A), {})
    a = A.copy()
    _, (y,) = ad.grad(beside, has_aux=True)(X, a)
    a[...] = 0.0
    np.testing.assert_array_equal(y, X * A)


def test_hooks_of_others_run_between(monkeypatch):
    monkeypatch.setattr(foreign, "ASKED", 0)
    a = A.copy()

    def pack(value):
        a.fill(0.0)
        return value

    with ad.saved_tensors_hooks(pack, lambda value: value):
        found = ad.grad(lambda x: np.sum(np.exp(x * a)))(X)
    np.testing.assert_allclose(found, A * np.exp(X * A))


def test_inside_other_transforms(monkeypatch):
    monkeypatch.setattr(foreign, "ASKED", 0)

    def inner(x, a):
        return np.sum(np.sin(x) * a)

    def outer(x, a):
        g = ad.grad(inner)(x, a)
        loss = np.sum(g * x * a)
        a[...] = 0.0
        return loss

    a = A.copy()
    found = ad.grad(outer)(X, a)
    np.testing.assert_allclose(found, A * A * (np.cos(X) - X * np.sin(X)))


def filled(xp, x):
    """A function that needs a twin."""
    a = xp.zeros(3)
    for i in range(3):
        a[i] = x[i] ** 2
    return xp.sum(xp.array([a[0], a[1], x[2]]))


class Called:
    """An object that is called."""

    def __call__(self, x):
        return filled(np, x)


@pytest.mark.parametrize("f", [functools.partial(filled, np), Called(), functools.partial(Called())])
def test_what_has_no_name_is_followed(f):
    np.testing.assert_array_equal(ad.grad(f)(np.array([1.0, 2.0, 3.0])), [2.0, 4.0, 1.0])
    np.testing.assert_array_equal(ad.vjp(f, np.ones(3))[1](1.0)[0], [2.0, 2.0, 1.0])
