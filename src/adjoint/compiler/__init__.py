"""Compilation: a function recorded once and run as a program.

- Entries: `facade` (`compile`), `capture`, `compiled`, `methods`, `expressions`, `plain`.
- Recording: `recorder`, `tracing`, `joint`, `arguments`, `outside_state`.
- A call: `signatures`, `whole_numbers`, `selecting`, `calling` and `write_texts` (the fast path), `submitting`.
- Of arguments: `argument_checks`; calls that are not compiled: `uncompiled`.
- Native code: `backend`, `background`. For people: `explaining`.
"""

from adjoint.compiler.compiled import Compiled as Compiled
from adjoint.compiler.facade import compile as compile
