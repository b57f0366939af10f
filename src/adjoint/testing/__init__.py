"""Is a derivative right? `check_grads` compares it with differences; `samples` and `walk` list what to check."""

from adjoint.core.public import public as _public
from adjoint.testing.check import CHECKERS as CHECKERS
from adjoint.testing.check import check_grads as check_grads
from adjoint.testing.differences import numerical_jacobian as numerical_jacobian
from adjoint.testing.problem import CheckedProblem as CheckedProblem
from adjoint.testing.samples import drawer as drawer
from adjoint.testing.samples import samples as samples
from adjoint.testing.samples import walk as walk


def __dir__() -> list[str]:
    return _public(globals())
