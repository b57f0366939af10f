"""What a captured function finds and does outside of its arguments: at each call of the graph, or refused by name."""

import copy
import math
import threading

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim

X, Y = np.array([0.5, -1.5]), np.array([2.0, 0.25])
total = 0


class World:
    """Things outside."""

    def __init__(self):
        self.count, self.ready, self.last = 0, False, None
        self.array, self.table = np.array([1.0, 2.0]), np.array([3.0, 4.0])
        self.losses, self.seen = [], {}
        self.tensor = ad.tensor([1.0, 2.0], requires_grad=True)


def plain(x):
    if isinstance(x, ad.Tensor):
        return "tensor", plain(x.detach().numpy()), x.node is not None and x.grad is not None and plain(x.grad)
    if isinstance(x, np.ndarray | np.generic):
        return "array", x.dtype.str, x.tolist()
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    return [plain(y) for y in x] if isinstance(x, list) else x


def counts(w, x):
    w.count += 1
    return x * w.count


def counts_otherwise(w, x):
    w.count = w.count + 2
    return x * w.count


def accumulates(w, x):
    w.array += x
    return w.array * 2


def writes_elements(w, x):
    w.array[0] = np.sum(x)
    w.table[:] = w.array * x
    return w.table


def moves_average(w, x):
    w.array = 0.9 * w.array + 0.1 * x
    return w.array


def swaps(w, x):
    w.array, w.table = w.table, w.array
    return x - w.array


def appends(w, x):
    w.losses.append(np.sum(x))
    w.losses += [x * 2]
    return x


def keeps(w, x):
    w.last, w.ready = "done", True
    w.seen["x"] = x * 2
    w.seen["n"] = 3
    return x


def keeps_a_tensor(w, x):
    w.last = np.tanh(w.tensor * x)
    return w.last


def goes_back(w, x):
    loss = np.sum((w.tensor * x) ** 2)
    loss.backward()
    with ad.no_grad():
        w.tensor -= 0.1 * w.tensor.grad
    return loss


def writes_what_shows_it(w, x):
    w.array[0] += x[0]
    return w.array[::-1] * w.table


def fills(w, x):
    out = np.zeros((2, 2))
    out[0] = x
    out[1, 0] = float(x[0])
    return out + w.table


def makes_a_list(w, x):
    return np.array([x[0], math.sqrt(abs(float(x[1])))]) + w.array


EFFECTS = [counts, counts_otherwise, accumulates, writes_elements, moves_average, swaps, appends, keeps, keeps_a_tensor,
           goes_back, writes_what_shows_it, fills, makes_a_list]  # fmt: skip


@pytest.mark.parametrize("f", EFFECTS, ids=lambda f: f.__name__)
def test_a_graph_does_what_the_function_does(f):
    world, eager = World(), World()
    before = plain(copy.deepcopy(vars(world)))
    graph = ad.capture(lambda x: f(world, x), X)
    assert plain(vars(world)) == before
    for x in (X, Y, X):
        assert plain(graph(x)) == plain(ad.tensor(f(eager, x).detach()) if f is goes_back else f(eager, x))
        assert plain(vars(world)) == plain(vars(eager))


def test_globals_and_outer_variables_are_counted():
    calls = 0

    def f(x):
        global total  # noqa: PLW0603 - is what is tested
        nonlocal calls
        total += 1
        calls += 2
        return x * (total + calls)

    first = total
    graph = ad.capture(f, X)
    assert (total, calls) == (first, 0)
    np.testing.assert_array_equal(graph(X), X * (first + 3))
    np.testing.assert_array_equal(graph(X), X * (first + 6))
    assert (total, calls) == (first + 2, 4)


def test_what_is_only_read_is_frozen():
    world = World()
    graph = ad.capture(lambda x: x * world.table + world.count, X)
    expected = graph(X)
    world.table[:] = 0.0
    world.count = 9
    np.testing.assert_array_equal(graph(X), expected)
    assert [str(node.value) for node in graph.inputs] == ["x"]


def sets_its_way(w, x):
    if not w.ready:
        w.ready = True
    return x


def asks_before_it_makes(w, x):
    if "a" not in w.seen:
        w.seen["a"] = x
    return w.seen["a"]


def counts_its_list(w, x):
    w.losses.append(x)
    return x * len(w.losses)


def pops(w, x):
    w.losses.append(x)
    return w.losses.pop()


def keeps_a_pair(w, x):
    w.losses.append((x, x))
    return x


def prints(w, x):
    print(x)
    return x


def opens(w, x):
    with open("/nowhere") as file:
        return x * len(file.read())


def draws_globally(w, x):
    return x * np.random.rand()  # noqa: NPY002 - is what is tested


