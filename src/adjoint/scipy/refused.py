"""What has no derivative: a function in SciPy's place that says what to write instead."""

from __future__ import annotations

from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Function


def refused(name: str, sentence: str) -> Function:
    """A function in the place of ``scipy.name``, a function or a class, that raises `sentence`."""

    def refuse(*args: object, **kwargs: object) -> object:
        raise NotSupportedError(sentence)

    module, _, own = name.rpartition(".")
    refuse.__name__ = refuse.__qualname__ = own
    refuse.__doc__ = f"""`scipy.{name}` with tensors: refused, with what to write instead.

    Example:
        >>> import adjoint.scipy
        >>> adjoint.scipy.{module}.{own}()  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        adjoint.core.errors.NotSupportedError: {sentence}
    """
    return refuse
