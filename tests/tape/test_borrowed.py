"""Large arguments of transforms are borrowed: whoever overwrites one, and when, no gradient and no array goes wrong."""

import threading
from copy import copy, deepcopy

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import AdjointError
from adjoint.core.objects.trees import flatten
from adjoint.tape.writes import borrowed
from adjoint.testing import samples, walk
from tests.tape.test_foreign_writes import at, overwrite, places, replaced

C = np.linspace(0.5, 2.0, 12).reshape(4, 3)


@pytest.fixture(autouse=True)
def all_are_borrowed(monkeypatch):
    monkeypatch.setattr(borrowed, "BORROWED", 0)


@ad.custom_vjp
def cubed(y):
    return y**3


cubed.defvjp(lambda y: (y**3, y), lambda y, g: (3 * y**2 * g,))


def in_thread(write):
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()


def pulled(t, write):
    _, pullback = ad.vjp(lambda y: np.sin(y) * y, t)
    write()
    return pullback(np.ones(t.shape))[0]


def then(value, write):
    write()
    return value


def kept(make):
    """A program that makes something of `t`, before its owner overwrites it, and uses that and `t` afterwards."""
    return lambda t, write: then((y := make(t)) * y, write) * y


def updated(change):
    def program(t, write):
        change(t)
        y = t * t
        write()
        return y * t

    return program


def out_of(t):
    np.multiply(t, 2.0, out=t)


def copied_to(t):
    np.copyto(t, t * 2)


def without_graph(t):
    with ad.no_grad():
        t *= 2.0


PROGRAMS = {
    "product": kept(lambda t: t * t),
    "product by a thread": lambda t, write: then(t * t, lambda: in_thread(write)) * 2,
    "power": kept(lambda t: t**3),
    "matmul": kept(lambda t: (t @ t.T)[:, :3]),
    "its own function": kept(np.sin),
    "clip": kept(lambda t: np.clip(t, 0.6, 1.5)),
    "maximum": kept(lambda t: np.maximum(t, 1.0)),
    "where": kept(lambda t: np.where(t > 1, t, t**2)),
    "transpose": kept(lambda t: t.T.T),
    "reshape": kept(lambda t: t.reshape(3, 4).reshape(4, 3)),
    "slice": kept(lambda t: t[1:]),
    "view of a view": kept(lambda t: t[1:][::2, ::-1]),
    "index": kept(lambda t: t[[0, 2, 2]]),
    "flat": kept(lambda t: np.array(list(t.flat)).reshape(4, 3)),
    "split": kept(lambda t: np.split(t, 2)[0]),
    "unpacked": kept(lambda t: [*t][1]),
    "broadcast": kept(lambda t: np.broadcast_arrays(t, C)[0]),
    "broadcast_to": kept(lambda t: np.broadcast_to(t, (2, 4, 3))),
    "einsum": kept(lambda t: np.einsum("ij->ji", t).T),
    "diagonal": kept(lambda t: np.diagonal(t)),
    "squeeze": kept(lambda t: np.squeeze(t[None])),
    "asarray": kept(np.asarray),
    "array": kept(np.array),
    "astype": kept(lambda t: t.astype(float, copy=False)),
    "real": kept(lambda t: t.real),
    "positive": kept(lambda t: +t),
    "stack": kept(lambda t: np.stack([t, t])),
    "concatenate": kept(lambda t: np.concatenate([t, C * t])),
    "copy": kept(copy),
    "deepcopy": kept(deepcopy),
    "of no rank": kept(lambda t: t[0, 0]),
    "stop_gradient": lambda t, write: then(ad.stop_gradient(t), write) * t,
    "detach": lambda t, write: then(t.detach(), write) * t,
    "sum": kept(lambda t: np.sum(t, axis=1)[:, None] * t),
    "mean": kept(lambda t: np.mean(t) * t),
    "norm": kept(lambda t: np.linalg.norm(t) * t),
    "sort": kept(lambda t: np.sort(t, axis=0)),
    "in place": updated(lambda t: t.__iadd__(1.0)),
    "element": updated(lambda t: t.__setitem__((0, 1), 7.0)),
    "row": updated(lambda t: t.__setitem__(0, t[1] * t[2])),
    "through a view": updated(lambda t: t.T.__setitem__(0, 3.0)),
    "through reshape": updated(lambda t: t.reshape(-1).__setitem__(slice(2), 3.0)),
    "out": updated(out_of),
    "copyto": updated(copied_to),
    "add.at": updated(lambda t: np.add.at(t, [0, 0], 1.0)),
    "put": updated(lambda t: np.put(t, [0, 3], 1.0)),
    "sorted in place": updated(lambda t: t.sort()),
    "filled": updated(lambda t: t.fill(2.0)),
    "no_grad": updated(without_graph),
    "custom rule": kept(cubed),
    "checkpoint": kept(lambda t: ad.checkpoint(lambda y: np.sin(y) * y)(t)),
    "compiled": kept(ad.compile(lambda y: np.sin(y) * y)),
    "grad": kept(ad.grad(lambda y: np.sum(np.sin(y) * y))),
    "grad beside it": kept(lambda t: ad.grad(lambda y: np.sum(np.sin(y) * y * t))(C)),
    "vjp": pulled,
    "jvp": kept(lambda t: ad.jvp(lambda y: np.sin(y) * y, (t,), (C,))[1]),
    "vmap": kept(lambda t: ad.vmap(lambda y: np.sin(y) * y)(t)),
    "vmap of grad": kept(lambda t: ad.vmap(ad.grad(lambda y: np.sum(np.sin(y) * y)))(t)),
    "hessian": kept(lambda t: ad.hessian(lambda y: np.sum(np.sin(y) * y))(t[0])),
    "hvp beside it": kept(lambda t: ad.hvp(lambda y: np.sum(y**3 * t), C, t)),
}

