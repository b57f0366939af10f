"""`asynchronous`: values on their way give the bits of the same program without the block."""

import threading

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.arrays import later
from adjoint.core.backend import backend_of
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op, Rule
from adjoint.testing import walk
from adjoint.testing.cases import cases

ENTRIES = list(walk())
# An index that is on its way has another rule.
TO_ROUNDING = ("interp", "voigt_profile")


@pytest.fixture
def every_size(monkeypatch):
    """Operations of any size are handed over."""
    monkeypatch.setattr(later, "LARGE", 1)


def values_of(x):
    found = [leaf.numpy() if hasattr(leaf, "numpy") else np.asarray(leaf) for leaf in flatten(x)[0]]
    return [np.array(x) for x in found]


def same(a, b):
    return all(
        x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True)
    )


def forward_and_back(case):
    """The values of a call on tensors, and the gradients of a sum with weights."""
    tensors = [ad.tensor(a) for a in case.arrays]
    for t in tensors:
        if t.dtype.kind in "fc":
            t.requires_grad_()
    doubled = [t * 1 if t.dtype.kind in "fc" else t for t in tensors]  # so that the operation meets what is on its way
    out = case.f(*doubled)
    total = 0.0
    for k, x in enumerate(flatten(out)[0]):
        if isinstance(x, ad.Tensor) and x.requires_grad:
            part = np.sum(np.abs(x) ** 2 * (1.0 + k)) if x.dtype.kind == "c" else np.sum(x * x * (1.0 + k))
            total = total + part
    if isinstance(total, ad.Tensor):
        total.backward()
    return values_of(out), [None if t.grad is None else values_of(t.grad)[0] for t in tensors]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_every_operation_gives_the_same_bits_forward_and_back(entry, every_size):
    for case in cases(entry):
        plain, slopes = forward_and_back(case)
        with ad.asynchronous(threads=2):
            beside, found = forward_and_back(case)
        assert [g is None for g in slopes] == [g is None for g in found]
        if entry.name in TO_ROUNDING:
            pairs = zip([*plain, *slopes], [*beside, *found], strict=True)
            for a, b in ((a, b) for a, b in pairs if a is not None):
                np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)
            continue
        assert same(plain, beside)
        assert same([g for g in slopes if g is not None], [g for g in found if g is not None])


def network(rng):
    x = ad.tensor(rng.normal(size=(300, 260)))
    layers = nn.Sequential(nn.Linear(260, 300), nn.Tanh(), nn.LayerNorm(300), nn.Linear(300, 4))
    for p in layers.parameters():
        with ad.no_grad():
            p[...] = rng.normal(size=p.shape) * 0.1
    return x, rng.integers(0, 4, 300), layers


