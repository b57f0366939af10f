"""`scipy.optimize` over trees of arrays: every derivative is derived, and solutions are differentiable themselves."""

from adjoint.scipy.optimize.fitting import least_squares as least_squares
from adjoint.scipy.optimize.minimizing import minimize as minimize
from adjoint.scipy.optimize.problems import Problem as Problem
from adjoint.scipy.optimize.problems import problem as problem
from adjoint.scipy.optimize.roots import root as root