MODES = {
    "grad": lambda f, x: ad.grad(lambda t: np.sum(f(t)))(x),
    "grad of a tree": lambda f, x: ad.grad(lambda p: np.sum(f(p["x"][0])))({"x": [x]})["x"][0],
    "vjp": lambda f, x: ad.vjp(lambda t: np.sum(f(t)), x)[1](1.0)[0],
    "grad, on disk": lambda f, x: on_disk(f, x),
    "jvp of grad": lambda f, x: ad.jvp(ad.grad(lambda t: np.sum(f(t))), (x,), (C,))[1],
    "grad of grad": lambda f, x: ad.grad(lambda t: np.sum(ad.grad(lambda y: np.sum(f(y)))(t) * C))(x),
    "grad of jvp": lambda f, x: ad.grad(lambda t: np.sum(ad.jvp(f, (t,), (C,))[1]))(x),
    "vmap of grad": lambda f, x: ad.vmap(ad.grad(lambda t: np.sum(f(t))))(x[None]),
    "jacrev": lambda f, x: ad.jacrev(lambda t: np.sum(f(t)))(x),
    "asynchronous": lambda f, x: later(f, x),
    "anomalies": lambda f, x: looked_at(f, x),
}


def on_disk(f, x):
    with ad.save_on_disk():
        return ad.grad(lambda t: np.sum(f(t)))(x)


def later(f, x):
    def inside(t):
        with ad.asynchronous():
            return np.sum(f(t))

    return ad.grad(inside)(x)


def looked_at(f, x):
    with ad.detect_anomaly():
        return ad.grad(lambda t: np.sum(f(t)))(x)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore::adjoint.LeakWarning")
