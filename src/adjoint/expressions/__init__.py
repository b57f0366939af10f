"""Expressions as a mathematician types them: text to postfix to unique nodes, and the operations on these."""

from adjoint.expressions.expr import Expr as Expr
from adjoint.expressions.expr import expr as expr
