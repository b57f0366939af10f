"""Whatever a call is given besides the tensor, and is overwritten before the gradient is taken: never a wrong one.

Every sample call of the registry is walked: one argument is a tensor, and every other array or list, wherever it
stands among the arguments, is overwritten between forward and backward.
"""

import copy
import weakref
from contextlib import nullcontext

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import AdjointError
from adjoint.core.objects.trees import flatten
from adjoint.tape.writes import foreign as watch
from adjoint.testing import samples, walk
from tests.tape.foreign_programs import attack

# Doors of ours copy what these are given: t[index], np.repeat.
INSIDE = {"getitem", "overwrite", "scatter_add", "repeat_each"}
ENTRIES = [entry for entry in walk() if entry.name not in INSIDE]


def mutable(tree):
    """The arrays and lists in a tree of arguments."""
    if isinstance(tree, np.ndarray):
        yield tree
    elif isinstance(tree, dict):
        for value in tree.values():
            yield from mutable(value)
    elif isinstance(tree, list | tuple):
        if isinstance(tree, list):
            yield tree
        for value in tree:
            yield from mutable(value)


def overwrite(thing):
    """Other contents, of the same kind."""
    if isinstance(thing, list):
        thing.reverse()
    elif thing.flags.writeable and thing.size:
        thing[...] = np.roll(thing, 1) if thing.size > 1 else thing * 0
        if thing.dtype.kind in "fc":
            thing *= -1.7


def places(tree, way=()):
    """Where in the arguments an array stands that can be a tensor."""
    if isinstance(tree, np.ndarray) and tree.dtype.kind in "fc":
        yield way
    elif isinstance(tree, list | tuple):
        for i, value in enumerate(tree):
            yield from places(value, (*way, i))


def replaced(tree, way, value):
    if not way:
        return value
    return type(tree)(replaced(x, way[1:], value) if i == way[0] else x for i, x in enumerate(tree))


def at(tree, way):
    return at(tree[way[0]], way[1:]) if way else tree


def gradient(entry, args, kwargs, way, attacked):
    args, kwargs = copy.deepcopy((args, kwargs))
    t = ad.tensor(at(args, way), requires_grad=True)
    foreign = [*mutable(args), *mutable(kwargs)]
    value = entry(*replaced(args, way, t * 1.0), **kwargs)
    loss = sum(
        np.sum(np.abs(out) ** 2) for out in flatten(value)[0] if isinstance(out, ad.Tensor) and out.requires_grad
    )
    if isinstance(loss, int):
        return None
    if attacked:
        for thing in foreign:
            overwrite(thing)
    loss.backward()
    return t.grad.numpy()


@pytest.mark.parametrize("way_of_keeping", ["copied", "watched"])
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_what_is_overwritten_after_it_was_given(entry, way_of_keeping):
    for args, kwargs in samples(entry):
        for way in places(args):
            try:
                right = gradient(entry, args, kwargs, way, attacked=False)
            except (AdjointError, np.linalg.LinAlgError):
                continue
            if right is None:
                continue
            with ad.exact_checks() if way_of_keeping == "watched" else nullcontext():
                try:
                    found = gradient(entry, args, kwargs, way, attacked=True)
                except ad.InPlaceError:
                    assert way_of_keeping == "watched"
                    continue
            np.testing.assert_array_equal(found, right, err_msg=f"{entry.name}, argument {way}")


@pytest.mark.parametrize("copied", [watch.COPIED, 0, 500])
@pytest.mark.parametrize("size", [3, 17, 300])
def test_random_programs(size, copied, monkeypatch):
    monkeypatch.setattr(watch, "COPIED", copied)
    right = sum(attack(seed, size) for seed in range(30))
    assert right > (20 if copied > 500 else 0)


def test_memory_that_is_a_file(tmp_path):
    memory = np.memmap(tmp_path / "numbers", float, "w+", shape=40)
    for seed in range(20):
        memory[:] = np.random.default_rng(seed).uniform(0.5, 1.5, 40)
        attack(seed, 40, memory)


