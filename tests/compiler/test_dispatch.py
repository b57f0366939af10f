"""Which trace a call takes: many kinds of arguments in turn, and kinds without end."""

from itertools import product

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.compiler import compiled as compiling
from adjoint.compiler.call.whole_numbers import FEW_VALUES


def counted(f, **options):
    """The compiled function, and how often it was recorded so far."""
    made = ad.compile(f, wait=True, **options)
    return made, lambda: sum(map(len, made._specializations.values()))


def test_many_kinds_in_turn_take_their_fast_paths(monkeypatch):
    f, recorded = counted(lambda x, n=1: x * n + 1)
    arrays = [np.arange(k + 2.0) for k in range(3 * compiling.MOST_DIRECT)]
    for _ in range(3):
        for x in arrays:
            np.testing.assert_array_equal(f(x), x + 1)
            np.testing.assert_array_equal(f(x, n=2), x * 2 + 1)
    assert recorded() == 2 * len(arrays)
    assert len(f._directs) == 1
    monkeypatch.setattr(compiling.Compiled, "_by_slow_path", None)  # which is not asked any more
    for x in arrays:
        np.testing.assert_array_equal(f(x), x + 1)
        np.testing.assert_array_equal(f(x, n=2), x * 2 + 1)


def test_what_is_deep_in_containers_tells_kinds_apart():
    f, recorded = counted(lambda x, pair: x * pair[0][0][0][0] + len(pair[0][0][0]))
    x = np.ones(3)
    pairs = [((((np.float64(2.0),) * k,),),) for k in range(1, 3 * compiling.MOST_DIRECT)]
    for _ in range(3):
        for pair in pairs:
            np.testing.assert_array_equal(f(x, pair), x * 2 + len(pair[0][0][0]))
    assert recorded() == len(pairs)
    assert {len(f._select((x, pair), {})) for pair in pairs} == {1}


class Owner:
    """Something that the function reads."""

    def __init__(self, factor):
        self.factor = factor


OWNERS = [Owner(np.float64(k)) for k in range(3)]


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (lambda x, *flags: x + sum(2**k for k, flag in enumerate(flags) if flag),
         [(np.ones(3), *flags) for flags in product((False, True), repeat=4)]),
        (lambda p: p["w"] * p["b"][0], [({"w": np.ones(k), "b": [np.ones(k)]},) for k in range(1, 20)]),
        (lambda x, name: x * len(name), [(np.ones(3), "n" * k) for k in range(20)]),
        (lambda x, owner: x * owner.factor, [(np.ones(3), owner) for owner in OWNERS]),
        (lambda x, dtype: x.astype(dtype), [(np.ones(3), dtype) for dtype in (np.float32, np.float16, np.int8)]),
        (lambda x, n: np.sum(x[:n]), [(np.arange(30.0), n) for n in range(20)]),
        (lambda x: np.sin(x) if np.sum(x) > 3 else np.cos(x) if np.sum(x) > 1 else x,
         [(np.full(2, k),) for k in (0.1, 1.0, 2.0)]),
    ],
    ids=["truth values", "trees", "texts", "objects", "classes", "whole numbers", "branches"],
)  # fmt: skip
def test_whatever_tells_kinds_apart_takes_the_fast_path(f, calls, monkeypatch):
    compiled, _ = counted(f)
    for _ in range(3):
        for args in calls:
            compiled(*args)
    monkeypatch.setattr(compiling.Compiled, "_by_slow_path", None)  # which is not asked any more
    for args in [*calls, *calls[::-1]]:
        expected, found = f(*args), compiled(*args)
        assert np.asarray(expected).dtype == np.asarray(found).dtype
        np.testing.assert_allclose(found, expected, rtol=1e-14)


class Meta(type):
    """Classes that cannot be looked up."""

    __hash__ = None


class Odd(metaclass=Meta):
    def __len__(self):
        raise AssertionError("nobody may ask")


def test_arguments_of_any_class_are_told_apart_without_asking_them():
    compiled, _ = counted(lambda x, odd: x * 2)
    kinds = [
        Odd(),
        Odd,
        len,
        None,
        3,
        "a",
        ["b"],
        ("b",),
        {"c": 1},
        {1: 2},
        np.float32,
        np.dtype("f8"),
        np.float64(3.0),
    ]
    for _ in range(3):
        for x in (np.ones(2), np.ones((2, 2)), np.ones((2, 2), order="F"), np.ones(2, "f4"), np.ones(4)[::2], [1.0]):
            for kind in kinds:
                x = np.asarray(x)
                found = compiled(x, kind)
                np.testing.assert_array_equal(found, x * 2)
                assert found.dtype == x.dtype


