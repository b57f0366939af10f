"""Distributions of vectors."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, xlogy

from adjoint.core.errors import ShapeError
from adjoint.core.types import Array, Value
from adjoint.scipy.arrays import array
from adjoint.scipy.linalg.solving import cholesky, solve_triangular
from adjoint.scipy.stats.distribution import Frozen


class MultivariateNormal:
    """`scipy.stats.multivariate_normal`: of mean (d,) and covariance (d, d), (d,) or a number.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.stats import multivariate_normal
        >>> multivariate_normal.pdf(np.zeros(2), np.zeros(2), np.eye(2)).round(4)
        np.float64(0.1592)
    """

    name = "multivariate_normal"

    def __call__(self, *args: object, **kwds: object) -> Frozen:
        """The distribution with these parameters."""
        return Frozen(self, args, kwds)

    def logpdf(self, x: Array, mean: Array = None, cov: Value = 1.0) -> Array:
        """The logarithm of the density.

        Args:
            x: (..., d).
            mean: (d,), or zeros.
            cov: (d, d), positive definite; a vector is its diagonal, a number that many times the identity.

        Raises:
            ShapeError: if the dimensions differ.
            numpy.linalg.LinAlgError: if `cov` is not positive definite.

        Example:
            >>> import numpy as np, adjoint as ad
            >>> from adjoint.scipy.stats import multivariate_normal
            >>> ad.grad(multivariate_normal.logpdf)(np.array([1.0, 2.0]), np.zeros(2), np.diag([1.0, 4.0]))
            array([-1. , -0.5])
        """
        x, cov = array(x), array(cov)
        mean = None if mean is None else np.atleast_1d(array(mean))
        d = mean.shape[0] if mean is not None else cov.shape[-1] if cov.ndim else 1 if x.ndim == 0 else x.shape[-1]
        if cov.ndim < 2:
            cov = np.broadcast_to(cov, (d,))[:, None] * np.eye(d, dtype=cov.dtype)
        if x.ndim == 0:
            x = np.reshape(x, (1,))
        elif d == 1 and x.ndim == 1:
            x = x[..., None]
        if x.shape[-1] != d or cov.shape != (d, d):
            raise ShapeError(
                f"multivariate_normal in {d} dimensions takes x of shape (..., {d}) and cov of shape ({d}, {d}); got "
                f"{x.shape} and {cov.shape}"
            )
        factor = cholesky(cov, lower=True)
        away = x if mean is None else x - mean
        z = solve_triangular(factor, np.reshape(away, (-1, d)).T, lower=True)
        square = np.reshape(np.sum(z * z, axis=0), x.shape[:-1])
        return (-0.5 * square - (np.sum(np.log(np.diagonal(factor))) + 0.5 * d * math.log(2 * math.pi)))[()]

    def pdf(self, x: Array, mean: Array = None, cov: object = 1.0) -> Array:
        """The density; see `logpdf`."""
        return np.exp(self.logpdf(x, mean, cov))


class Dirichlet:
    """`scipy.stats.dirichlet`: of shares that add up to 1.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.stats import dirichlet
        >>> dirichlet.pdf(np.array([0.25, 0.75]), np.array([2.0, 4.0])).round(4)
        np.float64(2.1094)
    """

    name = "dirichlet"

    def __call__(self, *args: object, **kwds: object) -> Frozen:
        """The distribution with these parameters."""
        return Frozen(self, args, kwds)

    def logpdf(self, x: Array, alpha: Array) -> Array:
        """The logarithm of the density.

        Args:
            x: (k,) or (k, n): shares along the first axis; or k - 1 of them, from which the last follows.
            alpha: (k,), positive.

        Raises:
            ShapeError: if there are not as many shares.

        Example:
            >>> import numpy as np, adjoint as ad
            >>> from adjoint.scipy.stats import dirichlet
            >>> ad.grad(dirichlet.logpdf)(np.array([0.25, 0.75]), np.array([2.0, 4.0]))
            array([4., 4.])
        """
        x, alpha = array(x), array(alpha)
        if alpha.ndim == 1 and x.ndim and x.shape[0] == alpha.shape[0] - 1:
            x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)])
        if alpha.ndim != 1 or x.ndim == 0 or x.shape[0] != alpha.shape[0]:
            raise ShapeError(
                f"dirichlet takes alpha of shape (k,) and shares of shape (k,) or (k, n); got {alpha.shape} and "
                f"{x.shape}"
            )
        weights = np.reshape(alpha - 1, (-1, *(1,) * (x.ndim - 1)))
        normaliser = np.sum(gammaln(alpha)) - gammaln(np.sum(alpha))
        return (np.sum(xlogy(weights, x), axis=0) - normaliser)[()]

    def pdf(self, x: Array, alpha: Array) -> Array:
        """The density; see `logpdf`."""
        return np.exp(self.logpdf(x, alpha))


multivariate_normal = MultivariateNormal()
dirichlet = Dirichlet()
