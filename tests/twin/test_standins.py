"""The stand-ins by themselves: what they are for, what they give for numbers, and that they keep histories."""

import copy
import csv
import io
import json
import math
import operator
import re
import statistics
import sys
import threading

import numpy as np
import pytest
import scipy.special

import adjoint as ad
from adjoint.core.box import Box
from adjoint.twin import standins
from adjoint.twin.standins import box_attribute, box_method, find, formatted, live, maker, needed, plainly
from adjoint.twin.standins.of_python.text import joined_text, shown_in

X = np.array([0.3, 1.2])


def leaf(x=X):
    return ad.tensor(x, requires_grad=True) * 1.0


# -- Finding them -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "original",
    [
        *(np.array, np.asarray, np.full, np.arange, np.fromiter, np.r_, math.sin, math.floor, float, isinstance, type),
        *(round, np.float64, np.nditer, np.random.normal, np.emath.sqrt, copy.deepcopy, np.vectorize),
    ],
)
def test_needed(original):
    assert needed(original)
    assert find(original) is not None or maker(original) is not None


@pytest.mark.parametrize("original", [np.sin, np.sum, np.where, np.add, np.linalg.solve, min, print, np.stack])
def test_carried_by_protocols(original):
    assert not needed(original)
    assert find(original) is not None


@pytest.mark.parametrize(
    "original", [len, callable, issubclass, operator.add, np.zeros, np.eye, json.JSONDecoder, object(), 3.0]
)
def test_called_as_they_are(original):
    assert find(original) is None
    assert not needed(original)


