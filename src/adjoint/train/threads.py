"""How many threads the matrix products of a training step take."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

_WORTH_SHARING = 20_000_000  # multiplications; below, threads of a busy machine wait for each other most of the time


def blas_threads_for(multiplications: int) -> AbstractContextManager[object]:
    """A context in which BLAS uses one thread if products of this size are too small to share.

    Args:
        multiplications: in the largest matrix product of a step: rows times inputs times outputs.

    Returns:
        A context manager; it changes nothing where threadpoolctl (which comes with scikit-learn) is not installed.

    Example:
        >>> from adjoint.train.threads import blas_threads_for
        >>> with blas_threads_for(32 * 64 * 256):
        ...     pass
    """
    if multiplications >= _WORTH_SHARING:
        return nullcontext()
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it ships no types
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits
