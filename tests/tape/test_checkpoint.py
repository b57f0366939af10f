"""Checkpoints: gradients bit for bit those without, in less memory, and nothing that runs twice is seen twice."""

import gc
import tracemalloc
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint import nn
from adjoint.tape.node import walk
from tests import test_programs_in_place as in_place
from tests.test_programs import inputs, programs, run

POLICIES = {
    "nothing": ad.save_nothing,
    "everything": ad.save_everything,
    "matmuls": ad.save_matmuls,
    "names": ad.save_only_names("h"),
    "own": lambda op, settings: op.name in ("tanh", "reduce_sum"),
}
every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
deterministic = settings(
    derandomize=True, database=None, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)


def r(*shape):
    return np.random.default_rng(sum(shape) + 1).normal(size=shape)


def block(x, w):
    h = np.tanh(x @ w)
    return ad.name(h * np.sin(x), "h") @ w + h


def same(a, b):
    """Whether two trees of arrays are the same, bit for bit."""
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return np.asarray(a).dtype == np.asarray(b).dtype and np.asarray(a).tobytes() == np.asarray(b).tobytes()


def leaf(x):
    return ad.tensor(x, requires_grad=True)


def gradients(loss, *leaves):
    for tensor in leaves:
        tensor.grad = None
    loss.backward()
    return [None if tensor.grad is None else tensor.grad.numpy().copy() for tensor in leaves]


class Counter:
    """A function that counts how often it is called."""

    def __init__(self, function):
        self.function, self.calls = function, []

    def __call__(self, *args, **kwargs):
        self.calls.append(1)
        return self.function(*args, **kwargs)


# -- The same gradients --------------------------------------------------------------------------------


@every_policy
def test_arguments_and_closures_get_the_gradients_that_they_get_without(policy):
    x, w = leaf(r(4, 3)), leaf(r(3, 3))

    def loss(wrap):
        f = wrap(lambda x: block(x, w))
        return np.sum(f(f(x) * w[0]) ** 2) + np.sum(w * w)

    expected = gradients(loss(lambda f: f), x, w)
    assert same(gradients(loss(partial(ad.checkpoint, policy=policy)), x, w), expected)
    assert same(gradients(ad.checkpoint(lambda: loss(ad.checkpoint), policy=policy)(), x, w), expected)


@deterministic
@given(programs, st.sampled_from(sorted(POLICIES)), st.integers(0, 9))
def test_random_programs_have_the_same_gradients(program, policy, cut):
    def split(*values):
        """The program in two, each part checkpointed, and both together."""
        first = ad.checkpoint(run, policy=POLICIES[policy])(program[: cut + 1], *values)
        return ad.checkpoint(run)([*program[cut:], ("add", 0, 2)], *values, first)

    def plain(*values):
        return run([*program[cut:], ("add", 0, 2)], *values, run(program[: cut + 1], *values))

    tensors = [leaf(x) for x in inputs()]
    loss = plain(*tensors)
    expected = gradients(loss, *tensors)
    for function in (split, ad.checkpoint(split), ad.checkpoint(plain, policy=POLICIES[policy])):
        again = function(*tensors)
        assert same(again.numpy(), loss.numpy())
        for ours, theirs in zip(gradients(again, *tensors), expected, strict=True):
            assert (ours is None and theirs is None) or same(ours, theirs)


def one_write(step, alive, base):
    """One step of a program that writes in place: into a view of one of `alive`, all of which show `base`."""
    target, path, source, expression, write, _ = step
    v = alive[target % len(alive)]
    for name in path:
        v = in_place.VIEWS[name](v)
    kept = np.sum(np.cos(base) * base)
    in_place.WRITES[write](v, in_place.EXPRESSIONS[expression](v, alive[source % len(alive)]))
    return kept, v


def written_step_by_step(steps, x, one):
    base = x * 1.0
    alive, kept = [base], 0.0
    for step in steps:
        more, v = one(step, alive, base)
        kept = kept + more
        alive.append(v)
    return kept + sum(np.sum(a**2) * (0.3 + i) for i, a in enumerate(alive))


