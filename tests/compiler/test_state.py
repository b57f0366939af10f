"""What compiled functions do to parameters, gradients, arguments and generators: every world has an eager twin."""

from functools import partial

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.core.objects.trees import flatten

X = np.arange(1.0, 4.0)
COMPILE = ad.compile


class World:
    """Parameters, arrays, and a function on them. `seen` is all that can be seen from outside."""

    def __init__(self, compiled):
        self.w = ad.tensor([1.0, 2.0, 3.0], requires_grad=True)
        self.other = ad.tensor([1.0, -1.0, 0.5], requires_grad=True)
        self.a, self.b = np.arange(3.0), np.arange(3.0) + 10
        self.rng = np.random.default_rng(3)
        self.drop = nn.Dropout(0.5, rng=self.rng)
        self.momentum = optim.SGD([self.w], lr=0.1, momentum=0.9)
        self.held = []
        self.f = compiled(self.make())

    def make(self):
        """The function."""
        raise NotImplementedError

    def seen(self):
        grads = [0 if t.grad is None else t.grad for t in (self.w, self.other)]
        state = self.rng.bit_generator.state["state"]["state"]
        return [self.w, self.other, *grads, self.a, self.b, *self.held, float(state % 2**31)]


@pytest.fixture(params=["numpy", "native"])
def both(request):
    """Runs a script of calls in an eager world and in a compiled one; both look alike after each."""

    def run(world, *calls):
        plain, made = world(lambda f: f), world(partial(COMPILE, wait=True, backend=request.param))
        for call in calls:
            results = []
            for one in (plain, made):
                try:
                    results.append((call(one), one.seen()))
                except (IndexError, ValueError) as error:
                    results.append((type(error).__name__ == "IndexError", one.seen()))
            alike(*results)
        return made.f

    return run


def alike(a, b):
    a, b = flatten(a)[0], flatten(b)[0]
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        x, y = (np.asarray(v.data if isinstance(v, ad.Tensor) else v) for v in (x, y))
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(y, x, rtol=1e-14, atol=1e-14)


def world_of(body):
    """The class of worlds whose function is ``body(world, *args)``."""

    class Made(World):
        def make(self):
            return lambda *args: body(self, *args)

    return Made


def call(*args):
    return lambda world: world.f(*args)


def loss(world, x):
    return np.sum(world.w * world.w * x)


def ways(f):
    return sum(map(len, f._specializations.values()))


def test_gradients_add_up_where_nobody_clears_them(both):
    def body(world, x):
        value = loss(world, x)
        value.backward()
        return value

    def cleared(world):
        world.w.grad = None
        return world.f(X)

    f = both(world_of(body), call(X), call(X), call(X), cleared, call(X))
    assert ways(f) == 2  # without a gradient, and with one


def test_a_step_that_clears_gradients_is_one_program_whether_there_were_any(both):
    def body(world, x):
        world.momentum.zero_grad()
        value = loss(world, x)
        value.backward(retain_graph=False)
        world.momentum.step()
        return value

    def hold(world):
        value = world.f(X)
        world.held.append(world.w.grad)  # the next call makes another
        return value

    assert ways(both(world_of(body), hold, hold, call(X), hold)) == 1


def test_gradients_that_add_up_between_steps(both):
    def body(world, x):
        value = loss(world, x)
        value.backward(retain_graph=False)
        world.momentum.step()
        return value

    def hold(world):
        world.held.append(world.w.grad)  # written in place from now on
        return world.f(X)

    both(world_of(body), call(X), call(X), hold, call(X))


def test_a_function_may_ask_whether_there_is_a_gradient(both):
    def body(world, x):
        value = loss(world, x)
        return value if world.other.grad is None else value + np.sum(world.other.grad)

    def given(world):
        world.other.grad = np.ones(3)
        return world.f(X)

    both(world_of(body), call(X), call(X), given, call(X))


