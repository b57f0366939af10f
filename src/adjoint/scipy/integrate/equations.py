"""Initial value problems, with derivatives with respect to the initial state, times, and all that the equation uses.

There are two ways. *direct*: through the steps that the solver took. *adjoint*: by a second equation, solved backward
in time (L. Pontryagin et al., 1962; R. Chen et al., Neural ordinary differential equations, 2018). It starts anew
from the stored state at every time of the output; nothing else is stored, and any solver works.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import integrate

from adjoint.core.errors import ArgumentError, NotSupportedError, ShapeError
from adjoint.core.types import Array, Value
from adjoint.scipy.arrays import array
from adjoint.scipy.attached import attached, constant, levels
from adjoint.scipy.followed import SolverResults, Unboxing, assembled, without_tensors
from adjoint.scipy.integrate.flow import KnownStates, states
from adjoint.scipy.integrate.jacobians import checked, for_scipy
from adjoint.scipy.integrate.parameters import vector
from adjoint.scipy.integrate.recorded import Recorder, all_at_once
from adjoint.scipy.integrate.steps import EXPLICIT, Field, Taken, step
from adjoint.twin.follow import follow

# Methods whose dense output takes no further evaluations of the function, which SciPy counts.
_STEPS_FREE = ("RK45", "RK23", "Radau", "BDF", "LSODA")


class _Solved(NamedTuple):
    """SciPy's result, the solution as a function of time, the plain arguments if these are all, and the steps taken."""

    result: Value
    sol: Value
    numbers: Value
    recorder: Recorder | None

    @property
    def grid(self) -> Value:
        return np.array(self.recorder.grid) if self.recorder is not None and self.recorder.slopes else self.sol.ts


