"""Initial value problems, with gradients by the initial state, by parameters and by times.

Two ways. *direct*: through the steps that the solver took. *adjoint*: by an equation of its own, solved backward in
time (L. Pontryagin et al., 1962; R. Chen et al., Neural ordinary differential equations, 2018), which starts afresh
from the stored state at every time of the output; nothing else is stored, and any solver will do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate
from scipy.optimize import OptimizeResult

from adjoint.core.errors import ArgumentError, NotSupportedError, ShapeError
from adjoint.scipy.arrays import array, plain
from adjoint.scipy.integrate.jacobians import checked, for_scipy
from adjoint.scipy.integrate.parameters import Packed, boxed, closed, numbers, vector
from adjoint.scipy.integrate.steps import METHODS, taken_again
from adjoint.tape.custom import op
from adjoint.tape.modes import no_grad
from adjoint.transforms.reverse import vjp

Field = Callable[..., Any]


def solve_ivp(
    fun: Field,
    t_span: Any,
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    *,
    gradient: str | None = None,
    jac: Any = None,
    **options: Any,
) -> Any:
    """`scipy.integrate.solve_ivp`: solve ``dy/dt = fun(t, y, *args)``.

    Args:
        fun: gives an array, or a sequence, of the length of `y`, by NumPy functions.
        t_span: the first and the last time; numbers or tensors.
        y0: (n,), real.
        method: SciPy's: "RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA".
        t_eval: when to give the state; at each step if not given.
        dense_output, events: SciPy's, for plain arrays only.
        args: parameters, trees of arrays and tensors.
        gradient: "direct", through the steps taken (RK45 and RK23; the default for these): exact for what was
            computed, memory grows with the steps. "adjoint", by the backward equation (any method; the default for the
            others): memory grows with the output times; exact as far as the tolerances go.
        jac: for Radau, BDF and LSODA, the Jacobian of `fun` by y: "auto", derived; "sparse", derived as a sparse
            matrix (Radau and BDF); ``jac(t, y, *args)``; a matrix; if not given, SciPy takes differences.
        options: SciPy's: `rtol`, `atol`, `max_step`, …

    Returns:
        SciPy's result object; its `y`, (n, times), and `t` are tensors where something has a gradient.

    Raises:
        NotSupportedError: for events or dense output of tensors, or "direct" with another method.
        LeavesGraphError: for "adjoint", if `fun` uses a tensor that is not in `args`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import solve_ivp
        >>> end = lambda k: solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), [1.0], args=(k,), rtol=1e-8).y[0, -1]
        >>> ad.grad(end)(2.0).round(6)  # of exp(-k)
        np.float64(-0.135335)
    """
    args = () if args is None else tuple(args) if isinstance(args, tuple | list) else (args,)
    y0 = np.atleast_1d(array(np.stack(list(y0)) if isinstance(y0, list | tuple) and boxed(y0) else y0))
    start, stop = t_span
    if jac is not None:
        checked(jac, method)
        options["jac"] = jac
    everything = (start, stop, y0, args, t_eval)
    if not boxed(everything) and not boxed(fun(start, y0, *args)):
        return integrate.solve_ivp(
            fun, (start, stop), y0, method, t_eval, dense_output, events, vectorized, args or None,
            **for_scipy(options, fun, args),
        )  # fmt: skip
    if dense_output or events is not None:
        raise NotSupportedError(
            "solve_ivp of tensors has no events= and no dense_output=; give the times of interest as t_eval="
        )
    if y0.ndim != 1:
        raise ShapeError(f"solve_ivp: y0 must be a vector; got shape {y0.shape}")
    gradient = gradient or ("direct" if method in METHODS else "adjoint")
    if gradient == "direct":
        return _direct(fun, (start, stop), y0, method, t_eval, args, options)
    if gradient == "adjoint":
        return _by_adjoint(fun, (start, stop), y0, method, t_eval, args, options)
    raise ArgumentError(f"solve_ivp: gradient is 'direct' or 'adjoint'; got {gradient!r}")


def _plain_solution(
    fun: Field, span: Any, y0: Any, method: Any, t_eval: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """SciPy's solution on plain numbers."""
    args = numbers(args)

    def values(t: float, y: Any) -> Any:
        return plain(vector(fun(t, y, *args)))

    with no_grad():
        return integrate.solve_ivp(
            values, tuple(float(plain(t)) for t in span), plain(y0), method, None if t_eval is None else plain(t_eval),
            **for_scipy(options, fun, args),
        )  # fmt: skip