def trained(steps=4):
    x, y, layers = network(np.random.default_rng(0))
    optimizer = optim.Adam(layers.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        hidden = layers[0](x)
        loss = nn.functional.cross_entropy(layers[3](layers[2](layers[1](hidden))), y) + 1e-3 * np.mean(hidden**2)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return [loss.item() for loss in losses], [p.numpy().copy() for p in layers.parameters()]


def test_a_training_gives_the_same_bits():
    losses, weights = trained()
    for threads in (1, 2, 3):
        with ad.asynchronous(threads=threads):
            found, after = trained()
        assert found == losses
        assert same(after, weights)


def test_results_outlive_the_block():
    data = np.linspace(0, 1, 70_000)
    with ad.asynchronous(2):
        x = ad.tensor(data, requires_grad=True)
        y = np.sin(x) * 2
        np.sum(y**2).backward()
    assert np.array_equal(y.numpy(), np.sin(data) * 2)
    assert np.array_equal((y + 1).numpy(), np.sin(data) * 2 + 1)
    with ad.no_grad():
        x -= 0.5 * x.grad
    plain = ad.tensor(data, requires_grad=True)
    np.sum((np.sin(plain) * 2) ** 2).backward()
    assert np.array_equal(x.grad.numpy(), plain.grad.numpy())
    assert np.array_equal(x.numpy(), data - 0.5 * plain.grad.numpy())


def meeting(count):
    """An elementwise function that goes on when `count` calls of it are under way at once."""
    barrier = threading.Barrier(count, timeout=30)

    def forward(x):
        if x.size > 1:  # not of the sample that tells the dtype
            barrier.wait()
        return x + 1.0

    return forward


def test_independent_branches_run_at_once():
    meets = Op("meets", meeting(2), ("x",), (Rule(1.0),), kind="elementwise")
    data = np.zeros(70_000)
    with ad.asynchronous(threads=2):
        x = ad.tensor(data, requires_grad=True)
        a, b = meets(np.sin(x)), meets(np.cos(x))  # neither ends before the other has begun
        total = np.sum(a) + np.sum(b)
        total.backward()
        assert total.item() == np.sum(np.sin(data) + 1) + np.sum(np.cos(data) + 1)


def test_a_value_waits_for_just_what_it_needs():
    gate = threading.Event()

    def forward(x):
        if x.size > 1:
            assert gate.wait(30)
        return x + 1.0

    held_up = Op("held_up", forward, ("x",), (Rule(1.0),), kind="elementwise")
    with ad.asynchronous(threads=2):
        x = ad.tensor(np.ones((300, 300)), requires_grad=True)
        slow, quick = held_up(x), x * 3
        assert (slow.shape, slow.T.shape, slow[3:10].shape, slow.reshape(-1).shape) == (
            (300, 300), (300, 300), (7, 300), (90_000,)
        )  # fmt: skip
        assert (slow @ slow.T).dtype == float
        assert backend_of(slow) is None  # whose array it is can be seen without its values
        assert quick.numpy()[0, 0] == 3.0
        assert not slow.data.layers[1].done()
        gate.set()
        assert slow.numpy()[0, 0] == 2.0


def test_writes_come_in_the_order_of_the_program():
    def program():
        x = ad.tensor(np.linspace(-1, 1, 70_000), requires_grad=True)
        given = np.ones(70_000)
        y = np.sin(x) * given
        given[...] = 7.0  # a plain array of the user's
        with ad.no_grad():
            kept = np.exp(x)
            x *= 2.0  # an optimiser's kind of write
        z = np.cos(x)
        y[:10] = z[:10] * 3.0
        view = y[5:20]
        y *= 1.5
        return values_of([y, z, kept, view])

    plain = program()
    with ad.asynchronous(2):
        assert same(program(), plain)


def test_errors_come_at_the_read_with_the_line():
    with ad.asynchronous(2), np.errstate(invalid="raise"):
        x = ad.tensor(np.full(70_000, -1.0))
        y = np.log(x)  # the line
        z = np.sum(y * 2)
        with pytest.raises(FloatingPointError) as caught:
            z.item()
        assert any("test_asynchronous.py" in note for note in caught.value.__notes__)
        with pytest.raises(FloatingPointError):
            y.numpy()
    with ad.asynchronous(2), pytest.raises(ValueError, match="broadcast"):
        ad.tensor(np.ones(70_000)) + ad.tensor(np.ones(70_001))


def test_transforms_give_plain_arrays():
    data = np.linspace(0, 1, 70_000)
    f = lambda x: np.sum(np.sin(x) ** 2)
    value, slope = ad.value_and_grad(f)(data)
    with ad.asynchronous(2):
        v, g = ad.value_and_grad(f)(data)
        assert type(g) is np.ndarray
        assert (v, g.tobytes()) == (value, slope.tobytes())
        y, back = ad.vjp(lambda x: np.sin(x) * 2, data)
        assert type(y) is np.ndarray
        assert all(type(g) is np.ndarray for g in flatten(back(np.ones(70_000)))[0])


def test_gradients_are_in_memory_of_their_own():
    with ad.asynchronous(2):
        x = ad.tensor(np.ones(70_000), requires_grad=True)
        y = ad.tensor(np.ones(70_000), requires_grad=True)
        np.sum((x + y) * 2).backward()
    assert not np.shares_memory(x.grad.numpy(), y.grad.numpy())
    x.grad.numpy()[...] = 0
    assert y.grad.numpy()[0] == 2.0


def test_wrong_numbers_of_threads_are_refused():
    for threads in (0, -1, 1000, 1.5):
        with pytest.raises(ad.ArgumentError, match="threads is a number from 1 to 64"), ad.asynchronous(threads):
            pass


def test_threads_have_blocks_of_their_own():
    data = np.linspace(0, 1, 70_000)
    expected = np.sum(np.sin(data) * 2)
    found = []

    def work(inside):
        for _ in range(20):
            x = ad.tensor(data)
            if inside:
                with ad.asynchronous(2):
                    found.append(np.sum(np.sin(x) * 2).item())
            else:
                found.append(np.sum(np.sin(x) * 2).item())
                assert type(x.held) is np.ndarray

    threads = [threading.Thread(target=work, args=(k % 2 == 0,)) for k in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert found == [expected] * 120


WHERE_NUMPY_ROUNDS_OTHERWISE = {
    "squares": lambda z: z**2,
    "inverses": lambda z: z**-1,
    "roots": lambda z: z**0.5,
    "products": lambda z: z * np.conj(z) / (z + 1),
    "numbers": lambda z: np.prod(z[:10]) * np.conj(np.max(z)) / np.sum(z),
    "functions": lambda z: np.exp(z) * np.tanh(z),
    "a matrix and its transpose": lambda z: z.reshape(-1, 100) @ z.reshape(-1, 100).T,
}


@pytest.mark.parametrize("dtype", [complex, np.complex64, float, np.float32])
@pytest.mark.parametrize("f", WHERE_NUMPY_ROUNDS_OTHERWISE.values(), ids=WHERE_NUMPY_ROUNDS_OTHERWISE)
def test_programs_whose_bits_hang_on_how_numpy_computes_them(f, dtype):
    rng = np.random.default_rng(0)
    z = rng.uniform(0.5, 1, (2, 70_000))
    z = (z[0] + 1j * z[1] if np.dtype(dtype).kind == "c" else z[0]).astype(dtype)

    def run():
        t = ad.tensor(z, requires_grad=True)
        y = f(t)
        np.sum(np.real(y * np.conj(y))).backward()
        return y.numpy(), t.grad.numpy()

    plain = run()
    with ad.asynchronous(2):
        beside = run()
    assert same(plain, beside)


def test_cotangents_of_products_of_one_row_have_the_same_bits(every_size):
    """NumPy's `dot`, which the rule calls, adds up otherwise than its `matmul`."""
    rng = np.random.default_rng(0)

    def run(x, w):
        leaves = ad.tensor(x, requires_grad=True), ad.tensor(w, requires_grad=True)
        y, z = (t * 1 for t in leaves)
        mean = np.tensordot(y, z, (0, 0)).mean()
        (0.7 * mean + 0.1 * mean**2).backward()
        return [leaf.grad.numpy() for leaf in leaves]

    for _ in range(60):
        x, w = rng.normal(size=2), rng.normal(size=(2, 2)).T
        plain = run(x, w)
        with ad.asynchronous(2):
            beside = run(x, w)
        assert same(plain, beside)


@pytest.mark.parametrize("order", ["F", "C", "K", "A"])
def test_a_copy_lies_as_without_the_block(order, every_size):
    def copied():
        x = ad.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True) * 2.0
        return [y.numpy().strides for y in (np.copy(x, order=order), *np.gradient(np.copy(x, order=order)))]

    plain = copied()
    with ad.asynchronous(threads=2):
        assert copied() == plain


def overwritten(x):
    square = x * x
    other = square * 0.0
    other[...] = square
    return np.sum((square + other) * np.array([1.0, 2.0, 3.0]))


def through_a_raveled_number(x):
    total = np.sum(x * x)
    total.ravel()[0] = 5.0  # of a copy: NumPy's numbers are not written
    return total


def through_a_reshaped_number(x):
    total = np.sum(x * x)
    total.reshape(1)[0] = 5.0
    return total


def through_a_copied_number(x):
    total = np.copy(np.sum(x * x))
    total.reshape(1)[0] = 5.0  # of an array
    return total * np.sum(x)


def through_an_array_without_axes(x):
    total = np.i0(np.sum(x * x))
    total.reshape(1)[0] = 5.0
    return total * np.sum(x)


WRITES = [overwritten, through_a_raveled_number, through_a_reshaped_number, through_a_copied_number]
WRITES += [through_an_array_without_axes]


@pytest.mark.parametrize("f", WRITES, ids=lambda f: f.__name__)
def test_writes_reach_what_they_reach_without_the_block(f, every_size):
    def run():
        x = ad.tensor([0.3, 0.5, 0.7], requires_grad=True)
        value = f(x * 1.0)
        value.backward()
        return values_of([value, x.grad])

    plain = run()
    assert same(plain[:1], [np.asarray(f(np.array([0.3, 0.5, 0.7])))])
    with ad.asynchronous(threads=2):
        assert same(run(), plain)


def test_results_of_repeated_elements_lie_as_without_the_block(every_size):
    def run():
        x = np.broadcast_to([[1.0], [2.0]], (2, 3)).T
        t = ad.tensor(np.ones((3, 2)), requires_grad=True)
        return [y.numpy().strides for y in (t * x, x * (t * 1.0))]

    plain = run()
    with ad.asynchronous(threads=2):
        assert run() == plain

    def slope(x):
        y = x * 2.0
        y.ravel()[0] = 1.0  # a view, or a copy, as NumPy has it
        return np.sum(y)

    x = np.broadcast_to([1.0, 2.0], (3, 2))
    plain = ad.grad(slope)(x)
    with ad.asynchronous(threads=2):
        assert np.array_equal(ad.grad(slope)(x), plain)


def added_to_what_lies_turned(x, weights):
    a = np.triu(x)
    b = a.mT
    c = a * 1.32
    b.T[...] += np.sum(x)
    d = np.diff(np.nan_to_num(b), axis=0)
    return np.sum(c * weights) + np.sum(d * d) + np.sum(c * c)


def added_into_a_turned_view(x, weights):
    a = x * 1.0
    b = a.T
    b += np.sum(x)
    return np.sum(a * weights) + np.sum(b * b) + np.sum(np.sin(a.T) * weights.T)


@pytest.mark.parametrize("f", [added_to_what_lies_turned, added_into_a_turned_view])
def test_cotangents_lie_as_without_the_block_where_they_are_added(f, every_size):
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, weights = rng.standard_normal((2, 2, 3, 5))
        wanted, found = ad.tensor(x, requires_grad=True), ad.tensor(x, requires_grad=True)
        ad.differentiable(f)(wanted * 1, weights).backward()
        with ad.asynchronous(threads=2):
            ad.differentiable(f)(found * 1, weights).backward()
        assert np.array_equal(found.grad.numpy(), wanted.grad.numpy())