def through(call):
    """A run: `call` of a tensor, the writes, and the gradient."""

    def run(a, x, write):
        t = ad.tensor(x, requires_grad=True)
        loss = np.sum(call(t, a))
        write()
        loss.backward()
        return t.grad.numpy()

    return run


def by_pullback(f):
    def run(a, x, write):
        pullback = ad.vjp(lambda t: f(t, a), x)[1]
        write()
        return pullback(np.ones(x.shape))[0]

    return run


def by_push(a, x, write):
    push = ad.linearize(lambda t: np.sin(t * a) * a, x)[1]
    write()
    return push(np.ones(x.shape))


def packed(hooks):
    def call(t, a):
        with hooks():
            return np.sin(t * a) * a

    return through(call)


def with_rule_forward(t, a):
    f = ad.custom_jvp(lambda t: t * a)
    f.defjvp(lambda primals, tangents: (primals[0] * a, tangents[0] * a))
    return f(t) ** 2


def with_rule_backward(t, a):
    f = ad.custom_vjp(lambda t: t * a)
    f.defvjp(lambda t: (t * a, None), lambda residual, g: (g * a,))
    return f(t) ** 2


def compiled(t, a):
    f = ad.compile(lambda t, q: np.sum(np.sin(t * q) * q))
    for _ in range(3):
        f(t, a)
    return f(t, a)


DOORS = {
    "vjp": by_pullback(lambda t, a: np.sin(t * a) * a),
    "vjp of grad": by_pullback(lambda t, a: ad.grad(lambda s: np.sum(np.sin(s * t) * a))(t * a)),
    "linearize": by_push,
    "checkpoint, argument": through(lambda t, a: ad.checkpoint(lambda t, q: np.sin(t * q))(t, a)),
    "checkpoint, closure": through(lambda t, a: ad.checkpoint(lambda t: np.sin(t * a))(t)),
    "checkpoints in a row": through(lambda t, a: ad.checkpoint_sequential([lambda t: np.sin(t * a)] * 3, 3, t)),
    "scan, closure": through(
        lambda t, a: ad.checkpoint_scan(lambda c, q: (np.sin(c * a) + q, None), t * 1, np.ones((3, 5)), snapshots=2)[0]
    ),
    "scan, rows": through(
        lambda t, a: ad.checkpoint_scan(lambda c, q: (np.sin(c * q), None), t * 1, np.stack([a] * 3), snapshots=2)[0]
    ),
    "saved on disk": packed(ad.save_on_disk),
    "saved by hooks": packed(lambda: ad.saved_tensors_hooks(lambda q: q, lambda q: q)),
    "custom_jvp that closes over it": through(with_rule_forward),
    "custom_vjp that closes over it": through(with_rule_backward),
    "fixed point": through(lambda t, a: ad.fixed_point(lambda z, p: np.cos(z * 0.1) * a + p, np.zeros(5), t)),
    "compiled": through(compiled),
}


@pytest.mark.parametrize("name", DOORS)
def test_every_other_door(name):
    def run(attacked):
        a, x = np.linspace(1.0, 2.0, 5), np.linspace(0.1, 0.5, 5)

        def write():
            if attacked:
                a[:], x[:] = -7.0, 9.0

        return DOORS[name](a, x, write)

    right = run(attacked=False)
    try:
        found = run(attacked=True)
    except (ad.InPlaceError, ad.GradientError):
        return
    np.testing.assert_allclose(found, right, rtol=1e-12)


def test_a_copy_of_objects_holds_them():
    class Thing:
        """What an array may hold."""

    thing = Thing()
    held = weakref.ref(thing)
    array = np.full(1 << 15, thing, object)
    other = watch.recycled(array)
    del array, thing
    assert other[-1] is held()
    del other
    assert held() is None