def _direct(
    fun: Field, span: Any, y0: Any, method: str, t_eval: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    if method not in METHODS:
        raise NotSupportedError(
            f"solve_ivp: gradient='direct' goes through the steps of {' and '.join(METHODS)}; for {method}, "
            f"pass gradient='adjoint'"
        )
    solution = _plain_solution(fun, span, y0, method, None, args, options)
    t_eval = t_eval if t_eval is None else array(t_eval)
    ends = (span[0], span[1] if solution.success else float(solution.t[-1]))
    f = lambda t, y: vector(fun(t, y, *args))  # noqa: E731 - the field alone
    solution.y = taken_again(f, solution.t, ends, y0, method, t_eval)
    if t_eval is not None:
        solution.t = t_eval[: solution.y.shape[1]]
    return solution


def _by_adjoint(
    fun: Field, span: Any, y0: Any, method: str, t_eval: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    if y0.dtype.kind == "c":
        raise NotSupportedError("solve_ivp: gradient='adjoint' takes real states; write y as real and imaginary parts")
    if t_eval is None:
        solution = _plain_solution(fun, span, y0, method, None, args, options)
        ends = [np.reshape(array(span[0]), (1,)), np.reshape(array(span[1]), (1,))]
        times = np.concatenate([ends[0], solution.t[1:-1], ends[1]])
        y = _states(fun, y0, times, method, args, options).T
    else:
        solution = OptimizeResult(success=True, status=0, message="", sol=None)
        times, first = array(t_eval), np.reshape(array(span[0]), (1,))
        inner = bool(plain(times).size and plain(times)[0] != plain(first)[0])
        whole = np.concatenate([first, times]) if inner else times
        y = _states(fun, y0, whole, method, args, options).T
        y = y[:, 1:] if inner else y
    solution.t, solution.y = times, y
    return solution


def _states(fun: Field, y0: Any, times: Any, method: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    packed = Packed(args)
    f = lambda t, y, pieces: vector(fun(t, y, *packed.tree(pieces)))  # noqa: E731 - of vectors, for the gate
    if callable(jac := options.get("jac")):
        options = options | {"jac": lambda t, y, pieces: jac(t, y, *packed.tree(pieces))}
    return flow(y0, packed.vector, times, f=f, pieces=packed.pieces, method=method, options=options)


@op
def flow(
    y0: Any, theta: Any, times: Any, f: Any = None, pieces: Any = None, method: Any = "RK45", options: Any = None
) -> Any:
    """The states at `times`, as rows; the first is `y0`. `f` takes the parameters in pieces of the vector `theta`."""
    given = pieces(theta)

    def values(t: float, y: Any) -> Any:
        return closed("solve_ivp", f(t, y, given))

    if times.shape[0] == 1 or times[0] == times[-1]:
        return np.repeat(y0[None], times.shape[0], axis=0)
    solution = integrate.solve_ivp(values, (times[0], times[-1]), y0, method, times, **for_scipy(options, f, (given,)))
    if not solution.success:
        raise ArgumentError(f"solve_ivp stopped at t = {solution.t[-1] if len(solution.t) else times[0]:g}: "
                            f"{solution.message}")  # fmt: skip
    return solution.y.T.astype(y0.dtype, copy=False)


@flow.backward
def _flow_cotangents(
    g: Any, y0: Any, theta: Any, times: Any, out: Any, f: Any, pieces: Any, method: Any, options: Any
) -> Any:
    n, p, last = y0.shape[0], theta.shape[0], times.shape[0] - 1

    def backward(t: Any, z: Any, given: Any) -> Any:
        """State, its cotangent, and that of the parameters, all in one."""
        value, pullback = vjp(lambda y, given: f(t, y, given), z[:n], given)
        by_state, by_pieces = pullback(z[n : 2 * n])
        return np.concatenate([value, -by_state, *(-np.ravel(c).astype(theta.dtype, copy=False) for c in by_pieces)])

    given = pieces(theta)
    options = {name: value for name, value in options.items() if name not in ("first_step", "jac", "jac_sparsity")}
    if np.ndim(options.get("atol", 0.0)):
        options["atol"] = float(np.min(options["atol"]))
    cotangent, by_parameters = g[last], np.zeros(p, theta.dtype)
    by_times: list[Any] = [None] * (last + 1)
    for i in range(last, 0, -1):
        by_times[i] = np.sum(g[i] * f(times[i], out[i], given))
        z = np.concatenate([out[i], cotangent, by_parameters])
        z = flow(z, theta, times[i - 1 : i + 1][::-1], f=backward, pieces=pieces, method=method, options=options)[1]
        cotangent, by_parameters = z[n : 2 * n], z[2 * n :]
        if i > 1:
            cotangent = cotangent + g[i - 1]
    if last:
        by_times[0] = -np.sum(cotangent * f(times[0], y0, given))
        cotangent = cotangent + g[0]
    else:
        by_times[0] = np.zeros((), times.dtype)
    return cotangent, by_parameters, np.stack(by_times)


def odeint(
    func: Field, y0: Any, t: Any, args: Any = (), *, tfirst: bool = False, gradient: str = "direct", **options: Any
) -> Any:
    """`scipy.integrate.odeint`: solve ``dy/dt = func(y, t, *args)``.

    Args:
        func: as for `solve_ivp`, with `y` before `t`; `tfirst` exchanges them.
        y0: (n,), the state at ``t[0]``.
        t: times, rising or falling; an array or a tensor.
        args: parameters, trees of arrays and tensors.
        gradient: "direct": through the steps of an explicit Runge-Kutta method. "adjoint": by LSODA, SciPy's
            method here, and the backward equation; for stiff equations.
        options: `rtol` and `atol`, 1.49e-8 if not given; for plain arrays all of SciPy's.

    Returns:
        (len(t), n).

    Raises:
        NotSupportedError: for SciPy's other options with tensors.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import odeint
        >>> ad.grad(lambda y0: odeint(lambda y, t: -y, y0, [0.0, 1.0])[1, 0])(np.ones(1)).round(6)
        array([0.367879])
    """
    args = tuple(args) if isinstance(args, tuple | list) else (args,)
    fun: Field = func if tfirst else lambda t, y, *rest: func(y, t, *rest)
    t = t if boxed(t) and not isinstance(t, list | tuple) else np.stack([array(x) for x in t])
    y0 = np.atleast_1d(array(np.stack(list(y0)) if isinstance(y0, list | tuple) and boxed(y0) else y0))
    if not boxed((y0, t, args)) and not boxed(fun(t[0], y0, *args)):
        return integrate.odeint(func, y0, t, args, tfirst=tfirst, **options)
    unknown = set(options) - {"rtol", "atol"}
    if unknown:
        raise NotSupportedError(
            f"odeint of tensors takes rtol= and atol= of SciPy's options, not {', '.join(sorted(unknown))}; "
            f"solve_ivp takes more"
        )
    tolerances: dict[str, Any] = {"rtol": 1.49e-8, "atol": 1.49e-8} | {
        k: v for k, v in options.items() if v is not None
    }
    method = "RK45" if gradient == "direct" else "LSODA"
    return solve_ivp(fun, (t[0], t[-1]), y0, method, t, args=args, gradient=gradient, **tolerances).y.T