@deterministic
@given(st.lists(in_place.step, min_size=1, max_size=6), st.integers(0, 5))
def test_random_programs_that_write_in_place(steps, seed):
    x = leaf(np.random.default_rng(seed).uniform(0.3, 0.9, in_place.SHAPE))
    expected = gradients(in_place.run(steps, x), x)
    assert same(gradients(ad.checkpoint(in_place.run)(steps, x), x), expected)
    plain, checkpointed = (written_step_by_step(steps, x, one) for one in (one_write, ad.checkpoint(one_write)))
    assert same(plain.numpy(), checkpointed.numpy())
    # Shares of an argument that is written inside are added in another order.
    np.testing.assert_allclose(gradients(checkpointed, x), gradients(plain, x), rtol=1e-9, atol=1e-9)


@every_policy
def test_second_derivatives_are_the_same(policy):
    w = r(3, 3)
    plain = lambda x: np.sum(block(x, w) ** 2)
    checkpointed = lambda x: np.sum(ad.checkpoint(block, policy=policy)(x, w) ** 2)
    x = r(3)
    third = lambda f: ad.grad(lambda x: np.sum(ad.grad(lambda x: np.sum(ad.grad(f)(x) ** 2))(x) ** 2))
    for transform in (ad.hessian, lambda f: ad.jacrev(ad.grad(f)), third):
        np.testing.assert_allclose(transform(checkpointed)(x), transform(plain)(x), rtol=1e-12)


def test_a_gradient_with_a_graph_is_differentiated_again():
    def twice(wrap):
        x, w = leaf(r(4, 3)), leaf(r(3, 3))
        np.sum(wrap(lambda x: block(x, w))(x) ** 2).backward(create_graph=True)
        loss = np.sum(x.grad**2) + np.sum(w.grad**2)
        return gradients(loss, x, w)

    np.testing.assert_allclose(twice(ad.checkpoint)[0], twice(lambda f: f)[0], rtol=1e-13)
    np.testing.assert_allclose(twice(ad.checkpoint)[1], twice(lambda f: f)[1], rtol=1e-13)


