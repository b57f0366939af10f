"""Derivative rules of one's own: in every mode, nested, through foreign code; and what is said of wrong ones."""

import ctypes
import ctypes.util
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.testing import check_grads

POINT = np.array([-1.0, 0.3, 2.0])
LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
LIBM.cbrt.restype, LIBM.cbrt.argtypes = ctypes.c_double, [ctypes.c_double]


@ad.custom_vjp
def softplus(x):
    return np.logaddexp(0.0, x)


softplus.defvjp(lambda x: (softplus(x), x), lambda x, g: (g / (1 + np.exp(-x)),))


@ad.custom_jvp
def softplus_forward(x):
    return np.logaddexp(0.0, x)


@softplus_forward.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return softplus_forward(x), t / (1 + np.exp(-x))


@ad.custom_vjp
def cube_root(x):
    """Of the C library: takes nothing but a float."""
    return x.dtype.type(LIBM.cbrt(x))


cube_root.defvjp(lambda x: ((y := cube_root(x)), y), lambda y, g: (g / (3 * y * y),))


@ad.custom_jvp
def scaled(x, weights):
    return {"value": np.sin(x) * weights["w"], "weight": weights["w"] ** 2}


@scaled.defjvp
def _(primals, tangents):
    (x, p), (dx, dp) = primals, tangents
    value = scaled(x, p)
    return value, {"value": np.cos(x) * p["w"] * dx + np.sin(x) * dp["w"], "weight": 2 * p["w"] * dp["w"]}


def twice_by_hand(x):
    return np.log(1 + np.exp(x))


