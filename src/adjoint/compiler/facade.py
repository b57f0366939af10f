"""`compile`: record a function once for each kind of arguments, and run the trace from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, overload

import numpy as np

from adjoint.compiler.backend import Options
from adjoint.compiler.compiled import Compiled
from adjoint.compiler.expressions import compiled as compiled_expr
from adjoint.core.errors import ArgumentError
from adjoint.core.types import C, Function
from adjoint.expressions import Expr


@overload
def compile(  # type: ignore[overload-overlap]  # an expression is called as a function is
    f: Expr,
    *,
    wait: bool = ...,
    backend: str = ...,
    static: Sequence[str] = ...,
    fastmath: bool = ...,
    memory: Literal["auto", "low"] = ...,
) -> Expr: ...
@overload
def compile(
    f: np.ufunc,
    *,
    wait: bool = ...,
    backend: str = ...,
    static: Sequence[str] = ...,
    fastmath: bool = ...,
    memory: Literal["auto", "low"] = ...,
) -> Compiled[Callable[..., object]]: ...
@overload
def compile(
    f: C,
    *,
    wait: bool = ...,
    backend: str = ...,
    static: Sequence[str] = ...,
    fastmath: bool = ...,
    memory: Literal["auto", "low"] = ...,
) -> Compiled[C]: ...
@overload
def compile(
    f: None = None,
    *,
    wait: bool = ...,
    backend: str = ...,
    static: Sequence[str] = ...,
    fastmath: bool = ...,
    memory: Literal["auto", "low"] = ...,
) -> Callable[[C], Compiled[C]]: ...
def compile(
    f: Function | None = None,
    *,
    wait: bool = False,
    backend: str = "native",
    static: Sequence[str] = (),
    fastmath: bool = False,
    memory: Literal["auto", "low"] = "auto",
) -> object:
    """Record `f` when it is called, and run the trace from then on, as native code.

    The first call with arguments of one kind (structure, shapes, dtypes, static values) is `f` itself. The second one
    runs it and keeps what it did, and native code is made beside it, which takes over when it is ready. `f` may be
    a loss, a gradient, or a whole training step that calls ``loss.backward()`` and ``optimizer.step()``: tensors,
    arrays and settings that it finds outside its arguments are read at each call, and what it writes is written.

    Args:
        f: takes and gives arrays, numbers, tensors, or trees of these; or a module; or an expression (`ad.expr`).
        wait: record the first call, and make native code before it returns.
        backend: "native", or "numpy" for a trace that is run by NumPy.
        static: names of arguments that are part of the program, although they are numbers or arrays.
        fastmath: let a product and a sum be rounded once instead of twice; nothing else changes.
        memory: "auto" computes cheap values again where that takes less time than keeping them; "low" computes again
            whatever native code can, which takes less memory and more time. Results are the same.

    Returns:
        A function like `f`, with ``explain()``, ``graph``, ``llvm`` and ``assembly``. It can be differentiated: its
        results go on in a graph, and inside `grad`, `jvp`, `vmap` and other compiled functions it is what `f` is.
        Of an expression, the same expression: its values, gradients, Hessians and Jacobians are native from then on.

    What `f` asks of values (``if t > 0``, ``float(t)``) is asked again at each call. If an answer differs, `f` is
    recorded again: it gets one more specialization. A ``while`` whose end depends on values needs one specialization,
    however often it turns. If Python has to do something at each call (print, append to a list), `f` runs as it is;
    ``explain()`` says so.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> slope = ad.compile(ad.grad(lambda x: np.sum(x * np.sin(x))), wait=True)
        >>> slope(np.zeros(3)), slope(np.ones(3)).round(6)
        (array([0., 0., 0.]), array([1.381773, 1.381773, 1.381773]))
    """
    if backend not in ("native", "numpy"):
        raise ArgumentError(f'compile: backend is "native" or "numpy"; got {backend!r}')
    if memory not in ("auto", "low"):
        raise ArgumentError(f'compile: memory is "auto" or "low"; got {memory!r}')
    if isinstance(f, Expr):
        return compiled_expr(f, wait=wait, backend=backend, static=static, fastmath=fastmath, memory=memory)
    options = Options(wait, backend, frozenset(static), fastmath, memory)
    return (lambda g: Compiled(g, options)) if f is None else Compiled(f, options)