MODE, LEVELS = "a", {"level": 1}


@pytest.mark.parametrize("kinds", [3, 9])
def test_what_is_read_outside_is_looked_up(kinds, monkeypatch):
    level, owner = 1, Owner("a")

    def f(x):
        return x * (100 * len(MODE) + 10 * LEVELS["level"] + level + 0.1 * len(owner.factor))

    def states():
        yield from (("a" * k, 1, 1, "a") for k in range(1, kinds))
        yield from (("a", True, 1, "a" * k) for k in range(2, 5))

    compiled, _ = counted(f)
    for turn in range(4):
        if turn == 3:
            monkeypatch.setattr(compiling.Compiled, "_by_slow_path", None)  # which is not asked any more
        for state in states():
            monkeypatch.setitem(globals(), "MODE", state[0])
            LEVELS["level"], level, owner.factor = state[1:]
            np.testing.assert_array_equal(compiled(np.ones(2)), f(np.ones(2)))
    monkeypatch.undo()
    del LEVELS["level"]
    with pytest.raises(KeyError):
        compiled(np.ones(2))
    LEVELS["level"] = 1


def test_dtypes_are_told_apart_before_native_code_looks():
    compiled, recorded = counted(lambda x, y: x * 2 + y)
    calls = [(np.ones(3, a), np.ones(3, b)) for a in "fdil" for b in "fd"]
    for _ in range(3):
        for x, y in calls:
            found = compiled(x, y)
            assert found.dtype == (x * 2 + y).dtype
            np.testing.assert_array_equal(found, x * 2 + y)
    assert recorded() == len(calls)
    assert all(len(compiled._select(args, {})) == 1 for args in calls)
    assert compiled._directs == ()


def test_a_model_and_its_optimizer_as_arguments(monkeypatch):
    def step(model, optimizer, x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    def pairs():
        for k in range(3):
            model = nn.Linear(4, 4, rng=k)
            yield model, optim.SGD(model.parameters(), lr=0.1)

    compiled, recorded = counted(step)
    x, plain, ours = np.ones((3, 4)), list(pairs()), list(pairs())
    for turn in range(6):
        if turn == 2:
            monkeypatch.setattr(compiling.Compiled, "_by_slow_path", None)
        for (a, b), (c, d) in zip(plain, ours, strict=True):
            assert compiled(c, d, x) == pytest.approx(step(a, b, x), rel=1e-12)
            np.testing.assert_allclose(c.weight.data, a.weight.data, rtol=1e-12)
    assert recorded() == 3


def test_the_names_and_the_number_of_arguments_tell_kinds_apart():
    def f(*args, **kwargs):
        return args[0] * len(args) + len(kwargs)

    compiled, _ = counted(f)
    x = np.ones(2)
    calls = [((x,), {}), ((x, x), {}), ((x,), {"a": x}), ((x,), {"b": x}), ((x, 1), {}), ((x, 2), {}), ((x, True), {})]
    for _ in range(3):
        for args, kwargs in calls:
            np.testing.assert_array_equal(compiled(*args, **kwargs), f(*args, **kwargs))


def test_whole_numbers_that_the_program_asks_for_are_not_recorded_for_ever(monkeypatch):
    monkeypatch.setattr(compiling, "MOST_VALUES", 5)
    f, recorded = counted(lambda x, n: x[:n] * n)
    x = np.ones(50)
    for n in range(40):
        np.testing.assert_array_equal(f(x, n), x[:n] * n)
    assert recorded() == 5
    assert "runs as it is, because its whole numbers had 5 values" in f.explain()
    f(np.ones(4), 1)  # other arrays are not among these
    assert recorded() == 6, f.explain()
    np.testing.assert_array_equal(f(x, 3), x[:3] * 3)
    assert recorded() == 6


WHOLE = [*range(-6, 12), 2**30, 127, 128, 300, -129, 2**31, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, 10**30]
OF_NUMBERS = {
    "a factor": lambda x, k: x * k,
    "both sides": lambda x, k: (k - x, x - k, k / 3 + x),
    "a branch": lambda x, k: x * 2 if k > 5 else x + k,
    "a sum": lambda x, k: (k + 1, k - 7, -k, x + (k + 3)),
    "a product": lambda x, k: x * (k * k),
    "a power": lambda x, k: (x * 1) ** abs(k % 5),
    "an index": lambda x, k: x[k % 3],
    "a conversion": lambda x, k: x * float(k) + np.float64(k),
    "how many": lambda x, k: np.sum(np.ones(k % 4)) + x,
    "as it is": lambda x, k: (k, [k, x]),
    "a choice": lambda x, k: np.where(x > 0, x, k),
    "in a list": lambda x, k: np.array([k, 1]) * x[0],
    "compared": lambda x, k: x < k,
    "doubled": lambda x, k: x + doubled(k),
}


def doubled(k):
    for _ in range(40):
        k = -(k + k)
    return k


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.uint8, np.uint64, bool])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_whole_numbers_mean_what_they_mean_as_inputs(name, dtype):
    f, x = OF_NUMBERS[name], np.array([1, 0, 2]).astype(dtype)
    compiled, recorded = counted(f)
    with np.errstate(all="ignore"):
        for k in WHOLE:
            assert told(compiled, x, k) == told(f, x, k), k
    if name == "a factor" and dtype is np.float64:
        assert recorded() == FEW_VALUES + 1 + sum(abs(k) >= 2**31 for k in WHOLE)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize("compare", [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal])
