"""Compilation: a function recorded once and run as a program."""

from adjoint.compiler.compiled import Compiled as Compiled
from adjoint.compiler.facade import compile as compile