TRANSFORMS = {
    "grad": lambda f, x: ad.grad(lambda x: np.sum(f(x)))(x),
    "vjp": lambda f, x: ad.vjp(f, x)[1](x)[0],
    "jacobian": lambda f, x: ad.jacobian(f)(x),
    "jvp": lambda f, x: ad.jvp(f, (x,), (2 * x,)),
    "jacfwd of grad": lambda f, x: ad.jacfwd(ad.grad(lambda x: np.sum(f(x))))(x),
    "grad of jvp": lambda f, x: ad.grad(lambda x: np.sum(ad.jvp(f, (x,), (x,))[1]))(x),
    "vmap": lambda f, x: ad.vmap(f)(np.stack([x, -x])),
    "vmap of grad": lambda f, x: ad.vmap(ad.grad(lambda x: np.sum(f(x))))(np.stack([x, -x])),
    "grad of vmap": lambda f, x: ad.grad(lambda x: np.sum(ad.vmap(f)(x)))(np.stack([x, -x])),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@every_policy
def test_every_transform(name, policy):
    f = lambda x: np.tanh(np.sin(x) * 2) * ad.name(np.exp(x), "h")
    x = r(3)
    assert same(TRANSFORMS[name](ad.checkpoint(f, policy=policy), x), TRANSFORMS[name](f, x))


def test_perturbations_are_not_confused():
    inner = lambda x: ad.grad(ad.checkpoint(lambda y: x + y))(1.0)
    assert ad.grad(ad.checkpoint(lambda x: x * inner(x)))(1.0) == 1.0


# -- What goes in and comes out ------------------------------------------------------------------------


def test_trees_keywords_and_other_things_go_in_and_come_out():
    @ad.checkpoint
    def f(params, *rest, scale=1.0, names):
        y = {"sum": np.tanh(params["w"] * rest[0]) * scale, "names": [*names, "y"]}
        return y, [params["b"], np.arange(3)], None, rest[1]

    w, b, x = leaf(r(3)), leaf(r(3)), leaf(r(3))
    marker = object()
    y, (same_b, numbers), nothing, other = f({"w": w, "b": b}, x, marker, scale=2.0, names=("a",))
    assert y["names"] == ["a", "y"]
    assert nothing is None
    assert other is marker
    assert same_b is b
    assert numbers.dtype == np.arange(3).dtype
    got = gradients(np.sum(y["sum"]) + np.sum(same_b * 3), w, b, x)
    expected = gradients(np.sum(np.tanh(w * x) * 2.0) + np.sum(b * 3), w, b, x)
    assert same(got, expected)


def test_several_results_of_which_some_are_used_or_the_same_or_views():
    def f(x):
        h = np.sin(x) * x
        q, s = np.linalg.qr(np.outer(h, x) + np.eye(3))
        return h, h, np.tanh(h), h[:2], x, q @ s

    def losses(f):
        x = leaf(r(3))
        h, twin, t, part, itself, product = f(x)
        assert h is twin
        assert itself is x
        for loss in (np.sum(h * twin) + np.sum(t), np.sum(part**2) * np.sum(twin), np.sum(product), np.sum(t * itself)):
            yield gradients(loss, x)

    assert same(list(losses(ad.checkpoint(f))), list(losses(f)))


def test_results_without_a_graph_are_as_they_are():
    x = leaf(r(3))
    f = ad.checkpoint(lambda x: (np.argmax(x), x.detach() * 2, x > 0, 3))
    index, values, positive, three = f(x)
    assert index == np.argmax(x.numpy())
    assert not values.requires_grad
    assert positive.dtype == bool
    assert three == 3
    assert same(ad.checkpoint(np.sin)(r(3)), np.sin(r(3)))
    with ad.no_grad():
        assert not ad.checkpoint(np.sin)(x).requires_grad


def test_no_grad_inside():
    def f(x):
        with ad.no_grad():
            scale = np.sum(x)
        return np.sin(x) * scale

    x = leaf(r(3))
    assert same(gradients(np.sum(ad.checkpoint(f)(x)), x), gradients(np.sum(f(x)), x))
    loss = np.sum(ad.checkpoint(f)(x))
    with ad.no_grad():  # a gradient that was asked for is computed
        assert same(gradients(loss, x), gradients(loss, x))
        assert x.grad is not None


def test_retain_grad_and_views_of_a_result():
    x = leaf(r(4))
    y = ad.checkpoint(lambda x: np.sin(x) * x)(x)
    y.retain_grad()
    np.sum(y[1:] ** 2).backward()
    assert same(y.grad.numpy(), np.concatenate([[0.0], 2 * y.numpy()[1:]]))


def test_the_graph_may_be_kept_or_freed():
    x = leaf(r(3))
    loss = np.sum(ad.checkpoint(np.sin)(x))
    first = gradients(loss, x)
    assert same(gradients(loss, x), first)
    loss.backward(retain_graph=False)
    with pytest.raises(ad.GraphFreedError):
        loss.backward()


def test_what_leads_to_a_result_is_known_closures_included():
    x, w = leaf(r(3, 3)), leaf(r(3, 3))
    loss = np.sum(ad.checkpoint(lambda x: np.tanh(x @ w))(x))
    assert {x.node, w.node} <= set(walk(loss.node))
    loss.backward()
    loss.null_gradients()
    assert w.grad is None


# -- Writing in place ----------------------------------------------------------------------------------


def written_inside(x):
    h = x * 1
    h[0] = np.sum(h[1:])
    view = h[1:]
    view *= 2
    h += np.sin(h)
    return h, view


def into_its_argument(x):
    x[0] = np.sum(x) * x[1]
    return np.tanh(x)


def test_writes_inside():
    def both(f):
        x = leaf(r(4))
        h, view = f(x)
        return gradients(np.sum(h**2) + np.sum(view * h[1:]), x)

    assert same(both(ad.checkpoint(written_inside)), both(written_inside))


@pytest.mark.parametrize("part", [False, True], ids=["whole", "view"])
def test_writes_into_an_argument_are_made_once(part):
    def both(f):
        x = leaf(r(4))
        a = x * 2
        y = f(a[1:] if part else a)
        return gradients(np.sum(y * 3) + np.sum(a**2), x), a.numpy().copy()

    (got, values), (expected, plain) = both(ad.checkpoint(into_its_argument)), both(into_its_argument)
    assert same(values, plain)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-14)