def test_comparisons_with_whole_numbers_that_no_array_of_the_dtype_holds(compare, dtype):
    x = np.array([1, 0, 100]).astype(dtype)
    for k in (-(10**20), -129, -1, 127, 128, 256, 2**63, 10**20):
        f, _ = counted(lambda x, k=k: (compare(x, k), compare(k, x)))
        assert told(f, x) == told(f.function, x)


def told(f, *args):
    """What a call gives or raises, bit for bit."""
    try:
        leaves = ad.core.objects.trees.flatten(f(*args))[0]
    except Exception as error:
        return type(error), str(error)
    return [(type(x), getattr(x, "dtype", None), np.shape(x), bits(x)) for x in leaves]


def bits(x):
    return x.tobytes() if hasattr(x, "dtype") and not x.dtype.hasobject else repr(x)


def test_whole_numbers_that_vary_become_inputs():
    f, recorded = counted(lambda x, k, n: x * k + n)
    x = np.ones(3)
    for k in range(200):
        np.testing.assert_array_equal(f(x, k, 2), x * k + 2)
    assert recorded() == FEW_VALUES + 1
    for n in range(200):
        np.testing.assert_array_equal(f(x, 3 * n, n), x * (3 * n) + n)
    assert not f._others
    assert recorded() < 75


def test_a_counter_that_is_passed_is_recorded_a_few_times():
    def step(w, t):
        rate = 0.1 / (t + 1)
        return w - rate * np.tanh(w)

    compiled, recorded = counted(step)
    a = b = np.ones(3)
    for t in range(300):
        a, b = compiled(a, t), step(b, t)
    np.testing.assert_allclose(a, b, rtol=1e-12)
    assert recorded() <= FEW_VALUES + 2


def test_submitted_calls_take_whole_numbers_too():
    f, _ = counted(lambda x, k: x * k)
    x = np.ones(3)
    for k in range(20):
        np.testing.assert_array_equal(f.submit(x, k).result(), x * k)


@pytest.mark.parametrize("wait", [True, False])
def test_kinds_have_a_bound(wait, monkeypatch):
    monkeypatch.setattr(compiling, "MOST_KINDS", 4)
    f = ad.compile(lambda x: x + 1, wait=wait)
    for k in range(20):
        for _ in range(3):
            np.testing.assert_array_equal(f(np.ones(k)), np.full(k, 2.0))
    assert len(f._specializations) == 4
    assert len(f._selector.known) <= 4
    assert "runs as it is, because it was called with 4 kinds of arguments" in f.explain()


UNREAD = {
    "zeros_like": lambda x: np.zeros_like(x),
    "the name of a dtype": lambda x: [x.dtype.name],
    "one beside an operation of NumPy's": lambda x: (x.dtype.kind, np.sort(TABLE)),
    "one beside a result": lambda x: (np.empty_like(x).dtype.name, TABLE[1:] * 2.0),
}
TABLE = np.array([3.0, 1.0, 2.0])


@pytest.mark.parametrize("name", UNREAD)
def test_arguments_that_no_step_reads_have_their_dtypes_compared(name):
    f = UNREAD[name]
    compiled = ad.compile(f, wait=True)
    for x in (np.ones(3), np.ones(3), np.ones(3, int), np.ones(3, np.float32), np.ones(3, bool), np.ones(3)):
        assert repr(compiled(x)) == repr(f(x))


