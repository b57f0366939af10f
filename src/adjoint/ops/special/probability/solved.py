"""Functions of `scipy.special` that solve for a shape: the degrees of freedom, or a count, that give a probability.

Their derivatives are those of the distribution function, over that by the shape which they solve for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from adjoint.core.op import Rule
from adjoint.core.types import Array
from adjoint.ops.special.forms import SamplePlace, function_of, where
from adjoint.ops.special.probability.by_shape import gamma_by_shape
from adjoint.ops.special.probability.freedoms import (
    chi_square_by_freedom,
    chi_square_density,
    f_by_freedoms,
    f_density,
    t_by_freedom,
    t_density,
)
from adjoint.ops.special.probability.incomplete import beta_density, beta_share, gamma_density

#: Where SciPy's search ends: its result no longer depends on the arguments.
_LEAST, _MOST = 1e-90, 9e9
Slope = Callable[..., Array]


def _solving(names: str, ufunc: object, slopes: dict[str, Slope], *at: SamplePlace) -> None:
    """The operation for a `ufunc` that solves for the one of `slopes` which is not among its `names`.

    Args:
        slopes: the derivatives of the distribution function by each of its arguments, functions of all of them in
            this order. What is in `names` only is the probability.
    """
    given = names.split()
    (solved,) = (name for name in slopes if name not in given)
    read = tuple("out" if name == solved else name for name in slopes)

    def rule(name: str) -> Rule:
        def slope(out: Array, *values: Array) -> Array:
            end = np.less(out, _LEAST) | np.greater(out, _MOST)
            by_solved, own = slopes[solved](*values), -slopes[name](*values) if name in slopes else 1.0
            return where(end, 0.0, own / where(end, 1.0, by_solved))

        return Rule(slope, ("out", *read))

    function_of(names, ufunc, *map(rule, given), at=at, shape=(2, 2))


_CHI_SQUARE: dict[str, Slope] = {"v": chi_square_by_freedom, "x": chi_square_density}
_GAMMA: dict[str, Slope] = {
    "a": lambda a, b, x: x * gamma_density(b, a * x),
    "b": lambda a, b, x: gamma_by_shape(b, a * x),
    "x": lambda a, b, x: a * gamma_density(b, a * x),
}
_POISSON: dict[str, Slope] = {"k": lambda k, m: -gamma_by_shape(k + 1, m), "m": lambda k, m: -gamma_density(k + 1, m)}
_BETA: dict[str, Slope] = {
    "a": lambda a, b, x: beta_share(a, b, x, 1, 0),
    "b": lambda a, b, x: beta_share(a, b, x, 0, 1),
    "x": beta_density,
}
_F: dict[str, Slope] = {
    "m": lambda m, n, x: f_by_freedoms(m, n, x, 0),
    "n": lambda m, n, x: f_by_freedoms(m, n, x, 1),
    "x": f_density,
}
_T: dict[str, Slope] = {"df": t_by_freedom, "t": t_density}
_BINOMIAL: dict[str, Slope] = {
    "k": lambda k, n, p: -beta_share(k + 1, n - k, p, 1, 0) + beta_share(k + 1, n - k, p, 0, 1),
    "n": lambda k, n, p: -beta_share(k + 1, n - k, p, 0, 1),
    "p": lambda k, n, p: -beta_density(k + 1, n - k, p),
}
_NEGATIVE_BINOMIAL: dict[str, Slope] = {
    "k": lambda k, n, p: beta_share(n, k + 1, p, 0, 1),
    "n": lambda k, n, p: beta_share(n, k + 1, p, 1, 0),
    "p": lambda k, n, p: beta_density(n, k + 1, p),
}

_solving("y x", special.chdtriv, _CHI_SQUARE, (0.2, 0.8), (0.5, 4.0))
_solving("a y x", special.gdtrib, _GAMMA, (0.5, 2.0), (0.2, 0.8), (0.5, 2.0))
_solving("y m", special.pdtrik, _POISSON, (0.2, 0.6), (2.0, 6.0))
_solving("y b x", special.btdtria, _BETA, (0.2, 0.8), (0.5, 9.0), (0.2, 0.8))
_solving("a y x", special.btdtrib, _BETA, (0.5, 9.0), (0.2, 0.8), (0.2, 0.8))
_solving("m y x", special.fdtridfd, _F, (2.0, 4.0), (0.5, 0.54), (0.98, 1.02))
_solving("y t", special.stdtridf, _T, (0.8, 0.82), (0.95, 1.0))
_solving("y n p", special.bdtrik, _BINOMIAL, (0.4, 0.8), (5.0, 9.0), (0.4, 0.6))
_solving("k y p", special.bdtrin, _BINOMIAL, (2.0, 4.0), (0.2, 0.8), (0.4, 0.6))
_solving("y n p", special.nbdtrik, _NEGATIVE_BINOMIAL, (0.4, 0.8), (5.0, 9.0), (0.4, 0.6))
_solving("k y p", special.nbdtrin, _NEGATIVE_BINOMIAL, (2.0, 4.0), (0.2, 0.8), (0.4, 0.6))