def test_an_argument_overwritten_after_the_call():
    def both(f, write):
        x = leaf(r(4))
        a = x * 2
        y = f(a)
        write(a)
        return gradients(np.sum(y), x) + gradients(np.sum(a), x)

    def on_the_tape(a):
        a[1:] = np.sin(a[:-1])

    def outside(a):
        with ad.no_grad():
            a[1] = 0.0

    f = lambda a: np.exp(a) * a
    assert same(both(ad.checkpoint(f), on_the_tape), both(f, on_the_tape))
    with pytest.raises(ad.InPlaceError, match="outside the graph"):
        both(ad.checkpoint(f), outside)


def test_an_array_overwritten_after_the_call_is_found():
    x, a = leaf(r(3)), r(3)
    loss = np.sum(ad.checkpoint(lambda x, a: np.sin(x * a))(x, a))
    a[0] = 7.0
    with pytest.raises(ad.InPlaceError, match="must run again"):
        loss.backward()


@pytest.mark.parametrize("seen", [True, False], ids=["saved by a rule", "only added"])
def test_a_parameter_overwritten_after_the_call_is_found(seen):
    x, w = leaf(r(3)), leaf(r(3))
    loss = np.sum(ad.checkpoint(lambda x: np.sin(x * w if seen else x + w) * 0)(x))
    with ad.no_grad():
        w[1] = 4.0
    with pytest.raises(ad.InPlaceError, match="must run again"):
        loss.backward()


def test_something_else_that_changed_is_found():
    x, scale = leaf(r(3)), {"by": 2.0}
    loss = np.sum(ad.checkpoint(lambda x: np.sin(x * scale["by"]))(x))
    scale["by"] = 3.0
    with pytest.raises(ad.GradientError, match="did not give what it gave"):
        loss.backward()


# -- Random numbers and modules' states ----------------------------------------------------------------

a_generator = np.random.default_rng(0)


class Noisy(nn.Module):
    def __init__(self):
        self.rng = np.random.default_rng(1)

    def forward(self, x):
        return x * self.rng.normal(size=np.shape(x)) * a_generator.random()


def noises():
    drop, noisy, own = nn.Dropout(0.5, rng=2), Noisy(), np.random.default_rng(3)
    legacy = np.random.RandomState(4)
    return {
        "module": (drop, drop.rng),
        "module's method": (noisy.forward, noisy.rng),
        "global, in a method": (noisy, a_generator),
        "closure": (lambda x: x * own.random(3), own),
        "default": (lambda x, rng=own: x * rng.random(3), own),
        "partial": (partial(lambda x, rng: x * rng.random(3), rng=own), own),
        "legacy": (lambda x: x * legacy.rand(3), legacy),
        "nested function": (lambda x: [x * own.random() for _ in range(3)][-1], own),
    }


@pytest.mark.parametrize("name", noises())
def test_random_numbers_are_drawn_once(name):
    def both(wrap):
        a_generator.bit_generator.state = np.random.default_rng(0).bit_generator.state
        function, source = noises()[name]
        f, x = wrap(function), leaf(r(3))
        loss = np.sum(f(f(x)) * f(x))
        between = source.random(2)
        return gradients(loss, x), gradients(loss, x), between, source.random(2)

    assert same(both(ad.checkpoint), both(lambda f: f))


def test_numpys_own_random_numbers_are_drawn_once():
    def both(wrap):
        np.random.seed(3)  # noqa: NPY002 - as users' programs do
        x = leaf(r(3))
        f = wrap(lambda x: np.sin(x * np.random.rand(3)))  # noqa: NPY002 - as above
        return gradients(np.sum(f(f(x))), x), np.random.rand(2)  # noqa: NPY002 - as above

    assert same(both(ad.checkpoint), both(lambda f: f))


def test_a_generator_given_as_an_argument():
    def both(wrap):
        rng, x = np.random.default_rng(5), leaf(r(3))
        f = wrap(lambda x, rng: np.sin(x * rng.random(3)))
        return gradients(np.sum(f(f(x, rng), rng=rng)), x), rng.random()

    assert same(both(ad.checkpoint), both(lambda f: f))


