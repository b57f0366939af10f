"""A cotangent has its value's shape, dtype and realness: for every operation, and whatever its rule gives."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.op import Op, rule_of
from adjoint.core.rules.pullbacks import strict_cotangents
from adjoint.testing import walk
from adjoint.testing.cases import cases, gradients, outputs, writes

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


def alone(case, i):
    """The call of `case` as a function of its array `i`; the others are constants."""
    before, after_it = case.arrays[:i], case.arrays[i + 1 :]
    return case._replace(f=lambda x: case.f(*before, x, *after_it), arrays=[case.arrays[i]])


@pytest.mark.parametrize("entry", list(walk()), ids=lambda e: e.name)
def test_each_argument_alone(entry):
    """A rule that is asked for one cotangent, or given one tangent, gives what it gives among all."""
    rng = np.random.default_rng(0)
    for case in cases(entry):
        if len(case.arrays) < 2 or writes(entry):
            continue
        for i, together in enumerate(gradients(case, case.arrays)):
            one = alone(case, i)
            scale = max(1.0, np.max(np.abs(together), initial=0.0, where=np.isfinite(together)))
            np.testing.assert_allclose(gradients(one, one.arrays)[0], together, rtol=1e-9, atol=1e-10 * scale)
            tangent = rng.normal(size=np.shape(one.arrays[0])).astype(one.arrays[0].dtype)
            still = [tangent if k == i else np.zeros_like(a) for k, a in enumerate(case.arrays)]
            expected = outputs(ad.jvp(case.f, case.arrays, still)[1])
            for x, y in zip(outputs(ad.jvp(one.f, one.arrays, [tangent])[1]), expected, strict=True):
                scale = max(1.0, np.max(np.abs(y), initial=0.0, where=np.isfinite(y)))
                np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10 * scale)


NUMBERS = (2, 0, 3, -1, 1, 0.5, 2.5, -1.5, 0.3 + 0.4j)
TWO = [e for e in walk() if isinstance(e, Op) and e.kind == "elementwise" and len(e.inputs) == 2]


@pytest.mark.parametrize("entry", TWO, ids=lambda e: e.name)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_beside_an_array_counts_as_an_array(entry, number):
    """A rule may take a faster path for one of Python's numbers."""
    for case in cases(entry)[:1]:
        for i, a in enumerate(case.arrays if len(case.arrays) == 2 else ()):
            for x in (a, a + 0.2j) if isinstance(number, complex) else (a,):
                filled = np.full(np.shape(x), number)
                one = case._replace(f=lambda x, i=i: entry(*((x, number) if i == 0 else (number, x))), arrays=[x])
                same = case._replace(f=lambda x, i=i, y=filled: entry(*((x, y) if i == 0 else (y, x))), arrays=[x])
                with np.errstate(all="ignore"):
                    try:
                        expected = gradients(same, [x])[0]
                    except (TypeError, ValueError, ad.AdjointError):
                        continue  # no function of such numbers
                    np.testing.assert_allclose(gradients(one, [x])[0], expected, rtol=1e-9)


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
