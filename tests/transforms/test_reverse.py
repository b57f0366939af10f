"""grad, value_and_grad, vjp, jacobian and hessian."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.box import raw


class TestGrad:
    def test_python_numbers_and_arrays(self):
        assert ad.grad(lambda x: x**3)(2.0) == 12.0
        g = ad.grad(lambda x: (x**2).sum())(np.array([1.0, 2.0]))
        assert type(g) is np.ndarray
        assert g.tolist() == [2.0, 4.0]

    @pytest.mark.parametrize("order", range(6))
    def test_any_order(self, order):
        f = np.sin
        for _ in range(order):
            f = ad.grad(f)
        assert f(0.7) == pytest.approx(np.sin(0.7 + order * np.pi / 2), rel=1e-12)

    def test_perturbation_confusion(self):
        assert ad.grad(lambda x: x * ad.grad(lambda y: x + y)(1.0))(1.0) == 1.0
        assert ad.grad(lambda x: x * ad.grad(lambda y: x * y * y)(3.0))(2.0) == 24.0

    def test_argnums(self):
        def f(x, y, z):
            return x * y + z

        assert ad.grad(f, argnums=1)(2.0, 3.0, 4.0) == 2.0
        assert ad.grad(f, argnums=(0, -1))(2.0, 3.0, 4.0) == (3.0, 1.0)
        with pytest.raises(ad.ArgumentError, match="argnums"):
            ad.grad(f, argnums=3)(1.0, 2.0, 3.0)

    def test_keyword_arguments_are_constants(self):
        assert ad.grad(lambda x, k: x * k)(2.0, k=5.0) == 5.0

    def test_aux(self):
        def f(x):
            y = x**2
            return y.sum(), {"y": y}

        g, aux = ad.grad(f, has_aux=True)(np.array([1.0, 2.0]))
        assert g.tolist() == [2.0, 4.0]
        assert type(aux["y"]) is np.ndarray
        (value, aux), g = ad.value_and_grad(f, has_aux=True)(np.array([1.0, 2.0]))
        assert value == 5.0
        with pytest.raises(ad.ArgumentError, match=r"\(value, aux\)"):
            ad.grad(lambda x: x, has_aux=True)(1.0)

    def test_independent_output_gives_zeros(self):
        assert ad.grad(lambda x: 3.0)(np.ones((2, 3))).tolist() == [[0.0] * 3] * 2
        g = ad.grad(lambda p: p["a"] * 2)({"a": 1.0, "b": np.ones(3)})
        assert g["b"].tolist() == [0.0] * 3

    def test_errors(self):
        with pytest.raises(ad.ShapeError, match="jacobian"):
            ad.grad(lambda x: x * 2)(np.ones(3))
        with pytest.raises(ad.DTypeError, match=r"2\.0"):
            ad.grad(lambda x: x * 2)(2)
        with pytest.raises(ad.DTypeError, match="complex"):
            ad.grad(lambda x: x * 1j)(2.0)
        with pytest.raises(ad.GradientError, match="bool"):
            ad.grad(lambda x: x > 1)(2.0)
        with pytest.raises(ad.DTypeError, match=r"argument 0\['n'\]"):
            ad.grad(lambda p: p["x"])({"x": 1.0, "n": 3})

    def test_closes_over_eager_tensors(self):
        w = ad.tensor(3.0, requires_grad=True)
        g = ad.grad(lambda x: x**2 * w)(2.0)
        g.backward()
        assert g.item() == 12.0
        assert w.grad.item() == 4.0

    def test_eager_backward_inside(self):
        def f(x):
            t = ad.tensor(2.0, requires_grad=True)
            (t * t).backward()
            return x * t.grad

        assert ad.grad(f)(1.0) == 4.0

    def test_control_flow(self):
        def f(x):
            total = 0.0
            for k in range(10):
                if x > 1:
                    x = np.sqrt(x)
                    continue
                while x < 0.5:
                    x = x * 1.5
                total = total + x * k
                if total > 20:
                    break
            return total

        h = 1e-6
        for at in (0.1, 0.7, 3.0):
            assert ad.grad(f)(at) == pytest.approx((f(at + h) - f(at - h)) / (2 * h), rel=1e-6)


class Pair(NamedTuple):
    a: object
    b: object


@dataclass
class Model:
    w: object
    layers: list


class TestTrees:
    def test_nested(self):
        def f(p):
            return p["x"][0] ** 2 + p["x"][1] * p["y"].a + np.sum(p["y"].b)

        g = ad.grad(f)({"x": [2.0, 3.0], "y": Pair(5.0, np.ones(2))})
        assert g["x"] == [4.0, 5.0]
        assert g["y"].a == 3.0
        assert g["y"].b.tolist() == [1.0, 1.0]

    def test_dataclass(self):
        g = ad.grad(lambda m: m.w * m.layers[0] * m.layers[1]["k"])(Model(2.0, [3.0, {"k": 5.0}]))
        assert isinstance(g, Model)
        assert (g.w, g.layers) == (15.0, [10.0, {"k": 6.0}])

    def test_none_is_empty(self):
        g = ad.grad(lambda p: p["a"] * 2)({"a": 1.0, "b": None})
        assert g == {"a": 2.0, "b": None}


class TestVjp:
    def test_pullback_again_and_again(self):
        value, pullback = ad.vjp(lambda x, y: x @ y, np.eye(2), np.array([1.0, 2.0]))
        assert value.tolist() == [1.0, 2.0]
        for c in (np.array([1.0, 0.0]), np.array([0.0, 3.0])):
            gx, gy = pullback(c)
            np.testing.assert_array_equal(gx, np.outer(c, [1.0, 2.0]))
            np.testing.assert_array_equal(gy, c)

    def test_tree_outputs(self):
        value, pullback = ad.vjp(lambda x: {"s": x.sum(), "x": x * 2}, np.ones(3))
        assert value["s"] == 3.0
        (g,) = pullback({"s": 10.0, "x": np.array([1.0, 0.0, 0.0])})
        assert g.tolist() == [12.0, 10.0, 10.0]

    def test_errors(self):
        _, pullback = ad.vjp(lambda x: x * 2, np.ones(3))
        with pytest.raises(ad.ShapeError, match=r"\(3,\)"):
            pullback(np.ones(2))
        with pytest.raises(ad.ArgumentError, match="structure"):
            pullback([np.ones(3), np.ones(3)])

    def test_is_differentiable(self):
        def f(x):
            _, pullback = ad.vjp(np.sin, x)
            return pullback(1.0)[0]

        assert ad.grad(f)(0.7) == pytest.approx(-np.sin(0.7))

    def test_what_is_written_between_the_value_and_the_pullback_is_not_used(self):
        x = np.array([1.0, 2.0])
        value, pullback, aux = ad.vjp(lambda x: (np.exp(x), x), x, has_aux=True)
        x[:] = value[:] = aux[:] = 100.0
        assert pullback(np.ones(2))[0].tolist() == np.exp([1.0, 2.0]).tolist()


class TestJacobian:
    def test_shapes(self):
        a = np.arange(6.0).reshape(2, 3)
        j = ad.jacobian(lambda x: a @ x)(np.ones(3))
        np.testing.assert_array_equal(j, a)
        j = ad.jacobian(lambda x: x.T * 2)(np.ones((2, 3)))
        assert j.shape == (3, 2, 2, 3)
        assert ad.jacobian(lambda x: x.sum())(np.ones(3)).shape == (3,)
        assert ad.jacobian(lambda x: x[:0])(np.ones(3)).shape == (0, 3)

    def test_trees(self):
        j = ad.jacobian(lambda p: {"out": p["a"] * p["b"]})({"a": 2.0, "b": np.array([1.0, 3.0])})
        assert j["out"]["a"].tolist() == [1.0, 3.0]
        assert j["out"]["b"].tolist() == [[2.0, 0.0], [0.0, 2.0]]

    def test_hessian_of_a_quadratic(self):
        rng = np.random.default_rng(0)
        a = rng.normal(size=(4, 4))
        h = ad.hessian(lambda x: x @ a @ x)(rng.normal(size=4))
        np.testing.assert_allclose(h, a + a.T, rtol=1e-13)

    def test_hessian_of_rosenbrock(self):
        def f(x):
            return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

        x, y = -1.2, 1.0
        h = ad.hessian(f)(np.array([x, y]))
        np.testing.assert_allclose(h, [[1200 * x**2 - 400 * y + 2, -400 * x], [-400 * x, 200]], rtol=1e-13)


class TestComplex:
    def test_gradient_is_the_direction_of_steepest_ascent(self):
        g = ad.grad(lambda z: np.abs(z) ** 2)(3.0 + 4.0j)
        assert g == pytest.approx(6.0 + 8.0j)
        assert ad.grad(lambda z: np.abs(z))(3.0 + 4.0j) == pytest.approx(0.6 + 0.8j)

    def test_descends(self):
        z = ad.tensor([3.0 + 4.0j, -1.0j], requires_grad=True)
        target = np.array([1.0 - 1.0j, 2.0])
        for _ in range(200):
            z.zero_grad()
            np.sum(np.abs(z * 1j - target) ** 2).backward()
            with ad.no_grad():
                z -= 0.1 * z.grad
        np.testing.assert_allclose(z.numpy() * 1j, target, atol=1e-8)


def test_masks_leave_gradients_plain_arrays():
    def f(x):
        return np.sum(x * (x > 0) + np.where(x < 0, x, 0.0) * ad.tensor(2.0))

    g = ad.grad(f)(np.array([1.0, -1.0]))
    assert type(g) is np.ndarray
    assert g.tolist() == [1.0, 2.0]
    assert type(ad.hessian(lambda x: np.sum(x**3 * (x > 0)))(np.array([1.0, -1.0]))) is np.ndarray


def test_copies_of_arguments_go_before_the_backward_pass_unless_a_rule_saved_them():
    seen, alive = {}, []

    @ad.custom_vjp
    def last(y):
        return y

    def backward(_, g):
        alive.append([name for name, reference in seen.items() if reference() is not None])
        return (g,)

    last.defvjp(lambda y: (y, None), backward)

    def f(w, x):
        seen["w"], seen["x"] = weakref.ref(raw(w)), weakref.ref(raw(x))
        return last(np.sum(w + 1.0) + np.sum(x * x))

    for _ in range(2):
        gradients = ad.grad(f, (0, 1))(np.ones(3), np.full(2, 3.0))
        np.testing.assert_array_equal(gradients[0], np.ones(3))
        np.testing.assert_array_equal(gradients[1], np.full(2, 6.0))
    _, pullback = ad.vjp(f, np.ones(3), np.full(2, 3.0))
    pullback(1.0)
    assert alive == [["x"]] * 3


@pytest.mark.parametrize("x", [np.ones((2, 3), order="F"), [np.ones((2, 3), order="F"), 2.0]])
def test_the_gradient_by_what_is_not_used_is_zero_and_lies_as_its_argument(x):
    first, both = ad.grad(lambda x, y: y * y, (0, 1))(x, 3.0)
    assert both == 6.0
    found = first if isinstance(x, np.ndarray) else first[0]
    assert found.strides == np.zeros_like(np.ones((2, 3), order="F")).strides
    assert not found.any()
    if isinstance(x, list):
        assert type(first[1]) is np.float64
