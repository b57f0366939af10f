"""Every error that adjoint raises on purpose.

AdjointError
├── GradientError           (RuntimeError)  a gradient was asked for where there is none
│   └── GraphFreedError                     … because the graph was freed
├── RefusedError                            a call that cannot be answered; the message says where it was made
│   ├── NotDifferentiableError (TypeError)  the operation has no derivative, and says why
│   ├── NotSupportedError   (TypeError)     no rule yet; the message names the nearest call
│   ├── LeavesGraphError                    a conversion would silently drop the graph
│   └── BatchedValueError                   inside vmap, one value was asked for of what is one a sample
├── InPlaceError            (RuntimeError)  a write would make a gradient wrong
│   └── ReadOnlyError       (ValueError)    … or goes to a view that is read-only, as NumPy's is
├── GraphError              (RuntimeError)  a captured program that is damaged, or run where it does not hold
├── RuleError               (ValueError)    a gradient rule returned something unusable
├── ShapeError              (ValueError)    arguments whose shapes do not fit
├── DTypeError              (TypeError)     a dtype that cannot be used here
├── DeviceError             (TypeError)     arrays of two libraries or devices in one call, or values wanted of one
├── ArgumentError           (ValueError)    any other unusable argument
│   └── ExprError                           … an expression's text, or the values given to it
├── GradientMismatchError   (AssertionError) a gradient differs from what its function's values say
├── DataError               (ValueError)    a file or data set that cannot be used
├── AnomalyError            (ArithmeticError)  nan or an infinity came into being (`detect_anomaly`)
├── NotRunError             (RuntimeError)  a submitted call that was not run, as one before it failed
└── DivergedError           (ArithmeticError)  the loss of a training became nan, or far too large

LeakWarning (UserWarning) is the one warning: see `adjoint.leaks`.
"""

from __future__ import annotations

import sys

from adjoint.core.types import Value


class AdjointError(Exception):
    """The root of adjoint's errors: ``except ad.AdjointError`` catches them all.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> try:
        ...     ad.grad(lambda x: x)(np.ones(2))
        ... except ad.AdjointError as error:
        ...     print(type(error).__name__)
        ShapeError
    """


class GradientError(AdjointError, RuntimeError):
    """A gradient was asked for where there is none.

    Example:
        >>> import adjoint as ad
        >>> ad.tensor(1.0).backward()
        Traceback (most recent call last):
            ...
        adjoint.core.errors.GradientError: backward() on a tensor without a graph: nothing that ...
    """


class GraphFreedError(GradientError):
    """The graph, or the values that it had saved, were freed by an earlier backward pass.

    Example:
        >>> import adjoint as ad
        >>> x = ad.tensor(2.0, requires_grad=True)
        >>> y = x**2
        >>> y.backward(retain_graph=False)
        >>> y.backward()
        Traceback (most recent call last):
            ...
        adjoint.core.errors.GraphFreedError: this graph was freed by an earlier backward pass or ...
    """


class RefusedError(AdjointError):
    """A call that an array cannot answer: the message says where in the user's code it was made, and of whom."""

    def __init__(self, *args: Value, conversion: bool = False) -> None:
        super().__init__(*args)
        from adjoint.core.messages.callers import caller  # only where something was refused

        self.caller, self.conversion = caller(sys._getframe(1)), conversion

    def __str__(self) -> str:
        from adjoint.core.messages.callers import told

        message = super().__str__()
        return message if self.caller is None else f"{message}. {told(self.caller, self.conversion)}"


class NotDifferentiableError(RefusedError, TypeError):
    """The operation has no derivative.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.grad(lambda x: np.spacing(x))(0.5)
        Traceback (most recent call last):
            ...
        adjoint.core.errors.NotDifferentiableError: spacing has no derivative with respect to ...
    """


class NotSupportedError(RefusedError, TypeError):
    """The operation, or this form of it, has no rule.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.fft import dct
        >>> dct(np.ones(3), orthogonalize=True)
        Traceback (most recent call last):
            ...
        adjoint.core.errors.NotSupportedError: orthogonalize that is not as the norm has it ...
    """


class LeavesGraphError(RefusedError):
    """A conversion to plain numbers would silently drop the graph.

    No TypeError, as those are swallowed by code that tries whether something is a number.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> np.asarray(ad.tensor([1.0], requires_grad=True))
        Traceback (most recent call last):
            ...
        adjoint.core.errors.LeavesGraphError: np.asarray(t) would silently drop this tensor's ...
    """


class LeakWarning(UserWarning):
    """A value left a transform, and what was computed with it has no derivative; see `adjoint.leaks`."""


class BatchedValueError(RefusedError):
    """Inside vmap, something was asked that has one answer a sample, not one for all.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.vmap(lambda x: x.item())(np.ones(2))
        Traceback (most recent call last):
            ...
        adjoint.core.errors.BatchedValueError: t.item(): inside vmap this is a value for each of ...
    """


class InPlaceError(AdjointError, RuntimeError):
    """A write in place would make a gradient wrong.

    Example:
        >>> import adjoint as ad
        >>> x = ad.tensor([2.0], requires_grad=True)
        >>> x[0] = 1.0
        Traceback (most recent call last):
            ...
        adjoint.core.errors.InPlaceError: this tensor is a leaf that requires a gradient, so ...
    """


