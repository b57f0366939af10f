"""Expressions as a mathematician types them: text to postfix to unique nodes, and everything one asks of these."""

from adjoint.expressions.expr import Expr as Expr
from adjoint.expressions.expr import expr as expr