def solve_ivp(
    fun: Field,
    t_span: Value,
    y0: Array,
    method: Value = "RK45",
    t_eval: Value = None,
    dense_output: bool = False,
    events: Value = None,
    vectorized: bool = False,
    args: Value = None,
    *,
    gradient: str | None = None,
    jac: Value = None,
    **options: Value,
) -> Array:
    """`scipy.integrate.solve_ivp`: solve ``dy/dt = fun(t, y, *args)``.

    Args:
        fun: gives an array, or a sequence, of the length of `y`, by NumPy functions. It may use tensors.
        t_span: the first and the last time; numbers or tensors.
        y0: (n,).
        method: SciPy's: "RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA".
        t_eval: when to give the state; at each step if not given. Inside `vmap` it must be.
        dense_output, events: SciPy's; what they give has derivatives too, and events may use tensors.
        args: parameters, trees of arrays and tensors.
        gradient: "direct", through the steps taken: of RK45, RK23 and DOP853 exact for what was computed, of the
            others as exact as the steps are fine; memory grows with the steps. The default for the first three, and
            where `fun` uses tensors that are not in `args`. The steps of these three are differentiated all at once
            if `vmap` takes `fun` (no branches on `t` or `y`), and there are at most 64 states; else one by one, which
            takes longer. "adjoint", by the backward equation: memory grows with the output times; exact as far as the
            tolerances go; the default for the others.
        jac: for Radau, BDF and LSODA, the Jacobian of `fun` by y: "auto", derived; "sparse", derived as a sparse
            matrix (Radau and BDF); ``jac(t, y, *args)``; a matrix; if not given, SciPy takes differences.
        options: SciPy's: `rtol`, `atol`, `max_step`, …

    Returns:
        SciPy's result object, with SciPy's numbers; its `y`, (n, times), and `t` are tensors where something has a
        gradient; and so are `t_events`, `y_events` and what ``sol(t)`` gives.

    Raises:
        NotSupportedError: inside `vmap` without `t_eval`, or with events or dense output.
        LeavesGraphError: for "adjoint", if `fun` uses a tensor that is not in `args`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import solve_ivp
        >>> end = lambda k: solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], rtol=1e-8).y[0, -1]
        >>> ad.grad(end)(2.0).round(6)  # of exp(-k)
        np.float64(-0.135335)
    """
    args = () if args is None else tuple(args) if isinstance(args, tuple | list) else (args,)
    if jac is not None:
        checked(jac, method)
        options["jac"] = jac
    given = {"t_span": t_span, "y0": y0, "t_eval": t_eval, "args": args}
    inside: list[bool] = []  # whether the function used tensors that are none of its arguments

    def run(unboxing: Unboxing) -> Value:
        explicit = isinstance(method, str) and method in EXPLICIT
        recorder = Recorder(method) if explicit and gradient != "adjoint" else None
        numbers = {name: unboxing.numbers(x) for name, x in given.items()}
        seen, unboxing.boxed = unboxing.boxed, False
        plain = unboxing.plain(without_tensors(fun, unboxing) if recorder is not None else fun)
        numbers |= for_scipy(options, fun, numbers["args"])
        numbers["args"] = numbers["args"] or None
        call = {"fun": plain, "method": method, "vectorized": vectorized, "events": unboxing.plain(events), **numbers}
        at_once = seen and gradient != "adjoint" and method in _STEPS_FREE and recorder is None
        solver = {"method": recorder.solver} if recorder is not None else {}
        found = integrate.solve_ivp(**(call | solver), dense_output=dense_output or at_once)
        inside.append(unboxing.boxed)
        unboxing.boxed = seen or unboxing.boxed
        sol = found.sol
        if recorder is not None and unboxing.boxed and recorder.slopes:
            rest = numbers["args"] or ()
            if found.status == 1:  # an event was inside the last step
                recorder.end_at(np.concatenate(found.t_events), lambda t, y: vector(plain(t, y, *rest)))
        elif unboxing.boxed and gradient != "adjoint" and sol is None:  # once more, for all of its steps
            sol = integrate.solve_ivp(**(call | {"dense_output": True, "t_eval": None})).sol
        found.sol = sol if dense_output else None
        return _Solved(found, sol, None if inside[-1] else numbers, recorder)

    found = SolverResults(run)
    result = found.one.result
    if not found.boxed:
        return result
    fun = follow(fun, args)
    y0 = np.atleast_1d(assembled(y0))
    if y0.ndim != 1:
        raise ShapeError(f"solve_ivp: y0 must be a vector; got shape {y0.shape}")
    direct = method in EXPLICIT or any(inside) or found.several or dense_output or events is not None
    gradient = gradient or ("direct" if direct or not isinstance(method, str) else "adjoint")
    if gradient == "direct":
        return _direct(found, fun, tuple(t_span), y0, method, t_eval, args, dense_output, events)
    if gradient == "adjoint":
        if dense_output or events is not None:
            raise NotSupportedError("solve_ivp: events and dense_output have derivatives with gradient='direct'")
        return _by_adjoint(found, fun, tuple(t_span), y0, method, t_eval, args, options)
    raise ArgumentError(f"solve_ivp: gradient is 'direct' or 'adjoint'; got {gradient!r}")


def _direct(
    found: SolverResults,
    fun: Field,
    span: Value,
    y0: Array,
    method: Value,
    t_eval: Value,
    args: Value,
    dense: bool,
    events: Value,
) -> Array:
    result, grid = found.one.result, found.one.grid
    field = lambda t, y: vector(fun(t, y, *args))  # noqa: E731 - of its variables alone
    if found.several:
        if t_eval is None or dense or events is not None or levels(span[0]) or levels(span[1]):
            raise NotSupportedError(
                "solve_ivp inside vmap: each sample has steps of its own; give the times as t_eval=, the same span for "
                "all, and no events= or dense_output=. Or call it for one sample after another"
            )
    rising = grid[-1] >= grid[0]
    grid = np.unique(np.concatenate([run.grid for run in found.results]))
    grid = grid if rising else grid[::-1]
    last = span[1] if grid[-1] == constant(span[1]) and not (t_eval is not None and levels(t_eval)) else float(grid[-1])
    ends = (span[0], last)
    taken = _at_once(found, fun, args, field, ends, y0) or Taken(
        field, grid, ends, y0, method, lambda t: found.each(lambda run: run.sol(t))
    )
    times = None if t_eval is None else array(assembled(t_eval))[: result.t.shape[0]]
    states = taken.states if times is None else taken.at(times)
    if times is None and any(map(levels, ends)):
        result.t = np.concatenate([np.reshape(array(t), (1,)) for t in taken.times])
    if events is not None:
        last = _followed_events(result, taken, field, events, args)
        if last is not None and times is None:
            states = np.concatenate([states[:, :-1], last[1][:, None]], axis=1)
            result.t = np.concatenate([result.t[:-1], np.reshape(last[0], (1,))])
    whole = found.each(lambda run: run.result.y)
    result.y = whole + (states - constant(states)) if levels(states) else whole
    result.t = result.t if times is None else times
    if dense:
        result.sol = _Dense(result.sol, taken)
    return result


