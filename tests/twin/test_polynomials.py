"""The six classes of `numpy.polynomial`, by their own and their instances' methods, whichever is followed first."""

import random

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial

import adjoint as ad

KINDS = [Polynomial, Chebyshev, Legendre, Laguerre, Hermite, HermiteE]
X = np.array([0.7, 1.3])
KEPT = {kind: kind([1.0, 2.0, 3.0]) for kind in KINDS}
PROGRAMS = {
    "cast": lambda x, a, b: a.cast(b([x[0], x[1], x[0] * x[1]]))(0.3),
    "cast of an instance": lambda x, a, b: a(x).cast(b(x)).coef @ x,
    "cast by a map": lambda x, a, b: sum(p(0.3) for p in map(a.cast, [a(x), b(x)])),
    "convert": lambda x, a, b: a([x[0], x[1], x[0] * x[1]]).convert(kind=b)(0.3),
    "convert to a domain": lambda x, a, b: a(x).convert(domain=[x[0] - 1, x[1]], kind=b)(0.4),
    "convert what was made outside": lambda x, a, b: KEPT[a].convert(kind=b)(x[0]) * x[1],
    "beside one made outside": lambda x, a, b: (KEPT[a] * x[0] - a(x) / x[1] + x[1] ** 2)(0.2),
    "fit": lambda x, a, b: a.fit(np.arange(4.0) * x[0], [x[0], x[1], x[0] * 2, x[1] ** 2], 2)(x[1]),
    "fromroots": lambda x, a, b: b.fromroots(x)(0.7),
    "basis, identity": lambda x, a, b: a.basis(3)(x[0]) * b.identity()(x[1]),
    "deriv, integ": lambda x, a, b: a([x[0], x[1], 1.0]).deriv()(x[1]) + b(x).integ(1, k=[x[0]], lbnd=0.1)(x[1]),
    "divmod": lambda x, a, b: sum(p(0.3) for p in divmod(a([x[0], x[1], 2.0]), a([x[1], 1.0]))),
    "powers": lambda x, a, b: (pow(a(x), 2) + a(x) ** 3 // a(x[::-1]) % a(x))(0.3),
    "of its own type": lambda x, a, b: type(a(x)).cast(KEPT[b])(x[0]) + b(x).__class__(x)(x[1]),
}
MODES = {
    "grad": lambda f: ad.grad(f)(X),
    "jvp": lambda f: np.array([ad.jvp(f, (X,), (e,))[1] for e in np.eye(2)]),
    "vmap": lambda f: ad.vmap(ad.grad(f))(np.array([X, X + 0.1]))[0],
    "hessian": lambda f: ad.hessian(lambda x: f(x) * x[0])(X)[0] - X[0] * ad.hessian(f)(X)[0] - [ad.grad(f)(X)[0], 0.0],
    "compile": lambda f: ad.compile(ad.grad(f))(X),
}


@pytest.mark.parametrize("seed", range(8))
def test_in_any_order(seed):
    draw = random.Random(seed)
    for name in draw.sample(sorted(PROGRAMS), 7):
        a, b = draw.choices(KINDS, k=2)

        def f(x, program=PROGRAMS[name], a=a, b=b):
            return program(x, a, b)

        slopes = [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(2)]
        mode = draw.choice(sorted(MODES))
        np.testing.assert_allclose(MODES[mode](f), slopes, rtol=1e-6, atol=1e-6, err_msg=f"{name} {mode} {a} {b}")
