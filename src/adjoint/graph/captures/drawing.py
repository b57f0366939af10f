"""Random draws of NumPy's generators in a program: each is an operation that draws anew when the program runs.

While a function is recorded, a `Drawing` replaces each generator that it uses. It draws, so the function gets numbers,
and it notes what was drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from adjoint.core.errors import NotSupportedError
from adjoint.core.op import Op
from adjoint.core.types import Array, Function
from adjoint.graph.symbol import Symbol

# Of these methods every call is a draw of new numbers, and does nothing else.
DRAWS = frozenset(
    ("beta", "binomial", "chisquare", "choice", "dirichlet", "exponential", "f", "gamma", "geometric", "gumbel",
     "hypergeometric", "integers", "laplace", "logistic", "lognormal", "logseries", "multinomial",
     "multivariate_hypergeometric", "multivariate_normal", "negative_binomial", "noncentral_chisquare", "noncentral_f",
     "normal", "pareto", "permutation", "permuted", "poisson", "power", "random", "rayleigh", "standard_cauchy",
     "standard_exponential", "standard_gamma", "standard_normal", "standard_t", "triangular", "uniform", "vonmises",
     "wald", "weibull", "zipf")
)  # fmt: skip


class Drawing:
    """A generator while a program is recorded."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def __getattr__(self, name: str) -> Function:
        method = getattr(self.generator, name)
        return partial(_draw, self.generator, name) if name in DRAWS else method


def _draw(generator: np.random.Generator, method: str, *args: Array, **kwargs: object) -> Array:
    """One draw: arrays among its arguments are inputs of its node, all else is a setting."""
    if kwargs.get("out") is not None:
        raise NotSupportedError(f"rng.{method} writes into an array, out=, which a program does not do")
    named = {**{str(k): value for k, value in enumerate(args)}, **kwargs}
    inputs = {key: value for key, value in named.items() if isinstance(value, Symbol | np.ndarray | np.generic)}
    rest = {key: value for key, value in named.items() if key not in inputs}
    settings = {"rng": generator, "method": method, "names": tuple(inputs), "rest": rest}
    values = [x.value if isinstance(x, Symbol) else x for x in inputs.values()]
    nodes = [x.node if isinstance(x, Symbol) else None for x in inputs.values()]
    out = Symbol.drawn(draw, values, nodes, settings)
    if out.dtype.kind not in "fciub":
        raise NotSupportedError(f"rng.{method} gives {out.dtype}, which is no number")
    return out


def _drawn_again(
    *xs: object, rng: np.random.Generator, method: str, names: tuple[str, ...], rest: Mapping[str, object]
) -> Array:
    named = {**rest, **dict(zip(names, xs, strict=True))}
    args = [named.pop(key) for key in sorted((key for key in named if key.isdigit()), key=int)]
    function: Function = getattr(rng, method)
    return function(*args, **named)


draw = Op("draw", _drawn_again, ("*xs",), kind="constant", flags=frozenset({"random"}))