def _at_once(found: SolverResults, fun: Field, args: Value, field: Field, ends: Value, y0: Array) -> Taken | None:
    """The steps that SciPy took, all at once; None if they must be taken one by one."""
    run = found.one
    if found.several or run.recorder is None:
        return None
    known = args if run.numbers is None else run.numbers["args"] or ()
    return all_at_once(field, lambda t, y: vector(fun(t, y, *known)), run.recorder, ends, y0)


def _followed_events(result: Value, taken: Taken, field: Field, events: Value, args: tuple[Value, ...]) -> Value:
    """Make times and states of events functions of what they depend on; those of the one that ended it, if one did."""
    ended = float(result.t[-1]) if result.status == 1 and len(result.t) else None
    last = None
    for k, event in enumerate([events] if callable(events) else events):
        found = [_followed_event(taken, field, event, float(t), y, args)
                 for t, y in zip(result.t_events[k], result.y_events[k], strict=True)]  # fmt: skip
        if not found:
            continue
        if float(result.t_events[k][-1]) == ended:
            last = found[-1]
        result.t_events[k], result.y_events[k] = (np.stack(parts) for parts in zip(*found, strict=True))
    return last


def _followed_event(taken: Taken, field: Field, event: Field, t: float, y: Array, args: tuple[Value, ...]) -> Array:
    """Time and state of one event at `t`, where the state is `y`: a step of no length leads there, and may vary."""
    before = taken.at(np.array([t]))[:, 0]
    before = y + (before - constant(before))

    def after(lag: Value) -> Value:
        return step(field, EXPLICIT["RK45"], t, before, field(t, before), lag)[0]

    lag = attached(np.zeros(1), lambda v: vector(event(t + v[0], after(v[0]), *args)), near=np.inf)[0]
    lag = lag - constant(lag)
    return t + lag, after(lag)


class _Dense:
    """SciPy's solution as a function of time, with derivatives."""

    def __init__(self, sol: Value, taken: Taken) -> None:
        self._sol, self._taken = sol, taken

    def __call__(self, t: Array) -> Array:
        t = array(assembled(t))
        y = self._taken.at(np.reshape(t, (-1,)))
        y = y if t.ndim else y[:, 0]
        return self._sol(constant(t)) + (y - constant(y))

    def __getattr__(self, name: str) -> Value:
        return getattr(self._sol, name)


def _by_adjoint(
    found: SolverResults,
    fun: Field,
    span: Value,
    y0: Array,
    method: str,
    t_eval: Value,
    args: tuple[Value, ...],
    options: Value,
) -> Array:
    result, numbers = found.one.result, found.one.numbers

    def known(times: Array, rows: Array) -> KnownStates | None:
        """What SciPy has found, which need not be found again."""
        if found.several or numbers is None or not result.success or rows.shape[0] != np.shape(times)[0]:
            return None
        return KnownStates(numbers["y0"], numbers["args"] or (), constant(times), rows)

    if y0.dtype.kind == "c":
        raise NotSupportedError("solve_ivp: gradient='adjoint' takes real states; write y as real and imaginary parts")
    y0 = y0 if y0.dtype.kind == "f" else y0.astype(np.float64)
    first = np.reshape(array(span[0]), (1,))
    if t_eval is None:
        times = np.concatenate([first, result.t[1:-1], np.reshape(array(span[1]), (1,))])
        y = states(fun, y0, times, method, args, options, known(times, result.y.T)).T
    else:
        times = array(assembled(t_eval))
        inner = bool(times.shape[0] and constant(times)[0] != constant(first)[0])
        whole = np.concatenate([first, times]) if inner else times
        rows = np.concatenate([np.reshape(constant(y0), (1, -1)), result.y.T]) if inner else result.y.T
        y = states(fun, y0, whole, method, args, options, known(whole, rows)).T
        y = y[:, 1:] if inner else y
    result.t, result.y = times, y
    return result