def test_random_numbers_that_cannot_be_found_are_noticed():
    draws = iter(r(100))
    x = leaf(r(3))
    loss = np.sum(ad.checkpoint(lambda x: x * next(draws))(x))
    with pytest.raises(ad.GradientError, match="random numbers"):
        loss.backward()


class Statistics(nn.Module):
    """Standardises, and keeps a running mean in every way that one can be kept."""

    def __init__(self):
        self.weight = nn.Parameter(np.ones(3))
        self.register_buffer("mean", np.zeros(3))
        self.register_buffer("rebound", np.zeros(3))
        self.array, self.calls, self.seen = np.zeros(3), 0, None

    def forward(self, x):
        mean = np.mean(x, axis=0)
        with ad.no_grad():
            self.mean[...] = 0.9 * self.mean + 0.1 * mean
            self.rebound = ad.Tensor(self.rebound.numpy() + mean.numpy())
            self.array += mean.numpy()
        self.calls += 1
        return np.tanh(x - mean) * self.weight if self.training else x


def test_running_statistics_are_updated_once():
    def both(wrap):
        layer, x = Statistics(), leaf(r(5, 3))
        f = wrap(layer)
        loss = np.sum(f(f(x)) ** 2)
        first = layer.eval() and gradients(loss, x, layer.weight)
        state = layer.mean.numpy(), layer.rebound.numpy(), layer.array, np.array(layer.calls)
        return first, gradients(loss, x, layer.weight), state, layer.training

    assert same(both(ad.checkpoint)[:3], both(lambda f: f)[:3])
    assert both(ad.checkpoint)[3] is False


def test_modules_as_functions():
    layer = nn.Sequential(nn.Linear(3, 4, rng=0), nn.Tanh(), nn.Linear(4, 2, rng=1))
    x = leaf(r(5, 3))
    leaves = [x, *layer.parameters()]
    expected = gradients(np.sum(layer(x) ** 2), *leaves)
    assert same(gradients(np.sum(ad.checkpoint(layer)(x) ** 2), *leaves), expected)
    assert same(gradients(np.sum(ad.checkpoint_sequential(list(layer.children()), 2, x) ** 2), *leaves), expected)
    inputs = r(5, 3)
    assert same(gradients(np.sum(ad.checkpoint(layer)(inputs)), leaves[1]), gradients(np.sum(layer(inputs)), leaves[1]))


# -- Memory, and what is run again ---------------------------------------------------------------------


def live_bytes(make):
    """How much memory the result of `make` holds."""
    make()
    gc.collect()
    tracemalloc.start()
    try:
        kept = make()
        gc.collect()
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept is not None
    return size


def test_nothing_inside_is_kept():
    x = leaf(np.ones(100_000))
    f = lambda x: np.sin(np.cos(np.exp(np.tanh(x))))
    assert live_bytes(lambda: f(x)) > 4 * x.nbytes
    assert live_bytes(lambda: ad.checkpoint(f)(x)) < 1.1 * x.nbytes


def test_live_bytes_of_a_chain_grow_with_the_root_of_its_length():
    x = leaf(np.ones(20_000))
    chain = lambda n: live_bytes(lambda: ad.checkpoint_sequential([np.tanh] * n, int(n**0.5), x)) / x.nbytes
    sizes = {n: chain(n) for n in (16, 64, 256)}
    assert all(size < 2.3 * n**0.5 for n, size in sizes.items()), sizes


def test_a_dropped_graph_leaves_no_cycle():
    x = leaf(r(3))
    gc.collect()
    gc.disable()
    try:
        loss = np.sum(ad.checkpoint(lambda x: np.sin(x) * 2)(x))
        loss.backward()
        del loss
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("policy", "made"), [("nothing", ["slow", "quick"]), ("everything", []), ("slow", ["quick"]), ("names", ["quick"])]
)
def test_what_a_policy_keeps_is_not_computed_again(policy, made):
    log = []
    slow = ad.elementwise(lambda x: log.append("slow") or np.exp(x), partial=lambda out: out, name=f"slow {policy}")
    quick = ad.elementwise(lambda x: log.append("quick") or np.sin(x), partial=lambda x: np.cos(x), name=f"q {policy}")
    policies = POLICIES | {"slow": lambda op, settings: op is slow}
    x = leaf(r(3))
    block = lambda x: quick(ad.name(slow(x * 2), "h")) * 3
    loss = np.sum(ad.checkpoint(block, policy=policies[policy])(x))
    assert log == ["slow", "quick"]
    log.clear()
    got = gradients(loss, x)
    assert log == made
    assert same(got, gradients(np.sum(block(x)), x))