MODES = {
    "value": lambda f: f(POINT),
    "reverse": lambda f: ad.grad(lambda x: np.sum(f(x) ** 2))(POINT),
    "forward": lambda f: ad.jvp(f, (POINT,), (POINT**2,))[1],
    "reverse over reverse": lambda f: ad.grad(lambda x: np.sum(ad.grad(lambda x: np.sum(f(x) ** 2))(x) ** 3))(POINT),
    "forward over reverse": lambda f: ad.hvp(lambda x: np.sum(f(x) ** 2), POINT, POINT**2),
    "reverse over forward": lambda f: ad.grad(lambda x: np.sum(ad.jvp(f, (x,), (x**2,))[1]))(POINT),
    "forward over forward": lambda f: ad.jvp(lambda x: ad.jvp(f, (x,), (x**2,))[1], (POINT,), (POINT,))[1],
    "vmap": lambda f: ad.vmap(f)(POINT),
    "vmap of grad": lambda f: ad.vmap(ad.grad(f))(POINT),
    "grad of vmap": lambda f: ad.grad(lambda x: np.sum(ad.vmap(f)(x) ** 2))(POINT),
    "vmap of jvp": lambda f: ad.vmap(lambda x: ad.jvp(f, (x,), (x,))[1])(POINT),
    "jvp of vmap": lambda f: ad.jvp(ad.vmap(f), (POINT,), (POINT**2,))[1],
    "vmap of vmap": lambda f: ad.vmap(ad.vmap(ad.grad(f)))(np.stack([POINT, POINT + 1])),
    "grad of vmap of grad": lambda f: ad.grad(lambda x: np.sum(ad.vmap(ad.grad(f))(x) ** 2))(POINT),
    "checkpoint": lambda f: ad.grad(ad.checkpoint(lambda x: np.sum(f(f(x)) ** 2)))(POINT),
    "grad of vmap of jvp of checkpoint": lambda f: ad.grad(
        lambda x: np.sum(ad.vmap(lambda v: ad.jvp(ad.checkpoint(lambda x: f(x) ** 2), (v,), (v,))[1])(x))
    )(POINT),
    "jacobian": lambda f: ad.jacobian(f)(POINT),
    "hessian": lambda f: ad.hessian(lambda x: np.sum(f(x) * x))(POINT),
    "linearize": lambda f: ad.linearize(f, POINT)[1](POINT),
    "sparse": lambda f: ad.sparse_jacobian(lambda x: f(x[1:]) + x[:-1])(POINT).toarray(),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("function", [softplus, softplus_forward], ids=["custom_vjp", "custom_jvp"])
def test_every_mode_gives_what_the_plain_function_does(function, mode):
    assert_allclose(MODES[mode](function), MODES[mode](twice_by_hand), rtol=1e-10, atol=1e-12)


def test_the_rule_is_used_in_every_mode():
    """A rule that is wrong on purpose tells whether it was asked."""
    for decorate in (ad.custom_vjp, ad.custom_jvp):
        f = decorate(lambda x: np.sin(x))
        if decorate is ad.custom_vjp:
            f.defvjp(lambda x: (np.sin(x), None), lambda _, g: (7.0 * g,))
        else:
            f.defjvp(lambda p, t: (np.sin(p[0]), 7.0 * t[0]))
        assert ad.grad(f)(0.0) == 7
        assert ad.jvp(f, (0.0,), (1.0,))[1] == 7
        assert_allclose(ad.vmap(ad.grad(f))(POINT), 7)
        assert_allclose(ad.grad(lambda x, f=f: np.sum(ad.vmap(f)(x)))(POINT), 7)
        assert_allclose(ad.jvp(ad.vmap(f), (POINT,), (POINT,))[1], 7 * POINT)
        assert ad.grad(ad.grad(f))(0.0) == 0


@pytest.mark.parametrize("function", [softplus, softplus_forward])
def test_tensors_and_a_recorded_pass(function):
    x = ad.tensor(POINT, requires_grad=True)
    np.sum(function(x) ** 2).backward(create_graph=True)
    gradient, x.grad = x.grad, None
    np.sum(gradient**3).backward()
    assert_allclose(x.grad, MODES["reverse over reverse"](twice_by_hand), rtol=1e-10)


def test_trees_in_and_out():
    f = lambda x, w: scaled(x, {"w": w})["value"] * scaled(x, {"w": w})["weight"]
    plain = lambda x, w: np.sin(x) * w**3
    at = (0.3, 2.0)
    assert_allclose(ad.grad(f, (0, 1))(*at), ad.grad(plain, (0, 1))(*at))
    assert_allclose(ad.jvp(f, at, (1.0, -1.0)), ad.jvp(plain, at, (1.0, -1.0)))
    assert_allclose(ad.vmap(ad.grad(f, 1), (0, None))(POINT, 2.0), ad.vmap(ad.grad(plain, 1), (0, None))(POINT, 2.0))
    assert_allclose(ad.vmap(ad.grad(f), (None, 0))(2.0, POINT), ad.vmap(ad.grad(plain), (None, 0))(2.0, POINT))
    shared = lambda w: np.sum(ad.vmap(f, (0, None))(POINT, w))
    assert_allclose(ad.grad(shared)(2.0), ad.grad(lambda w: np.sum(plain(POINT, w)))(2.0))


# -- Foreign code --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_function_of_the_c_library(dtype):
    x = np.array([1.0, 8.0, 27.0], dtype)
    at = x[1]
    tolerance = 1e-6 if dtype is np.float32 else 1e-14
    assert cube_root(at).dtype == ad.grad(cube_root)(at).dtype == dtype
    assert_allclose(ad.grad(cube_root)(at), 1 / 12, rtol=tolerance)
    assert_allclose(ad.jvp(cube_root, (at,), (at,)), (2, 8 / 12), rtol=tolerance)
    assert_allclose(ad.grad(ad.grad(cube_root))(at), -2 / 9 * 8 ** (-5 / 3), rtol=tolerance)
    mapped = ad.vmap(cube_root)(x)
    assert mapped.dtype == dtype
    assert_allclose(mapped, [1, 2, 3], rtol=tolerance)
    assert_allclose(ad.vmap(ad.grad(cube_root))(x), 1 / (3 * mapped**2), rtol=tolerance)
    assert_allclose(ad.grad(lambda x: np.sum(ad.vmap(cube_root)(x)))(x), 1 / (3 * mapped**2), rtol=tolerance)
    assert_allclose(ad.vmap(ad.vmap(ad.grad(cube_root)))(x[None])[0], 1 / (3 * mapped**2), rtol=tolerance)


def test_a_factorisation_is_kept_for_the_way_back_one_for_each_sample():
    from scipy.sparse import csc_array, diags_array
    from scipy.sparse.linalg import splu

    def factored(k):
        plain = np.asarray(k)
        off = -np.ones(plain.size - 1)
        return splu(csc_array(diags_array([off, plain, off], offsets=[-1, 0, 1])))

    @ad.custom_vjp
    def deflection(k, load):
        return factored(k).solve(np.asarray(load))

    def fwd(k, load):
        lu = factored(k)
        return (x := lu.solve(np.asarray(load))), (lu, x)

    def bwd(residual, g):
        lu, x = residual
        multiplier = lu.solve(np.asarray(g), trans="T")
        return -multiplier * x, multiplier

    deflection.defvjp(fwd, bwd)
    dense = lambda k, load: np.linalg.solve(np.diag(k) - np.eye(4, k=1) - np.eye(4, k=-1), load)
    rng = np.random.default_rng(0)
    many, load = rng.uniform(3, 4, (3, 4)), rng.normal(size=4)
    goal = lambda solve: lambda k, load: np.sum(solve(k, load) ** 2)
    for got, expected in zip(
        ad.grad(goal(deflection), (0, 1))(many[0], load), ad.grad(goal(dense), (0, 1))(many[0], load), strict=True
    ):
        assert_allclose(got, expected)
    for mode in (
        lambda f: ad.vmap(ad.grad(f, (0, 1)), (0, None))(many, load),
        lambda f: ad.grad(lambda *a: np.sum(ad.vmap(f, (0, None))(*a)), (0, 1))(many, load),
    ):
        for got, expected in zip(mode(goal(deflection)), mode(goal(dense)), strict=True):
            assert_allclose(got, expected)


# -- Settings, constants, closures ---------------------------------------------------------------------


def test_settings_by_number_and_by_name():
    @partial(ad.custom_vjp, nondiff_argnums=(0,))
    def applied(f, x, *, scale=1.0):
        return f(x) * scale

    applied.defvjp(
        lambda f, x, *, scale: (applied(f, x, scale=scale), x), lambda f, x, g, scale: (g * scale * ad.grad(f)(x),)
    )
    assert_allclose(ad.grad(lambda x: applied(np.sin, x, scale=3.0))(0.2), 3 * np.cos(0.2))
    assert_allclose(ad.grad(ad.grad(lambda x: applied(np.sin, x)))(0.2), -np.sin(0.2))
    assert applied(np.sin, 0.0) == 0

    @ad.custom_jvp(nondiff_argnums=1)
    def power(x, n=2):
        return x**n

    power.defjvp(lambda n, p, t: (power(p[0], n), n * p[0] ** (n - 1) * t[0]))
    assert ad.grad(power)(3.0) == 6
    assert ad.grad(lambda x: power(x=x, n=3))(2.0) == 12
    assert_allclose(ad.vmap(ad.grad(power))(POINT), 2 * POINT)


def test_methods():
    class Spring:
        stiffness = 3.0

        @ad.custom_jvp(nondiff_argnums=0)
        def energy(self, x):
            return self.stiffness * x**2 / 2

        energy.defjvp(lambda self, p, t: (self.energy(p[0]), self.stiffness * p[0] * t[0]))

    assert ad.grad(Spring().energy)(2.0) == 6
    assert ad.grad(ad.grad(Spring().energy))(2.0) == 3


def test_nothing_is_kept_but_the_residual():
    sign = ad.custom_vjp(lambda x: np.abs(x))
    sign.defvjp(lambda x: (np.abs(x), x > 0), lambda positive, g: (np.where(positive, g, -g),))
    arguments = []

    def f(x):
        doubled = x * 2.0
        arguments.append(weakref.ref(doubled.held))
        return sign(doubled)

    _, pullback = ad.vjp(f, POINT)
    assert arguments[0]() is None
    assert_allclose(pullback(np.ones(3))[0], 2 * np.sign(POINT))


def test_whole_numbers_are_constants():
    @ad.custom_vjp
    def ordered(x):
        order = np.argsort(x)
        return {"values": x[order], "order": order}

    def fwd(x):
        value = ordered(x)
        return value, value["order"]

    ordered.defvjp(fwd, lambda order, g: (g["values"][np.argsort(order)],))
    f = lambda x: np.sum(ordered(x)["values"] * np.arange(3.0))
    x = np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]], np.float32)
    assert_allclose(ad.vmap(ad.grad(f))(x), [[2, 0, 1], [0, 1, 2]])
    assert ad.grad(f)(x[0]).dtype == np.float32
    assert not ordered(ad.tensor(x[0], requires_grad=True))["order"].requires_grad


