"""Find where a nan or an infinity first appears: in a value, or in a cotangent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from adjoint.core.errors import AnomalyError
from adjoint.core.rules.pullbacks import Pullback
from adjoint.core.threads.weak import WeakKeys
from adjoint.core.types import Array, DType
from adjoint.tape.backward import Resumed
from adjoint.tape.inside import arrays, input_name, parent_numbers
from adjoint.tape.modes import Observing
from adjoint.tape.node import ObservedNode
from adjoint.tape.observers.lines import line_of_node, note_line
from adjoint.tape.zeros.selected import RuleRun

if TYPE_CHECKING:
    from adjoint.tape.node import TapeNode


class Range(NamedTuple):
    """What an array holds: the smallest and the largest of its finite elements, and how many are not finite."""

    name: str
    shape: tuple[int, ...]
    dtype: DType
    least: float
    most: float
    nan: int
    infinite: int

    @classmethod
    def of(cls, name: str, array: np.ndarray | np.generic) -> Range:
        """The range of `array`; of a complex one, that of absolute values."""
        values = np.abs(array) if array.dtype.kind == "c" else np.asarray(array)
        nan = infinite = 0
        if array.dtype.kind in "fc":
            nan, infinite = int(np.isnan(values).sum()), int(np.isinf(values).sum())
            values = values[np.isfinite(values)] if nan or infinite else values
        least, most = (values.min(), values.max()) if values.size else (np.nan, np.nan)
        return cls(name, array.shape, array.dtype, float(least), float(most), nan, infinite)

    def __str__(self) -> str:
        numbers = f"from {self.least:.6g} to {self.most:.6g}" if self.least == self.least else "no finite numbers"
        bad = f", {_counted(self)}" if self.nan or self.infinite else ""
        return f"{self.name}: shape {self.shape}, {self.dtype}, {numbers}{bad}"


def _counted(r: Range) -> str:
    infinities = "infinity" if r.infinite == 1 else "infinities"
    return " and ".join(f"{n} {what}" for n, what in ((r.nan, "nan"), (r.infinite, infinities)) if n)


def detect_anomaly(forward: bool = True) -> Observing:
    """Raise where nan or an infinity comes into being, in operations and gradient rules that run inside.

    An operation is to blame whose result has some though none of its inputs has; a gradient rule, whose cotangents
    have some though the one that it was given has none. So data with gaps, or a mask of ``-inf``, may pass. Values
    that need no gradient are not looked at. Everything is slower inside, and nothing outside.

    Args:
        forward: False checks cotangents only, for programs that make infinities and mask them afterwards.

    Raises:
        AnomalyError: with the operation, the line it stands on, and the ranges of its inputs, which are also its
            attributes ``op``, ``line`` and ``inputs``.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> x = ad.tensor([4.0, 0.0], requires_grad=True)
        >>> with ad.detect_anomaly():
        ...     np.sum(np.sqrt(x)).backward()  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        adjoint.core.errors.AnomalyError: the gradient rule of sqrt made 1 infinity in the cotangent of `x` …
    """
    return Observing(line=note_line, anomaly=_Detector(forward))


class _Detector:
    """Looks at each new node and, in backward passes, at each rule."""

    #: A pass must not even try what it would have to do again for nan.
    refuses_nan = True

    def __init__(self, forward: bool) -> None:
        self.forward = forward
        self._inputs: WeakKeys[ObservedNode, tuple[Range, ...]] = WeakKeys()

    def __call__(self, node: TapeNode, values: Sequence[Array], wanted: tuple[int, ...], out: Array) -> None:
        pullback = cast(Pullback, node.pullback)
        named = [(input_name(pullback, i), value) for i, value in enumerate(values)]
        inputs = tuple(Range.of(name, array) for name, value in named for array in arrays(_array(value)))
        self._inputs[cast(ObservedNode, node)] = inputs
        if self.forward and not any(r.nan or r.infinite for r in inputs):
            bad = _first_bad("result", out)
            if bad is not None:
                raise self._error(
                    node,
                    (),
                    f"{pullback.op.name} made {_counted(bad)} out of finite numbers",
                    "If this is meant, and masked later, check cotangents only: ad.detect_anomaly(forward=False)",
                )

    def around(self, run: RuleRun) -> RuleRun:
        """`run`, which runs a rule, with its cotangents checked."""

        def checked(node: TapeNode, pullback: Pullback, g: Array, saved: tuple[Array, ...]) -> Sequence[Array]:
            given = _first_bad("cotangent of the result", g)
            if given is not None:
                raise self._error(
                    node, saved, f"the cotangent that reached {_name(node)} has {_counted(given)}", str(given)
                )
            try:
                with np.errstate(all="ignore"):  # what NumPy would warn of is said better below
                    shares = run(node, pullback, g, saved)
            except Exception as error:
                error.add_note(f"In the gradient rule of {_name(node)}{_where(node)}")
                raise
            if isinstance(shares, Resumed):  # of a checkpoint: these are looked at where they go
                return shares
            for number, share in zip(parent_numbers(pullback, saved), shares, strict=False):
                bad = _first_bad("its cotangent", share)
                if bad is not None:
                    of = f"in the cotangent of `{input_name(pullback, number)}`"
                    ranges = (str(Range.of("cotangent of the result", array)) for array in arrays(g))
                    what = f"the gradient rule of {_name(node)} made {_counted(bad)} {of}"
                    raise self._error(node, saved, what, *ranges)
            return shares

        return checked

    def _error(self, node: TapeNode, saved: tuple[Array, ...], what: str, *more: str) -> AnomalyError:
        pullback = cast(Pullback, node.pullback)
        inputs = self._inputs.get(node) if isinstance(node, ObservedNode) else None
        if inputs is None:  # the forward pass ran outside: what the rule has kept must do
            named = zip(pullback.names, saved, strict=False)
            inputs = tuple(Range.of(name, array) for name, value in named for array in arrays(value))
        error = AnomalyError("\n    ".join((what + _where(node), *map(str, inputs), *more)))
        error.op, error.line, error.inputs = _name(node), line_of_node(node), inputs
        return error


def _name(node: TapeNode) -> str:
    op = getattr(node.pullback, "op", None)
    return op.name if op is not None else "?"


def _where(node: TapeNode) -> str:
    line = line_of_node(node)
    return f"; the operation stands at {line}" if line else "; its line is known if the forward pass runs inside too"


def _array(value: Array) -> Array:
    return np.asarray(value) if isinstance(value, int | float | complex) else value


def _first_bad(name: str, value: Array) -> Range | None:
    """The range of the first array in `value` that has nan or infinities."""
    for array in arrays(value):
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            return Range.of(name, array)
    return None
