"""A cotangent has its value's shape, dtype and realness: for every operation, and whatever its rule gives."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.op import Op, rule_of
from adjoint.core.pullbacks import strict_cotangents
from adjoint.testing import walk
from adjoint.testing.cases import cases, gradients

# What takes a real number from a complex one, a complex one with that part, and the direction in which the part grows.
PARTS = {
    "real": (np.real, lambda a: a + 0.7j * np.cos(a), lambda z: np.ones_like(z)),
    "imag": (np.imag, lambda a: 0.6 * np.sin(a) + 1j * a, lambda z: np.full_like(z, 1j)),
    "abs": (np.abs, lambda a: a * np.exp(1j * (1.0 + np.sin(a))), lambda z: z / np.abs(z)),
}


def after(case, part, signs):
    """The call of `case` on parts of complex numbers, where `signs` are; these times the parts are the real numbers."""

    def f(*values):
        return case.f(*(x if s is None else part(x) * s for x, s in zip(values, signs, strict=True)))

    return case._replace(f=f)


@pytest.mark.parametrize("entry", list(walk()), ids=lambda e: e.name)
def test_cotangents_are_as_real_as_their_values(entry):
    for case in cases(entry):
        case = case._replace(arrays=[np.real(a) for a in case.arrays])
        usable = [a.dtype.kind == "f" and np.all(np.isfinite(a) & (a != 0)) for a in case.arrays]
        expected = gradients(case, case.arrays)
        for name, (part, whole, direction) in PARTS.items() if any(usable) else ():
            signs = [
                (np.sign(a) if name == "abs" else 1.0) if use else None
                for a, use in zip(case.arrays, usable, strict=True)
            ]
            given = [whole(np.asarray(a)) if use else a for a, use in zip(case.arrays, usable, strict=True)]
            found = gradients(after(case, part, signs), given)
            for z, s, g, real in zip(given, signs, found, expected, strict=True):
                if s is not None:
                    scale = max(1.0, np.max(np.abs(real), initial=0.0))
                    np.testing.assert_allclose(g, real * s * direction(z), rtol=1e-6, atol=1e-7 * scale)


def test_a_complex_cotangent_of_a_real_value_is_its_real_part():
    turn = Op("turn", lambda x: 2.0 * x, ("x",), (rule_of(lambda g: g * (2.0 + 3.0j)),))
    z = np.array([3.0 + 4.0j])
    assert ad.grad(lambda z: np.sum(turn(np.abs(z))))(z) == pytest.approx(2.0 * z / 5.0)


def test_a_cotangent_of_another_precision_is_put_right_and_named_by_the_tests():
    wide = Op("wide", lambda x: 2 * x, ("x",), (rule_of(lambda g: g * np.full(g.shape, 2.0)),))
    seen = Op("seen", lambda x: 1 * x, ("x",), (rule_of(lambda g: dtypes.append(g.dtype) or g),))
    dtypes = []
    x = np.ones(3, np.float32)
    assert ad.grad(lambda x: np.sum(wide(seen(x))))(x).dtype == np.float32
    assert dtypes == [np.float32]
    with strict_cotangents(), pytest.raises(ad.GradientMismatchError, match=r"wide gave .* float64 for .* float32"):
        ad.grad(lambda x: np.sum(wide(seen(x))))(x)


def test_a_cotangent_of_another_shape_is_refused_by_name():
    flat = Op("flat", lambda x: x + 1.0, ("x",), (rule_of(lambda g: g[:1]),))
    with pytest.raises(ad.RuleError, match=r"flat gave a cotangent of shape \(1,\) for a value of shape \(3,\)"):
        ad.grad(lambda x: np.sum(flat(x)))(np.ones(3))