def test_no_gradient_is_none():
    f = ad.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, y), lambda y, g: (g * y, None))
    assert ad.grad(f, (0, 1))(2.0, 3.0) == (3.0, 0.0)
    assert ad.jvp(f, (2.0, 3.0), (1.0, 1.0)) == (6.0, 3.0)


def test_dataclasses_with_branches_that_have_no_gradient():
    line = ad.custom_vjp(lambda p, x: (p.slope * x, [p.shift + x]))
    both = lambda r, g: (Line(g[0] * r[1], g[1][0]), g[0] * r[0].slope + g[1][0])
    line.defvjp(lambda p, x: ((p.slope * x, [p.shift + x]), (p, x)), both)
    goal = lambda p: line(p, 3.0)[0] * line(p, 2.0)[1][0]
    assert ad.grad(goal)(Line(2.0, 1.0)) == Line(9.0, 6.0)
    assert ad.jvp(lambda p: line(p, 3.0), (Line(2.0, 1.0),), (Line(1.0, 1.0),))[1] == (3.0, [1.0])
    line.defvjp(line.fwd, lambda r, g: (Line(None, g[1][0]), None))
    assert ad.grad(goal)(Line(2.0, 1.0)) == Line(0.0, 6.0)
    line.defvjp(line.fwd, lambda r, g: (None, g[0]))
    assert ad.grad(goal)(Line(2.0, 1.0)) == Line(0.0, 0.0)


