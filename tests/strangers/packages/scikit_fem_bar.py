"""A heated bar by finite elements: forms, assembly, boundary conditions, the temperature in the middle."""

import numpy as np
from skfem import Basis, BilinearForm, ElementLineP1, LinearForm, MeshLine, condense, solve
from skfem.helpers import dot, grad

PACKAGE, FOLLOWED = "scikit-fem", ("skfem",)
POINT = (1.5, 0.7)


def program(x):
    @BilinearForm
    def conduction(u, v, w):
        return (1.0 + x[0] * w.x[0]) * dot(grad(u), grad(v))

    @LinearForm
    def heating(v, w):
        return x[1] * np.sin(w.x[0]) * v

    basis = Basis(MeshLine(np.linspace(0.0, 1.0, 9)), ElementLineP1())
    system = condense(conduction.assemble(basis), heating.assemble(basis), D=basis.get_dofs())
    return np.sum(solve(*system) ** 2) * 100
