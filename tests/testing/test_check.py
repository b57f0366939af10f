import dataclasses

import numpy as np
import pytest

import adjoint as ad
from adjoint import testing
from adjoint.core.op import Op, rule_of
from adjoint.core.protocol import detached
from adjoint.testing import check_grads


def scaled(factor):
    """The sine with a gradient that is `factor` times too large."""
    return Op("scaled", np.sin, ("x",), (rule_of(lambda g, x: factor * g * np.cos(x)),))


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray


A, B = np.linspace(0.3, 1.2, 6).reshape(2, 3), np.linspace(-1, 1, 3)


@pytest.mark.parametrize(
    ("f", "args", "kwargs"),
    [
        (np.sin, A, {}),
        (np.sin, (0.5,), {}),
        (np.multiply, (A, B), {}),
        (np.multiply, [A, 2.5], {}),
        (lambda p, x: np.tanh(p["w"] @ x + p["b"]), ({"w": A, "b": B[:2]}, B), {}),
        (lambda layer, x: {"y": layer.w @ x + layer.b, "n": [x**2, 3]}, (Layer(A, B[:2]), B), {}),
        (np.sum, (A,), {"axis": 1, "where": np.array([True, False, True])}),
        (lambda x, *, scale: x * np.exp(scale), (A,), {"scale": B}),
        (lambda x, n, flag, name: x**n if flag else x, (A, 3, True, "cube"), {}),
        (lambda x: (np.argmax(x), x * 2), (A,), {}),
        (lambda z: z * np.conj(z) + z**2, (A + 1j,), {}),
        (lambda z, x: np.real(z * x), (A - 0.5j * A, B), {}),
        (lambda x: x * (2 + 3j), (A,), {}),
        (np.sin, (np.zeros((0, 3)),), {}),
        (lambda x: np.zeros((0,)) * np.sum(x), (A,), {}),
    ],
)
def test_what_it_takes(f, args, kwargs):
    check_grads(f, args, kwargs)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
def test_lower_precision_is_checked_in_its_own_too(dtype):
    check_grads(lambda x: np.sum(np.sin(x) * x), (A.astype(dtype),))

    def upcast(g, x):
        # Right in double precision; in any other it loses what makes the gradient right.
        return g * np.cos(x) if x.dtype in (np.float64, np.complex128) else g * np.zeros_like(x)

    with pytest.raises(ad.GradientMismatchError, match="in double precision"):
        check_grads(Op("lossy", np.sin, ("x",), (rule_of(upcast),)), (A.astype(dtype),), order=1)


def test_large_inputs_are_checked_along_directions():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 30))
    check_grads(lambda x: np.tanh(x @ x.T), (x,))
    with pytest.raises(ad.GradientMismatchError, match="along random direction"):
        check_grads(scaled(1.0005), (x,))


def test_the_message_shows_where_and_by_how_much():
    def wrong(x, y):
        return np.sum(x) + scaled(1.5)(y)

    with pytest.raises(ad.GradientMismatchError) as caught:
        check_grads(wrong, (A, np.array([0.0, 1.0])))
    text = str(caught.value)
    assert text.startswith("wrong, first derivative: 2 of 16 entries differ")
    assert "d out[0] / d args[1][0]: ours 1.5, numeric 1 ±" in text
    assert "relative error 0.5" in text


def test_names_of_places_in_trees_and_of_parts_of_complex_numbers():
    with pytest.raises(ad.GradientMismatchError, match=r"out\[0\]\.imag / d kwargs\['p'\]\['z'\]\[0\]\.imag"):
        check_grads(lambda p: scaled(2.0)(p["z"]), (), {"p": {"z": np.array([0.5 + 0.1j])}}, order=1)


def test_second_order_says_so():
    half_right = Op("cube", lambda x: x**3, ("x",), (rule_of(lambda g, x: 3 * g * x * detached(x)),))
    with pytest.raises(ad.GradientMismatchError, match="cube, second derivative"):
        check_grads(half_right, (A,))


def test_kinks_jumps_and_nan_are_named():
    for f, x in [(np.floor, 1.0), (np.sqrt, 0.0), (lambda x: np.sign(x) + x, 0.0)]:
        with np.errstate(all="ignore"), pytest.raises(ad.GradientMismatchError, match="kink, a jump or nan"):
            check_grads(f, (np.array([x]),), order=1)


def test_smaller_steps_are_taken_near_a_kink():
    check_grads(np.abs, (np.array([1e-3, -1e-4, 0.5]),))


def test_wrong_calls():
    with pytest.raises(ad.ArgumentError, match="nothing to differentiate"):
        check_grads(np.sin, (3,))
    with pytest.raises(ad.ArgumentError, match="no derivative to check"):
        check_grads(np.argmax, (A,))
    with pytest.raises(ad.ArgumentError, match="modes are rev"):
        check_grads(np.sin, (A,), modes=("reverse",))
    rng = np.random.default_rng(0)
    with pytest.raises(ad.ArgumentError, match="different values"):
        check_grads(lambda x: x * rng.uniform(), (A,))


def test_a_mode_is_a_row_of_a_table(monkeypatch):
    seen = []
    monkeypatch.setitem(
        testing.CHECKERS, "other", lambda problem, tolerance, rng: seen.append((problem.what, problem.size))
    )
    check_grads(np.multiply, (A, B), modes=("rev", "other"))
    assert seen == [("first derivative", (9, 6)), ("second derivative", (15, 9))]


def test_numerical_jacobian_is_comparable_with_jacobian():
    def f(x, y):
        return np.outer(np.sin(x), y)

    for argnum in (0, 1):
        numeric = testing.numerical_jacobian(f, A, B, argnum=argnum)
        np.testing.assert_allclose(numeric, ad.jacobian(f, argnum)(A, B), atol=1e-9)
    z = B + 0.3j
    numeric = testing.numerical_jacobian(lambda z: z**2 * (1 + 2j), z)
    np.testing.assert_allclose(numeric, ad.jacobian(lambda z: z**2 * (1 + 2j))(z), atol=1e-9)
    np.testing.assert_allclose(numeric, np.diag(2 * z * (1 + 2j)), atol=1e-9)
    with pytest.raises(ad.ArgumentError, match="argnum=2"):
        testing.numerical_jacobian(f, A, B, argnum=2)


def test_the_step_can_be_chosen():
    exact = testing.numerical_jacobian(np.exp, np.array([1.0]), eps=1e-3)
    rough = testing.numerical_jacobian(np.exp, np.array([1.0]), eps=0.5)
    assert abs(exact[0, 0] - np.e) < 1e-10
    assert abs(rough[0, 0] - np.e) > 1e-4


def test_samples_draw_what_the_registry_says():
    r = testing.drawer(seed=2)
    drawn = r(20, 5, low=1.0, high=2.0)
    assert drawn.shape == (20, 5)
    assert 1 < drawn.min() < drawn.max() < 2
    assert np.diff(np.sort(drawn.ravel())).min() > 0.3 / 100
    assert r().shape == ()
    first, again = testing.samples("matmul", seed=1), testing.samples("matmul", seed=1)
    assert all(np.array_equal(a.args[0], b.args[0]) for a, b in zip(first, again, strict=True))
    assert testing.samples("argmax") == []
    with pytest.raises(KeyError):
        testing.samples("no_such_operation")


def test_walk_lists_what_has_a_derivative():
    names = [entry.name for entry in testing.walk()]
    assert names == sorted(set(names))
    assert {"sin", "matmul", "einsum"} <= set(names)
    assert not {"argmax", "spacing"} & set(names)
