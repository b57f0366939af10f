"""Ways to overwrite an array that a graph saved: a copy gives the right gradient, a fingerprint refuses."""

import ctypes
import threading

import numpy as np
import pytest

import adjoint as ad
from adjoint.tape.writes import foreign

#: Large enough for several rows of a fingerprint, and a rest.
SIZE = 3 * 4096 + 5


def start():
    a = np.linspace(-2.0, 2.0, SIZE)
    a[7], a[8], a[9] = 0.0, np.nan, np.inf
    return a


LAYOUTS = {
    "whole": start,
    "reversed": lambda: start()[::-1],
    "every other": lambda: np.repeat(start(), 2)[::2],
    "columns": lambda: np.asfortranarray(start()[: 3 * 4096].reshape(64, 192)),
    "transposed": lambda: start()[: 3 * 4096].reshape(64, 192).T,
    "block": lambda: np.tile(start()[: 3 * 4096].reshape(64, 192), (1, 2))[:, 5:197],
    "float32": lambda: start().astype(np.float32),
    "complex": lambda: start() * (1 + 2j),
}


def by_thread(a):
    thread = threading.Thread(target=a.fill, args=(3.0,))
    thread.start()
    thread.join()


def by_address(a):
    ctypes.memset(a.__array_interface__["data"][0], 1, 1)


def nan_of_another_payload(a):
    place = np.argwhere(np.isnan(a.real))[0]
    bits = a[tuple(slice(i, i + 1) for i in place)]
    raw = np.ascontiguousarray(bits).view(np.uint8).copy()
    raw[0] ^= 1
    bits[...] = raw.view(a.dtype).reshape(bits.shape)


def zero_of_another_sign(a):
    place = tuple(np.argwhere(a == 0)[0])
    a[place] = -a[place] if np.signbit(a[place].real) else -0.0


def swapped(a):
    first, last = (0,) * a.ndim, (-1,) * a.ndim
    a[first], a[last] = a[last], a[first]


def two_changes_that_add_to_nothing(a):
    a[(1,) * a.ndim] += 0.5
    a[(2,) * a.ndim] -= 0.5


ATTACKS = {
    "one element": lambda a: a.__setitem__((3,) * a.ndim, 9.0),
    "the last element": lambda a: a.__setitem__((-1,) * a.ndim, 9.0),
    "one bit": lambda a: a.__setitem__((4,) * a.ndim, np.nextafter(a[(4,) * a.ndim].real, 9.0).astype(a.real.dtype)),
    "sign": lambda a: np.negative(a, out=a),
    "out": lambda a: np.add(a, 1.0, out=a),
    "copyto": lambda a: np.copyto(a, 2.0),
    "masked copyto": lambda a: np.copyto(a, 2.0, where=np.abs(a) < 0.01),
    "view": lambda a: a[::2].__imul__(2.0),
    "view of a view": lambda a: a.T[1:][::3].fill(0.5),
    "memoryview": lambda a: memoryview(a).__setitem__((0,) * a.ndim, 5.0) if a.dtype.kind == "f" else a.fill(1.0),
    "address": by_address,
    "thread": by_thread,
    "shifted": lambda a: a.__setitem__(..., np.roll(a, 1)),
    "permuted": lambda a: a.__setitem__(..., np.random.default_rng(0).permutation(a.reshape(-1)).reshape(a.shape)),
    "reversed": lambda a: a.__setitem__(..., a[::-1].copy()),
    "sorted": lambda a: np.negative(a, out=a).sort(axis=0),
    "swapped": swapped,
    "changes that add to nothing": two_changes_that_add_to_nothing,
    "zero of another sign": zero_of_another_sign,
    "nan of another payload": nan_of_another_payload,
    "put": lambda a: np.put(a, [5], 8.0),
    "add.at": lambda a: np.add.at(a, 0, 1.0),
    "zeros": lambda a: a.fill(0.0),
}


def bits(x):
    return np.ascontiguousarray(x).tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_array_that_is_overwritten(layout, attack, monkeypatch):
    def graph():
        a = LAYOUTS[layout]()
        t = ad.tensor(np.ones(a.shape, a.dtype), requires_grad=True)
        return a, t, np.sum(np.real(t * a))

    a, t, loss = graph()
    loss.backward()
    right = bits(t.grad.numpy())

    a, t, loss = graph()
    before = bits(a)
    ATTACKS[attack](a)
    assert bits(a) != before
    loss.backward()
    assert bits(t.grad.numpy()) == right

    monkeypatch.setattr(foreign, "COPIED", 0)  # as for arrays of more than 32 MiB
    a, t, loss = graph()
    ATTACKS[attack](a)
    with pytest.raises(ad.InPlaceError):
        loss.backward()


@pytest.mark.parametrize("copied", [foreign.COPIED, 0])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_same_bytes_again_are_no_change(layout, copied, monkeypatch):
    monkeypatch.setattr(foreign, "COPIED", copied)
    a = LAYOUTS[layout]()
    t = ad.tensor(np.ones(a.shape, a.dtype), requires_grad=True)
    loss = np.sum(np.real(t * a))
    again = a.copy()
    a.fill(0.0)
    a[...] = again
    loss.backward()
    np.testing.assert_array_equal(t.grad.numpy(), np.ones(a.shape, a.dtype) * again.conj())


@pytest.mark.parametrize("copied", [foreign.COPIED, 0])
def test_an_array_that_is_changed_between_two_uses_and_back(copied, monkeypatch):
    monkeypatch.setattr(foreign, "COPIED", copied)
    a = np.linspace(1.0, 2.0, SIZE)
    old = a[1]
    t = ad.tensor(np.ones(SIZE), requires_grad=True)
    first = np.sum(t * a)
    a[1] = 7.0
    second = np.sum(t * a)
    a[1] = old
    if copied:
        (first + second).backward()
        assert t.grad.numpy()[1] == old + 7.0
    else:
        with pytest.raises(ad.InPlaceError):
            (first + second).backward()