@dataclass
class Line:
    slope: object
    shift: object


def test_threads_do_not_meet():
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda k: ad.grad(lambda x: softplus(softplus(x)))(float(k)), range(16))
    assert_allclose(list(found), [ad.grad(lambda x: twice_by_hand(twice_by_hand(x)))(float(k)) for k in range(16)])


def test_writes_do_not_change_what_was_kept():
    square = ad.custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (x * x, x), lambda x, g: (2 * g * x,))

    def program(x):
        a = x * 1.0
        b = square(a)
        a[0] = 7.0
        return np.sum(b) + np.sum(a)

    assert_allclose(ad.grad(program)(POINT), 2 * POINT + [0, 1, 1])
    same = ad.custom_vjp(lambda x: x)
    same.defvjp(lambda x: (x, None), lambda _, g: (g,))

    def aliased(x):
        a = x * 1.0
        b = same(a)
        b *= 3
        return np.sum(a) + np.sum(b)

    with pytest.raises(ad.ReadOnlyError, match="read-only"):  # NumPy's write would reach the argument
        ad.grad(aliased)(POINT)


def test_what_a_function_closes_over():
    weight = ad.tensor(2.0, requires_grad=True)
    f = ad.custom_vjp(lambda x: x * weight)
    f.defvjp(lambda x: (x * weight, None), lambda _, g: (g * 2.0,))
    with pytest.raises(ad.GradientError, match=r"none of its arguments.*Pass it as an argument"):
        f(ad.tensor(1.0, requires_grad=True))

    def outer(w):
        """Of a level below: recorded there, as it is written."""
        f = ad.custom_vjp(lambda x: np.sin(x) * w)
        f.defvjp(lambda x: (np.sin(x) * w, x), lambda x, g: (g * np.cos(x) * w,))
        return ad.grad(f)(0.3)

    assert_allclose(ad.grad(outer)(2.0), np.cos(0.3))