def test_a_function_that_only_clears_a_gradient(both):
    def body(world, x):
        world.w.zero_grad()
        return np.sum(x)

    def given(world):
        world.w.grad = np.ones(3)
        return world.f(X)

    both(world_of(body), call(X), given, given)


def test_gradients_of_tensors_that_are_arguments(both):
    def body(world, w, x):
        value = np.sum(w * w * x)
        value.backward()
        return value

    def clear(world):
        world.w.grad = None
        return world.f(world.w, X)

    step = [lambda world: world.f(world.w, X), lambda world: world.f(world.other, X)]
    both(world_of(body), *step, *step, clear, *step)
    twice = world_of(lambda world, v, w: np.sum(v * w * X).backward())
    both(twice, lambda world: world.f(world.w, world.w), lambda world: world.f(world.w, world.other))


def test_attributes_change_places(both):
    def body(world, x):
        world.a, world.b = world.b * 1.0, world.a + x
        return np.sum(world.a)

    both(world_of(body), *[call(X)] * 4)

    def tensors(world, x):
        kept = world.w.data * 1.0
        world.w.data[...] = world.other.data
        world.other.data[...] = kept
        return np.sum(world.other.data * x)

    both(world_of(tensors), *[call(X)] * 4)


def test_an_argument_that_is_the_memory_of_a_parameter(both):
    def body(world, x):
        world.w.data[...] = world.w.data * 2
        return np.sum(x * world.w.data)

    def alias(world):
        return world.f(world.w.data)

    both(world_of(body), alias, call(X), call(X), alias, call(X))


def test_arguments_that_overlap(both):
    def body(world, a, b):
        a[...] = a + 1
        return np.sum(a * b)

    def shifted(world):
        line = np.arange(5.0)
        return world.f(line[:-1], line[1:]), line

    def apart(world):
        return world.f(np.ones(4), np.ones(4))

    both(world_of(body), apart, shifted, apart)
    both(world_of(body), shifted, apart, shifted)


def test_what_is_returned_is_the_callers_own(both):
    def body(world, x):
        world.other.data[...] = world.other.data + x
        x[...] = x * 2
        return world.other, x

    def returned(world):
        x = X.copy()
        tensor, array = world.f(x)
        assert tensor is world.other
        assert array is x
        return tensor, array

    both(world_of(body), returned, returned, returned)


def test_state_of_other_layouts_shapes_and_dtypes(both):
    def step(world, x):
        world.momentum.zero_grad()
        value = np.sum(world.w * world.w * x)
        value.backward(retain_graph=False)
        world.momentum.step()
        return value

    class Columns(world_of(step)):
        def __init__(self, compiled):
            super().__init__(compiled)
            self.w = ad.tensor(np.asfortranarray(np.arange(6.0).reshape(2, 3)), requires_grad=True)
            self.momentum = optim.SGD([self.w], lr=0.1, momentum=0.9)

    both(Columns, *[call(X)] * 3)

    def longer(world):
        world.a = np.arange(5.0)
        return world.f(X)

    def single(world):
        world.a = np.arange(3, dtype=np.float32)
        return world.f(X)

    both(world_of(lambda world, x: np.sum(world.a) * x), call(X), longer, single, call(X), longer)

    def recast(world):
        world.other.data = world.other.data.astype(np.float32)
        return world.f(np.float32(X))

    both(world_of(lambda world, x: world.other.data * x), call(X), recast, call(X))


def test_read_only_state_is_refused_as_numpy_refuses_it(both):
    def body(world, x):
        world.a[...] = world.a + x
        return np.sum(world.a)

    def locked(world):
        world.a.flags.writeable = False
        return world.f(X)

    both(world_of(body), call(X), locked)


def test_draws_are_taken_back_when_the_program_goes_another_way(both):
    def body(world, x):
        y = world.drop(x)
        return y * 2 if np.sum(y) > 20 else y

    f = both(world_of(body), *[call(np.arange(1.0, 9.0))] * 12)
    assert ways(f) == 2