def odeint(
    func: Field,
    y0: Array,
    t: Array,
    args: Value = (),
    Dfun: Value = None,  # noqa: N803 - SciPy's name
    col_deriv: int = 0,
    full_output: int = 0,
    ml: Value = None,
    mu: Array = None,
    rtol: Value = None,
    atol: Value = None,
    tcrit: Value = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: int = 0,
    mxstep: int = 0,
    mxhnil: int = 0,
    mxordn: int = 12,
    mxords: int = 5,
    printmessg: int = 0,
    tfirst: bool = False,
    *,
    gradient: str | None = None,
) -> Array:
    """`scipy.integrate.odeint`: solve ``dy/dt = func(y, t, *args)``.

    Args:
        func: as for `solve_ivp`, with `y` before `t`; `tfirst` exchanges them. It may use tensors.
        y0: (n,), the state at ``t[0]``.
        t: times, rising or falling; an array or a tensor.
        args: parameters, trees of arrays and tensors.
        gradient: "direct": through the steps of another method than LSODA: an explicit one, or where LSODA found the
            equation stiff, an implicit one. "adjoint": by LSODA and the backward equation.
        Dfun, …, printmessg: SciPy's.

    Returns:
        (len(t), n), SciPy's numbers; with `full_output` also SciPy's dictionary.

    Raises:
        LeavesGraphError: for "adjoint", if `func` uses a tensor that is not in `args`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import odeint
        >>> ad.grad(lambda y0: odeint(lambda y, t: -y, y0, [0.0, 1.0])[1, 0])(np.ones(1)).round(6)
        array([0.367879])
    """
    args = tuple(args) if isinstance(args, tuple | list) else (args,)
    own = {"func": func, "Dfun": Dfun, "col_deriv": col_deriv, "ml": ml, "mu": mu, "rtol": rtol, "atol": atol,
           "tcrit": tcrit, "h0": h0, "hmax": hmax, "hmin": hmin, "ixpr": ixpr, "mxstep": mxstep, "mxhnil": mxhnil,
           "mxordn": mxordn, "mxords": mxords, "printmessg": printmessg, "tfirst": tfirst}  # fmt: skip

    def run(unboxing: Unboxing) -> Value:
        numbers = {"y0": unboxing.numbers(y0), "t": unboxing.numbers(t), "args": unboxing.numbers(args)}
        found = unboxing.call(integrate.odeint, own | numbers | {"full_output": full_output})
        report = unboxing.call(integrate.odeint, own | numbers | {"full_output": 1})[1] if unboxing.boxed else None
        return found, report

    found = SolverResults(run)
    if not found.boxed:
        return found.one[0]
    fun: Field = func if tfirst else lambda t, y, *rest: func(y, t, *rest)
    t, y0 = array(assembled(t)), np.atleast_1d(array(assembled(y0)))
    stiff = any(np.any(report["mused"] == 2) for _, report in found.results)
    finer = 0.05 if gradient is None else 1.0  # of a smooth solution this costs little, and derivatives are less exact
    options: dict[str, Value] = {
        "rtol": finer * (1.49e-8 if rtol is None else rtol),
        "atol": finer * (1.49e-8 if atol is None else np.asarray(atol)),
        "max_step": hmax or np.inf,
    }
    method = "LSODA" if stiff or gradient == "adjoint" else "DOP853"
    y = solve_ivp(fun, (t[0], t[-1]), y0, method, t, args=args, gradient=gradient or "direct", **options).y.T
    whole = found.each(lambda r: r[0][0] if full_output else r[0])
    y = whole + (y - constant(y)) if levels(y) else whole
    return (y, found.one[0][1]) if full_output else y
