"""`scipy.integrate` for tensors: differential equations, and integrals of functions and of samples."""

from adjoint.scipy.integrate.equations import odeint as odeint
from adjoint.scipy.integrate.equations import solve_ivp as solve_ivp
from adjoint.scipy.integrate.integrals import dblquad as dblquad
from adjoint.scipy.integrate.integrals import nquad as nquad
from adjoint.scipy.integrate.integrals import quad as quad
from adjoint.scipy.integrate.integrals import quad_vec as quad_vec
from adjoint.scipy.integrate.integrals import tplquad as tplquad
from adjoint.scipy.integrate.quadrature import fixed_quad as fixed_quad
from adjoint.scipy.integrate.samples import cumulative_trapezoid as cumulative_trapezoid
from adjoint.scipy.integrate.samples import simpson as simpson
from adjoint.scipy.integrate.samples import trapezoid as trapezoid