def test_an_argument_that_is_overwritten_by_another_name(name, mode):
    program, transform = PROGRAMS[name], MODES[mode]

    def gradient(attack):
        x = C.copy()
        found = transform(lambda t: program(t, lambda: attack(x)), x)
        return found, x

    def another(x):
        memoryview(x)[0, 0] = 9.0
        x[1:] *= -2.0

    try:
        right, untouched = gradient(lambda x: None)
    except AdjointError as error:
        with pytest.raises(type(error)):
            gradient(another)
        return
    np.testing.assert_array_equal(untouched, C)  # what the function writes is its own
    found, x = gradient(another)
    np.testing.assert_array_equal(found, right)
    assert x[0, 0] == 9.0
    assert not np.shares_memory(found, x)


@pytest.mark.parametrize("entry", [*walk()], ids=lambda entry: entry.name)
@pytest.mark.filterwarnings("ignore::adjoint.LeakWarning")
def test_each_operation(entry):
    for args, kwargs in samples(entry):
        for way in places(args):

            def gradient(attacked):
                x = np.array(at(args, way), order="K")

                def f(t):
                    outs, _ = flatten(entry(*replaced(args, way, t), **kwargs))
                    if attacked:
                        overwrite(x)
                    return sum(np.sum(np.abs(out) ** 2) for out in outs if isinstance(out, ad.Tensor))

                return ad.grad(f)(x)

            try:
                right = gradient(False)
            except (AdjointError, np.linalg.LinAlgError, TypeError, ValueError):
                continue
            np.testing.assert_array_equal(gradient(True), right, err_msg=f"{entry.name}, argument {way}")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_operations_that_keep_nothing_of_it_read_the_owners_memory(monkeypatch, dtype, order):
    def refuse(self, copy):
        raise AssertionError("it was copied")

    monkeypatch.setattr(borrowed.Borrowed, "_own", refuse)
    w, x = np.array(C, dtype, order=order), np.ones((2, 4), dtype)

    def f(w):
        assert (w.shape, w.ndim, len(w), w.dtype, w.size) == ((4, 3), 2, 4, dtype, 12)
        y = np.tanh(x @ w) * 2 + np.matmul(x, w) - np.sum(w) + w.mean()
        return np.sum(y) + np.sum(2 * w) + np.sum(w / 3) + np.sum(-w) + np.sum(1 - w)

    g = ad.grad(f)(w)
    s = 1 / np.cosh(x.astype(float) @ w.astype(float)) ** 2
    expected = x.T @ (2 * s) + x.T @ np.ones((2, 3)) - 6 + 0.5 + 2 + 1 / 3 - 1 - 1
    np.testing.assert_allclose(g, expected, rtol=1e-5)


@pytest.mark.parametrize("x", [C[::2], C[:, :2], np.broadcast_to(C[0], (4, 3)), C * 1j, C.astype(">f8"), C[0, 0]])
def test_other_arguments_are_copied(x):
    seen = []
    ad.grad(lambda t: seen.append(isinstance(t, borrowed.Borrowed)) or np.sum(np.abs(t)))(x)
    assert seen == [False]


def test_two_arguments_in_one_array():
    x = C.copy()

    def f(a, b):
        y = a * b
        x[...] = 0.0
        return np.sum(y * y)

    for g in ad.grad(f, (0, 1))(x, x):
        np.testing.assert_allclose(g, 2 * C**3)


def test_what_the_function_keeps_is_read_later():
    kept = []
    ad.grad(lambda t: kept.append(t) or np.sum(t))(C)
    np.testing.assert_array_equal(kept[0].numpy(), C)
    assert type(kept[0]) is ad.Tensor


def test_threads_that_use_one_argument_at_once():
    x = np.linspace(0.5, 2.0, 20_000)

    def f(t):
        found = {}
        threads = [threading.Thread(target=lambda k=k: found.update({k: np.sum(t * t * k)})) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        x[...] = 0.0
        return sum(found.values())

    np.testing.assert_allclose(ad.grad(f)(x), 56 * np.linspace(0.5, 2.0, 20_000))