def test_complex_numbers():
    forward, reverse = ad.custom_jvp(lambda z: z * z), ad.custom_vjp(lambda z: z * z)
    forward.defjvp(lambda p, t: (p[0] * p[0], 2 * p[0] * t[0]))
    reverse.defvjp(lambda z: (z * z, z), lambda z, g: (g * np.conj(2 * z),))
    at, goal = 1 + 2j, lambda f: lambda z: np.abs(f(z) + z) ** 2
    for f in (forward, reverse):
        assert_allclose(ad.grad(goal(f))(at), ad.grad(goal(np.square))(at))
        assert_allclose(ad.jvp(goal(f), (at,), (1j,)), ad.jvp(goal(np.square), (at,), (1j,)))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    arrays(float, st.tuples(st.integers(0, 3), st.integers(1, 3)), elements=st.floats(-2, 2)),
    st.sampled_from([softplus, softplus_forward]),
)
def test_forward_is_reverse_and_vmap_is_a_loop(x, function):
    g = np.cos(np.arange(x.size, dtype=float)).reshape(x.shape)
    tangent, cotangent = ad.jvp(function, (x,), (g,))[1], ad.vjp(function, x)[1](g)[0]
    assert_allclose(np.sum(g * tangent), np.sum(cotangent * g), atol=1e-12)
    if len(x):
        assert_allclose(ad.vmap(function)(x), np.stack([function(row) for row in x]))


def test_against_differences():
    check_grads(softplus, (POINT,))
    check_grads(softplus_forward, (POINT,))


# -- stop_gradient -------------------------------------------------------------------------------------


def test_stop_gradient_stops_every_mode():
    f = lambda x: x * ad.stop_gradient({"x": (x, 1)})["x"][0]
    assert ad.grad(f)(3.0) == 3
    assert ad.jvp(f, (3.0,), (1.0,)) == (9, 3)
    assert ad.grad(ad.grad(f))(3.0) == 0
    assert ad.jvp(ad.grad(f), (3.0,), (1.0,)) == (3, 0)
    assert_allclose(ad.vmap(ad.grad(f))(POINT), POINT)
    assert_allclose(ad.grad(lambda x: np.sum(ad.vmap(f)(x)))(POINT), POINT)
    assert ad.grad(lambda x: ad.grad(lambda y: y * ad.stop_gradient(x * y))(x))(3.0) == 0
    assert ad.grad(ad.checkpoint(f))(3.0) == 3
    t = ad.tensor(2.0, requires_grad=True)
    assert not ad.stop_gradient([t])[0].requires_grad
    assert ad.stop_gradient("text") == "text"


# -- What is said of wrong rules -----------------------------------------------------------------------


GIVEN = "the cotangent that the bwd rule of prod returned for argument "