def test_how_many_elements_there_are_is_asked(both):
    xs = [X, X - 2, np.array([1.0, 1.0, 2.0]), X]
    both(world_of(lambda world, x: np.sum(x[np.nonzero(x > 0)]) + np.unique(x).size), *map(call, xs))
    both(world_of(lambda world, x: np.sum(x[x > 1.5] ** 2) + x[x > 1.5].size), *map(call, xs))


def test_structures_are_told_apart(both):
    both(
        world_of(lambda world, d: d["a"] * 2 if "a" in d else d["b"] * 3),
        *(call({name: X}) for name in ("a", "b", "a")),
    )
    kinds = world_of(lambda world, d: d[0] * 2 if isinstance(d, list) else d[0] * 3)
    both(kinds, call([X]), call((X,)), call([X]))
    both(world_of(lambda world, a, b: a - b * 2), call(1.0, 1.0), call(1.0, 2.0), call(2.0, 2.0))


def test_an_index_that_is_outside(both):
    body = world_of(lambda world, x, i: x[i] * 2)
    both(body, *(call(X, np.array([0, i])) for i in (1, 5, -1, -4, 2)))


def test_what_fails_leaves_what_the_plain_function_leaves(both):
    def body(world, x, i):
        world.other.data[...] = world.other.data * 2
        world.held.append(world.other.data.copy())
        return x[i]

    both(world_of(body), call(X, 1), call(X, 7), call(X, 2), call(X, 7))


def test_lists_that_others_fill_do_not_matter(both):
    class Trainer(World):
        history: tuple = ()

        def make(self):
            self.history = []
            return self.step

        def step(self, x):
            return np.sum(self.w * x)

        def log(self, x):
            self.history.append(self.f(x).item())
            return self.history[-1]

    f = both(Trainer, *[lambda world: world.log(X)] * 4)
    assert ways(f) == 1
    assert not any(f._rebound.values())  # recorded once


def test_a_method_that_is_compiled_minds_what_it_names_alone():
    class Logistic:
        def __init__(self):
            self.w = ad.tensor(np.zeros(3), requires_grad=True)
            self.history, self.rate = [], 0.5

        @partial(COMPILE, wait=True)
        def step(self, x):
            loss = np.sum((self.w - x) ** 2)
            self.w.grad = None
            loss.backward(retain_graph=False)
            with ad.no_grad():
                self.w[...] = self.w - self.rate * self.w.grad
            return loss.item()

    model = Logistic()
    for k in range(50):
        model.rate = 0.4 / (1 + k)
        model.history.append(model.step(X))
    assert model.history[-1] < 0.01 * model.history[0]
    assert not model.step._reasons
    assert ways(model.step) == 1
    assert max(model.step._rebound.values()) == 1  # when the rate was seen to change


def test_a_compiled_module_is_a_module_to_others():
    class Net(nn.Module):
        def __init__(self):
            self.block = ad.compile(nn.Sequential(nn.Linear(3, 3, rng=0), nn.Dropout(0.5, rng=1)), wait=True)
            self.heads = [ad.compile(nn.Linear(3, 1, rng=2), wait=True)]

        def forward(self, x):
            return self.heads[0](self.block(x))

    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "block.0.weight", "block.0.bias", "heads.0.weight", "heads.0.bias"
    ]  # fmt: skip
    compiled = ad.compile(net, wait=True)
    assert len(list(compiled.parameters())) == 4
    compiled.eval()
    assert not net.block.function[1].training
    first = compiled(X)
    np.testing.assert_array_equal(first.numpy(), compiled(X).numpy())
    compiled.train()
    assert not np.array_equal(compiled(X).numpy(), compiled(X).numpy())
    compiled.load_state_dict({name: np.zeros(t.shape) for name, t in compiled.state_dict().items()})
    assert compiled(X).item() == 0.0
    np.sum(compiled(X)).backward()
    assert net.heads[0].bias.grad is not None
    with pytest.raises(AttributeError, match="nothing"):
        compiled.nothing  # noqa: B018 - it raises
