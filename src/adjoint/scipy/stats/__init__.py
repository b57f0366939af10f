"""`scipy.stats` for tensors: densities, and distribution functions where they are elementary or have a rule.

    from adjoint.scipy import stats

    stats.norm.logpdf(x, loc, scale)        # as scipy.stats
    stats.gamma(2.0, scale=3.0).cdf(x)      # with its parameters fixed

Derivatives are those of the formulas, by data and parameters. Outside of the support a density is 0, and so is
its gradient. Parameters that make no distribution give nan, as in SciPy.
"""

from adjoint.scipy.stats.families import bernoulli as bernoulli
from adjoint.scipy.stats.families import beta as beta
from adjoint.scipy.stats.families import binom as binom
from adjoint.scipy.stats.families import cauchy as cauchy
from adjoint.scipy.stats.families import chi2 as chi2
from adjoint.scipy.stats.families import expon as expon
from adjoint.scipy.stats.families import gamma as gamma
from adjoint.scipy.stats.families import geom as geom
from adjoint.scipy.stats.families import gumbel_l as gumbel_l
from adjoint.scipy.stats.families import gumbel_r as gumbel_r
from adjoint.scipy.stats.families import halfcauchy as halfcauchy
from adjoint.scipy.stats.families import halfnorm as halfnorm
from adjoint.scipy.stats.families import invgamma as invgamma
from adjoint.scipy.stats.families import laplace as laplace
from adjoint.scipy.stats.families import logistic as logistic
from adjoint.scipy.stats.families import lognorm as lognorm
from adjoint.scipy.stats.families import nbinom as nbinom
from adjoint.scipy.stats.families import norm as norm
from adjoint.scipy.stats.families import pareto as pareto
from adjoint.scipy.stats.families import poisson as poisson
from adjoint.scipy.stats.families import rayleigh as rayleigh
from adjoint.scipy.stats.families import skewnorm as skewnorm
from adjoint.scipy.stats.families import t as t
from adjoint.scipy.stats.families import uniform as uniform
from adjoint.scipy.stats.families import weibull_min as weibull_min
from adjoint.scipy.stats.multivariate import dirichlet as dirichlet
from adjoint.scipy.stats.multivariate import multivariate_normal as multivariate_normal