def product(fwd=lambda x, y: (x * y, (x, y)), bwd=lambda r, g: (g * r[1], g * r[0])):
    def prod(x, y):
        return x * y

    f = ad.custom_vjp(prod)
    f.defvjp(fwd, bwd)
    return f


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"bwd": lambda r, g: (g,)},
         "the bwd rule of prod must return 2 cotangent(s), one an argument (x, y); it returned 1. None stands for an "
         "argument that has none"),
        ({"bwd": lambda r, g: g},
         "the bwd rule of prod must return a tuple with one cotangent an argument, (x, y,); it returned one array of "
         "shape (3,)"),
        ({"bwd": lambda r, g: (g[:2], None)},
         GIVEN + "0 (`x`) has shape (2,); it must have shape (3,)"),
        ({"bwd": lambda r, g: (g, 1j * g)},
         GIVEN + "1 (`y`) has dtype complex128; it must be of the "
         "kind of float64"),
        ({"bwd": lambda r, g: (np.arange(3), None)},
         GIVEN + "0 (`x`) has dtype int64; it must be of the kind "
         "of float64"),
        ({"bwd": lambda r, g: ({"a": g}, None)},
         GIVEN + "0 (`x`) has another structure: {'a': *}, not *"),
        ({"bwd": lambda r, g: ("g", None)},
         GIVEN + "0 (`x`) must be an array, or None for no "
         "derivative; got str"),
        ({"fwd": lambda x, y: x * y},
         "the fwd rule of prod must return (value, residual); it returned one array of shape (3,)"),
        ({"fwd": lambda x, y: ("value", None)}, "prod must give arrays, or a tree of them; its value holds str"),
    ],
)  # fmt: skip
def test_wrong_gradient_rules(rule, words):
    f = product(**rule)
    with pytest.raises(ad.RuleError) as error:
        ad.grad(lambda x, y: np.sum(f(x, y)))(POINT, POINT)
    assert str(error.value) == words


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda p, t: (p[0] ** 2, np.ones(2)),
         "the tangent that the jvp rule of square returned has shape (2,); it must have shape ()"),
        (lambda p, t: p[0] ** 2,
         "the jvp rule of square must return (value, tangent); it returned float"),
        (lambda p, t: (p[0] ** 2, {"t": t[0]}),
         "the tangent that the jvp rule of square returned has another structure: {'t': *}, not *"),
    ],
)  # fmt: skip
def test_wrong_forward_rules(rule, words):
    def square(x):
        return x**2

    f = ad.custom_jvp(square)
    f.defjvp(rule)
    for derivative in (lambda: ad.jvp(f, (1.0,), (1.0,)), lambda: ad.grad(f)(1.0)):
        with pytest.raises(ad.RuleError) as error:
            derivative()
        assert str(error.value) == words


def test_a_leaf_of_a_tree_is_named():
    f = ad.custom_vjp(lambda params: params["w"] * 2)
    f.defvjp(lambda p: (p["w"] * 2, None), lambda _, g: ({"w": g[:1], "b": None},))
    with pytest.raises(ad.RuleError, match=r"argument 0 \(`params`\)\['w'\] has shape \(1,\)"):
        ad.grad(lambda w: np.sum(f({"w": w, "b": 1.0})))(POINT)


def test_a_rule_that_is_missing_or_of_the_other_mode():
    for f, words in ((ad.custom_vjp(np.sin), r"defvjp\(fwd, bwd\)"), (ad.custom_jvp(np.sin), r"defjvp\(rule\)")):
        assert f(0.0) == 0
        with pytest.raises(ad.ArgumentError, match=words):
            ad.grad(f)(0.0)
    reverse = ad.custom_vjp(lambda x: np.sin(x))
    reverse.defvjp(lambda x: (np.sin(x), float(x)), lambda x, g: (float.fromhex(float(g).hex()) * np.cos(x),))
    assert_allclose(ad.grad(reverse)(1.0), np.cos(1))
    assert_allclose(ad.vmap(ad.grad(reverse))(POINT), np.cos(POINT))
    with pytest.raises(ad.NotSupportedError, match=r"forward rule instead: ad\.custom_jvp"):
        ad.jvp(reverse, (1.0,), (1.0,))
    forward = ad.custom_jvp(lambda x: np.sin(x))
    forward.defjvp(lambda p, t: (np.sin(p[0]), float.fromhex(float(t[0]).hex()) * np.cos(p[0])))
    assert_allclose(ad.jvp(forward, (1.0,), (1.0,))[1], np.cos(1))
    with pytest.raises(ad.NotSupportedError, match=r"gradient rule instead: ad\.custom_vjp"):
        ad.grad(forward)(1.0)


def test_arguments_that_are_no_arrays():
    f = ad.custom_vjp(lambda g, x: g(x))
    f.defvjp(lambda g, x: (g(x), None), lambda _, g: (None, g))
    with pytest.raises(ad.ArgumentError, match=r"argument 0 \(`g`\) holds ufunc.*nondiff_argnums=\(0,\)"):
        ad.grad(lambda x: f(np.sin, x))(1.0)
    with pytest.raises(ad.ArgumentError, match="decorates a function"):
        ad.custom_vjp(3)
    with pytest.raises(ad.ArgumentError, match="counts from 0"):
        ad.custom_jvp(np.sin, nondiff_argnums=-1)