class ReadOnlyError(InPlaceError, ValueError):
    """A write to a view that NumPy gives read-only: of a diagonal, of windows, or of what was broadcast.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> np.broadcast_to(ad.tensor([1.0], requires_grad=True), 3)[0] = 2.0
        Traceback (most recent call last):
            ...
        adjoint.core.errors.ReadOnlyError: assignment destination is read-only. np.broadcast_to ...
    """


class GraphError(AdjointError, RuntimeError):
    """A captured program that is not what it should be, or is run where it does not hold.

    Example:
        >>> import adjoint as ad
        >>> graph = ad.capture(lambda x: x + 1.0 if x > 0 else x, 1.0)
        >>> graph(-1.0)
        Traceback (most recent call last):
            ...
        adjoint.core.errors.GraphError: the captured program ...
    """


class WrongCodeError(GraphError):
    """A native program does not give what NumPy gives (``ADJOINT_VERIFY=1``)."""


class RuleError(AdjointError, ValueError):
    """A gradient rule returned something of the wrong count, shape or dtype.

    Example:
        >>> import adjoint as ad
        >>> wrong = ad.custom_vjp(lambda x: x**2)
        >>> wrong.defvjp(lambda x: (x**2, x), lambda x, g: (g * x, g))
        >>> ad.grad(wrong)(2.0)
        Traceback (most recent call last):
            ...
        adjoint.core.errors.RuleError: the bwd rule of <lambda> must return 1 cotangent(s), one ...
    """


class ShapeError(AdjointError, ValueError):
    """Arguments whose shapes do not fit together.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> np.matmul(ad.tensor(np.ones((2, 3))), np.ones((2, 3)))
        Traceback (most recent call last):
            ...
        adjoint.core.errors.ShapeError: matmul: shapes (2, 3) and (2, 3) do not fit: the last ...
    """


class DTypeError(AdjointError, TypeError):
    """A dtype that cannot be used here.

    Example:
        >>> import adjoint as ad
        >>> ad.tensor([1, 2], requires_grad=True)
        Traceback (most recent call last):
            ...
        adjoint.core.errors.DTypeError: only real and complex tensors can require a gradient; ...
    """


class DeviceError(AdjointError, TypeError):
    """Arrays of two libraries or devices met, or a call needs values of one that are elsewhere."""


class ArgumentError(AdjointError, ValueError):
    """An argument that cannot be used.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.compile(np.sin, backend="fast")
        Traceback (most recent call last):
            ...
        adjoint.core.errors.ArgumentError: compile: backend is "native" or "numpy"; got 'fast'
    """


class SharedMemoryError(ArgumentError):
    """Arrays share memory, in which a program writes: it could not do so in the order in which NumPy would."""


class ExprError(ArgumentError):
    """The text of an expression that cannot be read, or values that do not fit its variables.

    Attributes:
        position: where in the text, counted in characters from 0; None if it is not about the text.

    Example:
        >>> import adjoint as ad
        >>> ad.expr("2 *")
        Traceback (most recent call last):
            ...
        adjoint.core.errors.ExprError: column 4: the text ends; expected a number, a name, a ...
    """

    position: int | None = None


class GradientMismatchError(AdjointError, AssertionError):
    """A gradient is not what differences of the function's values say it is.

    Example:
        >>> import adjoint as ad
        >>> wrong = ad.custom_vjp(lambda x: x**2)
        >>> wrong.defvjp(lambda x: (x**2, x), lambda x, g: (g * x,))
        >>> ad.testing.check_grads(wrong, (2.0,))
        Traceback (most recent call last):
            ...
        adjoint.core.errors.GradientMismatchError: <lambda>, first derivative: 1 of 1 entries ...
    """


class DataError(AdjointError, ValueError):
    """A file or a data set that cannot be used.

    Example:
        >>> import adjoint as ad
        >>> ad.data.dataset([[0.0], [1.0]], ["cat"])
        Traceback (most recent call last):
            ...
        adjoint.core.errors.DataError: data: every example needs one label; got 2 examples and ...
    """


class AnomalyError(AdjointError, ArithmeticError):
    """Nan or an infinity came into being.

    Attributes:
        op: the operation in which it did.
        line: where that stands: file and line; empty if unknown.
        inputs: what its inputs held: a name, shape, dtype, range and counts for each.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> with ad.detect_anomaly():
        ...     ad.grad(np.sqrt)(0.0)
        Traceback (most recent call last):
            ...
        adjoint.core.errors.AnomalyError: the gradient rule of sqrt made 1 infinity in the ...
    """

    op: str
    line: str
    inputs: tuple[Value, ...]


class NotRunError(AdjointError, RuntimeError):
    """A submitted call was not run: one that it depends on failed, or it belongs to another process."""


class DivergedError(AdjointError, ArithmeticError):
    """The loss of a training became nan, infinite, or far larger than it was.

    Example:
        >>> import adjoint as ad
        >>> ad.fixed_point(lambda x: 2 * x, 1.0, max_steps=10)
        Traceback (most recent call last):
            ...
        adjoint.core.errors.DivergedError: fixed_point: after 10 steps the values still move by ...
    """