class Unordered:
    """A key whose order raises."""

    def __lt__(self, other):
        return self.missing


def test_keys_whose_order_raises_let_the_function_run_as_it_is():
    compiled = ad.compile(lambda d: sum(np.sum(x) for x in d.values()), wait=True)
    for k in range(3):
        d = {Unordered(): np.arange(3.0) + k, Unordered(): np.ones(2)}
        assert compiled(d) == 5.0 + 3 * k
        assert compiled.submit(d).result() == 5.0 + 3 * k


def test_recording_ends_early_where_many_answers_never_come_again():
    def f(x):
        total, ordered = 0.0 * x[0], np.sort(x)
        for k, name in enumerate("a long text has many letters, and each has a branch of its own"):
            if x[k] > 0:
                total = total + ordered[k] * len(name)
            ordered = ordered * 0.5 if x[k] > x[k + 1] else np.cumsum(ordered)
        return total

    step, recorded = counted(f)
    rng = np.random.default_rng(0)
    first = rng.normal(size=64)
    for x in (first, first, *rng.normal(size=(10, 64)), first):
        np.testing.assert_allclose(step(x), f(x), rtol=1e-10)
    assert "runs as it is" in step.explain()
    assert recorded() == 1  # the first one, which is of use


def test_traces_that_come_again_stay_where_recording_ends():
    def f(x):
        total = 0.0 * x[0]
        for v in [*x]:
            total = total + v if v > 0 else total * 0.5
        return total

    step, recorded = counted(f)
    rng = np.random.default_rng(0)
    often = rng.normal(size=(3, 24))
    for x in (*often, *often, *rng.normal(size=(20, 24)), *often):
        np.testing.assert_allclose(step(x), f(x), rtol=1e-10)
    assert "runs as it is" in step.explain()
    assert recorded() == 3


seen: list[object] = []


def noting(x, n, pair=(1.0, None)):
    if x.ndim == 1:
        print(end="")  # which is not compiled
    seen.append(type(x))
    return np.sum(np.sin(x) * n) + pair[0] * len(pair)


def test_calls_of_a_kind_that_was_given_up_take_a_short_path(monkeypatch):
    f = ad.compile(noting, wait=True)
    x = np.linspace(0.1, 1.0, 3)
    for _ in range(2):
        f(x, 2)
    assert f._reasons
    assert len(f._uncompiled) == 1
    slow, calls = compiling.Compiled._by_slow_path, []

    def counting(self, args, kwargs):
        calls.append(args)
        return slow(self, args, kwargs)

    monkeypatch.setattr(compiling.Compiled, "_by_slow_path", counting)
    seen.clear()
    assert f(x, 2) == noting(x, 2)
    assert not calls
    assert seen == [np.ndarray] * 2
    others = [(x, 3), (x, True), (x, 2.0), (np.ones(4), 2), (x.astype("f4"), 2), (np.ones((3, 3)), 2), (x, 2, (2.0,))]
    for k, args in enumerate(others, 1):
        assert f(*args) == noting(*args)
        assert len(calls) == k, args
    assert f(x, n=2) == noting(x, 2)
    t = ad.tensor(x, requires_grad=True)
    f(t, 2).backward()
    np.testing.assert_allclose(t.grad, 2 * np.cos(x))


@pytest.mark.parametrize("times", [1, 3])
def test_the_short_path_leaves_transforms_to_twins(times):
    """The twin of `g` keeps what the plain function would not: an array that is filled with values of a transform."""

    def filled(x):
        print(end="")
        out = np.zeros(3)
        for k in range(3):
            out[k] = x[k] ** 2
        return np.sum(out)

    f = ad.compile(filled, wait=True)
    x = np.linspace(0.1, 1.0, 3)
    for _ in range(times):
        assert f(x) == filled(x)
    np.testing.assert_allclose(ad.grad(f)(x), 2 * x)
    np.testing.assert_allclose(ad.grad(lambda x: f(x) * 3 + f(np.ones(3)))(x), 6 * x)
    np.testing.assert_allclose(ad.jvp(f, (x,), (np.ones(3),))[1], 2 * x.sum())
    np.testing.assert_allclose(ad.vmap(f)(np.stack([x, 2 * x])), [filled(x), filled(2 * x)])
