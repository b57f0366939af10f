"""Compilation: a function recorded once and run as a program.

`facade` has `compile`, and `compiled` the function that it makes; `capture` keeps a graph. Formulas are compiled by
`expressions`, functions of adjoint's own by `plain`, methods are kept by `methods`. `backend` and `background` make
native code beside the program, and `explaining` says what was recorded. In folders: `recording` (one run becomes a
trace), `call` (a trace is chosen and runs), `trace` (what the recording does with each expression).
"""

from adjoint.compiler.compiled import Compiled as Compiled
from adjoint.compiler.facade import compile as compile
