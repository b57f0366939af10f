"""`scipy.optimize` over trees of arrays: every derivative is derived, and solutions are differentiable themselves."""

from adjoint.scipy.optimize.fits import curve_fit as curve_fit
from adjoint.scipy.optimize.fits import lsq_linear as lsq_linear
from adjoint.scipy.optimize.fits import nnls as nnls
from adjoint.scipy.optimize.fitting import least_squares as least_squares
from adjoint.scipy.optimize.minima import minimize_scalar as minimize_scalar
from adjoint.scipy.optimize.minimizing import minimize as minimize
from adjoint.scipy.optimize.numbers import bisect as bisect
from adjoint.scipy.optimize.numbers import brenth as brenth
from adjoint.scipy.optimize.numbers import brentq as brentq
from adjoint.scipy.optimize.numbers import newton as newton
from adjoint.scipy.optimize.numbers import ridder as ridder
from adjoint.scipy.optimize.numbers import root_scalar as root_scalar
from adjoint.scipy.optimize.numbers import toms748 as toms748
from adjoint.scipy.optimize.problems import Problem as Problem
from adjoint.scipy.optimize.problems import problem as problem
from adjoint.scipy.optimize.roots import root as root
from adjoint.scipy.optimize.systems import fixed_point as fixed_point
from adjoint.scipy.optimize.systems import fsolve as fsolve