def test_what_a_policy_keeps_may_be_overwritten_inside():
    w = r(3, 3)

    def f(x):
        h = x @ w
        h[0] *= 2
        h += np.sin(h)
        return np.tanh(h @ w)

    both = lambda f: ad.grad(lambda x: np.sum(f(x)))(r(2, 3))
    assert same(both(ad.checkpoint(f, policy=ad.save_matmuls)), both(f))
    x = leaf(r(2, 3))
    loss = np.sum(ad.checkpoint(f, policy=ad.save_matmuls)(x))
    assert same(gradients(loss, x), gradients(loss, x))


PRODUCTS = {
    "matmul": lambda x: x @ x,
    "dot": lambda x: np.dot(x, x),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "linear": nn.Linear(3, 3, rng=0),
    "convolve": lambda x: np.convolve(x[0], x[1]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_kept_by_the_policy_for_them(name):
    x = leaf(r(3, 3))
    y = ad.checkpoint(lambda x: np.tanh(np.sin(PRODUCTS[name](x))), policy=ad.save_matmuls)(x)
    stand_in = y.node.parents[0]
    (kept,) = stand_in.saved[stand_in.pullback.names.index("kept")]
    np.testing.assert_array_equal(np.reshape(kept, y.shape), PRODUCTS[name](x).numpy())
    assert same(gradients(np.sum(y), x), gradients(np.sum(np.tanh(np.sin(PRODUCTS[name](x)))), x))


@pytest.mark.parametrize(("segments", "again"), [(1, 0), (3, 6), (9, 8)])
def test_the_last_segment_is_not_run_again(segments, again):
    f = Counter(np.sin)
    x = leaf(r(3))
    loss = np.sum(ad.checkpoint_sequential([f] * 9, segments, x))
    assert len(f.calls) == 9
    loss.backward()
    assert len(f.calls) == 9 + again


# -- How it is called ----------------------------------------------------------------------------------


def test_decorators():
    @ad.checkpoint
    def one(x):
        """What it does."""
        return np.sin(x)

    @ad.checkpoint(policy=ad.save_matmuls)
    def two(x):
        return np.sin(x)

    assert one.__name__ == "one"
    assert one.__doc__ == "What it does."
    assert ad.grad(one)(0.0) == ad.grad(two)(0.0) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ad.checkpoint(np.sin, 1.0), r"ad\.checkpoint\(sin\)\(…\)"),
        (lambda: ad.checkpoint(3), "takes two functions"),
        (lambda: ad.checkpoint_sequential([np.sin], 2, 1.0), "from 1 to 1; got 2"),
        (lambda: ad.checkpoint_sequential([np.sin], 0, 1.0), "from 1 to 1; got 0"),
        (lambda: ad.save_only_names(3), "takes labels"),
    ],
)
def test_errors_say_what_to_call(call, message):
    with pytest.raises(ad.ArgumentError, match=message):
        call()


def test_an_error_inside_is_the_functions_own():
    with pytest.raises(ZeroDivisionError):
        ad.checkpoint(lambda x: x * (1 // 0))(leaf(r(3)))


@pytest.mark.parametrize("laid", [lambda x: x, lambda x: x[..., ::-1], np.asfortranarray, lambda x: x[:, :, ::2]])
def test_an_argument_that_is_written_lies_as_it_did(laid):
    def f(a):
        line = a.reshape(-1)  # a view, or a copy, by the layout
        a[0, :] = 1.0
        return line, a

    x = laid(np.arange(12.0).reshape(2, 2, 3))
    (value, pullback), (again, other) = ad.vjp(ad.checkpoint(f), x), ad.vjp(f, x)
    np.testing.assert_array_equal(value[0], again[0])
    np.testing.assert_array_equal(pullback((value[0], value[1]))[0], other((value[0], value[1]))[0])
