"""What NumPy gives as a number, which no write reaches, is a number in every mode, and an array is an array."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.values import is_number
from tests.fuzz.programs import made

EXPRESSIONS = """x.copy(); x.copy("K"); x.view(); x.real; x.imag; x.T; x.conj(); x.transpose(); x.squeeze()
x.reshape(()); x.astype(float); x.astype(np.float32); x.astype(complex); x.astype(float, copy=False); x.round(1)
x.clip(0, 1); x.sum(); x.max(); x.mean(axis=()); x.take(0); x.flat[0]; x[()]; x[...]; x[None][0]; x + 1; -x; x**2
abs(x); np.copy(x)
np.real(x); np.imag(x); np.transpose(x); np.squeeze(x); np.reshape(x, ()); np.round(x, 1); np.nan_to_num(x)
np.real_if_close(x); np.broadcast_to(x, ()); np.where(True, x, x); np.ones_like(x); np.full_like(x, 2); np.flip(x)
np.roll(x, 1); np.tile(x, ()); np.modf(x)[0]; np.modf(x)[1]; np.asarray(x); np.array(x); np.ascontiguousarray(x)
np.median(x); np.einsum("->", x); np.dot(x, x); np.inner(x, x); np.linalg.norm(x); np.select([x > 0], [x]); np.i0(x)
np.piecewise(x, [x > 0], [lambda x: x]); np.astype(x, np.float32); np.fix(x); np.sinc(x)
np.interp(x, [0, 1], [0, 2.0])"""


def kind(x):
    """Whether `x` is a number of NumPy's or Python's, and its shape."""
    return is_number(x) or not hasattr(x, "shape"), np.shape(x)


@pytest.mark.parametrize("start", [lambda x: x * 1.0, lambda x: np.copy(x * 1.0)], ids=["number", "array"])
@pytest.mark.parametrize("text", [text.strip() for text in EXPRESSIONS.replace("\n", ";").split(";")])
def test_numbers_and_arrays(start, text):
    f, seen = made(f"def f(x):\n    return {text}"), {}

    def in_mode(mode):
        def g(x):
            seen[mode] = kind(f(start(x)))
            return np.sum(x * x)

        return g

    x = np.float64(0.7)
    in_mode("NumPy")(x)
    ad.vjp(in_mode("reverse"), x)
    ad.jvp(in_mode("forward"), (x,), (x,))
    ad.vmap(in_mode("batched"))(np.array([0.7, 0.7]))
    assert len(set(seen.values())) == 1, seen


OWN = {
    "elu": ad.elu,
    "leaky_relu": ad.leaky_relu,
    "relu": ad.relu,
    "gelu": ad.gelu,
    "name": lambda x: ad.name(x, "a"),
    "huber": lambda x: ad.nn.functional.huber_loss(x, x * 2.0),
    "bounded": lambda x: np.clip(x, 0.1, 0.5),
}


@pytest.mark.parametrize("dtype", [float, np.float16, complex])
@pytest.mark.parametrize("start", [lambda x: x * 1, lambda x: np.copy(x * 1)], ids=["number", "array"])
@pytest.mark.parametrize("name", OWN)
def test_numbers_and_arrays_of_functions_that_are_not_numpys(name, start, dtype):
    if dtype is complex and name not in ("name", "bounded"):
        pytest.skip("of real numbers")
    seen = []

    def f(x):
        seen.append(kind(OWN[name](start(x))))
        return np.sum(np.abs(x))

    x = dtype(0.7)
    f(np.asarray(x)[()])
    ad.vjp(f, np.asarray(x)[()])
    ad.jvp(f, (np.asarray(x)[()],), (np.asarray(x)[()],))
    ad.vmap(f)(np.array([x, x]))
    assert len(set(seen)) == 1, seen