def test_one_table_for_all_threads():
    found = []
    threads = [threading.Thread(target=lambda: found.append(find(np.array))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_a_users_function_has_none():
    def array(x):
        return x

    assert find(array) is None
    assert maker(array) is None


def test_ufuncs_keep_their_methods_and_facts():
    add = find(np.add)
    assert (add.nin, add.nout, add.identity, add.__name__) == (2, 1, 0, "add")
    np.testing.assert_array_equal(add.outer([1, 2], [3]), np.add.outer([1, 2], [3]))
    assert add.reduce([1, 2, 3]) == 6
    a = np.zeros(3)
    add.at(a, [0, 0, 2], 1.0)
    assert a.tolist() == [2.0, 0.0, 1.0]


# -- Of numbers they are the originals ----------------------------------------------------------------------------

PLAIN_CALLS = [
    (np.array, ([1, 2, 3],)),
    (np.array, ([[1.0, 2], [3, 4]],)),
    (np.array, ([1.0, None],)),
    (np.array, (["a", "b"],)),
    (np.array, ("text",)),
    (np.array, (3,)),
    (np.array, ([True, False],)),
    (np.array, ([],)),
    (np.array, ([[], []],)),
    (np.array, ([1, 2], "f4")),
    (np.array, (np.float32([1, 2]),)),
    (np.asarray, ((1, 2.5),)),
    (np.full, ((2, 2), 7)),
    (np.full, (2, [1.0, 2.0])),
    (np.arange, (5,)),
    (np.arange, (1, 4, 0.5)),
    (np.fromiter, ([1, 2, 3], float)),
    (np.float64, ("3.5",)),
    (np.float32, ([1, 2],)),
    (math.log, (8, 2)),
    (math.hypot, (3.0, 4.0)),
    (math.fsum, ([0.1] * 10,)),
    (math.prod, ([2, 3],)),
    (math.gcd, (12, 18)),
    (math.frexp, (5.2,)),
    (math.isclose, (1.0, 1.0 + 1e-12)),
    (math.floor, (2.7,)),
    (float, ("2.5",)),
    (float, ()),
    (int, ("ff", 16)),
    (complex, ("1+2j",)),
    (complex, (1.0, 2.0)),
    (bool, ([],)),
    (round, (2.675, 2)),
    (round, (2.5,)),
    (isinstance, (1.0, (int, float))),
    (isinstance, (1.0, int | str)),
    (type, (1.0,)),
    (hasattr, ("a", "upper")),
    (str, (b"a", "utf8")),
    (np.isscalar, (1.0,)),
    (np.iterable, ([1],)),
    (np.emath.sqrt, (-1.0,)),
    (np.sum, ([[1, 2], [3, 4]],)),
    (np.concatenate, ([[1], [2, 3]],)),
    (np.hanning, (4,)),
    (np.broadcast, (np.ones(2), np.ones((3, 1)))),
    (np.random.RandomState(0).normal, (1.0, 2.0, 3)),
]


@pytest.mark.parametrize(("original", "args"), PLAIN_CALLS, ids=lambda v: getattr(v, "__name__", repr(v)[:30]))
def test_of_numbers(original, args):
    if isinstance(generator := getattr(original, "__self__", None), np.random.RandomState):
        generator.seed(0)  # other tests draw from it
        wanted = np.random.RandomState(0).normal(*args)
    else:
        wanted = original(*args)
    got = find(original)(*args)
    assert type(got) is type(wanted)
    assert getattr(got, "dtype", None) == getattr(wanted, "dtype", None)
    if isinstance(wanted, np.broadcast):
        assert got.shape == wanted.shape
    else:
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("original", "args"), PLAIN_CALLS, ids=lambda v: getattr(v, "__name__", repr(v)[:30]))
def test_of_constants(original, args):
    """Tensors without a history in the place of arrays: the same values."""
    boxed = tuple(ad.Tensor(a) if isinstance(a, np.ndarray) else a for a in args)
    got, wanted = find(original)(*boxed), find(original)(*args)
    if isinstance(wanted, np.broadcast):
        got, wanted = got.shape, wanted.shape
    if getattr(original, "__name__", "") != "normal":
        np.testing.assert_array_equal(plainly(got), wanted)


ERRORS = [
    (math.sqrt, (-1.0,), ValueError),
    (math.log, (0.0,), ValueError),
    (math.log, (-1.0, 2.0), ValueError),
    (math.acos, (1.5,), ValueError),
    (math.exp, (1000.0,), OverflowError),
    (math.pow, (-1.0, 0.5), ValueError),
    (math.fmod, (1.0, 0.0), ValueError),
    (math.gamma, (0.0,), ValueError),
    (math.acosh, (0.5,), ValueError),
    (math.atanh, (1.0,), ValueError),
    (math.sin, (math.inf,), ValueError),
    (math.floor, (math.nan,), ValueError),
    (math.floor, (math.inf,), OverflowError),
    (int, (math.nan,), ValueError),
    (round, (math.inf,), OverflowError),
]


@pytest.mark.parametrize(("original", "args", "error"), ERRORS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_errors_are_pythons(original, args, error):
    for given in (args, (leaf(args[0]), *args[1:]), tuple(map(leaf, args))):
        with pytest.raises(error):
            find(original)(*given)
        seen = []

        def f(x, given=given):
            with pytest.raises(error):
                find(original)(x, *given[1:])
            seen.append(True)
            return x * 1.0

        ad.jvp(f, (np.float64(args[0]),), (1.0,))
        assert seen


@pytest.mark.parametrize("f", [float, math.sin, int, complex, math.floor])
def test_arrays_are_no_numbers(f):
    with pytest.raises(TypeError):
        find(f)(leaf())


def test_ragged_lists():
    t = leaf()
    for rows in ([t, t[0]], [[t[0], 1.0], [t[1]]], [t, [1.0]], [[t[0]], 2.0]):
        with pytest.raises(ValueError, match=r"inhomogeneous|broadcast|shape"):
            find(np.array)(rows)


# -- They keep histories ---------------------------------------------------------------------------------------------


def test_array_is_one_operation():
    t = leaf()
    made = find(np.array)([t[0], 1.0, t[1]])
    assert made.node.pullback.op.name == "pile"
    assert made.dtype == np.float64
    made = find(np.array)([[t[0], 1.0], [2, t[1]]])
    assert made.shape == (2, 2)
    assert made.node.parents[0].pullback.op.name == "pile"


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", float, complex])
def test_array_of_a_dtype(dtype):
    t = leaf()
    made = find(np.array)([t[0], 2], dtype=dtype)
    assert made.dtype == np.dtype(dtype)
    assert made.requires_grad


def test_narrow_numbers_promote_as_numpys():
    t = ad.tensor(np.float32([1, 2]), requires_grad=True) * np.float32(1)
    assert find(np.array)([t[0], t[1]]).dtype == np.float32
    assert find(np.array)([t[0], 1.0]).dtype == np.array([np.float32(1), 1.0]).dtype
    assert find(np.array)([t[0], 1]).dtype == np.array([np.float32(1), 1]).dtype
    assert find(np.array)([t, [1.0, 2.0]]).dtype == np.array([np.float32([1, 2]), [1.0, 2.0]]).dtype


def test_whole_numbers_are_constants():
    made = find(np.array)([leaf()[1], 3], dtype=int)
    assert made.dtype == np.array(1).dtype
    assert not live(made)


def test_asarray_is_the_tensor_and_array_a_copy():
    t = ad.tensor(X.copy())
    assert find(np.asarray)(t) is t
    assert find(np.asarray)(t, dtype=float) is t
    made = find(np.array)(leaf())
    made[0] = 5.0
    constant = find(np.array)(t)
    constant[0] = 9.0
    assert t.tolist() == X.tolist()


def test_float_of_a_tensor_is_its_own():
    t = ad.tensor(2.0, requires_grad=True) * 1.0
    number = find(float)(t)
    t += 1.0
    assert number.item() == 2.0
    number.backward()


@pytest.mark.parametrize(
    ("kinds", "of_item", "of_array"),
    [
        *((float, True, False), (np.float64, True, False), (np.ndarray, False, True), (int, False, False)),
        *((object, True, True), (Box, True, True), ((str, float), True, False), (list | np.ndarray, False, True)),
    ],
)
def test_isinstance(kinds, of_item, of_array):
    t = leaf()
    assert find(isinstance)(t[0], kinds) is of_item
    assert find(isinstance)(t, kinds) is of_array


def test_types():
    t = leaf()
    assert find(type)(t) is np.ndarray
    assert find(type)(t[0]) is np.float64
    assert find(type)(np.sum(t > 0)) is np.int64
    assert find(type)("Named", (), {}).__name__ == "Named"


def test_item_and_tolist_keep_the_history():
    t = leaf()
    a, b = box_method("tolist")(t)
    assert live(a)
    assert live(b)
    assert live(box_method("item")(t, 1))
    with pytest.raises(ValueError, match="size 1"):
        box_method("item")(t)


def test_attributes():
    t = leaf(np.ones((2, 3)))
    plain = np.ones((2, 3))
    for name in ("strides", "itemsize", "nbytes"):
        assert box_attribute(name)(t) == getattr(plain, name)
    assert box_attribute("flags")(t)["C_CONTIGUOUS"]
    assert box_attribute("__class__")(t) is np.ndarray
    with pytest.raises(ad.LeavesGraphError, match=r"detach\(\)"):
        box_attribute("ctypes")(t)


def test_messages_have_numbers():
    t = leaf()
    assert joined_text(shown_in(t[0], -1, ".2f"), " m") == "0.30 m"
    assert shown_in(t, ord("r"), "") == repr(X)
    assert str(formatted(t)) == str(X)
    assert formatted({"a": [t[1]]}) == {"a": [1.2]}
    assert find(str.format)("{:.1f} {b}", t[1], b=3) == "1.2 3"


TEXTS = [
    lambda x: f"{x:.1f}",
    lambda x: "%.1f" % x,  # noqa: UP031 - as people write it
    lambda x: "%s" % (x,),  # noqa: UP031 - the same
    lambda x: "%d" % (x * 100),  # noqa: UP031 - the same
    lambda x: "{:.1f}".format(x),  # noqa: UP032 - the same
    lambda x: format(x, ".1f"),
    lambda x: str(x),
    lambda x: str(round(x * 100)),
    lambda x: f"{[x * 10]}"[:5] + f"{x}",
    lambda x: str({"a": x * 10})[:5] + str(x)[:3],
    lambda x: f"{np.array([x, 1.0])}",
    lambda x: [0.0] * round(x * 5),
    lambda x: round(x * 5) * (0.0,),
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_asked_of_texts_of_samples_is_right_or_refused(text):
    def f(x):
        return x * (len(text(x)) if text(x) else 0.0)

    xs = np.array([0.7, 0.25])
    try:
        np.testing.assert_allclose(ad.vmap(f)(xs), [f(x) for x in xs])
    except ad.BatchedValueError:
        assert len(text(xs[0])) != len(text(xs[1]))
    np.testing.assert_allclose(ad.vmap(f)(np.array([0.7, 0.7])), [f(0.7)] * 2)


@pytest.mark.parametrize("text", TEXTS[:-2])
def test_texts_of_samples_that_differ_are_no_keys_and_no_text_of_one(text):
    with pytest.raises(ad.BatchedValueError, match="inside vmap"):
        ad.vmap(lambda x: x * {text(x): 1.0}[text(x)])(np.array([0.7, 0.25]))
    with pytest.raises(ad.BatchedValueError, match="inside vmap"):
        ad.vmap(lambda x: x * (text(x) == text(np.float64(0.7))))(np.array([0.7, 0.25]))


@pytest.mark.parametrize(
    "read",
    [
        lambda text: float(re.findall(r"[\d.]+", text)[0]),
        lambda text: re.compile(r"[\d.]+").sub("1", text) == "1",
        lambda text: eval(text),
        lambda text: text in "0.7, 0.3",
        lambda text: "0.7, 0.3".find(text),
        lambda text: io.StringIO(text).read() == "0.7",
        lambda text: float(next(csv.reader([text]))[0]),
        lambda text: text == "0.7",
        lambda text: len(sorted([text, "0.5"])),
        lambda text: float(text),
    ],
)
def test_who_reads_texts_of_samples_as_one_is_refused(read):
    with pytest.raises(
        (ad.BatchedValueError, TypeError, csv.Error), match=r"inside vmap|TextsOfSamples|must be a string"
    ):
        ad.vmap(lambda x: x * read(f"{x:.1f}"))(np.array([0.7, 0.25]))


def test_texts_of_samples_are_texts():
    xs = np.array([0.7, 0.25])
    np.testing.assert_array_equal(ad.vmap(lambda x: x if isinstance(f"{x}", str) else 0.0)(xs), xs)
    np.testing.assert_array_equal(ad.vmap(lambda x: x if type(f"{x}") is str else 0.0)(xs), xs)
    np.testing.assert_array_equal(ad.vmap(lambda x: x * len(copy.deepcopy([f"{x:.1f}"])[0]))(xs), 3 * xs)


def test_texts_of_samples_go_through_the_methods_of_texts(capsys):
    def f(x):
        name = "x=" + f"{x:.1f}".rjust(6).strip() + "%s" % "m"  # noqa: UP031 - as people write it
        print(name.upper())
        return x if name.startswith("x=") and name.endswith("m") and "=" in name and name != "x" else 0.0

    xs = np.array([0.75, 0.5])
    np.testing.assert_array_equal(ad.vmap(f)(xs), xs)
    assert capsys.readouterr().out == "X=0.8M | X=0.5M\n"


def test_printing_shows_all_samples(capsys):
    ad.vmap(lambda x: find(print)(x, {"a": x}) or x)(X)
    assert capsys.readouterr().out == f"{X} {{'a': {X!r}}}\n"


def test_deep_copies():
    class Model:
        def __init__(self, w):
            self.w, self.parts = w, {"b": [w * 2, 3.0]}

    t = leaf()
    model = Model(t)
    other = find(copy.deepcopy)(model)
    assert other is not model
    assert other.w is not t
    assert live(other.w)
    assert live(other.parts["b"][0])
    other.w[0] = 7.0
    np.testing.assert_array_equal(plainly(t), X)


def test_series_of_pandas_are_data():
    pd = pytest.importorskip("pandas")

    def f(x):
        data = pd.Series([1.0, 2.0])
        return np.sum(np.asarray(x * data) + np.asarray(data - x[0]) + np.asarray(data) * x)

    np.testing.assert_allclose(ad.grad(f)(X), [2.0 - 2.0, 4.0])


# -- Looking into containers -----------------------------------------------------------------------------


def test_plainly_gives_what_holds_no_box_back():
    tree = {"a": [1, (2, np.ones(2))], "b": None}
    assert plainly(tree) is tree
    t = leaf()
    got = plainly({"a": [t, (t[0], "x")]})
    np.testing.assert_array_equal(got["a"][0], X)
    assert got["a"][1] == (0.3, "x")


def test_live():
    t = leaf()
    assert live(t)
    assert live([1, (t,)])
    assert live({"a": {"b": t}})
    assert not live(ad.Tensor(X))
    assert not live([X, "a", None, {1: 2.0}])


def test_all_names_are_there():
    for name in ("find", "needed", "array_method", "box_method", "box_attribute", "maker", "live", "plainly"):
        assert callable(getattr(standins, name))


REDUCED = {
    "dtype": lambda x: np.hypot.reduce(x, 0, np.float64),
    "axes": lambda x: np.hypot.reduce(x, axis=(0, 1)),
    "initial": lambda x: np.hypot.reduce(x, initial=3.0),
    "where": lambda x: np.hypot.reduce(x, axis=1, where=x > 2.5, keepdims=True),
    "out": lambda x: np.hypot.reduce(x, out=np.zeros_like(x, shape=(3,))),
    "accumulate": lambda x: np.subtract.accumulate(x, 1, np.float64),
    "accumulate_out": lambda x: (y := x * 1, np.subtract.accumulate(y, out=y))[0],
    "reduceat": lambda x: np.add.reduceat(x, [0, 2], axis=1, dtype=np.float64),
}


@pytest.mark.parametrize("name", REDUCED)
def test_a_ufunc_that_is_reduced_with_settings_keeps_its_derivative(name):
    f, x = REDUCED[name], np.array([[1.0, 2.0, 3.0], [4.0, 0.5, 6.0]])
    value = f(x)
    directions = np.eye(x.size).reshape(-1, *x.shape)
    wanted = np.stack([(f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6 for d in directions], -1).reshape(*value.shape, 2, 3)
    for derivative in (ad.jacrev, ad.jacfwd):
        np.testing.assert_allclose(derivative(f)(x), wanted, atol=1e-7)
    np.testing.assert_allclose(ad.vjp(f, x)[0], value)


@pytest.mark.parametrize("x", [np.float32(1.5), np.full(3, 0.5, np.float32), np.full((2, 3), 0.5, np.float16)], ids=str)
@pytest.mark.parametrize("settings", [{}, {"initial": 2.0}, {"initial": 2}, {"keepdims": True}], ids=str)
def test_reductions_that_are_followed_keep_the_dtype(x, settings):
    def length(x):
        return np.hypot.reduce(x, axis=-1, **settings)

    expected, (found, _) = length(x), ad.vjp(length, x)
    assert np.asarray(found).dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_objects_show_what_they_hold_of_samples():
    class Shown:
        def __init__(self, x):
            self.x = x

        def __repr__(self):
            return f"<{self.x}>"

    for show in (str, repr):
        with pytest.raises(ad.BatchedValueError, match="texts"):
            ad.vmap(lambda x: x[0] * len(show(Shown(x[0]))))(np.array([[1.5], [22.25]]))
        assert ad.vmap(lambda x: x[0] * len(show(Shown(2.5))))(np.ones((2, 1))).tolist() == [5.0, 5.0]
        assert ad.grad(lambda x: x * len(show(Shown(x))))(2.5) == 5.0


def test_a_module_bound_to_a_local_name():
    def f(x):
        s = scipy.special
        xp = np
        column = xp.array([x[0], x[1]])
        inner = lambda t: s.logsumexp(t) + s.lambertw(t[0]).real
        return inner(column) * 2.0

    x = np.array([0.3, 0.8])
    w = scipy.special.lambertw(0.3).real
    wanted = 2 * np.exp(x) / np.sum(np.exp(x)) + [2 / (0.3 + np.exp(w)), 0.0]
    np.testing.assert_allclose(ad.grad(f)(x), wanted, rtol=1e-12)
    np.testing.assert_allclose(ad.vmap(f)(np.stack([x, 2 * x])), [f(x), f(2 * x)], rtol=1e-12)


def test_arguments_that_scipy_fills_in():
    z = np.array([0.5, 2.0])
    np.testing.assert_allclose(ad.vmap(lambda z: scipy.special.lambertw(z).real)(z), scipy.special.lambertw(z).real)
    np.testing.assert_allclose(ad.vmap(lambda x: scipy.special.zeta(x + 2.0))(z), scipy.special.zeta(z + 2.0))
    np.testing.assert_allclose(ad.grad(lambda q: scipy.special.zeta(2.0, q))(2.0), -2 * scipy.special.zeta(3.0, 2.0))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before, statistics.correlation has no method")
def test_a_correlation_of_ranks_is_constant():
    def f(x):
        return statistics.correlation(x, [1.0, 3.0, 2.0, 5.0], method="ranked") * x[0]

    x = np.array([0.3, 0.1, 0.9, 0.5])
    value, gradient = ad.value_and_grad(f)(x)
    assert value == f(x)
    np.testing.assert_allclose(gradient, [f(x) / x[0], 0, 0, 0])


@pytest.mark.parametrize(
    "call",
    [
        lambda: np.isscalar(),
        lambda: np.iterable(),
        lambda: np.ix_(zzz=1),
        lambda: np.apply_along_axis(),
        lambda: np.apply_over_axes(),
        lambda: np.fromfunction(),
    ],
)
def test_wrong_arguments_are_said_by_the_name_of_the_original(call):
    said = []
    for run in (call, lambda: ad.grad(lambda x: x * call())(1.0)):
        with pytest.raises(TypeError) as caught:
            run()
        said.append(str(caught.value).split(" ")[0])
    assert said[0] == said[1]