def has_its_own_graph(w, x):
    return x * (w.tensor * 2)


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (sets_its_way, "it reads ready, and sets it"),
        (asks_before_it_makes, "it makes a where there is none, and asks"),
        (counts_its_list, "it makes losses longer, and asks"),
        (pops, "it takes elements out of losses"),
        (keeps_a_pair, "it keeps a tuple in the end of losses"),
        (prints, "it calls print"),
        (opens, "it calls .*open"),
        (draws_globally, r"it calls numpy\.random\.rand"),
    ],
)
def test_what_a_graph_cannot_hold_is_refused_by_name(f, why):
    world = World()
    before = plain(copy.deepcopy(vars(world)))
    with pytest.raises(ad.NotSupportedError, match=why):
        ad.capture(lambda x: f(world, x), X)
    assert plain(vars(world)) == before


def test_a_tensor_of_a_transform_is_refused():
    def outer(a):
        return np.sum(ad.capture(lambda x: x * a, X)(X))

    with pytest.raises(ad.NotSupportedError, match="a is a tensor of a graph that is there already"):
        ad.grad(outer)(2.0)


def test_a_graph_that_reads_tensors_is_refused_inside():
    inner = nn.Linear(2, 2, rng=0)
    graph = ad.capture(inner, X)
    with pytest.raises(ad.NotSupportedError, match="it calls the graph"):
        ad.capture(lambda x: graph(x) + 1, X)


def test_arguments_that_are_objects_stay_what_they_are():
    model = nn.Linear(2, 2, rng=0)
    graph = ad.capture(lambda model, x: model(x), model, X)
    np.testing.assert_array_equal(graph(model, Y).numpy(), model(Y).numpy())
    with pytest.raises(ad.ArgumentError, match="part of the program"):
        graph(nn.Linear(2, 2, rng=0), Y)


def test_what_it_writes_into_its_arguments_stays_inside():
    def f(p, x):
        p["w"] += x
        p["new"] = p["w"] * 2
        return p

    given = {"w": X.copy()}
    graph = ad.capture(f, given, Y)
    out = graph({"w": X}, Y)
    np.testing.assert_array_equal(out["new"], (X + Y) * 2)
    np.testing.assert_array_equal(given["w"], X)
    assert list(given) == ["w"]


def test_threads_capture_one_model_while_another_trains_it():
    model = nn.Sequential(nn.Linear(2, 4, rng=0), nn.Tanh(), nn.Dropout(0.5, rng=1), nn.Linear(4, 1, rng=2))
    sgd = optim.SGD(model.parameters(), lr=0.0)

    def step(x):
        sgd.zero_grad()
        loss = np.sum(np.square(model(x)))
        loss.backward()
        sgd.step()
        return loss

    graphs, errors = [], []

    def work():
        try:
            graphs.extend(ad.capture(step, X) for _ in range(5))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        assert isinstance(step(X).item(), float)
        assert all(isinstance(p.data, np.ndarray) and isinstance(p.grad.data, np.ndarray) for p in model.parameters())
    for thread in threads:
        thread.join()
    assert not errors
    assert len(graphs) == 20
    texts = {"\n".join(line.split("#")[0] for line in str(graph).splitlines()) for graph in graphs}
    assert len(texts) == 1


def test_a_function_without_source_runs_on_stand_ins():
    w = ad.tensor([1.0, 2.0], requires_grad=True)
    scope = {"np": np, "w": w, "k": np.array([2.0, 3.0]), "double": lambda x: x * 2}
    graph = ad.capture(eval("lambda x, s=0.5: double(np.sin(x)) * w + k * s", scope), X)
    np.testing.assert_array_equal(graph(Y).numpy(), np.sin(Y) * 2 * [1.0, 2.0] + np.array([2.0, 3.0]) * 0.5)
    w.data = np.array([0.0, 0.0])
    np.testing.assert_array_equal(graph(Y).numpy(), [1.0, 1.5])
    for text in ("lambda x: kept.append(x)", "lambda x: print(x)", "lambda x: np.random.rand() * x"):
        with pytest.raises(ad.NotSupportedError, match="there is no source"):
            ad.capture(eval(text, {"np": np, "kept": []}), X)


def test_a_checkpoint_draws_the_same_when_compiled():
    def program(drop):
        return ad.grad(lambda x: np.sum(ad.checkpoint(lambda x: np.sin(drop(x)) ** 2)(x)))

    drop, eager = nn.Dropout(0.5, rng=7), nn.Dropout(0.5, rng=7)
    compiled = ad.compile(program(drop), wait=True, backend="numpy")
    for k in range(3):
        np.testing.assert_array_equal(compiled(np.full(20, 0.5 + k)), program(eager)(np.full(20, 0.5 + k)))


def test_results_are_no_views_of_tensors_from_outside():
    w, c = ad.tensor([0.5, 1.0, 2.0], requires_grad=True), ad.tensor([1.0, 2.0, 3.0])
    graph = ad.capture(lambda x: (w[1:], c[::-1], c.reshape(3, 1) * 1.0, x), np.ones(3))
    first, second, *_ = graph(np.ones(3))
    first.data[0] = second.data[0] = 9.0
    np.testing.assert_array_equal(w.data, [0.5, 1.0, 2.0])
    np.testing.assert_array_equal(c.data, [1.0, 2.0, 3.0])
